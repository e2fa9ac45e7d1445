"""Places to run a sandbox in: a control group with limits, and a keeper that lives in it.

Joining a control group can cost milliseconds (the kernel waits for a grace period), so no sandbox's process ever joins: the
keeper joined once, and all that it forks is born in the group. A place is used by one sandbox at a time, and again by the next.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from dataclasses import dataclass

from containers.linux import cgroups
from containers.linux.identity import IdMap
from containers.warden.client import Warden
from containers.warden.making import Making
from generators.errors import SandboxFault
from generators.task import Limits

_KEEPER_MB, _KEEPER_PIDS = 48, 16  # what keeper and bubblewrap take of a group's limits
_Key = tuple[int, int, float, int]
_numbers = itertools.count()  # of the process: two engines in it must not share a group


@dataclass(frozen=True)
class Slot:
    """A keeper and its group; `group` is None where the machine has none to give."""

    warden: Warden
    group: cgroups.Group | None
    key: _Key

    def close(self) -> None:
        """End the keeper and whatever is in the group, and remove it."""
        self.warden.close()
        if self.group:
            self.group.remove()


class Slots:
    """Free places by their limits. Safe for threads."""

    def __init__(self, hierarchy: cgroups.Hierarchy, ids: IdMap, owner: str, making: Making | None) -> None:
        self.hierarchy, self.ids, self.owner, self.making = hierarchy, ids, owner, making
        self._free: dict[_Key, list[Slot]] = {}
        self._all: set[Slot] = set()
        self._lock = threading.Lock()

    def take(self, limits: Limits) -> Slot:
        """A free place with these limits, or a new one."""
        key = (limits.memory_mb, limits.pids, limits.cpus, limits.disk_mb)
        with self._lock:
            while self._free.get(key):
                slot = self._free[key].pop()
                if slot.warden.process.poll() is None:
                    return slot
                self._all.discard(slot)
                slot.close()
            name = f"{self.owner}-{next(_numbers)}"
        group = cgroups.make(
            self.hierarchy, name, limits.memory_mb + _KEEPER_MB, limits.pids + _KEEPER_PIDS, limits.cpus
        )
        try:
            making = self.making and self.making._replace(disk_mb=limits.disk_mb)
            warden = Warden("keeper", self.ids, sandboxes=making)
            try:
                if group:
                    group.add(warden.process.pid)
            except OSError as error:  # it was killed
                warden.close()
                raise SandboxFault(f"a keeper could not join its control group ({error.strerror})") from error
        except BaseException:
            if group:
                group.remove()
            raise
        slot = Slot(warden, group, key)
        with self._lock:
            self._all.add(slot)
        return slot

    def give(self, slot: Slot, clean: bool) -> None:
        """Return a place; one that could not be emptied is not used again."""
        with self._lock:
            if clean:
                self._free.setdefault(slot.key, []).append(slot)
                return
            self._all.discard(slot)
        slot.close()

    def close(self) -> None:
        """End all of them."""
        with self._lock:
            slots, self._all = self._all, set()
            self._free.clear()
        for slot in slots:
            with contextlib.suppress(OSError):
                slot.close()
