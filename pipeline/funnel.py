"""How many tasks came how far, and why the others did not. Plain functions over the frames of `pipeline.stages`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from generators.evidence import Evidence, Gate

GATES = tuple(Gate)
_OPTIONAL = (Gate.TAMPER, Gate.SOLVABLE)  # not tried on every task, or not yet
_BEFORE_ALL, _PASSED = -1, len(GATES)


def funnel(frame: pl.DataFrame, assembled: bool = True) -> list[tuple[str, int]]:
    """Tasks that were asked for, written, and let through by each gate. A frame of an early stage gives a short funnel.

    `assembled` is False for a batch that has not met the twin gate yet: its last stage is `proven`, not `published`.
    `tamper` and `solvable` stand there if they were tried on any task; a task on which they were not passes them.
    """
    rows = list(frame.iter_rows(named=True))
    ranks = [_rank(row) for row in rows]
    stages = [("requested", len(rows)), ("written", sum(rank > _BEFORE_ALL for rank in ranks))]
    for gate in _gates(frame, assembled):
        stages.append((gate.value, sum(rank > GATES.index(gate) for rank in ranks)))
    if "proven" in frame.columns:
        stages.append(("published" if assembled else "proven", int(frame["proven"].sum())))
    return stages


def reasons(frame: pl.DataFrame) -> pl.DataFrame:
    """What was dropped: gate, reason, count; most frequent first."""
    dropped = frame.filter(pl.col("gate") != "")
    counted = dropped.group_by("gate", "reason").agg(pl.len().cast(pl.Int64).alias("count"))
    return counted.sort(["count", "gate", "reason"], descending=[True, False, False])


def attacked(frame: pl.DataFrame) -> dict[str, int]:
    """Per family: tasks that withstood every attack."""
    counts: dict[str, int] = {}
    for row in frame.iter_rows(named=True):
        if Gate.TAMPER in held(row):
            counts[row["family"]] = counts.get(row["family"], 0) + 1
    return counts


def held(row: Mapping[str, Any]) -> set[Gate]:
    """The gates that a row's evidence says it passed."""
    if not row.get("evidence"):
        return set()
    return {verdict.gate for verdict in Evidence.model_validate_json(row["evidence"]).verdicts if verdict.holds}


def _gates(frame: pl.DataFrame, assembled: bool) -> list[Gate]:
    """The gates that a frame can speak of."""
    if "evidence" not in frame.columns:
        return [Gate.BUILD] if "build_seconds" in frame.columns else []
    tried = {Gate.TWIN} if assembled else set[Gate]()
    for row in frame.iter_rows(named=True):
        tried |= {gate for gate in _OPTIONAL if row["gate"] == gate} | (held(row) & set(_OPTIONAL))
    return [gate for gate in GATES if gate not in (*_OPTIONAL, Gate.TWIN) or gate in tried]


def _rank(row: Mapping[str, Any]) -> int:
    """The index of the gate that a row did not pass; beyond the last where it is still in."""
    gate = row["gate"]
    if not gate:
        return _PASSED
    if gate in GATES:
        return GATES.index(Gate(gate))
    if gate == "infrastructure" and row.get(
        "task", True
    ):  # it fell between two gates: the first without a verdict is the one it did not pass
        passed = held(row)
        return next((index for index, known in enumerate(GATES) if known not in passed), _PASSED)
    return _BEFORE_ALL
