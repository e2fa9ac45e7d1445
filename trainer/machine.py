"""What the machine has that training needs: read from nvidia-smi, /proc and the file system, without any library for it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from generators.task import Record

MIB = 2**20


class Gpu(Record):
    """A GPU: its name and its memory in bytes."""

    name: str
    memory: int


class Machine(Record):
    """This node. Bytes; `memory_free` is what a new process could still get, `disk_free` where the run's folder lies."""

    gpus: tuple[Gpu, ...] = ()
    cores: int = 1
    memory: int = 0
    memory_free: int = 0
    disk_free: int = 0


def this_machine(place: Path) -> Machine:
    """The machine as it is now; `place` is where checkpoints will lie."""
    memory = _meminfo()
    return Machine(
        gpus=_gpus(),
        cores=len(os.sched_getaffinity(0)),
        memory=memory.get("MemTotal", 0),
        memory_free=memory.get("MemAvailable", 0),
        disk_free=shutil.disk_usage(_existing(place)).free,
    )


def gpus_from(listing: str) -> tuple[Gpu, ...]:
    """From what `nvidia-smi --query-gpu=name,memory.total --format=csv,noheader,nounits` prints; other lines are left out."""
    found: list[Gpu] = []
    for line in listing.splitlines():
        name, comma, size = line.rpartition(",")
        if comma and size.strip().isdecimal():
            found.append(Gpu(name=name.strip(), memory=int(size) * MIB))
    return tuple(found)


def _gpus() -> tuple[Gpu, ...]:
    """Those that this process may use. No driver, no GPU."""
    command = ["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    gpus = gpus_from(done.stdout) if done.returncode == 0 else ()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return gpus
    named = [int(part) for part in visible.split(",") if part.strip().isdecimal()]
    return tuple(gpus[index] for index in named if index < len(gpus))


def _meminfo() -> dict[str, int]:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return {}
    pairs = (line.split() for line in lines)
    return {words[0].rstrip(":"): int(words[1]) * 1024 for words in pairs if len(words) == 3}


def _existing(place: Path) -> Path:
    """The nearest folder above that is there."""
    return next(folder for folder in (place.absolute(), *place.absolute().parents) if folder.exists())
