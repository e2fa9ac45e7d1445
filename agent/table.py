"""Trajectories as parquet: one nested row per episode, in a fixed schema, and back without loss.

    write_trajectories(trajectories, Path("trajectories.parquet"))
    read_trajectories(Path("folder"))      # every trajectories*.parquet in it

Arguments of calls and limits travel as canonical JSON text, since their shape differs from row to row. `id`, `turns` and the sums of
tokens and cost are derived, for whoever queries the file. What is written has no secrets (agent/scrub.py).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from agent.scrub import scrub
from agent.trajectory import VERSION, Trajectory
from containers.state import storage
from generators.digest import canonical_json, sha256_hex
from generators.errors import UsageError

PATTERN = "trajectories*.parquet"
_TEXT, _REAL, _WHOLE, _FLAG = pa.string(), pa.float64(), pa.int64(), pa.bool_()


def _struct(**fields: pa.DataType) -> pa.DataType:
    return pa.struct([pa.field(name, kind) for name, kind in fields.items()])


_OBSERVATION = _struct(
    tag=_TEXT, text=_TEXT, failed=_FLAG, exit_code=_WHOLE, timed_out=_FLAG, chars=_WHOLE, seconds=_REAL
)
_ITEM = _struct(call=_struct(tag=_TEXT, arguments=_TEXT), mistake=_TEXT, observation=_OBSERVATION, skipped=_FLAG)
_STEP = _struct(
    reply=_TEXT,
    reasoning=_TEXT,
    items=pa.list_(_ITEM),
    shown=_TEXT,
    usage=_struct(
        input_tokens=_WHOLE, output_tokens=_WHOLE, cached_tokens=_WHOLE, reasoning_tokens=_WHOLE, estimated=_FLAG
    ),
    cost=_REAL,
    model_seconds=_REAL,
    tool_seconds=_REAL,
)
DERIVED = ("id", "turns", "input_tokens", "output_tokens", "cost")
FLAT = {  # what a table of attempts holds
    "id": _TEXT,
    "task_id": _TEXT,
    "task_digest": _TEXT,
    "family": _TEXT,
    "domain": _TEXT,
    "skills": pa.list_(_TEXT),
    "difficulty": _TEXT,
    "model": _TEXT,
    "style": _TEXT,
    "attempt": _WHOLE,
    "engine": _TEXT,
    "status": _TEXT,
    "end": _TEXT,
    "reason": _TEXT,
    "weighted": _REAL,
    "binary": _WHOLE,
    "turns": _WHOLE,
    "input_tokens": _WHOLE,
    "output_tokens": _WHOLE,
    "cost": _REAL,
}
SCHEMA = pa.schema(
    FLAT
    | {
        "version": _TEXT,
        "system": _TEXT,
        "instruction": _TEXT,
        "steps": pa.list_(_STEP),
        "tests": pa.list_(_struct(name=_TEXT, passed=_FLAG, message=_TEXT)),
        "seconds": _struct(setup=_REAL, model=_REAL, tools=_REAL, grading=_REAL),
        "limits": _TEXT,
    }
)


def trajectory_id(trajectory: Trajectory) -> str:
    """Twelve hex digits over all that is in it: what was written in one place is found in another."""
    return sha256_hex(scrub(trajectory).canonical())[:12]


def to_row(trajectory: Trajectory) -> dict[str, Any]:
    """A row of `SCHEMA`, without secrets."""
    trajectory = scrub(trajectory)
    row = trajectory.model_dump(mode="json")
    row["limits"] = canonical_json(row["limits"])
    for step in row["steps"]:
        for item in step["items"]:
            if item["call"]:
                item["call"]["arguments"] = canonical_json(item["call"]["arguments"])
    sums = {name: getattr(trajectory, name) for name in ("input_tokens", "output_tokens", "cost")}
    row |= {"id": sha256_hex(trajectory.canonical())[:12], "turns": len(trajectory.steps), **sums}
    return {name: row[name] for name in SCHEMA.names}


def from_row(row: Mapping[str, Any]) -> Trajectory:
    """The record of a row.

    Raises:
        UsageError: the row is no trajectory, or one of another version.
    """
    try:
        if row["version"] != VERSION:
            raise ValueError(f"it is of version {row['version']!r}, this program reads {VERSION!r}")
        fields = {name: value for name, value in row.items() if name not in DERIVED}
        steps = [step | {"items": [_item(item) for item in step["items"]]} for step in row["steps"]]
        return Trajectory.model_validate(fields | {"steps": steps, "limits": json.loads(row["limits"])})
    except (ValidationError, KeyError, TypeError, ValueError) as error:
        problem = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise UsageError(f"row {row.get('id', '?')} is not a valid trajectory: {problem}") from error


def _item(item: Mapping[str, Any]) -> dict[str, Any]:
    call = item["call"]
    return {**item, "call": call and {**call, "arguments": json.loads(call["arguments"])}}


def write_trajectories(trajectories: Iterable[Trajectory], path: Path) -> None:
    """Write one file, whole or not at all.

    Raises:
        StorageError: it cannot be written.
    """
    table = pa.Table.from_pylist([to_row(trajectory) for trajectory in trajectories], schema=SCHEMA)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    with storage(f"writing {path.name}"):
        try:
            pq.write_table(table, part, compression="zstd")
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)


def read_trajectories(path: Path) -> list[Trajectory]:
    """All of a file, or of the files `trajectories*.parquet` in a folder and below it, in the order of their names.

    Raises:
        UsageError: nothing there, or something else.
    """
    return [from_row(row) for file in _files(path) for row in _read(file, SCHEMA.names).to_pylist()]


def read_attempts(path: Path) -> pl.DataFrame:
    """One flat row per episode, in the form of `attempts_frame`; the steps are not read.

    Raises:
        UsageError: nothing there, or something else.
    """
    tables = [_read(file, list(FLAT)) for file in _files(path)]
    return _with_valid(pa.concat_tables(tables).to_pylist())


def attempts_frame(trajectories: Sequence[Trajectory]) -> pl.DataFrame:
    """One flat row per episode: who tried which task, whether it counts (`valid`) and how it went (`binary`, `weighted`)."""
    rows = [to_row(trajectory) for trajectory in trajectories]
    return _with_valid([{name: row[name] for name in FLAT} for row in rows])


def _with_valid(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    table = pa.Table.from_pylist(list(rows), schema=pa.schema(FLAT))
    frame = pl.DataFrame(table)
    return frame.with_columns((pl.col("status") != "invalid").alias("valid"))


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise UsageError(f"{path} does not exist; name a folder with {PATTERN}, or one such file")
    files = sorted(path.rglob(PATTERN)) if path.is_dir() else [path]
    if not files:
        raise UsageError(f"{path} holds no {PATTERN}; `termforge attempt` writes them")
    return files


def _read(path: Path, columns: list[str]) -> pa.Table:
    try:
        file = pq.ParquetFile(path)
        if missing := [name for name in SCHEMA.names if name not in file.schema_arrow.names]:
            raise UsageError(f"{path} holds no trajectories: it has no column {missing[0]!r}")
        return file.read(columns).select(columns)
    except (OSError, pa.ArrowException) as error:
        raise UsageError(f"{path} cannot be read as parquet: {str(error).splitlines()[0]}") from error
