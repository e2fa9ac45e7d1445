"""A sandbox of the embedded engine, from its first process to its end."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

from containers.execution import BaseSandbox
from containers.grading.entered import Graded, Place
from containers.linux import syscalls
from containers.linux.namespaces import Entrance
from containers.sandbox import BuiltImage, GradeRequest, GradeResult, PutFile, StartOptions
from containers.streams import Descriptor, readable
from containers.warden import ISOLATED, NETWORKED
from containers.warden.client import Reply, memory_file, read_memory_file
from containers.warden.inside import FOR_GRADING
from containers.warden.making import Begun, give_up
from generators.errors import SandboxEnded, SandboxFault
from generators.task import Limits

if TYPE_CHECKING:
    from containers.engines.bubblewrap.engine import BubblewrapEngine

CLOCK = "/dev/shm/.clock.so"  # below a mount of ours, so that no layer gets a mount point
_START_SECONDS = 30.0
_SHM_BYTES = 64 << 20  # as much as Docker gives
_BASIC = (
    *("--proc", "/proc", "--dev", "/dev", "--perms", "1777", "--size", str(_SHM_BYTES), "--tmpfs", "/dev/shm"),
    *("--remount-ro", "/dev", "--chdir", "/", "--clearenv", "--as-pid-1"),
)


class _Program:
    """A program in a sandbox: the warden's child that waits for it answers, and kills it when hung up on."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply

    def fileno(self) -> int:
        """Readable when it has ended."""
        return self._reply.channel.fileno()

    def exit_code(self, timeout: float) -> int | None:
        """Wait for its end."""
        return int(self._reply.receive(timeout)["exit"]) if self._reply.wait(timeout) else None

    def kill(self) -> None:
        """Kill its process group."""
        self._reply.channel.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Hang up."""
        self._reply.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class BubblewrapSandbox(BaseSandbox):
    """A live sandbox: descriptors of its namespaces, of its first process and of its writable layer."""

    def __init__(self, engine: BubblewrapEngine, built: BuiltImage, limits: Limits, options: StartOptions) -> None:
        super().__init__(built, options)
        self.engine, self.limits = engine, limits
        self.slot = engine.slots.take(limits)
        self._namespaces: dict[str, int] = {}
        self._for_grading: dict[str, int] = {}
        self._fds: list[int] = []
        self._entrance: Entrance | None = None
        self._graded: Graded | None = None
        self._seats = contextlib.ExitStack()
        self._upper = -1
        self._ended = self._closed = False
        self._clock = engine.clock_library() if options.clock_offset else None

    # --- life -------------------------------------------------------------------------------------------------------

    def open(
        self, *, network: bool = False, persistent: tuple[Path, Path] | None = None, binds: Sequence[str] = ()
    ) -> Self:
        """Create the namespaces and mounts. `persistent` (upper, work) keeps the writable layer on disk, for builds."""
        options = ["--unshare-pid", "--die-with-parent", "--cap-drop", "ALL"]
        options += ["--unshare-uts", "--hostname", self.options.hostname]
        for layer in self.built.layers:
            options += ["--overlay-src", layer]
        scratch = self.engine.state.folder("mnt")
        upper, work = persistent or (scratch / "upper", scratch / "work")
        options += ["--overlay", str(upper), str(work), "/", *_BASIC, *binds, *self._clock_bind()]
        try:
            self._begin(NETWORKED if network else ISOLATED, "\0".join(options).encode())
        except BaseException:
            self.close()
            raise
        return self

    def _begin(self, kind: bytes, options: bytes, *, again: bool = False) -> None:
        """Take a bubblewrap that waits, or a whole sandbox; another one where what ran in this place has ended that."""
        begun, whole = self.slot.warden.sandbox(kind, self._stands_on(), options)
        try:
            with begun:
                _, self._fds = begun.receive_with_fds(_START_SECONDS)
                self._become_ready(self._held(b"" if whole else options))
        except SandboxFault:
            if again or not whole:
                raise
            self._let_go()
            self._begin(kind, options, again=True)

    def _stands_on(self) -> bytes:
        """The folders of the layers, not by name: an image may be forgotten and made again."""
        try:
            folders = [os.stat(layer) for layer in self.built.layers]
        except OSError as error:
            raise SandboxFault(f"the image is gone ({error.filename}: {error.strerror})") from error
        return ",".join(f"{folder.st_dev}:{folder.st_ino}" for folder in folders).encode()

    def _held(self, options: bytes) -> Begun:
        """What a sandbox is held by; say these options to one that waits for them."""
        held = Begun(*self._fds[: len(Begun._fields)])
        if options:
            pipe = self._fds.pop(len(held))
            with contextlib.suppress(BrokenPipeError):  # it has ended: what it said comes later
                os.write(pipe, options)
            os.close(pipe)
        self._for_grading = dict(zip(FOR_GRADING, self._fds[len(held) :], strict=False))
        self._upper = held.upper
        return held

    def _become_ready(self, held: Begun) -> None:
        """Hear of the first process: then all mounts exist. Hold on to it and to its namespaces, and hear of it again: what is held
        is no other process that got its number."""
        entrance = Entrance.of(first) if (first := _heard(held)) else None
        with contextlib.suppress(BrokenPipeError):  # it has ended
            os.write(held.keeper, b"\n")
        if entrance is None or not _heard(held):
            if entrance is not None:
                entrance.close()
            lines = read_memory_file(held.errors).decode(errors="replace").strip().splitlines()
            raise SandboxFault(f"bubblewrap did not start: {lines[-1] if lines else 'no message'}")
        self._entrance, self._namespaces = entrance, entrance.namespaces

    def end_processes(self) -> None:
        """Kill the sandbox's first process; the kernel then ends all others before that one counts as gone."""
        if self._entrance is not None and not self._ended:
            self._entrance.end()
            self._ended = True

    def close(self) -> None:
        """Destroy it: processes, then descriptors (and with them mounts and writable layer), then the control group."""
        if self._closed:
            return
        self._closed = True
        with contextlib.suppress(SandboxFault):
            self.end_processes()
        self._let_go()
        if self._entrance is not None:
            self._entrance.close()
        clean = self._ended  # else what was begun may come to life, or wait for ever, in the slot's group
        try:
            self._end_grading()
        except SandboxFault:
            clean = False
        self.engine.slots.give(self.slot, clean)

    def _let_go(self) -> None:
        if self._fds:
            give_up(self._fds)  # it does not see that its child ended
        self._fds = []

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
    ) -> _Program:
        """Start a program as leader of its own session, on three descriptors that stay the caller's to close."""
        built = self.built
        as_root = user in ("root", "0")
        name, home = self.identity(user)
        request = {
            "argv": list(argv),
            "cwd": cwd or built.workdir,
            "env": {**self.environment(), "HOME": home, "USER": name, **(env or {})},
            "uid": 0 if as_root else built.uid,
            "gid": 0 if as_root else built.gid,
            "groups": [] if as_root else list(built.groups),
            "tty": tty,
            "max_processes": self.limits.pids,  # below the group's own limit: what ends processes must be able to fork
            "kinds": list(self._namespaces),
        }
        if self._ended:
            raise SandboxFault("the sandbox's processes were already ended")
        if self._entrance is not None and self._entrance.ended:
            raise SandboxEnded("what ran in the sandbox ended it")
        return _Program(self.slot.warden.call("execute", request, [*stdio, *self._namespaces.values()]))

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
                "into": file.into,
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
        if self.slot.warden.process.poll() is not None:  # and what it made ended with it, at whatever point
            return GradeResult((), "sandbox_lost")
        self.end_processes()
        self._end_grading()
        with contextlib.ExitStack() as seats:  # a seat where grading broke down is not used again
            seat = seats.enter_context(self.engine.groups.taken(self.limits))
            fresh, self._for_grading = self._for_grading, {}  # a second grading must not meet what the first left there
            place = Place(
                namespaces=self._some("user", "mnt", "uts") | fresh,
                seat=seat,
                max_processes=None if seat else self.limits.pids,
                env=self.grading_environment(),
                user=(self.built.uid, self.built.gid, self.built.groups),
            )
            self._graded = self.engine.graders.grade(request, place, began)
            self._seats = seats.pop_all()
        return self._graded.result

    def _end_grading(self) -> None:
        """What ran the tests is gone after this; it ends by itself, while its results are looked at."""
        graded, self._graded = self._graded, None
        with self._seats.pop_all():
            if graded is not None:
                graded.await_end()

    def _clock_bind(self) -> list[str]:
        return ["--ro-bind", str(self._clock), CLOCK] if self._clock else []

    def environment(self) -> dict[str, str]:
        """What every program gets: the image's settings, and those of this sandbox."""
        env = super().environment()
        if self._clock:
            env |= {"LD_PRELOAD": CLOCK, "TERMFORGE_CLOCK_OFFSET": str(self.options.clock_offset)}
        return env

    def _some(self, *kinds: str) -> dict[str, int]:
        return {kind: self._namespaces[kind] for kind in kinds}


def _heard(held: Begun) -> int:
    """The number of the first process, when that has echoed a line; 0 if it ended, or did not in time."""
    ready = Descriptor(held.ready)
    if ready not in readable([ready, Descriptor(held.alive)], _START_SECONDS):
        return 0
    with socket.socket(fileno=os.dup(held.ready)) as channel:
        return syscalls.receive_sender(channel)
