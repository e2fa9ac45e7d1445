"""How often a model solves a task: pass@k without bias, intervals, and how hard that makes the task.

    tasks = by_task(attempts)           # a row per model and task: n, passed, rate, interval, pass@1, pass@4, ..., tier, always
    totals = by_model(attempts)         # a row per model and k: mean pass@k over tasks, with an interval

`attempts` is the frame of `agent.table.attempts_frame`: at least task_id, model, valid, binary, weighted. An attempt that is not
valid counts for nothing.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import polars as pl

from generators.errors import UsageError
from generators.seeds import stream
from generators.task import Difficulty

KS = (1, 2, 4, 8, 16)
CONFIDENCE = 0.95
RESAMPLES = 1000
ENOUGH = 4  # attempts before a task is called always passed or always failed
TIERS = (  # the lowest pass rate of each tier
    (Difficulty.EASY, 0.75),
    (Difficulty.MEDIUM, 0.40),
    (Difficulty.HARD, 0.10),
    (Difficulty.EXTREMELY_HARD, 0.0),
)
NEEDED = ("task_id", "model", "valid", "binary", "weighted")


class Interval(NamedTuple):
    """Where the true value lies with the confidence that was asked for."""

    low: float
    high: float


def pass_at_k(n: int, c: int, k: int) -> float | None:
    """The chance that at least one of k attempts passes, from n attempts of which c passed: 1 - C(n-c, k) / C(n, k).

    Exact in whole numbers, so the result is the nearest float for any n. None where n < k.

    Raises:
        ValueError: c is not in [0, n], or k < 1.
    """
    if not 0 <= c <= n or k < 1:
        raise ValueError(f"pass@{k} of {c} passed among {n} makes no sense")
    if n < k:
        return None
    few, many = min(c, k), max(c, k)  # C(n-c, k) / C(n, k) = C(n-k, c) / C(n, c): take the shorter product
    total = math.comb(n, few)
    return (total - math.comb(n - many, few)) / total


def wilson(c: float, n: int, confidence: float = CONFIDENCE) -> Interval | None:
    """Wilson's interval for a pass rate of c among n; None without attempts."""
    if n == 0:
        return None
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    rate, scale = c / n, 1 + z * z / n
    centre = (rate + z * z / (2 * n)) / scale
    spread = z * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n)) / scale
    return Interval(0.0 if c == 0 else max(0.0, centre - spread), 1.0 if c == n else min(1.0, centre + spread))


def bootstrap(values: Sequence[float], *words: object, confidence: float = CONFIDENCE) -> Interval | None:
    """A percentile interval for the mean over tasks, by drawing tasks anew; `words` name the random stream.

    None for fewer than two values: one task says nothing about others.
    """
    count = len(values)
    if count < 2:
        return None
    if min(values) == max(
        values
    ):  # drawn anew they are what they were, which is no certainty: let each task count as a trial
        return wilson(values[0] * count, count, confidence)
    rng = stream("bootstrap", *words)
    means = sorted(
        math.fsum(values[place] for place in _places(rng.randbytes(4 * count), count)) / count for _ in range(RESAMPLES)
    )
    tail = (1 - confidence) / 2
    return Interval(means[math.floor(tail * RESAMPLES)], means[math.ceil((1 - tail) * RESAMPLES) - 1])


def _places(data: bytes, count: int) -> list[int]:
    """Numbers below `count` from four bytes each, the same on any machine."""
    return [(number * count) >> 32 for number in struct.unpack(f"<{count}I", data)]


def tier(rate: float) -> Difficulty:
    """How hard a task is, by its pass rate in [0, 1]."""
    return next(name for name, lowest in TIERS if rate >= lowest)


def always(n: int, c: int) -> str:
    """`always_0` or `always_1` where all of at least `ENOUGH` valid attempts ended alike, else empty: nothing to learn from."""
    if n < ENOUGH:
        return ""
    return {0: "always_0", n: "always_1"}.get(c, "")


def by_task(attempts: pl.DataFrame, ks: Sequence[int] = KS) -> pl.DataFrame:
    """A row per model and task: attempts that count (`n`), passed, invalid, rate with Wilson's interval, mean weighted score,
    pass@k, tier and mark. Null where there is nothing to say.

    Raises:
        UsageError: a column is missing.
    """
    kept = [name for name in ("family", "domain", "difficulty") if name in attempts.columns]
    valid = pl.col("valid")
    counted = (
        _checked(attempts)
        .group_by("model", "task_id")
        .agg(
            *(pl.col(name).first() for name in kept),
            valid.sum().cast(pl.Int64).alias("n"),
            pl.col("binary").filter(valid).sum().cast(pl.Int64).alias("passed"),
            (~valid).sum().cast(pl.Int64).alias("invalid"),
            pl.col("weighted").filter(valid).mean().alias("weighted"),
        )
        .sort("model", "task_id")
    )
    rows = [row | _judged(row["n"], row["passed"], ks) for row in counted.iter_rows(named=True)]
    added = {"rate": pl.Float64, "low": pl.Float64, "high": pl.Float64} | {f"pass@{k}": pl.Float64 for k in ks}
    return pl.DataFrame(rows, schema=dict(counted.schema) | added | {"tier": pl.String, "always": pl.String})


def _judged(n: int, c: int, ks: Sequence[int]) -> dict[str, Any]:
    between = wilson(c, n)
    rate = c / n if n else None
    return {
        "rate": rate,
        "low": between.low if between else None,
        "high": between.high if between else None,
        **{f"pass@{k}": pass_at_k(n, c, k) for k in ks},
        "tier": None if rate is None else tier(rate).value,
        "always": always(n, c),
    }


def by_model(attempts: pl.DataFrame, ks: Sequence[int] = KS, seed: int = 0) -> pl.DataFrame:
    """A row per model and k: mean pass@k over the tasks with at least k attempts that count, a bootstrap interval over these
    tasks (null for fewer than two), how many they are (`tasks`) and how many had too few attempts (`left_out`).

    Raises:
        UsageError: a column is missing.
    """
    tasks = by_task(attempts, ks)
    rows: list[dict[str, Any]] = []
    for model in tasks["model"].unique().sort().to_list():
        own = tasks.filter(pl.col("model") == model)
        for k in ks:
            values: list[float] = own[f"pass@{k}"].drop_nulls().to_list()
            between = bootstrap(values, "pass@k", seed, model, k)
            mean = math.fsum(values) / len(values) if values else None
            low, high = between or (None, None)
            left_out = own.height - len(values)
            row = {"model": model, "k": k, "value": mean, "low": low, "high": high}
            rows.append(row | {"tasks": len(values), "left_out": left_out})
    real = {"value": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    return pl.DataFrame(
        rows, schema={"model": pl.String, "k": pl.Int64} | real | {"tasks": pl.Int64, "left_out": pl.Int64}
    )


def _checked(attempts: pl.DataFrame) -> pl.DataFrame:
    if missing := [name for name in NEEDED if name not in attempts.columns]:
        raise UsageError(f"a table of attempts needs the column {missing[0]!r}")
    return attempts
