"""Control groups for graders of containers whose own group ends with them."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Generator

from containers.linux import cgroups
from generators.task import Limits

_numbers = itertools.count()  # of the process: two engines in it must not share a group


class GraderGroups:
    """Groups by their limits, each used by one grader at a time and again by the next. Safe for threads."""

    def __init__(self, hierarchy: cgroups.Hierarchy, owner: str) -> None:
        self.hierarchy, self.owner = hierarchy, owner
        self._free: dict[tuple[int, int, float], list[cgroups.Group]] = {}
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def taken(self, limits: Limits) -> Generator[cgroups.Group | None]:
        """A group with these limits, or None where the machine has none to give."""
        key = (limits.memory_mb, limits.pids, limits.cpus)
        with self._lock:
            free = self._free.setdefault(key, [])
            group = free.pop() if free else None
        if group is None:
            group = cgroups.make(self.hierarchy, f"{self.owner}-grader-{next(_numbers)}", *key)
        try:
            yield group
        finally:
            if group is not None:
                with self._lock:
                    free.append(group)

    def close(self) -> None:
        """Remove them."""
        with self._lock:
            for group in itertools.chain.from_iterable(self._free.values()):
                group.remove()
            self._free.clear()
