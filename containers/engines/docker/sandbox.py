"""A container as a sandbox. Commands and files go through the daemon; grading never does what the container says."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from docker.errors import APIError, NotFound

from containers.engines.docker import verifier
from containers.engines.docker.client import faults
from containers.engines.docker.files import archive, read
from containers.engines.docker.program import Program
from containers.execution import BaseSandbox
from containers.grading import bundle
from containers.grading.entered import Place
from containers.grading.groups import process_limit
from containers.linux.namespaces import Entrance
from containers.sandbox import BuiltImage, GradeRequest, GradeResult, PutFile, StartOptions
from generators.errors import SandboxFault
from generators.task import Limits

if TYPE_CHECKING:
    from containers.engines.docker.engine import DockerEngine

_END_SECONDS = 30.0
_OURS = (
    "/.termforge",
    "/etc/hostname",
    "/etc/hosts",
    "/etc/resolv.conf",
    "/dev",
    "/proc",
    "/sys",
    "/run/.containerenv",
)


class DockerSandbox(BaseSandbox):
    """A running container of ours. Where its namespaces can be entered from here, they are held for the grader."""

    def __init__(self, engine: DockerEngine, built: BuiltImage, limits: Limits, options: StartOptions) -> None:
        super().__init__(built, options)
        self.engine, self.limits = engine, limits
        self._ended = self._closed = False
        self._entrance: Entrance | None = None
        if engine.can_enter and not self._entered():
            engine.can_enter = False  # it runs on another machine, or as another user: so will all that follow
            self.container.remove(force=True)
        if not engine.can_enter:
            self._create(bundle.WAIT_OR_GRADE)
            verifier.start(self, b"wait\n").close()

    def _entered(self) -> bool:
        """Start a container and hold on to its namespaces; False where they are not to be had."""
        self._create(bundle.WAIT)
        try:
            with faults("starting a container"):
                self.container.start()
                self.container.reload()
            self._entrance = Entrance.of(int(self.container.attrs["State"]["Pid"]), str(self.container.id))
        except BaseException:
            self.close()
            raise
        return self._entrance is not None

    def _create(self, command: Sequence[str]) -> None:
        with faults("creating a container"):
            self.container: Any = self.engine.client.containers.create(
                **self.engine.settings(self.built, self.limits, self.options, command)
            )

    # --- work -------------------------------------------------------------------------------------------------------

    def run(
        self,
        argv: Sequence[str],
        stdio: tuple[int, int, int],
        *,
        user: str | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        tty: bool = False,
    ) -> Program:
        """Start a program as leader of its own session, on three descriptors that stay the caller's to close."""
        if self._ended:
            raise SandboxFault("the sandbox's processes were already ended")
        if tty:
            raise SandboxFault("a terminal needs the embedded engine")
        name, home = self.identity(user)
        uid = "0:0" if name == "root" else f"{self.built.uid}:{self.built.gid}"
        api = self.engine.client.api
        with faults("preparing a program"):
            made = api.exec_create(
                self.container.id,
                bundle.named(argv, cwd or self.built.workdir),
                user=uid if not self.built.groups or name == "root" else self.built.user,
                workdir="/",
                environment={**self.environment(), "HOME": home, "USER": name, **(env or {})},
                stdin=True,
            )
        return Program(api, str(made["Id"]), stdio, self._kill)

    def environment(self) -> dict[str, str]:
        """What every program gets: the image's settings, and those of this sandbox."""
        return super().environment() | self.engine.clock(self.options)

    def _kill(self, pid: int) -> None:
        self._helper(bundle.kill(pid))

    def kill_session(self, session: int) -> None:
        """Kill every process of a session inside but its leader."""
        self._helper(bundle.kill_session(session))

    def _helper(self, argv: Sequence[str]) -> None:
        """Run something of the bundle as root."""
        with faults("killing a program"):
            self.container.exec_run(list(argv), user="0:0", environment={"LD_PRELOAD": ""}, workdir="/")

    def put(self, files: Sequence[PutFile]) -> None:
        """Place files, making folders as needed."""
        with faults("placing files"):
            self.container.put_archive("/", archive(files))

    def get(self, path: str, limit: int = 1 << 24) -> bytes:
        """The contents of a regular file, at most `limit` bytes; links are followed."""
        return read(self.container, path, limit)

    def changed_paths(self) -> list[str]:
        """Paths that differ from the image, sorted; deleted ones too."""
        with faults("listing changes"):
            changes: list[dict[str, Any]] = self.container.diff() or []
        paths = [str(change["Path"]) for change in changes if not str(change["Path"]).startswith(_OURS)]
        made = {"/etc", "/run", self.built.workdir, *map(str, PurePosixPath(self.built.workdir).parents)}
        own = [
            path for path in paths if path not in made
        ]  # folders that the engine itself touches count where more is in them
        return sorted(path for path in paths if path in own or any(other.startswith(f"{path}/") for other in own))

    # --- end --------------------------------------------------------------------------------------------------------

    def end_processes(self) -> None:
        """Kill the container's first process; the kernel then ends all others."""
        if self._ended:
            return
        if self._entrance is not None:
            self._entrance.end()
        else:
            self.end_again()
        self._ended = True

    def end_again(self) -> None:
        """Have the daemon kill the container's first process. (By `stop`: Podman takes 20 s to answer a `kill`.)"""
        with faults("ending a container"), contextlib.suppress(APIError):  # it may have ended by itself
            self.container.stop(timeout=0)
        self.exit_code()

    def exit_code(self) -> int:
        """Wait for the end of the container's first process. (By looking: Podman takes 20 s to answer a `wait`.)"""
        deadline, pause = time.monotonic() + _END_SECONDS, 0.005
        while time.monotonic() < deadline:
            with faults("ending a container"):
                self.container.reload()
            state: dict[str, Any] = self.container.attrs["State"]
            if state["Status"] not in ("running", "created", "stopping"):
                return int(state["ExitCode"])
            time.sleep(pause)
            pause = min(2 * pause, 0.1)
        raise SandboxFault("the sandbox's processes would not end")

    def grade(self, request: GradeRequest) -> GradeResult:
        """End all processes, then run tests over the end state: by entering it, or by starting it again as its own verifier."""
        began = time.monotonic()
        if not self._ended and self._entrance is not None and self._entrance.ended:  # a daemon that stopped ended it
            return GradeResult((), "sandbox_lost")
        self.end_processes()
        user = (self.built.uid, self.built.gid, self.built.groups)
        if self._entrance is None:
            return verifier.grade(self, request, user, began)
        with self.engine.groups.taken(self.limits) as seat:
            place = Place(
                namespaces=self._entrance.some("user", "mnt", "uts"),
                seat=seat,
                max_processes=None if seat else process_limit(self.limits),
                env=self.grading_environment(),
                user=user,
            )
            return self.engine.graders.grade(request, place, began).await_end()

    def close(self) -> None:
        """Destroy it; safe to call twice."""
        if self._closed:
            return
        self._closed = True
        if self._entrance is not None:
            self._entrance.close()
        with contextlib.suppress(SandboxFault), faults("removing a container"), contextlib.suppress(NotFound):
            self.container.remove(force=True, v=False)
