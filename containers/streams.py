"""Waiting for descriptors, and collecting a program's output: of a flood, the first and last part are kept."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

_PIECE = 1 << 16
_PIPE_SIZE = 1 << 18


class HasFileno(Protocol):
    """An object around a file descriptor."""

    def fileno(self) -> int:
        """The descriptor."""
        ...


@dataclass(frozen=True)
class Descriptor:
    """A bare descriptor, to be waited for."""

    fd: int

    def fileno(self) -> int:
        """The descriptor."""
        return self.fd


def readable(sources: Sequence[HasFileno], seconds: float) -> list[HasFileno]:
    """Those of `sources` that can be read (or have ended) within `seconds`; any number of descriptors."""
    poll = select.poll()
    by_fd = {source.fileno(): source for source in sources}
    for fd in by_fd:
        poll.register(fd, select.POLLIN)
    return [by_fd[fd] for fd, _ in poll.poll(max(0.0, seconds) * 1000)]


class Collector:
    """A pipe whose read end is emptied by the owner; keeps at most `limit` bytes (head and tail)."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.read_end, self.write_end = os.pipe()
        with contextlib.suppress(OSError):
            fcntl.fcntl(self.read_end, 1031, _PIPE_SIZE)  # F_SETPIPE_SZ
        os.set_blocking(self.read_end, False)
        self.open = True
        self.total = 0
        self._head = bytearray()
        self._tail = bytearray()

    def fileno(self) -> int:
        """For select."""
        return self.read_end

    def started(self) -> None:
        """The program has its copy of the write end; close ours."""
        os.close(self.write_end)
        self.write_end = -1

    def take(self) -> bool:
        """Read what is there; False at the end or when nothing is."""
        try:
            piece = os.read(self.read_end, _PIECE)
        except BlockingIOError:
            return False
        if not piece:
            self.open = False
            return False
        self.total += len(piece)
        half = self.limit // 2
        room = half - len(self._head)
        self._head += piece[:room] if room > 0 else b""
        self._tail += piece[max(room, 0) :]
        if len(self._tail) > 2 * half + _PIECE:
            del self._tail[: len(self._tail) - half]
        return True

    def reset(self) -> None:
        """Forget what was collected, to begin with the next command's output."""
        self.drain()
        self.total = 0
        self._head.clear()
        self._tail.clear()

    def drain(self) -> None:
        """Take what a finished program left; a background process that still holds the pipe is not waited for."""
        budget = 64
        while self.open and budget and self.take():
            budget -= 1

    def ends_near(self, mark: bytes) -> bool:
        """Whether the last pieces of output hold this mark."""
        return mark in bytes(self._tail[-_PIECE:] if len(self._tail) > len(mark) else self._head[-_PIECE:] + self._tail)

    @property
    def truncated(self) -> bool:
        """Whether the middle was dropped."""
        return self.total > self.limit

    def data(self) -> bytes:
        """What was kept."""
        if not self.truncated:
            return bytes(self._head + self._tail)
        return bytes(self._head + self._tail[-(self.limit - len(self._head)) :])

    def close(self) -> None:
        """Close both ends."""
        for fd in (self.read_end, self.write_end):
            if fd >= 0:
                os.close(fd)
        self.read_end = self.write_end = -1
