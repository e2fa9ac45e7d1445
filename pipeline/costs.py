"""What writing by language models took: per stage from the ledger, per axis from the rows. Plain functions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from generators.chat.ledger import Ledger

AXES = ("domain", "difficulty", "verifier", "task_complexity", "command_complexity", "language", "fixture")
BY_STAGE = ("stage", "model", "requests", "from cache", "input tokens", "output tokens", "seconds", "dollars")
BY_AXIS = ("axis", "value", "asked for", "proven", "yield", "rounds", "requests", "tokens", "dollars")


def by_stage(ledger: Ledger) -> list[tuple[object, ...]]:
    """Requests, tokens, seconds of models, and dollars (None where a price is unknown), for each stage and model."""
    return [
        (
            total.by["stage"],
            total.by["model"],
            total.requests - total.cached,
            total.cached,
            total.input_tokens,
            total.output_tokens,
            round(total.seconds, 1),
            None if total.unpriced else round(total.money, 4),
        )
        for total in ledger.totals("stage", "model")
    ]


def by_axis(frame: pl.DataFrame) -> list[tuple[object, ...]]:
    """How many were asked for and proven with each value of each axis, and what they took. Empty for procedural rows."""
    rows = [(json.loads(row["axes"]), row) for row in frame.iter_rows(named=True) if row.get("axes")]
    found: list[tuple[object, ...]] = []
    for axis in AXES:
        for value in sorted({str(axes[axis]) for axes, _ in rows}):
            found.append((axis, value, *_sums([row for axes, row in rows if str(axes[axis]) == value])))
    return found


def total(frame: pl.DataFrame) -> tuple[object, ...] | None:
    """The same over all rows; None for procedural ones."""
    rows = [row for row in frame.iter_rows(named=True) if row.get("axes")]
    return ("all", "", *_sums(rows)) if rows else None


def _sums(rows: Sequence[Mapping[str, Any]]) -> tuple[object, ...]:
    proven = sum(bool(row.get("proven", not row["gate"])) for row in rows)
    dollars = [row["dollars"] for row in rows]
    return (
        len(rows),
        proven,
        f"{100 * proven / len(rows):.0f} %",
        sum(row["rounds"] for row in rows),
        sum(row["requests"] for row in rows),
        sum(row["input_tokens"] + row["output_tokens"] for row in rows),
        "unknown" if None in dollars else f"{sum(dollars):.4f}",
    )
