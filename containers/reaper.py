"""Remove what a killed run left: processes in its control groups, the groups, and unfinished work on disk.

Sandboxes themselves need no reaping: when the process that made them goes, the kernel kills them, and their mounts and
writable layers go with them. Everything else is named after its owner (process id and start time), so that what belongs to a
living run is never touched.
"""

from __future__ import annotations

from dataclasses import dataclass

from containers.linux import cgroups
from containers.linux.identity import IdMap
from containers.rootfs import remove_tree
from containers.state import State, owner_is_alive
from containers.warden.client import Warden


@dataclass(frozen=True)
class Reaped:
    """What was found and removed."""

    groups: int = 0
    folders: int = 0

    def __bool__(self) -> bool:
        return bool(self.groups or self.folders)

    def __str__(self) -> str:
        return f"{self.groups} control groups, {self.folders} unfinished folders"


def reap(state: State, warden: Warden, ids: IdMap, hierarchy: cgroups.Hierarchy) -> Reaped:
    """Remove everything whose owner is gone."""
    groups, folders = reap_groups(hierarchy), 0
    for path in sorted(state.folder("tmp").iterdir()):
        if not owner_is_alive(path.name):
            remove_tree(path, warden, ids)
            path.unlink(missing_ok=True) if path.is_file() else None
            folders += 1
    for path in state.folder("proofs").rglob("*.part"):
        path.unlink(missing_ok=True)
    return Reaped(groups, folders)


def reap_groups(hierarchy: cgroups.Hierarchy) -> int:
    """Remove control groups whose owner is gone, and what still runs in them; how many."""
    found = cgroups.find(hierarchy).items()
    return sum(group.remove() for name, group in found if not owner_is_alive(name.removeprefix("probe-")))
