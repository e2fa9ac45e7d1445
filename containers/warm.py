"""Sandboxes that stand ready: made ahead, so that a lease finds one instead of waiting for its start."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from containers.sandbox import BuiltImage, Sandbox, StartOptions
from containers.turns import StoppedWaitingError
from generators.errors import TermforgeError
from generators.task import Limits

if TYPE_CHECKING:
    from containers.pool import Pool

_ALIVE_SECONDS = 10.0


@dataclass(frozen=True)
class Wanted:
    """All by which two sandboxes may differ."""

    built: BuiltImage
    limits: Limits
    options: StartOptions


class Warm:
    """Sandboxes made ahead by a thread. Each holds a place of the pool, which it leaves to whoever waits for one."""

    def __init__(self, pool: Pool, count: int) -> None:
        self.pool, self.count = pool, count
        self.ready: list[tuple[Wanted, Sandbox]] = []
        self._wanted: Wanted | None = None
        self._lock = threading.Lock()
        self._nudged = threading.Event()
        self._maker: threading.Thread | None = None
        self._closed = False

    def take(self, wanted: Wanted) -> Sandbox | None:
        """One that is just like that, if there is one that lives; its place comes with it."""
        while self.count and (sandbox := self._pop(lambda have: have == wanted)):
            with contextlib.suppress(TermforgeError):
                if sandbox.exec(["true"], timeout=_ALIVE_SECONDS).exit_code == 0:
                    self.want(wanted)
                    return sandbox
            self.pool.end(sandbox)
        if self.count:
            self.want(wanted)
        return None

    def want(self, wanted: Wanted) -> None:
        """Keep ones like that ready, and no others."""
        with self._lock:
            self._wanted = wanted
            if self._maker is None and not self._closed:
                self._maker = threading.Thread(target=self._make, name="warm", daemon=True)
                self._maker.start()
        self.nudge()

    def nudge(self) -> None:
        """Something changed."""
        self._nudged.set()

    def drop(self) -> bool:
        """End one, of the least use; whether there was one."""
        sandbox = self._pop(lambda have: have != self._wanted) or self._pop(lambda _: True)
        if sandbox is not None:
            self.pool.end(sandbox)
        return sandbox is not None

    def _pop(self, fits: Callable[[Wanted], bool]) -> Sandbox | None:
        with self._lock:
            for index, (have, _) in enumerate(self.ready):
                if fits(have):
                    return self.ready.pop(index)[1]
        return None

    def _make(self) -> None:
        while not self._closed:
            self._nudged.wait()
            self._nudged.clear()
            with contextlib.suppress(
                TermforgeError, StoppedWaitingError
            ):  # who leases one meets the fault, and says so
                while self._one_more():
                    pass

    def _one_more(self) -> bool:
        """End one that is no longer wanted, or make one that is; False where there is nothing to do, or no place."""
        with self._lock:
            wanted, stale = self._wanted, any(have != self._wanted for have, _ in self.ready)
            enough = len(self.ready) >= self.count
        if self._closed or wanted is None:
            return False
        if stale:
            return self.drop()
        if enough or not self.pool.places.take_now():
            return False
        try:
            sandbox = self.pool.start(wanted, lambda: self._closed)
        except BaseException:
            self.pool.places.give()
            raise
        with self._lock:
            self.ready.append((wanted, sandbox))
        if self._closed or self.pool.places.waiting:  # whoever began to wait before it was there did not find it
            self.drop()
            return False
        return True

    def close(self) -> None:
        """End all, and make no more."""
        self._closed = True
        self.nudge()
        if self._maker is not None:
            self._maker.join()
        while self.drop():
            pass
