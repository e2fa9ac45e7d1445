"""A bound on how many sandboxes live at once: a lease waits its turn, and what is leased is always destroyed."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Generator

from containers.sandbox import BuiltImage, Engine, Sandbox, StartOptions
from generators.errors import SandboxFault
from generators.task import Limits

MAX_SANDBOXES = 24


class Pool:
    """Leases of sandboxes from one engine, at most `size` at a time. Safe for threads."""

    def __init__(self, engine: Engine, size: int = MAX_SANDBOXES, patience: float = 3600.0) -> None:
        if size < 1:
            raise ValueError("a pool needs at least one place")
        self.engine, self.size, self.patience = engine, size, patience
        self._places = threading.Semaphore(size)

    @contextlib.contextmanager
    def lease(self, built: BuiltImage, limits: Limits, options: StartOptions | None = None) -> Generator[Sandbox]:
        """A fresh sandbox for the duration of the block.

        Raises:
            SandboxFault: no place became free within the pool's patience (seconds).
        """
        if not self._places.acquire(timeout=self.patience):
            raise SandboxFault(f"no sandbox became free within {self.patience:g} s (pool of {self.size})")
        try:
            with self.engine.start(built, limits, options) as sandbox:
                yield sandbox
        finally:
            self._places.release()
