"""Control groups for graders: a sandbox's own may end with it, be full of what its file systems in memory hold, or be used up."""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
from collections.abc import Generator
from pathlib import Path

from containers.grading.entered import Seat
from containers.linux import cgroups
from generators.task import Limits

_OWN_MB, _OWN_PIDS = 48, 16  # what graders take of a group's limits
_numbers = itertools.count()  # of the process: two engines in it must not share a group


def process_limit(limits: Limits) -> int:
    """For RLIMIT_NPROC, where no group limits processes: it counts all that the user runs, and a rootless daemon's root is its user."""
    threads = 0
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                if folder.stat().st_uid == os.geteuid():
                    threads += sum(1 for _ in (folder / "task").iterdir())
    return limits.pids + threads


class GraderGroups:
    """Groups by their limits, each used by one grader at a time and again by the next. Safe for threads."""

    def __init__(self, hierarchy: cgroups.Hierarchy, owner: str) -> None:
        self.hierarchy, self.owner = hierarchy, owner
        self._free: dict[tuple[int, int, float], list[tuple[cgroups.Group, Seat]]] = {}
        self._all: list[tuple[cgroups.Group, Seat]] = []
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def taken(self, limits: Limits) -> Generator[Seat | None]:
        """A group with these limits, or None where the machine has none to give. After an error it is not used again."""
        key = (limits.memory_mb, limits.pids, limits.cpus)
        with self._lock:
            free = self._free.setdefault(key, [])
            known = free.pop() if free else None
        if known is None:
            name = f"{self.owner}-grader-{next(_numbers)}"
            group = cgroups.make(self.hierarchy, name, limits.memory_mb + _OWN_MB, limits.pids + _OWN_PIDS, limits.cpus)
            known = (group, Seat(group.procs_files())) if group else None
            if known:
                with self._lock:
                    self._all.append(known)
        try:
            yield known[1] if known else None
        except BaseException:
            if known:
                self._remove(known)
            raise
        if known:
            with self._lock:
                free.append(known)

    def close(self) -> None:
        """Remove them, also what is still in use."""
        with self._lock:
            known, self._all = self._all, []
            self._free.clear()
        for group, seat in known:
            seat.close()
            group.remove()

    def _remove(self, known: tuple[cgroups.Group, Seat]) -> None:
        with self._lock:
            if known in self._all:
                self._all.remove(known)
        group, seat = known
        seat.close()
        group.remove()
