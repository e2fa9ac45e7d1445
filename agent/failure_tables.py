"""Findings of many runs as tables: why runs fail per model, domain, skill and difficulty, and what failed runs do otherwise.

frame = findings_frame([examine(trajectory) for trajectory in trajectories])
by(frame, "domain");  flags(frame);  behaviour(frame);  report(frame)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import polars as pl

from agent.failures import Failure, Findings

Axis = Literal["model", "domain", "skill", "difficulty"]
AXES: tuple[Axis, ...] = ("model", "domain", "skill", "difficulty")
LABELS = tuple(failure.value for failure in Failure)
_TYPES: dict[str, Any] = {"skills": pl.List(pl.String), "flags": pl.List(pl.String)}
_WHOLE = "attempt turns acts mistakes repeats same_results alternations errors ignored input_tokens output_tokens"
_REAL = "programs_after_error commands_after_error seconds cost"
_TYPES |= dict.fromkeys(_WHOLE.split(), pl.Int64) | dict.fromkeys(_REAL.split(), pl.Float64)
SCHEMA = {name: _TYPES.get(name, pl.String) for name in Findings.model_fields}
_VALID, _PASSED, _FAILED = pl.col("status") != "invalid", pl.col("status") == "passed", pl.col("status") == "failed"
MEANS = ("turns", "acts", "mistakes", "errors", "seconds", "input_tokens", "output_tokens")


def findings_frame(findings: Sequence[Findings]) -> pl.DataFrame:
    """One row per run, invalid ones too."""
    return pl.DataFrame([item.model_dump(mode="json") for item in findings], schema=SCHEMA)


def by(frame: pl.DataFrame, axis: Axis) -> pl.DataFrame:
    """A row per value of an axis: runs that count, passed, failed, pass rate, invalid ones beside, and failed runs by main label.

    A run counts for each of its skills.
    """
    known = frame.explode("skills").rename({"skills": "skill"}) if axis == "skill" else frame
    labels = [((pl.col("label") == label) & _FAILED).sum().cast(pl.Int64).alias(label) for label in LABELS]
    counted = known.group_by(pl.col(axis).fill_null("")).agg(
        _VALID.sum().cast(pl.Int64).alias("runs"),
        _PASSED.sum().cast(pl.Int64).alias("passed"),
        _FAILED.sum().cast(pl.Int64).alias("failed"),
        pl.when(_VALID.any()).then(_PASSED.sum() / _VALID.sum()).alias("rate"),
        (~_VALID).sum().cast(pl.Int64).alias("invalid"),
        *labels,
    )
    return counted.sort(axis)


def flags(frame: pl.DataFrame) -> pl.DataFrame:
    """A row per kind of failure: failed runs with it as main label (`main`), failed and passed runs with its flag, and the shares of
    all failed or passed runs (null where there are none)."""
    failed, passed = frame.filter(_FAILED), frame.filter(_PASSED)
    rows = [
        {
            "failure": label,
            "main": int((failed["label"] == label).sum()),
            "main_share": _share(failed, pl.col("label") == label),
            "failed_share": _share(failed, _has(label)),
            "passed_share": _share(passed, _has(label)),
        }
        for label in LABELS
    ]
    real = dict.fromkeys(("main_share", "failed_share", "passed_share"), pl.Float64)
    return pl.DataFrame(rows, schema={"failure": pl.String, "main": pl.Int64} | real)


def _has(label: str) -> pl.Expr:
    """Whether a run has a flag; the last kind is what is left where there is none, so only a label."""
    return pl.col("flags").list.contains(label) | (pl.col("label") == label).fill_null(False)


def _share(frame: pl.DataFrame, mark: pl.Expr) -> float | None:
    return None if frame.is_empty() else frame.select(mark.sum()).item() / frame.height


def behaviour(frame: pl.DataFrame) -> pl.DataFrame:
    """A row for failed and one for passed runs: means per run; `ignored` is the share of all errors; how diverse the acts after an error
    are, over the runs that had one (`with_errors`)."""
    rows = [_behaviour(name, frame.filter(mark)) for name, mark in (("failed", _FAILED), ("passed", _PASSED))]
    real = dict.fromkeys((*MEANS, "ignored", "programs_after_error", "commands_after_error"), pl.Float64)
    return pl.DataFrame(rows, schema={"outcome": pl.String, "runs": pl.Int64, "with_errors": pl.Int64} | real)


def _behaviour(name: str, runs: pl.DataFrame) -> dict[str, Any]:
    errors = int(runs["errors"].sum())
    after = {key: runs[key].mean() for key in ("programs_after_error", "commands_after_error")}
    counts: dict[str, Any] = {"outcome": name, "runs": runs.height, "with_errors": int((runs["errors"] > 0).sum())}
    ignored = runs["ignored"].sum() / errors if errors else None
    return counts | {key: runs[key].mean() for key in MEANS} | {"ignored": ignored} | after


def report(frame: pl.DataFrame) -> dict[str, Any]:
    """Everything as JSON values."""
    tables = {f"by_{axis}": by(frame, axis).to_dicts() for axis in AXES}
    return tables | {
        "failures": flags(frame).to_dicts(),
        "behaviour": behaviour(frame).to_dicts(),
        "runs": frame.to_dicts(),
    }
