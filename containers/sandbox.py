"""What every engine offers: one protocol for images and sandboxes, whatever runs them.

engine = open_engine("bubblewrap")
built = engine.build(task.image, task.limits)
with engine.start(built, task.limits) as sandbox:
    result = sandbox.exec("ls -l /srv", timeout=10)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, Self

from containers.state import State
from generators.task import Image, Limits

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
OUTPUT_LIMIT = 1 << 20  # bytes kept of each stream of a command


@dataclass(frozen=True)
class ExecResult:
    """How a command ended. `exit_code` is None when it ran out of time; streams hold at most the output limit."""

    exit_code: int | None
    stdout: bytes
    stderr: bytes
    seconds: float
    truncated: bool = False

    @property
    def timed_out(self) -> bool:
        """Whether the deadline ended it."""
        return self.exit_code is None

    def tail(self, limit: int = 2000) -> str:
        """The end of what it said, for a message."""
        return (self.stdout + self.stderr).decode(errors="replace")[-limit:].strip()


@dataclass(frozen=True)
class BuiltImage:
    """An image that an engine can start. `layers` are lowest first; their meaning is the engine's own."""

    digest: str
    base_digest: str
    layers: tuple[str, ...]
    env: Mapping[str, str]
    workdir: str = "/"
    user: str = "root"
    uid: int = 0
    gid: int = 0
    groups: tuple[int, ...] = ()
    home: str = "/root"
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    own_layers: tuple[str, ...] = ()  # those that hold more than distribution packages


class BuildFailure(Exception):
    """An image does not build: the task's fault, with the step and the end of its output. Not an engine fault."""

    def __init__(self, reason: str, step: str, output: str) -> None:
        super().__init__(f"{reason}: {step}")
        self.reason = reason
        self.step = step
        self.output = output


@dataclass(frozen=True)
class TestResult:
    """One test's outcome."""

    __test__ = False

    name: str
    passed: bool
    message: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class GradeRequest:
    """A module to run over a sandbox's end state. `names` in the order to run them; empty means all."""

    source: str
    names: tuple[str, ...] = ()
    timeout: float = 60.0
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    seed: int = 0


@dataclass(frozen=True)
class GradeResult:
    """Outcomes, or the reason why there are none (then the grading is invalid, never a 0)."""

    tests: tuple[TestResult, ...]
    reason: str = ""
    log: str = ""
    seconds: float = 0.0

    @property
    def valid(self) -> bool:
        """Whether the tests really ran to their end."""
        return not self.reason


@dataclass(frozen=True)
class StartOptions:
    """What may differ between two sandboxes of one image."""

    hostname: str = "sandbox"
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    clock_offset: int = 0  # seconds by which the wall clock differs, where the engine can do that


@dataclass(frozen=True)
class PutFile:
    """A file to place in a sandbox; `mode` None keeps what the umask gives. Where the path turns out to be a folder, the file goes
    into it as `into`, if that is given."""

    path: str
    data: bytes
    mode: int | None = 0o644
    uid: int = 0
    gid: int = 0
    into: str = ""


class Running(Protocol):
    """A program that was started in a sandbox."""

    def fileno(self) -> int:
        """A descriptor that becomes readable when the program has ended."""
        ...

    def exit_code(self, timeout: float) -> int | None:
        """Wait for its end: the exit code (128 + n for signal n), or None after `timeout` seconds.

        Raises:
            SandboxFault: it was lost.
        """
        ...

    def kill(self) -> None:
        """Kill its process group."""
        ...

    def close(self) -> None:
        """Kill it if it still runs, and let go of it."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class Sandbox(Protocol):
    """A running sandbox. Every method may raise SandboxFault; only that is an infrastructure failure."""

    def run(
        self,
        argv: Sequence[str],
        stdio: tuple[int, int, int],
        *,
        user: str | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        tty: bool = False,
    ) -> Running:
        """Start a program as leader of its own session, on three descriptors that stay the caller's to close."""
        ...

    def kill_session(self, session: int) -> None:
        """Kill every process of a session (an id inside the sandbox) but its leader."""
        ...

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
    ) -> ExecResult:
        """Run a command (text goes to `/bin/bash -c`) and wait; at the timeout its process group is killed."""
        ...

    def put(self, files: Sequence[PutFile]) -> None:
        """Place files, making folders as needed."""
        ...

    def get(self, path: str, limit: int = 1 << 24) -> bytes:
        """The contents of a regular file, at most `limit` bytes."""
        ...

    def changed_paths(self) -> list[str]:
        """Paths that differ from the image, sorted; deleted ones too."""
        ...

    def end_processes(self) -> None:
        """Kill everything that runs inside and wait until it is gone; files stay."""
        ...

    def grade(self, request: GradeRequest) -> GradeResult:
        """End all processes, then run tests over the end state."""
        ...

    def close(self) -> None:
        """Destroy it; safe to call twice."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class Feature(StrEnum):
    """What an engine may have to do without; everything else holds in every engine."""

    ISOLATION = "isolation"  # root inside is nobody outside
    MEMORY_LIMIT = "memory_limit"
    PROCESS_LIMIT = "process_limit"
    CPU_LIMIT = "cpu_limit"
    DISK_LIMIT = "disk_limit"
    CLOCK_SHIFT = "clock_shift"  # StartOptions.clock_offset
    OTHER_USERS = "other_users"  # more than one user id inside
    TERMINAL = "terminal"  # run(tty=True)
    REGRADING = "regrading"  # a second grading of a sandbox sees files that were changed after the first
    BUILD_END = "build_end"  # a step of a build that ran out of time is ended too, not only given up


@dataclass(frozen=True)
class Capability:
    """One line of `doctor`: what was looked at, whether it is there, and what to do where it is not."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""
    needed: bool = True


@dataclass(frozen=True)
class Gap:
    """A feature that an engine lacks here: its name, and why."""

    feature: Feature
    why: str


class Engine(Protocol):
    """Builds images and starts sandboxes."""

    name: str
    state: State

    @property
    def reaped(self) -> object:
        """What killed runs had left and this one removed, as text; false where there was nothing."""
        ...

    def probe(self) -> list[Capability]:
        """What this machine can do for the engine."""
        ...

    def build(self, image: Image, limits: Limits) -> BuiltImage:
        """Build or find an image.

        Raises:
            BuildFailure: the image's own fault.
            EngineError: the machine's.
        """
        ...

    def start(self, built: BuiltImage, limits: Limits, options: StartOptions | None = None) -> Sandbox:
        """Start a sandbox of a built image."""
        ...

    def contents(self, built: BuiltImage) -> Iterator[tuple[str, bytes]]:
        """Names and contents of the files that an image adds to the distribution's, in every layer, git objects read."""
        ...

    def gaps(self) -> tuple[Gap, ...]:
        """What this engine cannot do on this machine, known before any task runs."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...
