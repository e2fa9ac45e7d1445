"""A bound on how many sandboxes live at once: a lease waits its turn, and what is leased is always destroyed.

with Pool(engine, warm=4) as pool, pool.lease(built, limits) as sandbox:
    sandbox.exec("make", timeout=60)
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, cast

from containers import health
from containers.housekeeping import Ceiling, Uses
from containers.sandbox import BuiltImage, Engine, ExecResult, Sandbox, StartOptions
from containers.turns import Given, StoppedWaitingError, Turns, never
from containers.warm import Wanted, Warm
from generators.errors import SandboxFault
from generators.task import Limits

MAX_SANDBOXES = 24
_START_TRIES = 3


@dataclass(frozen=True)
class Bounds:
    """How much at once an engine bears; None for any number. A command here is an `exec`, not a shell that stays."""

    starts: int | None
    commands: int | None


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def default_size() -> int:
    """Two sandboxes at once for each core, at most 24: many wait for a service or a deadline."""
    return max(1, min(MAX_SANDBOXES, 2 * _cores()))


def bounds(engine: str) -> Bounds:
    """What an engine of this name bears: a daemon gets slower with more, ours only with more than there are cores."""
    return Bounds(4, 16) if engine in ("docker", "podman") else Bounds(max(4, _cores()), None)


class Pool:
    """Leases of sandboxes from one engine, at most `size` at a time, first come, first served. Safe for threads.

    With `warm`, so many sandboxes like the one leased last are kept ready where there is room. `most` bounds starts and commands
    at once (by default: what the engine bears); `patience` and `health_patience` (seconds) bound waiting, which `stop` ends.
    """

    def __init__(
        self,
        engine: Engine,
        size: int | None = None,
        patience: float = 3600.0,
        *,
        warm: int = 0,
        most: Bounds | None = None,
        stop: Given = never,
        health_patience: float = health.PATIENCE,
    ) -> None:
        self.size = default_size() if size is None else size
        if self.size < 1:
            raise ValueError("a pool needs at least one place")
        self.engine, self.patience = engine, patience
        self.health = health.Health(engine, health_patience)
        self.ceiling, self.uses = Ceiling(engine), Uses(engine)
        self._stop, self._closed = stop, threading.Event()
        self.places = Turns(self.size)
        most = most or bounds(engine.name)
        self._starts, self._commands = Turns(most.starts), Turns(most.commands)
        self._warm = Warm(self, warm)

    # --- leases -------------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def lease(
        self, built: BuiltImage, limits: Limits, options: StartOptions | None = None, stop: Given = never
    ) -> Generator[Sandbox]:
        """A fresh sandbox for the duration of the block.

        Raises:
            SandboxFault: no place became free, or the engine did not get well, within the pool's patience.
            StoppedWaitingError: `stop`, or the pool's own, said so while this waited; or the pool was closed.
        """
        wanted = Wanted(built, limits, options or StartOptions())
        given_up = self._given_up(stop)
        try:
            with self.uses.of(built):
                sandbox = self._warm.take(wanted) or self._started(wanted, given_up)
                try:
                    yield sandbox if self._commands.size is None else cast(Sandbox, _Bounded(self, sandbox, given_up))
                finally:
                    self.end(sandbox)
        except SandboxFault:
            self.health.suspect()
            raise

    def _given_up(self, stop: Given) -> Given:
        return lambda: self._closed.is_set() or stop() or self._stop()

    def _started(self, wanted: Wanted, given_up: Given) -> Sandbox:
        """A place, in turn, and a new sandbox on it. Who has to wait takes the places of sandboxes that only stand ready."""
        if self._closed.is_set():
            raise StoppedWaitingError
        if not self.places.take(self.patience, given_up, queued=self._warm.drop):
            raise SandboxFault(f"no sandbox became free within {self.patience:g} s (pool of {self.size})")
        try:
            return self.start(wanted, given_up)
        except BaseException:
            self.places.give()
            raise

    def start(self, wanted: Wanted, given_up: Given) -> Sandbox:
        """A sandbox on a place that was taken; tried again where the engine was not well meanwhile."""
        for left in reversed(range(_START_TRIES)):
            self.health.wait(given_up)
            began = time.monotonic()
            try:
                with self._starts.turn("starting a sandbox", self.patience, given_up):
                    return self.engine.start(wanted.built, wanted.limits, wanted.options)
            except SandboxFault:
                if not left or not self.health.doubt(began):
                    raise
        raise AssertionError("unreachable")

    def end(self, sandbox: Sandbox) -> None:
        """Destroy a sandbox, and let the next have its place."""
        try:
            sandbox.close()
        finally:
            self.places.give()
            self._warm.nudge()

    def command(self, run: Callable[[], ExecResult], given_up: Given) -> ExecResult:
        """Run a command in its turn."""
        with self._commands.turn("running a command", self.patience, given_up):
            return run()

    # --- sandboxes that stand ready -------------------------------------------------------------------------------------

    def warm(self, built: BuiltImage, limits: Limits, count: int, options: StartOptions | None = None) -> None:
        """Keep `count` sandboxes like this ready, from now on, as far as places are free."""
        self._warm.count = count
        self._warm.want(Wanted(built, limits, options or StartOptions()))

    @property
    def ready(self) -> int:
        """How many stand ready."""
        return len(self._warm.ready)

    # --- around work ------------------------------------------------------------------------------------------------------

    def prepare(self, stop: Given = never) -> None:
        """Before an image is built: wait until the engine is well, and keep its images below their ceiling.

        Raises:
            UnwellError: it did not get well in time.
            StoppedWaitingError: stopped, or the pool was closed.
        """
        self.health.wait(self._given_up(stop))
        self.ceiling.keep()

    def close(self) -> None:
        """End all waiting and every sandbox that stands ready. Leased ones end with their leases."""
        self._closed.set()
        self._warm.close()
        self.health.close()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Bounded:
    """A leased sandbox whose commands wait their turn."""

    def __init__(self, pool: Pool, sandbox: Sandbox, given_up: Given) -> None:
        self._pool, self._sandbox, self._given_up = pool, sandbox, given_up

    def exec(self, command: Any, **settings: Any) -> ExecResult:
        """As the sandbox's own."""
        return self._pool.command(lambda: self._sandbox.exec(command, **settings), self._given_up)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sandbox, name)
