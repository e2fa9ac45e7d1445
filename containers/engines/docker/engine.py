"""Docker and Podman by Docker's SDK.

Protected: what the daemon protects (namespaces, masked kernel interfaces), with every capability dropped that packages and
owners do not need, our filter of system calls, no new privileges, no network. Whether root inside is root outside is the daemon's setting
(`doctor` says it): run it rootless or with userns-remap.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import platform
import re
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import cached_property
from typing import Any, Self

from docker.errors import APIError

from containers import accounts, health, reaper
from containers.engines.docker import abilities, images, quota, volume
from containers.engines.docker.builder import buildkit
from containers.engines.docker.client import LABEL, Flavour, connect, faults
from containers.engines.docker.files import read
from containers.engines.docker.sandbox import DockerSandbox
from containers.engines.docker.stock import DaemonStock
from containers.grading import bundle
from containers.grading.entered import Graders
from containers.grading.groups import GraderGroups
from containers.layers import git_objects
from containers.linux import cgroups, seccomp
from containers.linux.identity import IdMap
from containers.proof import leak
from containers.sandbox import BuildFailure, BuiltImage, Capability, Gap, StartOptions
from containers.state import State, default_state, owner_is_alive
from generators.digest import sha256_hex
from generators.errors import EngineError, SandboxFault, TaskError
from generators.task import Image, Limits

_numbers = itertools.count()  # of the process: an engine removes what is its own, not another's
_LIST_TRIES = 20
_CAPABILITIES = (
    "CHOWN DAC_OVERRIDE FOWNER FSETID KILL SETGID SETUID NET_BIND_SERVICE SYS_CHROOT SETFCAP".split()  # noqa: SIM905
)


class DockerEngine:
    """Images and containers of one daemon. Safe for several threads; never used across a fork."""

    def __init__(
        self,
        state: State | None = None,
        say: Callable[[str], None] = lambda _: None,
        socket: str | None = None,
        flavour: Flavour = "docker",
        enter: bool = True,
    ) -> None:
        self.name: str = flavour
        self.flavour: Flavour = flavour
        self.state, self.say = state or default_state(), say
        self.state.prepare()
        self.client, self.address = connect(flavour, socket)
        self.info: dict[str, Any] = self.client.info()
        self.buildkit = buildkit(flavour)
        self.can_enter = enter and self.address.startswith("unix://")
        self.groups = GraderGroups(cgroups.detect(), self.state.owner)
        self.graders = Graders(IdMap(0, 0, 0, 0, helper=False))
        self.owner = f"{platform.node()}:{self.state.owner}-{next(_numbers)}"
        self.reaped: object = self.reap()
        self._volume: str | None = None
        self._sizes: dict[str, int] = {}

    # --- what it can do -----------------------------------------------------------------------------------------------

    def probe(self) -> list[Capability]:
        """The lines of `doctor` for this daemon."""
        return abilities.lines(self)

    def gaps(self) -> tuple[Gap, ...]:
        """What this daemon cannot do here."""
        return abilities.gaps(self.info, self.flavour, quota=self.has_quota, own=self._is_own)

    @property
    def _is_own(self) -> bool:
        """Whether the daemon runs as whoever asks it."""
        try:
            return os.stat(self.address.removeprefix("unix://")).st_uid == os.geteuid()
        except OSError:
            return False

    @cached_property
    def has_quota(self) -> bool:
        """Whether a container's disk can be limited."""
        return quota.is_there(self)

    def image_bytes(self, built: BuiltImage) -> int:
        """What an image takes on the daemon's disk, all layers together."""
        name = built.layers[0]
        if name not in self._sizes:
            with faults("looking at an image"):
                self._sizes[name] = int(self.client.images.get(name).attrs["Size"])
        return self._sizes[name]

    # --- images -------------------------------------------------------------------------------------------------------

    def build(self, image: Image, limits: Limits) -> BuiltImage:
        """Build or find an image."""
        try:
            made, own, base = images.ensure(self, image, limits.build_seconds)
            user, account = self._account(made)
        except TaskError as error:
            raise BuildFailure("dockerfile_invalid", str(error), "") from error
        config: dict[str, Any] = made.attrs["Config"]
        uid, gid, groups, home = account
        settings: list[str] = config.get("Env") or []
        env = {name: value for name, _, value in (entry.partition("=") for entry in settings)}
        layers = tuple(made.attrs["RootFS"]["Layers"])
        return BuiltImage(
            digest=str(made.id).removeprefix("sha256:"),
            base_digest=base.removeprefix("sha256:"),
            layers=(str(made.id),),
            env=env,
            workdir=config.get("WorkingDir") or "/",
            user=user,
            uid=uid,
            gid=gid,
            groups=groups,
            home=home,
            notes=_notes(image),
            own_layers=layers[len(layers) - own :] if own else (),
        )

    def _account(self, made: Any) -> tuple[str, accounts.Account]:
        """The user that an image names, read from its own files."""
        user = str(made.attrs["Config"].get("User") or "root").split(":")[0]
        if user in ("root", "0"):
            return "root", accounts.ROOT
        with faults("reading an image's users"):
            container: Any = self.client.containers.create(
                made.id, command=["true"], user="0:0", labels={LABEL: self.owner}
            )
        try:
            passwd, group = (read(container, path).decode(errors="replace") for path in ("/etc/passwd", "/etc/group"))
            return accounts.look_up(user, passwd, group)
        finally:
            with faults("removing a container"):
                container.remove(force=True)

    def contents(self, built: BuiltImage) -> Iterator[tuple[str, bytes]]:
        """Names and contents of the files that an image adds to the distribution's."""
        git = False
        for layer in images.own_files(self, built.layers[0], len(built.own_layers)):
            for name, data in leak.layer_files(layer):
                git = git or name.endswith("/objects")
                yield name, data
        if git:
            yield from git_objects(self, built)

    @contextlib.contextmanager
    def locked(self, name: str) -> Generator[None]:
        """One build of a name at a time, among all processes of this machine."""
        bucket = sha256_hex(name)[:2]  # names may share a lock; no name is locked within another
        with open(self.state.folder("tools") / f".lock-{self.name}-{bucket}", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    # --- sandboxes ----------------------------------------------------------------------------------------------------

    def start(self, built: BuiltImage, limits: Limits, options: StartOptions | None = None) -> DockerSandbox:
        """Start a container of a built image."""
        try:
            return DockerSandbox(self, built, limits, options or StartOptions())
        except SandboxFault:
            self._volume = None  # it may be the grader's volume that is gone: looked at anew by the next
            raise

    def clock(self, options: StartOptions) -> dict[str, str]:
        """Variables that shift the wall clock of a sandbox's programs."""
        if not options.clock_offset:
            return {}
        return {"LD_PRELOAD": bundle.CLOCK, "TERMFORGE_CLOCK_OFFSET": str(options.clock_offset)}

    def settings(
        self, built: BuiltImage, limits: Limits, options: StartOptions, command: Sequence[str]
    ) -> dict[str, Any]:
        """What a container is created with, whatever runs in it."""
        memory = f"{limits.memory_mb}m"
        return {
            "image": built.layers[0],
            "stdin_open": command is bundle.WAIT_OR_GRADE,
            "entrypoint": list(command[:1]),
            "command": list(command[1:]),
            "user": "0:0",
            "working_dir": built.workdir,  # made where it is missing: Podman's builder does not
            "hostname": options.hostname,
            "volumes": {self.volume(): {"bind": bundle.ROOT, "mode": "ro"}},
            "network_mode": "none",
            "cap_drop": ["ALL"],
            "cap_add": _CAPABILITIES,
            "security_opt": ["no-new-privileges", *self._filter()],
            "mem_limit": memory,
            "memswap_limit": memory,
            "pids_limit": limits.pids,
            "nano_cpus": int(limits.cpus * 1e9),
            "shm_size": "64m",
            "storage_opt": quota.option(self, built, limits) if self.has_quota else None,
            "labels": {LABEL: self.owner},
            "healthcheck": {"test": ["NONE"]},
            "detach": True,
        }

    def _filter(self) -> list[str]:
        """Our own filter of system calls, the same in every engine. Podman reads it from a file of its machine."""
        text = json.dumps(seccomp.profile())
        if self.flavour == "docker":
            return [f"seccomp={text}"]
        if not self.can_enter:
            return []  # a daemon elsewhere: its own default
        file = self.state.folder("tools") / f"seccomp-{sha256_hex(text)[:12]}.json"
        if not file.exists():
            part = self.state.folder("tmp") / f"{self.state.owner}-{file.name}"
            part.write_text(text)
            part.replace(file)
        return [f"seccomp={file}"]

    def volume(self) -> str:
        """The volume with the grader bundle; made on first use."""
        if self._volume is None:
            self._volume = volume.ensure(self)
        return self._volume

    # --- looking after it ---------------------------------------------------------------------------------------------

    def pulse(self) -> str:
        """Ask the daemon whether it lives; who answered."""
        if self.address.startswith("unix://"):
            return health.ping(self.address.removeprefix("unix://"))
        try:
            connect(self.flavour, self.address, health.PULSE_SECONDS)[0].close()
        except EngineError as error:
            raise SandboxFault(str(error)) from error
        return self.address

    def stock(self) -> DaemonStock:
        """The images that the daemon keeps for us."""
        return DaemonStock(self.client, str(self.info.get("DockerRootDir", "")))

    # --- end ----------------------------------------------------------------------------------------------------------

    def reap(self) -> str:
        """Remove containers whose owner on this machine is gone."""

        def gone(label: str) -> bool:
            host, _, owner = label.partition(":")
            return host == platform.node() and not owner_is_alive(owner)

        reaper.reap_groups(self.groups.hierarchy)
        # folders may belong to mapped ids: the embedded engine removes those
        for path in self.state.folder("tmp").iterdir():
            if path.is_file() and not owner_is_alive(path.name):
                path.unlink(missing_ok=True)
        removed = self._sweep(gone)
        return f"{removed} containers" if removed else ""

    def _sweep(self, wanted: Callable[[str], bool]) -> int:
        """Remove the containers whose label is wanted; how many."""
        removed = 0
        with faults("removing left-overs"):
            for container in self._labelled():
                if wanted(str(container.labels.get(LABEL, ""))):
                    with contextlib.suppress(APIError):  # it is gone, or going
                        container.remove(force=True)
                        removed += 1
        return removed

    def _labelled(self) -> list[Any]:
        """All containers of ours, whoever made them. Podman fails where one of another process ends while it makes the list."""
        for left in reversed(range(_LIST_TRIES)):
            try:
                return self.client.containers.list(all=True, ignore_removed=True, filters={"label": LABEL})
            except APIError:
                if not left:
                    raise
                time.sleep(0.1)
        raise AssertionError("unreachable")

    def close(self) -> None:
        """Remove what sandboxes could not, end the graders and let go of the daemon."""
        with contextlib.suppress(SandboxFault):
            self._sweep(lambda label: label == self.owner)
        self.graders.close()
        self.groups.close()
        self.client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _notes(image: Image) -> tuple[str, ...]:
    """What of a Dockerfile has no effect here: a sandbox's first process is ours."""
    said = re.findall(r"^\s*(CMD|ENTRYPOINT)\s", image.dockerfile, re.MULTILINE | re.IGNORECASE)
    return tuple(f"{name.upper()} is noted, not run" for name in said)
