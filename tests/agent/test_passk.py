"""pass@k against enumeration, intervals against known figures, and tables that leave invalid attempts out."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.passk import TIERS, always, bootstrap, by_model, by_task, pass_at_k, tier, wilson
from agent.table import attempts_frame
from agent.trajectory import Status
from generators.errors import UsageError
from generators.task import Difficulty
from tests.agent.recorded import recorded


@given(st.data())
def test_it_is_the_share_of_samples_that_hold_a_pass(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 9))
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    attempts = [True] * c + [False] * (n - c)
    samples = [any(sample) for sample in combinations(attempts, k)]
    assert pass_at_k(n, c, k) == float(Fraction(sum(samples), len(samples)))


@given(st.integers(1, 10**12), st.integers(1, 40), st.integers(1, 40))
def test_large_numbers_lose_no_digit(n: int, c: int, k: int) -> None:
    c, k = min(c, n), min(k, n)
    missed = math.prod((Fraction(n - c - i, n - i) for i in range(k)), start=Fraction(1)) if n - c >= k else Fraction(0)
    assert pass_at_k(n, c, k) == float(1 - missed)


def test_edges() -> None:
    assert pass_at_k(4, 2, 5) is None and pass_at_k(0, 0, 1) is None
    assert (pass_at_k(4, 0, 4), pass_at_k(4, 4, 1), pass_at_k(4, 1, 4)) == (0.0, 1.0, 1.0)
    for n, c, k in ((3, 4, 1), (3, -1, 1), (3, 1, 0)):
        with pytest.raises(ValueError, match="makes no sense"):
            pass_at_k(n, c, k)


def test_wilson_gives_the_figures_of_the_books() -> None:
    for (c, n), (low, high) in {(0, 10): (0, 0.2775), (5, 10): (0.2366, 0.7634), (81, 263): (0.2553, 0.3662)}.items():
        assert wilson(c, n) == pytest.approx((low, high), abs=1e-4)
    assert wilson(0, 0) is None


@given(st.integers(1, 500), st.data())
def test_wilson_holds_the_rate(n: int, data: st.DataObject) -> None:
    c = data.draw(st.integers(0, n))
    low, high = wilson(c, n) or (1, 0)
    assert 0 <= low <= c / n <= high <= 1


def test_bootstrap_is_the_same_on_any_machine_and_fits_the_normal_law() -> None:
    values = [0.0] * 50 + [1.0] * 50
    low, high = bootstrap(values, "a") or (0, 0)
    assert (low, high) == bootstrap(values, "a") == (0.4, 0.6)
    rates = [number / 97 for number in range(60)]
    assert bootstrap(rates, "a") != bootstrap(rates, "b")
    assert low == pytest.approx(0.5 - 1.96 * 0.05, abs=0.02) and high == pytest.approx(0.5 + 1.96 * 0.05, abs=0.02)
    assert bootstrap([1.0]) is None and bootstrap([]) is None


def test_tasks_that_all_ended_alike_are_no_certainty() -> None:
    assert bootstrap([1.0] * 4) == wilson(4, 4) and bootstrap([0.0] * 9) == wilson(0, 9)
    low, high = bootstrap([0.5] * 7) or (0, 0)
    assert low < 0.3 and high > 0.7


def test_tiers_cover_all_rates() -> None:
    assert [tier(rate) for rate in (1.0, 0.75, 0.74, 0.4, 0.1, 0.09, 0.0)] == [
        Difficulty.EASY,
        Difficulty.EASY,
        Difficulty.MEDIUM,
        Difficulty.MEDIUM,
        Difficulty.HARD,
        Difficulty.EXTREMELY_HARD,
        Difficulty.EXTREMELY_HARD,
    ]
    assert [name for name, _ in TIERS] == list(Difficulty)


def test_marks_need_enough_attempts() -> None:
    assert [always(4, 0), always(4, 4), always(4, 1), always(3, 0), always(0, 0)] == [
        "always_0",
        "always_1",
        "",
        "",
        "",
    ]


def attempts(*rows: tuple[str, str, str, float]) -> pl.DataFrame:
    """By model, task, outcomes such as `+-x` (x: invalid), and the weighted score of failed ones."""
    status = {"+": Status.PASSED, "-": Status.FAILED, "x": Status.INVALID}
    runs: list[Any] = [
        recorded(
            model=model,
            task_id=task,
            attempt=number,
            status=status[sign],
            binary=int(sign == "+"),
            weighted={"+": 1.0, "-": score, "x": 0.0}[sign],
        )
        for model, task, signs, score in rows
        for number, sign in enumerate(signs)
    ]
    return attempts_frame(runs)


def test_a_row_per_model_and_task() -> None:
    frame = by_task(attempts(("b", "t1", "++--", 0.5), ("a", "t2", "xxx", 0), ("a", "t1", "----x", 0.25)), (1, 2))
    first, nothing, mixed = frame.to_dicts()
    assert (first["model"], first["task_id"], first["n"], first["passed"], first["invalid"]) == ("a", "t1", 4, 0, 1)
    assert (first["rate"], first["weighted"], first["tier"], first["always"]) == (
        0.0,
        0.25,
        "extremely_hard",
        "always_0",
    )
    assert (nothing["n"], nothing["invalid"], nothing["always"]) == (0, 3, "")
    assert {nothing[name] for name in ("rate", "low", "high", "weighted", "pass@1", "tier")} == {None}
    assert (mixed["pass@1"], mixed["pass@2"], mixed["weighted"], mixed["tier"]) == (0.5, 5 / 6, 0.75, "medium")
    assert (mixed["low"], mixed["high"]) == wilson(2, 4)
    assert mixed["domain"] == "debugging" and mixed["difficulty"] == "easy"


def test_the_mean_is_over_tasks_with_enough_attempts() -> None:
    rows = [("m", "t1", "++", 0), ("m", "t2", "--", 0), ("m", "t3", "+x", 0), ("n", "t1", "x", 0)]
    frame = by_model(attempts(*rows), (1, 2))
    found = {(row["model"], row["k"]): row for row in frame.to_dicts()}
    assert found["m", 1]["value"] == pytest.approx(2 / 3) and found["m", 1]["tasks"] == 3
    assert (found["m", 2]["value"], found["m", 2]["tasks"], found["m", 2]["left_out"]) == (0.5, 2, 1)
    assert 0 <= found["m", 1]["low"] <= found["m", 1]["value"] <= found["m", 1]["high"] <= 1
    assert (found["n", 1]["value"], found["n", 1]["low"], found["n", 1]["left_out"]) == (None, None, 1)
    assert frame.equals(by_model(attempts(*reversed(rows)), (1, 2)))


def test_nothing_at_all_and_a_missing_column() -> None:
    empty = attempts_frame([])
    assert by_task(empty).is_empty() and by_model(empty).is_empty()
    with pytest.raises(UsageError, match="needs the column 'valid'"):
        by_model(empty.drop("valid"))
