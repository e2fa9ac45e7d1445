"""A bound on how many do something at once, in which who came first goes first."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Generator

from generators.errors import SandboxFault

Given = Callable[[], bool]  # whether who waits has given up
_LOOK_SECONDS = 0.05  # between two looks at that


class StoppedWaitingError(Exception):
    """Who waited was told to stop: no fault, and nothing is said about any task."""


def never() -> bool:
    """Who never gives up."""
    return False


class Turns:
    """Places that are taken and given back; `size` None bounds nothing. Safe for threads."""

    def __init__(self, size: int | None) -> None:
        self.size = size
        self._free = size or 0
        self._line: deque[threading.Event] = deque()
        self._lock = threading.Lock()

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._line)

    def take_now(self) -> bool:
        """A place, if one is free and nobody waits for it."""
        if self.size is None:
            return True
        with self._lock:
            if not self._free or self._line:
                return False
            self._free -= 1
            return True

    def take(self, patience: float, given_up: Given = never, queued: Callable[[], object] = lambda: None) -> bool:
        """A place, in turn; False after `patience` seconds. `queued` is called once where one has to wait.

        Raises:
            StoppedWaitingError: who waits has given up.
        """
        if self.take_now():
            return True
        turn = threading.Event()
        with self._lock:
            self._line.append(turn)
            self._serve()
        try:
            queued()
            deadline = time.monotonic() + patience
            while not turn.wait(max(0.0, min(_LOOK_SECONDS, deadline - time.monotonic()))):
                if given_up():
                    raise StoppedWaitingError
                if time.monotonic() >= deadline:
                    return self._leave(turn)
            return True
        except BaseException:
            if self._leave(turn):
                self.give()
            raise

    def _leave(self, turn: threading.Event) -> bool:
        """Leave the line; True if the place came at the last moment."""
        with self._lock:
            if turn.is_set():
                return True
            self._line.remove(turn)
            return False

    def give(self) -> None:
        """Give a place back."""
        if self.size is not None:
            with self._lock:
                self._free += 1
                self._serve()

    def _serve(self) -> None:
        while self._free and self._line:
            self._free -= 1
            self._line.popleft().set()

    @contextlib.contextmanager
    def turn(self, what: str, patience: float, given_up: Given = never) -> Generator[None]:
        """A place for the duration of the block.

        Raises:
            SandboxFault: none within `patience` seconds.
            StoppedWaitingError: who waits has given up.
        """
        if not self.take(patience, given_up):
            raise SandboxFault(f"no turn for {what} came within {patience:g} s ({self.size} at once)")
        try:
            yield
        finally:
            self.give()
