"""Texts that a data set must not repeat, kept as hashes: an index per public benchmark, and all indexes of a folder.

    overlap = Overlap.load(Path("datasets/overlap"))
    overlap.matches(task.instruction)  # [Match(index="terminal-bench-2", task="fix-git", grams=4, share=0.02)]

An index is two files: NAME.json says what was indexed, NAME.parquet has a row per hash and task that it occurs in. The
texts themselves are not kept.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from generators.errors import StorageError, UsageError
from generators.ngrams import SCHEME, N, grams
from generators.task import Record

Hashes = NDArray[np.uint64]
Numbers = NDArray[np.uint32]


class Manifest(Record):
    """What an index holds: where its texts come from, under which licence, as of when, and how they were hashed."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")]
    source: str
    licence: str
    date: str
    scheme: str = SCHEME
    n: int = N
    tasks: tuple[str, ...]
    rows: int
    digest: str


@dataclass(frozen=True)
class Match:
    """A text shares this many 13-grams, and this share of its own (0 to 1), with a task of an index."""

    index: str
    task: str
    grams: int
    share: float


@dataclass(frozen=True)
class Index:
    """The hashes of one benchmark in rising order, and for each the number of a task in the manifest."""

    manifest: Manifest
    hashes: Hashes
    numbers: Numbers

    @classmethod
    def build(
        cls, name: str, texts: Mapping[str, Sequence[str]], source: str = "", licence: str = "", date: str = ""
    ) -> Self:
        """Index the texts of each task. The order of tasks and of their texts does not matter.

        Raises:
            UsageError: the name cannot be that of a file.
        """
        tasks = tuple(sorted(texts))
        hashes, numbers = _table([frozenset[int]().union(*map(grams, texts[task])) for task in tasks])
        digest = _digest(hashes, numbers)
        try:
            manifest = Manifest(
                name=name, source=source, licence=licence, date=date, tasks=tasks, rows=len(hashes), digest=digest
            )
        except ValidationError as error:
            problem = error.errors()[0]
            raise UsageError(f"index {name!r}: {problem['loc'][0]} does not fit: {problem['msg']}") from None
        return cls(manifest, hashes, numbers)

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Write the manifest and the hashes, each whole or not at all.

        Raises:
            StorageError: the folder cannot be written.
        """
        data, about = folder / f"{self.manifest.name}.parquet", folder / f"{self.manifest.name}.json"
        frame = pl.DataFrame({"gram": self.hashes, "task": self.numbers})
        try:
            folder.mkdir(parents=True, exist_ok=True)
            frame.write_parquet(_part(data), compression="zstd")
            _part(about).write_text(self.manifest.model_dump_json(indent=1) + "\n", encoding="utf-8")
            _part(data).replace(data)
            _part(about).replace(about)
        except OSError as error:
            raise StorageError(f"writing index {self.manifest.name} in {folder}: {error.strerror or error}") from error
        return about, data

    @classmethod
    def read(cls, about: Path) -> Self:
        """The index whose manifest this is.

        Raises:
            UsageError: it was made by another version.
            StorageError: a file is missing or not what was written.
        """
        again = "make it again with `termforge overlap build`"
        try:
            manifest = Manifest.model_validate_json(about.read_bytes())
            frame = pl.read_parquet(about.with_suffix(".parquet"))
            hashes = frame["gram"].cast(pl.UInt64).to_numpy().astype(np.uint64)
            numbers = frame["task"].cast(pl.UInt32).to_numpy().astype(np.uint32)
        except (OSError, ValueError, pl.exceptions.PolarsError) as error:
            raise StorageError(f"index {about} cannot be read ({_first_line(error)}); {again}") from error
        if (manifest.scheme, manifest.n) != (SCHEME, N):
            raise UsageError(f"index {about} is hashed by {manifest.scheme}, this version uses {SCHEME}; {again}")
        if _digest(hashes, numbers) != manifest.digest:
            raise StorageError(f"index {about} does not have the digest that its manifest states; {again}")
        return cls(manifest, hashes, numbers)

    def matches(self, own: Hashes) -> list[Match]:
        """The tasks that share some of these hashes, those that share most first."""
        first = np.searchsorted(self.hashes, own, side="left").tolist()
        last = np.searchsorted(self.hashes, own, side="right").tolist()
        shared = Counter[int]()
        for start, end in zip(first, last, strict=True):
            shared.update(self.numbers[start:end].tolist())
        found = [
            Match(self.manifest.name, self.manifest.tasks[number], count, round(count / len(own), 4))
            for number, count in shared.items()
        ]
        return sorted(found, key=lambda match: (-match.grams, match.task))


@dataclass(frozen=True)
class Overlap:
    """All indexes of a folder."""

    indexes: tuple[Index, ...] = ()

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Every index there, by name; none where the folder does not exist.

        Raises:
            UsageError, StorageError: an index cannot be used; the message says why.
        """
        return cls(tuple(Index.read(about) for about in sorted(folder.glob("*.json"))))

    def matches(self, text: str) -> list[Match]:
        """What the text shares with the tasks of all indexes, index by index; empty if there is no overlap."""
        own = np.array(sorted(grams(text)), dtype=np.uint64)
        return [match for index in self.indexes for match in index.matches(own)]


def _table(sets: Sequence[frozenset[int]]) -> tuple[Hashes, Numbers]:
    """Sets of hashes as two columns, sorted by hash, then by the number of the set."""
    hashes = np.fromiter((value for values in sets for value in values), dtype=np.uint64)
    numbers = np.repeat(
        np.arange(len(sets), dtype=np.uint32), np.array([len(values) for values in sets], dtype=np.intp)
    )
    order = np.lexsort((numbers, hashes))
    return hashes[order], numbers[order]


def _digest(hashes: Hashes, numbers: Numbers) -> str:
    """Hex sha256 of both columns: the identity of an index, whichever program wrote its file."""
    return hashlib.sha256(hashes.astype("<u8").tobytes() + numbers.astype("<u4").tobytes()).hexdigest()


def _part(path: Path) -> Path:
    return path.with_name(f".{path.name}.part")


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
