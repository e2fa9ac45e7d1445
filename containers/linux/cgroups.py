"""Control groups of either version: a group per sandbox for memory, processes and processor time, where the machine lets us."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

NAME = "termforge"
_ASIDE = "termforge-programs"  # where the processes of a delegated group go
_TRIES = 20
CONTROLLERS = ("memory", "pids", "cpu")
_PERIOD = 100_000


@dataclass(frozen=True)
class Hierarchy:
    """Where groups can be made: one folder per controller (version 1) or a single one (version 2)."""

    version: int
    roots: dict[str, Path] = field(default_factory=dict[str, Path])

    @property
    def folders(self) -> tuple[Path, ...]:
        """The distinct parents."""
        return tuple(sorted(set(self.roots.values())))


def detect(mounts: str = "/proc/self/mounts") -> Hierarchy:
    """The controllers in which this process may make groups; empty where none."""
    found: dict[str, Path] = {}
    unified: Path | None = None
    for line in Path(mounts).read_text().splitlines():
        _, point, kind, options, *_ = line.split()
        if kind == "cgroup2":
            unified = unified or Path(point)
        elif kind == "cgroup":
            for controller in set(options.split(",")) & set(CONTROLLERS):
                found[controller] = Path(point)
    usable = {name: root / NAME for name, root in sorted(found.items()) if _can_make(root / NAME)}
    if usable:
        return Hierarchy(1, usable)
    if unified is not None and (parent := _delegated(unified)) is not None:
        have = set((parent / "cgroup.controllers").read_text().split())
        return Hierarchy(2, {name: parent for name in CONTROLLERS if name in have})
    return Hierarchy(0)


def _can_make(folder: Path) -> bool:
    try:
        folder.mkdir(exist_ok=True)
        probe = folder / f"probe-{os.getpid()}"
        probe.mkdir()
        probe.rmdir()
    except OSError:
        return False
    return True


def _delegated(unified: Path) -> Path | None:
    """A version 2 folder whose children get our controllers: at the top as root, else below our own group."""
    own = next(
        (line[3:].strip() for line in Path("/proc/self/cgroup").read_text().splitlines() if line[:3] == "0::"), "/"
    )
    below = unified / own.lstrip("/")
    for base in (unified, below.parent if below.name == _ASIDE else below):
        folder = base / NAME
        try:
            folder.mkdir(exist_ok=True)
            for parent in (base, folder):
                _pass_on_controllers(parent)
        except OSError:
            continue
        if _can_make(folder) and "memory" in (folder / "cgroup.controllers").read_text().split():
            return folder
    return None


def _pass_on_controllers(parent: Path) -> None:
    """Let a group's children have our controllers. Only a group without processes may do that, or the machine's topmost: so those in
    a group that was delegated to us (we ourselves, and who started us) move to one below it, where the same limits hold.

    Raises:
        OSError: it is not for us to do.
    """
    have = set((parent / "cgroup.controllers").read_text().split())
    wanted = " ".join(f"+{name}" for name in CONTROLLERS if name in have)
    for _ in range(_TRIES):  # what it forks meanwhile is in it too
        try:
            (parent / "cgroup.subtree_control").write_text(wanted)
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
        else:
            return
        aside = parent / _ASIDE
        aside.mkdir(exist_ok=True)
        for pid in (parent / "cgroup.procs").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                (aside / "cgroup.procs").write_text(pid)
    raise OSError(errno.EBUSY, f"{parent} does not get empty")


@dataclass(frozen=True)
class Group:
    """The folders of one sandbox's group."""

    version: int
    folders: tuple[Path, ...]

    def procs_files(self) -> list[str]:
        """The files a process writes its id to in order to join."""
        return [str(folder / "cgroup.procs") for folder in self.folders]

    def add(self, pid: int) -> None:
        """Move a process into the group."""
        for file in self.procs_files():
            Path(file).write_text(str(pid))

    def pids(self) -> set[int]:
        """Processes in the group."""
        found: set[int] = set()
        for folder in self.folders:
            with contextlib.suppress(OSError):
                found |= {int(word) for word in (folder / "cgroup.procs").read_text().split()}
        return found

    def remove(self, patience: float = 2.0) -> bool:
        """Kill what is left in the group and remove it; False if it would not go."""
        deadline = time.monotonic() + patience
        while True:
            for pid in self.pids():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            left = [folder for folder in self.folders if not _removed(folder)]
            if not left or time.monotonic() >= deadline:
                return not left
            time.sleep(0.005)


def _removed(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def make(hierarchy: Hierarchy, name: str, memory_mb: int, pids: int, cpus: float) -> Group | None:
    """A group with limits, or None where the machine has no usable hierarchy."""
    if not hierarchy.roots:
        return None
    folders = tuple(root / name for root in hierarchy.folders)
    for folder in folders:
        folder.mkdir(exist_ok=True)
    memory, quota = str(memory_mb * 1024 * 1024), int(cpus * _PERIOD)
    if hierarchy.version == 1:
        values = {
            "memory": (("memory.limit_in_bytes", memory), ("memory.memsw.limit_in_bytes", memory)),
            "pids": (("pids.max", str(pids)),),
            "cpu": (("cpu.cfs_period_us", str(_PERIOD)), ("cpu.cfs_quota_us", str(quota))),
        }
    else:
        values = {
            "memory": (("memory.max", memory), ("memory.swap.max", "0")),
            "pids": (("pids.max", str(pids)),),
            "cpu": (("cpu.max", f"{quota} {_PERIOD}"),),
        }
    for controller, root in hierarchy.roots.items():
        for file, value in values[controller]:
            with contextlib.suppress(FileNotFoundError, PermissionError):  # swap accounting is often off
                (root / name / file).write_text(value)
    return Group(hierarchy.version, folders)


def find(hierarchy: Hierarchy) -> dict[str, Group]:
    """Every group that exists below ours, by name: what the reaper looks through."""
    names = {entry.name for root in hierarchy.folders if root.is_dir() for entry in root.iterdir() if entry.is_dir()}
    return {
        name: Group(hierarchy.version, tuple(root / name for root in hierarchy.folders if (root / name).is_dir()))
        for name in sorted(names)
    }
