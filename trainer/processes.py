"""Processes of a training run: all that it starts is found, and ended with it.

Whoever supervises takes in orphans (PR_SET_CHILD_SUBREAPER), so what a dead parent leaves behind is still a descendant of ours.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Process:
    """A process as /proc shows it. `began` tells two processes of the same number apart."""

    pid: int
    parent: int
    name: str
    began: int
    state: str


def end_with_parent() -> None:
    """Called in a child before it becomes another program: that one is killed when its parent ends, however that happens."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def end_group(process: subprocess.Popen[bytes], seconds: float = 20.0) -> None:
    """End a process that leads a group, and all of that group."""
    for way in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, way)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
    process.wait(1)


def take_in_orphans() -> None:
    """From now on, what this process's descendants leave behind becomes its child."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants(root: int) -> list[Process]:
    """All living processes below one."""
    return _below([root], _children())


def _children() -> dict[int, list[Process]]:
    """Every process of this machine, by its parent: one reading of /proc."""
    children: dict[int, list[Process]] = {}
    for process in _all():
        children.setdefault(process.parent, []).append(process)
    return children


def _below(roots: Iterable[int], children: dict[int, list[Process]]) -> list[Process]:
    found, waiting = list[Process](), list(roots)
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += [process.pid for process in below]
    return [process for process in found if process.state != "Z"]


def shared_memory(root: int) -> set[str]:
    """Names of the segments in /dev/shm that processes below one have open: torch and verl name theirs by chance."""
    found: set[str] = set()
    for process in descendants(root):
        with contextlib.suppress(OSError):
            text = Path("/proc", str(process.pid), "maps").read_text()
            found |= {line.rpartition(" /dev/shm/")[2] for line in text.splitlines() if " /dev/shm/" in line}
    return {name for name in found if "/" not in name and not name.endswith("(deleted)")}


def remove_shared_memory(names: Iterable[str]) -> None:
    """Give back the memory of segments whose processes have ended."""
    for name in names:
        Path("/dev/shm", name).unlink(missing_ok=True)


def end_descendants(root: int, spared: frozenset[int] = frozenset(), seconds: float = 20.0) -> list[Process]:
    """End all of them but those `spared` and what these started; gives the ones that would not go in time."""
    deadline, way = time.monotonic() + seconds, signal.SIGTERM
    while True:
        children = _children()
        kept = spared | {process.pid for process in _below(spared, children)}
        left = [process for process in _below([root], children) if process.pid not in kept]
        _reap()
        if not left or time.monotonic() > deadline:
            return left
        for process in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, way)
        way = signal.SIGKILL
        time.sleep(0.3)


def _reap() -> None:
    """Take in the ends of orphans; the ends of our own child are its Popen's to see, which bears that."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _all() -> list[Process]:
    found: list[Process] = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and (process := _read(folder)):
            found.append(process)
    return found


def _read(folder: Path) -> Process | None:
    try:
        text = (folder / "stat").read_text()
        title = (folder / "cmdline").read_bytes().split(b"\0")[0].decode(errors="replace")
    except OSError:
        return None
    head, _, tail = text.rpartition(")")
    fields = tail.split()
    return Process(int(folder.name), int(fields[1]), title or head.partition("(")[2], int(fields[19]), fields[0])
