"""What every engine's sandbox does the same way: run a command to its end, within a deadline and an output limit."""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Self

from containers.sandbox import DEFAULT_PATH, OUTPUT_LIMIT, BuiltImage, ExecResult, Running, StartOptions
from containers.streams import Collector, readable
from generators.errors import SandboxFault, UsageError

_END_SECONDS = 30.0


class BaseSandbox(ABC):
    """The common part of all sandboxes."""

    def __init__(self, built: BuiltImage, options: StartOptions) -> None:
        self.built, self.options = built, options

    @abstractmethod
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
        """Start a program on given descriptors."""

    @abstractmethod
    def close(self) -> None:
        """Destroy it; safe to call twice."""

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
        """Run a command (text goes to bash) and wait for it; at the timeout its process group is killed."""
        began = time.monotonic()
        argv = ["/bin/bash", "-c", command] if isinstance(command, str) else list(command)
        source = _input(stdin)
        out, err = Collector(output_limit), Collector(output_limit)
        try:
            running = self.run(argv, (source, out.write_end, err.write_end), user=user, cwd=cwd, env=env)
            with running:
                out.started()
                err.started()
                code = _wait(running, (out, err), began + timeout)
                for stream in (out, err):
                    stream.drain()
            cut = out.truncated or err.truncated
            return ExecResult(code, out.data(), err.data(), time.monotonic() - began, cut)
        finally:
            os.close(source)
            out.close()
            err.close()

    def environment(self) -> dict[str, str]:
        """What every program gets: the image's settings, and those of this sandbox."""
        return {"PATH": DEFAULT_PATH, "HOME": "/root", **self.built.env, **self.options.env}

    def grading_environment(self) -> dict[str, str]:
        """What programs that tests start get: that of the image's user."""
        return {**self.environment(), "HOME": self.built.home, "USER": self.built.user}

    def identity(self, user: str | None) -> tuple[str, str]:
        """Name and home of the user a program runs as: the image's own, unless root is asked for.

        Raises:
            UsageError: another user is.
        """
        if user in ("root", "0"):
            return "root", "/root"
        if user not in (None, self.built.user, str(self.built.uid)):
            raise UsageError(f"programs run as root or as the image's user {self.built.user}, not as {user}")
        return self.built.user, self.built.home

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _input(data: bytes) -> int:
    """A descriptor from which a program reads this."""
    if not data:
        return os.open("/dev/null", os.O_RDONLY)
    fd = os.memfd_create("stdin", os.MFD_CLOEXEC)
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _wait(running: Running, streams: Sequence[Collector], deadline: float) -> int | None:
    """Take output until the program ends; None if it had to be killed at the deadline."""
    while True:
        ready = readable([running, *(stream for stream in streams if stream.open)], deadline - time.monotonic())
        for stream in streams:
            if stream in ready:
                stream.take()
        if running in ready:
            return running.exit_code(_END_SECONDS)
        if not ready and time.monotonic() >= deadline:
            running.kill()
            if running.exit_code(_END_SECONDS) is None:
                raise SandboxFault("a command would not end at its deadline")
            return None
