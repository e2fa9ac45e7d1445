"""The instructions of any folder of tasks, in whichever of the field's forms they come.

A folder with an instruction.md, a task.yaml or a task.toml is one task: those files and any further instruction.md below it
(a step's) are read, nothing else, since the rest is what the task works on. Outside such folders every .json, .jsonl and
.parquet file is read for records with an instruction, a description or a prompt.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from generators.errors import UsageError
from pipeline.exchange.records import NOTHING, Unreadable, records

TASK_FILES = ("instruction.md", "task.yaml", "task.yml", "task.toml")
DATA_FILES = (".json", ".jsonl", ".parquet")


@dataclass(frozen=True)
class Unread:
    """A file that gave no instruction, and why."""

    file: str
    reason: str


@dataclass
class Instructions:
    """The texts of each task by a name relative to the folder, and the files that gave none."""

    texts: dict[str, list[str]] = field(default_factory=dict)
    unread: list[Unread] = field(default_factory=list)

    def add(self, name: str, text: str) -> None:
        """One more text of a task."""
        self.texts.setdefault(_printable(name), []).append(text)

    def miss(self, file: str, reason: str) -> None:
        """A file that gave no text."""
        self.unread.append(Unread(_printable(file), " ".join(reason.split())[:200]))


def read_instructions(folder: Path) -> Instructions:
    """All instructions in a folder, in the order of their names. What cannot be read is listed, it stops nothing.

    Raises:
        UsageError: it is not a folder.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder; name one that holds tasks")
    found = Instructions()
    for place, files in _places(folder, found):
        own = [name for name in files if name in TASK_FILES]
        if own:
            inner = [name for name in files if "/" in name]
            _read_task(folder, place, own + inner, found)
        else:
            for name in files:
                _read_data(folder, place / name, found)
    return found


def _places(folder: Path, found: Instructions) -> Iterator[tuple[Path, list[str]]]:
    """Folders with the files that matter in them; of a task, also the instruction.md files of folders below it."""
    for where, folders, files in os.walk(folder, onerror=lambda error: _miss_folder(folder, error, found)):
        place = Path(where)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        names = sorted(name for name in files if name in TASK_FILES or Path(name).suffix in DATA_FILES)
        if any(name in TASK_FILES for name in names):
            below = [path for path in place.rglob("instruction.md") if path.parent != place]
            names += sorted(path.relative_to(place).as_posix() for path in below)
            folders.clear()
        yield place, names


def _miss_folder(folder: Path, error: OSError, found: Instructions) -> None:
    found.miss(_relative(folder, Path(str(error.filename))), error.strerror or "cannot be opened")


def _read_task(folder: Path, place: Path, files: list[str], found: Instructions) -> None:
    """A task's texts under the name of its folder. A task.toml without one is no loss beside an instruction.md."""
    name = place.name if place == folder else _relative(folder, place)
    missed: dict[str, str] = {}
    for file in files:
        try:
            for record in records(place / file):
                for text in record.texts:
                    found.add(name, text)
        except Unreadable as error:
            missed[file] = str(error)
    for file, reason in missed.items():
        if reason != NOTHING or len(missed) == len(files):
            found.miss(_relative(folder, place / file), reason)


def _read_data(folder: Path, path: Path, found: Instructions) -> None:
    """Each record of a data file is a task of its own, named by its id or its number."""
    file = _relative(folder, path)
    try:
        for record in records(path):
            for text in record.texts:
                found.add(f"{file}#{record.name}", text)
    except Unreadable as error:
        found.miss(file, str(error))


def _relative(folder: Path, path: Path) -> str:
    return path.relative_to(folder).as_posix()


def _printable(name: str) -> str:
    """A file name that is not UTF-8 has to fit into JSON."""
    return name.encode("utf-8", "replace").decode()
