"""What an engine keeps of images: each with its size and age, what a sandbox stands on, and how one is removed."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from containers.sandbox import BuiltImage
from containers.state import State

_numbers = itertools.count()


@dataclass(frozen=True)
class Kept:
    """An image (or layer) that an engine keeps. `used` in seconds since the epoch; `shared`: a base, or packages."""

    name: str
    bytes: int
    used: float
    shared: bool


class Stock(Protocol):
    """An engine's images on this machine."""

    def images(self) -> list[Kept]:
        """All that are kept; `used` is when each was made."""
        ...

    def names(self, built: BuiltImage) -> Sequence[str]:
        """Those that a sandbox of this image stands on."""
        ...

    def forget(self, name: str) -> bool:
        """Remove one; False where something else holds it."""
        ...

    def folders(self) -> Sequence[Path]:
        """Where they are, as far as that is on this machine."""
        ...


@runtime_checkable
class Stocked(Protocol):
    """An engine that keeps images here."""

    state: State

    def stock(self) -> Stock:
        """Its images."""
        ...


class FolderStock:
    """Images that are folders of their own: bubblewrap's layers, Apptainer's images.

    What holds the packages' list is shared: a base, or a layer that installed packages.
    """

    _sizes: dict[str, int] = {}  # of finished folders, which never change  # noqa: RUF012

    def __init__(self, roots: Sequence[Path], trash: Path, owner: str, remove: Callable[[Path], None]) -> None:
        self._roots, self._trash, self._owner, self._remove = tuple(roots), trash, owner, remove

    def images(self) -> list[Kept]:
        """All finished folders."""
        found: list[Kept] = []
        for path in (path for root in self._roots if root.is_dir() for path in sorted(root.iterdir())):
            with contextlib.suppress(FileNotFoundError):  # another process may be forgetting it
                if path.is_dir() and path != self._trash:
                    found.append(Kept(str(path), self._size(path), path.stat().st_mtime, _has_packages(path)))
        return found

    def _size(self, path: Path) -> int:
        if str(path) not in self._sizes:
            files = (os.path.join(at, name) for at, _, names in os.walk(path) for name in names)
            self._sizes[str(path)] = sum(os.lstat(file).st_blocks * 512 for file in files)
        return self._sizes[str(path)]

    def names(self, built: BuiltImage) -> list[str]:
        """The folders of an image's layers."""
        found: list[str] = []
        for root in self._roots:
            inside = [Path(layer) for layer in built.layers if Path(layer).is_relative_to(root)]
            found += [str(root / path.relative_to(root).parts[0]) for path in inside]
        return found

    def forget(self, name: str) -> bool:
        """Move a folder out of sight, then remove it."""
        out = self._trash / f"{self._owner}-forgotten-{next(_numbers)}"
        try:
            os.rename(name, out)
        except FileNotFoundError:
            return True
        self._sizes.pop(name, None)
        self._remove(out)
        return True

    def folders(self) -> tuple[Path, ...]:
        """The roots that exist."""
        return tuple(root for root in self._roots if root.is_dir())


def _has_packages(path: Path) -> bool:
    return (
        any((path / top / "var/lib/dpkg/status").exists() for top in ("fs", "image")) or (path / "image.sif").exists()
    )
