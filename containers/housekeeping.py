"""Room on the disk: which images are kept, which are in use, and which go first where there is a ceiling.

    trimmed = trim(engine, keep=20 * GIB)      # least recently used task images first; never one in use
    preflight(engine)                          # StorageError, one line, where the disk is nearly full

An engine takes part by `stock()`. What is in use, by any process of this machine, is written down in the state folder: a file
tmp/<owner>-uses-<n> for as long as a process holds a lease, and used/<key>, whose time of change is that of the last use.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import shutil
import threading
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

from containers.sandbox import BuiltImage
from containers.state import State, owner_is_alive, storage
from containers.stock import Kept, Stocked
from generators.digest import sha256_hex
from generators.errors import StorageError, UsageError

GIB = 1 << 30
_FREE_GIB = 1.0  # less than this free is no room to begin
_EVERY_SECONDS = 30.0  # between two looks at the ceiling
_numbers = itertools.count()


# --- what is in use ----------------------------------------------------------------------------------------------------------


class Uses:
    """What this process uses of an engine's images, told to every other process. Safe for threads."""

    def __init__(self, engine: object) -> None:
        self._engine = engine if isinstance(engine, Stocked) else None
        self._held: dict[tuple[str, ...], tuple[int, Path]] = {}
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def of(self, built: BuiltImage) -> Generator[None]:
        """Nothing that this image stands on is forgotten during the block."""
        if self._engine is None:
            yield
            return
        names = tuple(self._engine.stock().names(built))
        with self._lock:
            count, file = self._held.get(names) or (0, _declare(self._engine.state, names))
            self._held[names] = (count + 1, file)
        try:
            yield
        finally:
            with self._lock:
                count, file = self._held.pop(names)
                if count > 1:
                    self._held[names] = (count - 1, file)
                else:
                    file.unlink(missing_ok=True)


def _declare(state: State, names: Sequence[str]) -> Path:
    file = state.folder("tmp") / f"{state.owner}-uses-{next(_numbers)}"
    with storage("noting what is in use"), _locked(state, fcntl.LOCK_SH):
        file.write_text("\n".join(names))
        for name in names:
            _record(state, name).touch()
    return file


@contextlib.contextmanager
def _locked(state: State, how: int) -> Generator[None]:
    """Whoever begins to use an image shares this; whoever forgets one has it alone."""
    with open(state.home / ".lock-images", "w") as lock:
        fcntl.flock(lock, how)
        yield


def _record(state: State, name: str) -> Path:
    return state.folder("used") / sha256_hex(name)[:24]


def in_use(state: State) -> set[str]:
    """Names of what living processes use."""
    found: set[str] = set()
    for file in state.folder("tmp").glob("*-uses-*"):
        if owner_is_alive(file.name):
            with contextlib.suppress(FileNotFoundError):
                found |= set(file.read_text().splitlines())
    return found


# --- keeping below a ceiling -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trimmed:
    """What was forgotten, and how much is left (bytes)."""

    images: int
    bytes: int
    left: int


def trim(engine: object, keep: int) -> Trimmed:
    """Forget images, the least recently used first, until no more than `keep` bytes are left.

    Bases and packages go last, and only where they alone are above that. What is in use stays.
    """
    if not isinstance(engine, Stocked):
        return Trimmed(0, 0, 0)
    stock, state = engine.stock(), engine.state
    kept = stock.images()
    left, gone = sum(image.bytes for image in kept), list[Kept]()
    shared_alone = sum(image.bytes for image in kept if image.shared)
    for image in sorted(kept, key=lambda image: (image.shared, _last_use(state, image))):
        if left <= keep or (image.shared and shared_alone <= keep):
            break
        with storage("forgetting an image"), _locked(state, fcntl.LOCK_EX):
            if image.name in in_use(state) or not stock.forget(image.name):
                continue
            _record(state, image.name).unlink(missing_ok=True)
        left -= image.bytes
        shared_alone -= image.bytes if image.shared else 0
        gone.append(image)
    return Trimmed(len(gone), sum(image.bytes for image in gone), left)


def _last_use(state: State, image: Kept) -> float:
    try:
        return max(image.used, _record(state, image.name).stat().st_mtime)
    except FileNotFoundError:
        return image.used


class Ceiling:
    """TERMFORGE_IMAGES_GIB, where it is set: looked at before builds, not more often than twice a minute."""

    def __init__(self, engine: object, every: float = _EVERY_SECONDS) -> None:
        self._engine, self._every, self._next = engine, every, 0.0
        self._lock = threading.Lock()
        self._bytes = _gib("TERMFORGE_IMAGES_GIB", None)

    def keep(self) -> None:
        """Forget what is above it."""
        if self._bytes is None or not self._lock.acquire(blocking=False):
            return
        try:
            if time.monotonic() >= self._next:
                trim(self._engine, self._bytes)
                self._next = time.monotonic() + self._every
        finally:
            self._lock.release()


def _gib(variable: str, default: float | None) -> int | None:
    text = os.environ.get(variable, "")
    try:
        value = float(text) if text else default
    except ValueError as error:
        raise UsageError(f"{variable} is {text!r}; it must be a number of GiB") from error
    return None if value is None else int(value * GIB)


def no_room(engine: object) -> str:
    """Which of an engine's disks has less free than TERMFORGE_FREE_GIB (1); empty where none has."""
    needed = _gib("TERMFORGE_FREE_GIB", _FREE_GIB) or 0
    for folder in engine.stock().folders() if isinstance(engine, Stocked) else ():
        with contextlib.suppress(OSError):
            if (free := shutil.disk_usage(folder).free) < needed:
                return f"only {free / GIB:.1f} GiB are free at {folder} ({needed / GIB:g} are needed)"
    return ""


def preflight(engine: object) -> None:
    """Say that there is no room before work begins.

    Raises:
        StorageError: there is not.
    """
    if problem := no_room(engine):
        raise StorageError(f"{problem}; free some space: termforge clean --images")
