"""A task and its evidence as one nested parquet row, and back without loss.

Free-form parts (truth, knobs, figures) travel as canonical JSON text, since their shape differs from task to task.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from containers.state import storage
from generators.digest import canonical_json
from generators.errors import TaskError
from generators.evidence import Evidence
from generators.problems import first_problem
from generators.task import Task

_TEXT, _TEXTS = pa.string(), pa.list_(pa.string())


def _struct(**fields: pa.DataType) -> pa.DataType:
    return pa.struct([pa.field(name, kind) for name, kind in fields.items()])


_FILE = _struct(path=_TEXT, content=_TEXT, encoding=_TEXT, mode=pa.int32())
_TEST = _struct(name=_TEXT, weight=pa.float64(), guard=pa.bool_())
_VERDICT = _struct(gate=_TEXT, holds=pa.bool_(), reason=_TEXT, detail=_TEXT, figures=_TEXT, seconds=pa.float64())
SCHEMA = pa.schema(
    {
        "id": _TEXT,
        "digest": _TEXT,
        "title": _TEXT,
        "instruction": _TEXT,
        "axes": _struct(
            domain=_TEXT,
            skills=_TEXTS,
            difficulty=_TEXT,
            verifier=_TEXT,
            task_complexity=_TEXT,
            command_complexity=_TEXT,
            scenario=_TEXT,
            persona=_TEXT,
            language=_TEXT,
            fixture=_TEXT,
            anchor=_TEXT,
        ),
        "image": _struct(dockerfile=_TEXT, files=pa.list_(_FILE)),
        "truth": _TEXT,
        "discoverable": _TEXTS,
        "initial_tests": _TEXT,
        "completion_tests": _struct(source=_TEXT, tests=pa.list_(_TEST)),
        "solution": _TEXT,
        "alternatives": _TEXTS,
        "near_misses": pa.list_(_struct(name=_TEXT, why=_TEXT, script=_TEXT, caught_by=_TEXTS)),
        "requirements": pa.list_(_struct(sentence=_TEXT, tests=_TEXTS)),
        "limits": _struct(
            build_seconds=pa.int64(),
            solve_seconds=pa.int64(),
            grade_seconds=pa.int64(),
            memory_mb=pa.int64(),
            disk_mb=pa.int64(),
            pids=pa.int64(),
            cpus=pa.float64(),
        ),
        "provenance": _struct(
            writer=_TEXT, family=_TEXT, seed=pa.int64(), serial=pa.int64(), setting=_TEXT, knobs=_TEXT, version=_TEXT
        ),
        "split": _TEXT,
        "evidence": _struct(
            task_id=_TEXT,
            task_digest=_TEXT,
            suite=_TEXT,
            engine=_TEXT,
            base_digest=_TEXT,
            image_digest=_TEXT,
            verdicts=pa.list_(_VERDICT),
            valid=pa.bool_(),
            fault=_TEXT,
        ),
    }
)


def to_row(task: Task, evidence: Evidence | None, split: str) -> dict[str, Any]:
    """A row of `SCHEMA`."""
    row = task.model_dump(mode="json")
    row["truth"] = canonical_json(row["truth"])
    row["provenance"]["knobs"] = canonical_json(row["provenance"]["knobs"])
    row["split"] = split
    row["evidence"] = None
    if evidence:
        row["evidence"] = evidence.model_dump(mode="json")
        for verdict in row["evidence"]["verdicts"]:
            verdict["figures"] = canonical_json(verdict["figures"])
    return row


def from_row(row: Mapping[str, Any]) -> tuple[Task, Evidence | None]:
    """The records of a row.

    Raises:
        TaskError: the row is not a valid task, was edited, or its evidence speaks of another task.
    """
    try:
        fields = {key: value for key, value in row.items() if key in Task.model_fields}
        fields["truth"] = json.loads(fields["truth"])
        fields["provenance"] = fields["provenance"] | {"knobs": json.loads(fields["provenance"]["knobs"])}
        task = Task.model_validate(fields)
        stated = row.get("evidence")
        if not stated:
            return task, None
        verdicts = [verdict | {"figures": json.loads(verdict["figures"])} for verdict in stated["verdicts"]]
        return task, Evidence.model_validate(stated | {"verdicts": verdicts}).bound_to(task)
    except (ValidationError, KeyError, TypeError, ValueError) as error:
        missing = f"it has no {error}" if isinstance(error, KeyError) else f"{type(error).__name__}: {error}"
        problem = first_problem(error) if isinstance(error, ValidationError) else missing
        raise TaskError(f"row {row.get('id', '?')} is not a valid task: {problem}") from error


def write_parquet(rows: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Write rows to one file, whole or not at all."""
    part = path.with_name(f".{path.name}.part")
    with storage(f"writing {path.name}"):
        table = pa.Table.from_pylist(list(rows), schema=SCHEMA)
        pq.write_table(table, part, compression="zstd", compression_level=12)
        part.replace(path)


def read_parquet(path: Path) -> list[dict[str, Any]]:
    """Rows of a file written by `write_parquet`.

    Raises:
        TaskError: not parquet, or not with our columns.
    """
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise TaskError(f"{path} cannot be read as parquet: {str(error).splitlines()[0]}") from error
    if missing := [
        name for name in SCHEMA.names if name not in table.column_names and name not in ("split", "evidence")
    ]:
        raise TaskError(f"{path} is not a Termforge data set: it has no column {missing[0]!r}")
    return table.to_pylist()
