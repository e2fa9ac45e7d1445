"""A published data set, looked at before a run: are its files those that were published, and is every task one to train on?"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import polars as pl

from generators.digest import digest_of
from generators.errors import TaskError, UsageError
from generators.evidence import SUITE

_NEEDED = {
    "id": "ids",
    "digest": "digests",
    "split": "splits",
    "instruction": "instructions",
    "completion_tests": "tests",
}


@dataclass(frozen=True)
class DataTask:
    """Of one task, what can be said without its records."""

    name: str
    digest: str
    split: str
    instruction: str
    proven: bool


@dataclass(frozen=True)
class DataSet:
    """A folder with its content hash and its tasks."""

    folder: Path
    digest: str
    tasks: tuple[DataTask, ...]


def read_data(folder: Path) -> DataSet:
    """Read a data set and hold it against its manifest.

    Raises:
        UsageError: there is no data set.
        TaskError: a file is not the one that was published, a task has no tests or weights, or evidence speaks of another task.
    """
    manifest = _manifest(folder)
    tasks: list[DataTask] = []
    for name, stated in _mapping(manifest.get("files")).items():
        tasks += _tasks(_published(folder / name, _mapping(stated).get("sha256")))
    if not tasks:
        raise UsageError(f"{folder}: its manifest lists no task; make the data set again (termforge build)")
    found = digest_of(sorted([task.split, task.name, task.digest] for task in tasks))
    if found != manifest.get("digest"):
        raise TaskError(
            f"{folder}: its tasks have the content hash {found[:12]}, and its manifest states {str(manifest.get('digest'))[:12]};"
            " publish it again (termforge build)"
        )
    return DataSet(folder, found, tuple(tasks))


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / "manifest.json"
    try:
        return _mapping(json.loads(path.read_text()))
    except FileNotFoundError:
        raise UsageError(f"{folder}: there is no data set (no manifest.json); termforge build makes one") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from None


def _published(path: Path, sha256: object) -> Path:
    """The file, if it is the one that was published."""
    if not path.is_file():
        raise TaskError(
            f"{path} is missing although the manifest lists it; publish the data set again (termforge build)"
        )
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != sha256:
        raise TaskError(f"{path} is not the file that was published: its digest differs from the manifest's")
    return path


def _tasks(path: Path) -> list[DataTask]:
    try:
        frame = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise TaskError(f"{path}: cannot be read as parquet: {str(error).splitlines()[0]}") from None
    for column, what in _NEEDED.items():
        if column not in frame.columns:
            raise TaskError(f"{path}: it has no {what} (column {column}), so nothing can be rewarded by it")
    kept = [name for name in (*_NEEDED, "evidence") if name in frame.columns]
    return [_task(path, row) for row in frame.select(kept).iter_rows(named=True)]


def _task(path: Path, row: dict[str, Any]) -> DataTask:
    tests = _mapping(row["completion_tests"])
    specs = [_mapping(spec) for spec in cast(list[object], tests.get("tests") or [])]
    if not tests.get("source") or not specs:
        raise TaskError(f"{path}: task {row['id']} has no tests, so it can give no reward")
    if not sum(float(spec.get("weight") or 0) for spec in specs) > 0:
        raise TaskError(f"{path}: the tests of task {row['id']} have no weights, so it can give no reward")
    evidence = _mapping(row.get("evidence"))
    if evidence and evidence.get("task_digest") != row["digest"]:
        raise TaskError(
            f"{path}: the evidence of task {row['id']} is void: it speaks of another digest than the task's"
        )
    return DataTask(row["id"], row["digest"], row["split"], row["instruction"], _proven(evidence))


def _proven(evidence: dict[str, Any]) -> bool:
    verdicts = [_mapping(verdict) for verdict in cast(list[object], evidence.get("verdicts") or [])]
    held = bool(verdicts) and all(verdict.get("holds") for verdict in verdicts)
    return held and bool(evidence.get("valid")) and evidence.get("suite") == SUITE


def _mapping(value: object) -> dict[str, Any]:
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}
