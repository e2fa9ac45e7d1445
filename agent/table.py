"""Trajectories as parquet: one nested row per episode, in a fixed schema, and back without loss.

    write_trajectories(trajectories, Path("trajectories.parquet"))
    merge_trajectories(trajectories, Path("trajectories.parquet"))      # what else stands there is kept
    read_trajectories(Path("folder"))      # every trajectories*.parquet in it

Arguments of calls and limits travel as canonical JSON text, since their shape differs from row to row. `id`, `turns` and the sums of
tokens and cost are derived, for whoever queries the file. What is written has no secrets (agent/scrub.py).
"""

from __future__ import annotations

import fcntl
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from generators.errors import StorageError, UsageError
from generators.problems import first_problem

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
        found = Trajectory.model_validate(fields | {"steps": steps, "limits": json.loads(row["limits"])})
        for name, value in (("weighted", found.weighted), ("binary", found.binary)):
            if not 0 <= value <= 1:  # so is NaN
                raise ValueError(f"{name}: it is {value}, and has to lie between 0 and 1")
        found.canonical()  # a number that is none, wherever it stands, is no JSON
        return found
    except (ValidationError, KeyError, TypeError, ValueError) as error:
        problem = first_problem(error) if isinstance(error, ValidationError) else str(error)
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


def merge_trajectories(trajectories: Sequence[Trajectory], path: Path) -> None:
    """Write them beside what stands in the file already. The same attempt at the same task with the same settings is replaced,
    but a valid one never by one that is invalid.

    Raises:
        UsageError, StorageError: what stands there cannot be read, or nothing can be written.
    """
    with storage(f"writing {path.name}"), path.with_name(f".{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another process may be about to add to the same file
        old = read_trajectories(path) if path.exists() else []
        valid = {_attempted(run) for run in old if run.valid}
        new = [run for run in trajectories if run.valid or _attempted(run) not in valid]
        replaced = {_attempted(run) for run in new}
        write_trajectories([*(run for run in old if _attempted(run) not in replaced), *new], path)


def _attempted(run: Trajectory) -> tuple[str | int, ...]:
    """What was attempted, by whom and how, as far as the record says."""
    how = (run.model, run.style, run.engine, run.system, canonical_json(run.limits))
    return (run.task_id, run.task_digest, run.attempt, *how)


def read_trajectories(path: Path) -> list[Trajectory]:
    """All of a file, or of the files `trajectories*.parquet` in a folder and below it, in the order of their names. What stands in
    several of these files, as a copy does, is read once.

    Raises:
        UsageError: nothing there, or something else.
        StorageError: a file is damaged.
    """
    return [_record(file, row) for file, row in _rows(path, SCHEMA.names)]


def read_attempts(path: Path) -> pl.DataFrame:
    """One flat row per episode, in the form of `attempts_frame`; the steps are not read.

    Raises:
        UsageError: nothing there, or something else.
        StorageError: a file is damaged.
    """
    try:
        return _with_valid([_checked(file, row) for file, row in _rows(path, list(FLAT))])
    except pa.ArrowException as error:
        raise _damaged(path, error) from error


def _record(file: Path, row: Mapping[str, Any]) -> Trajectory:
    try:
        return from_row(row)
    except UsageError as error:
        raise _damaged(file, error) from error


def _checked(file: Path, row: Mapping[str, Any]) -> Mapping[str, Any]:
    """A flat row, if its numbers can be counted with."""
    for name, most in (("weighted", 1), ("binary", 1), ("attempt", math.inf)):
        value = row[name]
        if not isinstance(value, int | float) or not 0 <= value <= most:  # so is NaN
            raise _damaged(file, f"{name} of row {row['id']} cannot be {value}")
    return row


def _damaged(file: Path, problem: object) -> StorageError:
    return StorageError(f"{file} is damaged: {' '.join(str(problem).split())}; move it away, or make it anew")


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


def _rows(path: Path, columns: list[str]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Every row, with its file; those that stood in an earlier file are left out, since an episode counts once."""
    seen: set[str] = set()
    for file in _files(path):
        rows = _read(file, columns)
        yield from ((file, row) for row in rows if str(row["id"]) not in seen)
        seen.update(str(row["id"]) for row in rows)


def _read(path: Path, columns: list[str]) -> list[dict[str, Any]]:
    try:
        file = pq.ParquetFile(path)
    except pa.ArrowException as error:
        raise UsageError(f"{path} cannot be read as parquet: {str(error).splitlines()[0]}") from error
    except OSError as error:
        raise _damaged(path, error) from error
    if missing := [name for name in SCHEMA.names if name not in file.schema_arrow.names]:
        raise UsageError(f"{path} holds no trajectories: it has no column {missing[0]!r}")
    try:
        return file.read(columns).select(columns).to_pylist()
    except (OSError, ValueError, pa.ArrowException) as error:
        raise _damaged(path, error) from error
