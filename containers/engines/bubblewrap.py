"""The embedded engine: bubblewrap over overlay layers, in a user namespace whose root is nobody on the host. No daemon.

Protected: the host's files, processes, network and kernel interfaces; other sandboxes. Limits need control groups
(`doctor` says where they are missing). Not protected: a bug in the kernel itself.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Self

from containers import layers, probe, reaper, rootfs
from containers.engines.slots import Slots
from containers.linux import cgroups, identity
from containers.proof import leak
from containers.sandbox import (
    DEFAULT_PATH,
    OUTPUT_LIMIT,
    BuiltImage,
    Capability,
    ExecResult,
    GradeRequest,
    GradeResult,
    PutFile,
    StartOptions,
    TestResult,
)
from containers.state import State, default_state
from containers.streams import Collector
from containers.warden.client import Reply, Warden, memory_file, read_memory_file
from containers.warden.inside import KINDS
from generators.bases import Base, preamble
from generators.digest import sha256_hex
from generators.errors import EngineError, SandboxFault
from generators.task import ContextFile, Image, Limits

_INFO_FD = 200
_CLOCK = "/dev/shm/.clock.so"  # below a mount of ours, so that no layer gets a mount point
_START_SECONDS = 30.0
_BASIC = ("--proc", "/proc", "--dev", "/dev", "--perms", "1777", "--tmpfs", "/dev/shm", "--chdir", "/")


class BubblewrapSandbox:
    """A live sandbox: descriptors of its namespaces, of its first process and of its writable layer."""

    def __init__(self, engine: BubblewrapEngine, built: BuiltImage, limits: Limits, options: StartOptions) -> None:
        self.engine, self.built, self.limits, self.options = engine, built, limits, options
        self.slot = engine.slots.take(limits)
        self._namespaces: dict[str, int] = {}
        self._fds: list[int] = []
        self._init = self._upper = self._keeper = -1
        self._ended = self._closed = False
        self._clock = engine.clock_library() if options.clock_offset else None

    # --- life -------------------------------------------------------------------------------------------------------

    def open(
        self, *, network: bool = False, persistent: tuple[Path, Path] | None = None, binds: Sequence[str] = ()
    ) -> Self:
        """Create the namespaces and mounts. `persistent` (upper, work) keeps the writable layer on disk, for builds."""
        engine = self.engine
        argv = [
            str(engine.bwrap),
            "--unshare-pid",
            "--unshare-ipc",
            "--unshare-uts",
            "--die-with-parent",
            "--cap-drop",
            "ALL",
        ]
        argv += [] if network else ["--unshare-net"]
        argv += ["--hostname", self.options.hostname]
        for layer in self.built.layers:
            argv += ["--overlay-src", layer]
        scratch = str(engine.state.folder("mnt"))
        upper, work = persistent or (Path(scratch, "upper"), Path(scratch, "work"))
        argv += [
            "--overlay",
            str(upper),
            str(work),
            "/",
            *_BASIC,
            *binds,
            *self._clock_bind(),
            "--info-fd",
            str(_INFO_FD),
            "cat",
        ]
        keeper_read, self._keeper = os.pipe()
        ready, keeper_out = os.pipe()
        info, info_write = os.pipe()
        errors = memory_file()
        self._fds += [self._keeper, ready, info, errors]
        request = {
            "scratch": None if persistent else scratch,
            "disk_mb": self.limits.disk_mb,
            "argv": argv,
            "env": {"PATH": DEFAULT_PATH, **engine.bwrap_env},
        }
        reply = self.slot.warden.call("create", request, [keeper_read, keeper_out, errors, info_write])
        for fd in (keeper_read, keeper_out, info_write):
            os.close(fd)
        try:
            if not persistent:
                _, fds = reply.receive_with_fds(_START_SECONDS)
                self._upper = fds[0]
                self._fds += fds
            self._become_ready(ready, info, errors)
        except BaseException:
            self.close()
            raise
        finally:
            reply.close()
        return self

    def _become_ready(self, ready: int, info: int, errors: int) -> None:
        """Wait until the keeper echoes a byte: only then do all mounts exist. Then hold on to the namespaces."""
        os.write(self._keeper, b"\n")
        if not select.select([ready], [], [], _START_SECONDS)[0] or not os.read(ready, 1):
            said = read_memory_file(errors).decode(errors="replace").strip().splitlines()
            raise SandboxFault(f"bubblewrap did not start: {said[-1] if said else 'no message'}")
        pid = int(json.loads(os.read(info, 65536))["child-pid"])
        self._init = os.pidfd_open(pid)
        self._fds.append(self._init)
        for kind in KINDS:
            if os.readlink(f"/proc/{pid}/ns/{kind}") == os.readlink(f"/proc/self/ns/{kind}"):
                continue  # a build shares the host's network
            fd = os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY)
            self._namespaces[kind] = fd
            self._fds.append(fd)

    def end_processes(self) -> None:
        """Kill the sandbox's first process; the kernel then ends all others before that one counts as gone."""
        if self._init < 0 or self._ended:
            return
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._init, signal.SIGKILL)
        if not select.select([self._init], [], [], _START_SECONDS)[0]:
            raise SandboxFault("the sandbox's processes would not end")
        self._ended = True

    def close(self) -> None:
        """Destroy it: processes, then descriptors (and with them mounts and writable layer), then the control group."""
        if self._closed:
            return
        self._closed = True
        with contextlib.suppress(SandboxFault):
            self.end_processes()
        for fd in self._fds:
            with contextlib.suppress(OSError):
                os.close(fd)
        self.engine.slots.give(self.slot, clean=self._ended or self._init < 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- work -------------------------------------------------------------------------------------------------------

    def exec(
        self,
        command: str | Sequence[str],
        *,
        timeout: float,
        user: str | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        output_limit: int = OUTPUT_LIMIT,
        shell: Sequence[str] = ("/bin/bash", "-c"),
    ) -> ExecResult:
        """Run a command and wait for it; at the timeout its process group is killed."""
        began = time.monotonic()
        source = memory_file(stdin) if stdin else os.open("/dev/null", os.O_RDONLY)
        if stdin:
            os.lseek(source, 0, os.SEEK_SET)
        out, err = Collector(output_limit), Collector(output_limit)
        argv = [*shell, command] if isinstance(command, str) else list(command)
        try:
            reply = self.run(argv, (source, out.write_end, err.write_end), user=user, cwd=cwd, env=env)
            for fd in (out, err):
                fd.started()
            code: int | None = None
            with reply:
                while code is None:
                    left = timeout - (time.monotonic() - began)
                    streams = [stream for stream in (out, err) if stream.open]
                    ready = select.select([reply.channel, *streams], [], [], max(0.0, left))[0]
                    for stream in streams:
                        if stream in ready:
                            stream.take()
                    if reply.channel in ready:
                        code = int(reply.receive(_START_SECONDS)["exit"])
                    elif not ready and left <= 0:
                        reply.channel.shutdown(1)
                        reply.receive(_START_SECONDS)
                        break
            out.drain()
            err.drain()
            cut = out.truncated or err.truncated
            return ExecResult(code, out.data(), err.data(), time.monotonic() - began, cut)
        finally:
            os.close(source)
            out.close()
            err.close()

    def run(
        self,
        argv: Sequence[str],
        stdio: tuple[int, int, int],
        *,
        user: str | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        tty: bool = False,
    ) -> Reply:
        """Start a program on given descriptors; the reply answers {"exit": code}, and hanging up kills it."""
        built = self.built
        as_root = user in ("root", "0")
        home = "/root" if as_root else built.home
        request = {
            "argv": list(argv),
            "cwd": cwd or built.workdir,
            "env": {**self._env(), "HOME": home, "USER": "root" if as_root else built.user, **(env or {})},
            "uid": 0 if as_root else built.uid,
            "gid": 0 if as_root else built.gid,
            "groups": [] if as_root else list(built.groups),
            "tty": tty,
            "max_processes": None if self.slot.group else self.limits.pids,
            "kinds": list(self._namespaces),
        }
        if self._ended:
            raise SandboxFault("the sandbox's processes were already ended")
        return self.slot.warden.call("execute", request, [*stdio, *self._namespaces.values()])

    def put(self, files: Sequence[PutFile]) -> None:
        """Place files, making folders as needed."""
        entries = [
            {
                "kind": "file",
                "path": file.path,
                "size": len(file.data),
                "mode": file.mode,
                "uid": file.uid,
                "gid": file.gid,
            }
            for file in files
        ]
        self._put(entries, b"".join(file.data for file in files))

    def make_folder(self, path: str) -> None:
        """Make a folder and its parents, owned by root."""
        self._put([{"kind": "directory", "path": path, "mode": None, "uid": -1, "gid": -1}], b"")

    def _put(self, entries: Sequence[Mapping[str, object]], data: bytes) -> None:
        content = memory_file(data)
        spaces = self._some("user", "mnt")
        try:
            request = {"entries": list(entries), "kinds": list(spaces)}
            with self.slot.warden.call("put", request, [content, *spaces.values()]) as reply:
                reply.receive(_START_SECONDS)
        finally:
            os.close(content)

    def get(self, path: str, limit: int = 1 << 24) -> bytes:
        """The contents of a regular file, at most `limit` bytes."""
        content = memory_file()
        spaces = self._some("user", "mnt")
        try:
            request = {"path": path, "limit": limit, "kinds": list(spaces)}
            with self.slot.warden.call("get", request, [content, *spaces.values()]) as reply:
                reply.receive(_START_SECONDS)
            return read_memory_file(content)
        finally:
            os.close(content)

    def changed_paths(self) -> list[str]:
        """Paths that differ from the image, sorted; deleted ones too."""
        spaces = self._some("user")
        with self.slot.warden.call("changed", {"kinds": list(spaces)}, [self._upper, *spaces.values()]) as reply:
            return [entry["path"] for entry in reply.receive(_START_SECONDS)]

    def kill_session(self, session: int) -> None:
        """Kill every process of a session inside but its leader."""
        spaces = self._some("user", "mnt", "pid")
        request = {"session": session, "kinds": list(spaces)}
        with self.slot.warden.call("signal_children", request, list(spaces.values())) as reply:
            reply.receive(_START_SECONDS)

    def grade(self, request: GradeRequest) -> GradeResult:
        """End all processes, then run tests over the end state."""
        began = time.monotonic()
        self.end_processes()
        log = memory_file()
        spaces = self._some("user", "mnt", "uts")
        env = {**self._env(), **request.env}
        payload = {
            "source": request.source,
            "names": list(request.names),
            "env": env,
            "seed": request.seed,
            "timeout": request.timeout,
            "procs": self.slot.joins(),
            "max_processes": None if self.slot.group else self.limits.pids,
            "kinds": list(spaces),
        }
        warden = self.engine.grader(int(request.env.get("PYTHONHASHSEED", "0")))
        try:
            with warden.call("grade", payload, [log, *spaces.values()]) as reply:
                answer = reply.receive(request.timeout + _START_SECONDS)
            said = read_memory_file(log)[-4000:].decode(errors="replace")
        finally:
            os.close(log)
        seconds = time.monotonic() - began
        if "reason" in answer:
            return GradeResult((), answer["reason"], said, seconds)
        return GradeResult(tuple(TestResult(**test) for test in answer["outcome"]["tests"]), "", said, seconds)

    def _clock_bind(self) -> list[str]:
        return ["--ro-bind", str(self._clock), _CLOCK] if self._clock else []

    def _env(self) -> dict[str, str]:
        """What every program gets: the image's settings, and those of this sandbox."""
        env = {"PATH": DEFAULT_PATH, "HOME": "/root", **self.built.env, **self.options.env}
        if self._clock:
            env |= {"LD_PRELOAD": _CLOCK, "TERMFORGE_CLOCK_OFFSET": str(self.options.clock_offset)}
        return env

    def _some(self, *kinds: str) -> dict[str, int]:
        return {kind: self._namespaces[kind] for kind in kinds}


class BubblewrapEngine:
    """Builds images as overlay layers and starts sandboxes over them. Safe for several threads."""

    name = "bubblewrap"

    def __init__(self, state: State | None = None, say: Callable[[str], None] = lambda _: None) -> None:
        self.state = state or default_state()
        self.say = say
        self.state.prepare()
        if blocked := self.state.blocked_by():
            raise EngineError(
                f"{blocked} cannot be passed by the sandbox's ids, so nothing below it can be used; set TERMFORGE_HOME to a "
                f"place whose parents all have mode o+x"
            )
        self.ids = identity.id_map()
        self.hierarchy = cgroups.detect()
        self.bwrap, self.bwrap_env = probe.install_bwrap(self.state)
        self._lock, self._clock_lock = threading.Lock(), threading.Lock()
        self._graders: dict[int, Warden] = {}
        self.warden = Warden("keeper", self.ids)
        self.slots = Slots(self.hierarchy, self.ids, self.state.owner)
        self._must_have_namespaces()
        self.reaped = reaper.reap(self.state, self.warden, self.ids, self.hierarchy)

    def _must_have_namespaces(self) -> None:
        """Try a user namespace for real: only that tells."""
        try:
            code = rootfs.run_as_root(["true"], self.warden, self.ids)
        except SandboxFault as fault:
            self.close()
            remedy = next((item.remedy for item in probe.bubblewrap(self.state) if item.name == "user namespaces"), "")
            raise EngineError(
                f"user namespaces cannot be used here ({fault}); try: {remedy or probe.NAMESPACE_REMEDY}"
            ) from fault
        if code:
            raise EngineError(f"a program run in a user namespace ended with {code}; run `termforge doctor`")

    def grader(self, hash_seed: int) -> Warden:
        """The grader whose interpreter has this hash seed; started on first use."""
        with self._lock:
            if hash_seed not in self._graders:
                self._graders[hash_seed] = Warden("grader", self.ids, hash_seed)
            return self._graders[hash_seed]

    def clock_library(self) -> Path:
        """The library that shifts the wall clock (proof/clock.c); compiled in a sandbox on first use."""
        source = files("containers.proof").joinpath("clock.c").read_text()
        target = self.state.folder("tools") / f"clock-{sha256_hex(source)[:12]}.so"
        with self._clock_lock:
            if not target.exists():
                body = "COPY clock.c /\nRUN gcc -O2 -Wall -shared -fPIC -o /clock.so /clock.c\n"
                image = Image(dockerfile=preamble(Base.BUILD) + body, files=(ContextFile.of("clock.c", source),))
                with self.start(self.build(image, Limits()), Limits()) as sandbox:
                    library = sandbox.get("/clock.so")
                part = self.state.folder("tmp") / f"{self.state.owner}-clock"
                part.write_bytes(library)
                part.chmod(0o755)
                part.replace(target)
        return target

    def probe(self) -> list[Capability]:
        """What this machine can do for sandboxes."""
        return probe.bubblewrap(self.state)

    def build(self, image: Image, limits: Limits) -> BuiltImage:
        """Build an image step by step, reusing every layer that is there."""
        return layers.build(self, image, limits)

    def start(self, built: BuiltImage, limits: Limits, options: StartOptions | None = None) -> BubblewrapSandbox:
        """Start a sandbox of a built image."""
        return BubblewrapSandbox(self, built, limits, options or StartOptions()).open()

    def start_for_build(self, built: BuiltImage, limits: Limits, upper: Path, work: Path) -> BubblewrapSandbox:
        """A sandbox with the host's network whose writable layer stays on disk."""
        sandbox = BubblewrapSandbox(self, built, limits, StartOptions(hostname="build"))
        return sandbox.open(network=True, persistent=(upper, work), binds=probe.network_binds())

    def contents(self, built: BuiltImage) -> Iterator[tuple[str, bytes]]:
        """Names and contents of the files an image adds to the distribution's packages, in every layer."""
        for layer in built.own_layers:
            yield from leak.layer_files(rootfs.tree_as_tar(Path(layer), self.warden, self.ids))
        yield from layers.git_objects(self, built)

    def close(self) -> None:
        """End the wardens and every sandbox with them."""
        self.slots.close()
        with self._lock:
            for warden in (self.warden, *self._graders.values()):
                warden.close()
            self._graders.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
