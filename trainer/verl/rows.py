"""Tasks as the rows that verl reads (0.9.1): a prompt to begin with, and the digest by which the loop finds the task.

    write_rows({"train": tasks, "validation": others}, folder, style="minimal", examples=worked_examples("ladder"))

Tests, truth, image and solutions stay out: a row holds what the agent is told, and where the task lies on the axes.
Every field has one type in all rows and files, as verl puts files together. Nothing of verl is needed here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from agent.styles import Style, open_style
from agent.styles.examples import first_messages
from containers.state import storage
from generators.errors import UsageError
from generators.recipe import SPLITS
from generators.task import Task

SOURCE = "termforge"
AGENT = "termforge"  # the name of the agent loop
_TEXT = pa.string()
_MESSAGE = pa.struct([("role", _TEXT), ("content", _TEXT)])
_INFO = (
    [("index", pa.int64())]
    + [(name, _TEXT) for name in ("split", "task_id", "task_digest", "family", "domain", "difficulty")]
    + [("serial", pa.int64())]
)
SCHEMA = pa.schema(
    [
        ("data_source", _TEXT),
        ("prompt", pa.list_(_MESSAGE)),
        ("ability", _TEXT),
        ("reward_model", pa.struct([("style", _TEXT), ("ground_truth", _TEXT)])),
        ("extra_info", pa.struct(_INFO)),
        ("agent_name", _TEXT),
    ]
)


def messages(style: Style, instruction: str, examples: str = "") -> list[dict[str, str]]:
    """How an episode begins, as an agent of this style is told it."""
    told = first_messages(style, instruction, examples)
    return [{"role": message.role, "content": message.content} for message in told]


def to_row(task: Task, split: str, index: int, style: Style, examples: str = "") -> dict[str, Any]:
    """A row of `SCHEMA`. `index` is its place in its file."""
    provenance = task.provenance
    return {
        "data_source": SOURCE,
        "prompt": messages(style, task.instruction, examples),
        "ability": task.axes.domain,
        "reward_model": {"style": "rule", "ground_truth": task.digest},
        "extra_info": {
            "index": index,
            "split": split,
            "task_id": task.id,
            "task_digest": task.digest,
            "family": provenance.family,
            "domain": task.axes.domain,
            "difficulty": task.axes.difficulty.value,
            "serial": provenance.serial,
        },
        "agent_name": AGENT,
    }


def write_rows(
    splits: Mapping[str, Sequence[Task]], folder: Path, style: str = "structured", examples: str = ""
) -> dict[str, Path]:
    """Write a file per split that has tasks, in the order of ids; the same tasks give the same bytes. The files by split.

    Raises:
        UsageError: there is no such style, or the folder holds something else than such rows.
        StorageError: the folder cannot be written.
    """
    spoken = open_style(style)
    _check_folder(folder)
    files: dict[str, Path] = {}
    for split in SPLITS:
        if part := sorted(splits.get(split, ()), key=lambda task: task.id):
            files[split] = folder / f"{split}.parquet"
            _write([to_row(task, split, index, spoken, examples) for index, task in enumerate(part)], files[split])
    return files


def _check_folder(folder: Path) -> None:
    """Whether rows may be written there.

    Raises:
        UsageError: it is no folder, or holds what no such export wrote: a release above all.
    """
    with storage(f"looking at {folder}"):
        others = [path for path in sorted(folder.iterdir()) if not _are_rows(path)] if folder.exists() else []
    if others:
        raise UsageError(
            f"{folder} holds {others[0].name}, which is no file of rows for verl; name another folder, or empty it"
        )


def _are_rows(path: Path) -> bool:
    """An earlier export, or what is left of one that was killed."""
    if path.suffix == ".part":
        return True
    try:
        return path.stem in SPLITS and pq.read_schema(path).names == SCHEMA.names
    except (OSError, pa.ArrowInvalid):
        return False


def _write(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Whole or not at all."""
    part = path.with_name(f".{path.name}.part")
    with storage(f"writing {path.name}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(list(rows), schema=SCHEMA), part, compression="zstd")
        part.replace(path)
