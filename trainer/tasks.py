"""The tasks of a run, each in a file named by its digest: privileged, and read by the workers alone. They never travel in a row."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from generators.errors import UsageError
from generators.task import Task
from trainer.run import write_whole


def task_path(folder: Path, digest: str) -> Path:
    """Where a run keeps a task."""
    return folder / f"{digest}.json"


def write_tasks(tasks: Sequence[Task], folder: Path) -> None:
    """Keep tasks for the workers of a run; those that are there already stay."""
    for task in tasks:
        path = task_path(folder, task.digest)
        if not path.exists():
            write_whole(path, task.canonical())


@lru_cache(maxsize=512)
def load_task(folder: Path, digest: str) -> Task:
    """Read a task and check that it is the one that was asked for.

    Raises:
        UsageError: it is not there, or was changed.
    """
    path = task_path(folder, digest)
    try:
        task = Task.model_validate_json(path.read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: no task of this run: {error}") from None
    if task.digest != digest or task.behaviour_digest() != digest:
        raise UsageError(f"{path}: the task was changed since the run began")
    return task
