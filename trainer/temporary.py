"""The folder of what is started for a run: Ray's, vLLM's sockets, logs. It goes when its owner does; after kill -9 the next one sweeps.

with temporary_folder() as folder:      # sweeps what owners that were killed have left, first
    Popen(..., env={"TMPDIR": folder})
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Generator
from pathlib import Path

from trainer.processes import remove_shared_memory, shared_memory

_MEMORY_SECONDS = 5.0
_SEGMENTS = "shared-memory"
_PREFIX = "tf-"  # short, since the sockets in it may have 107 characters


@contextlib.contextmanager
def temporary_folder() -> Generator[Path]:
    """A folder named after its owner, this process."""
    sweep()
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir="/tmp"))
    try:
        yield folder
    finally:
        _remove(folder)


def sweep() -> None:
    """Remove what owners that were killed have left."""
    for folder in Path("/tmp").glob(f"{_PREFIX}*-*"):
        owner = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if owner.isdigit() and not Path("/proc", owner).exists():
            _remove(folder)


def _remove(folder: Path) -> None:
    """The folder, and the shared memory of those who used it."""
    with contextlib.suppress(OSError):
        remove_shared_memory((folder / _SEGMENTS).read_text().split())
    shutil.rmtree(folder, ignore_errors=True)


class SharedMemory:
    """Writes down which segments of shared memory a folder's processes have had, so that they can be given back after any end."""

    def __init__(self, folder: Path) -> None:
        self._path, self._names, self._next = folder / _SEGMENTS, set[str](), 0.0

    def look(self, root: int) -> None:
        """Now and then; `root`: the process whose descendants are looked at."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _MEMORY_SECONDS
        if more := shared_memory(root) - self._names:
            self._names |= more
            self._path.write_text("\n".join(sorted(self._names)))
