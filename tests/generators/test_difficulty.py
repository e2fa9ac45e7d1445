"""Difficulty: measured pass rates move the knobs, in bounded steps and in the right direction."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from generators.difficulty import Control, Level, Observed, Rates, corrected, scaled, scales
from generators.seeds import stream
from generators.task import Difficulty

CONTROL = Control(gain=0.5, step=1.5, prior=8, least=0.25, most=4.0)
LEVELS = {
    Difficulty.EASY: Level(target=0.9, scale=0.6, say="x"),
    Difficulty.MEDIUM: Level(target=0.6, scale=1.0, say="x"),
    Difficulty.HARD: Level(target=0.3, scale=1.5, say="x"),
    Difficulty.EXTREMELY_HARD: Level(target=0.1, scale=2.1, say="x"),
}
RATE = st.floats(0, 1)
TASKS = st.integers(0, 10_000)
SCALE = st.floats(0.25, 4.0)


def seen(pass_rate: float, tasks: int = 100, scale: float = 1.0) -> Observed:
    return Observed(difficulty=Difficulty.HARD, tasks=tasks, pass_rate=pass_rate, scale=scale)


def test_without_data_nothing_changes() -> None:
    started = {level: value.scale for level, value in LEVELS.items()}
    assert scales(LEVELS, CONTROL) == scales(LEVELS, CONTROL, Rates()) == started
    assert scales(LEVELS, CONTROL, Rates(observed=(seen(1.0, tasks=0, scale=3.0),))) == started


def test_only_the_measured_level_moves_and_its_last_measurement_decides() -> None:
    rates = Rates(observed=(seen(0.0), seen(0.8, scale=1.2)))
    moved = scales(LEVELS, CONTROL, rates)
    assert moved[Difficulty.HARD] == corrected(0.3, CONTROL, seen(0.8, scale=1.2)) > 1.2
    assert {**moved, Difficulty.HARD: 1.5} == scales(LEVELS, CONTROL)


@given(target=st.floats(0.05, 0.95), tasks=TASKS, scale=SCALE)
def test_at_the_target_nothing_changes(target: float, tasks: int, scale: float) -> None:
    assert corrected(target, CONTROL, seen(target, tasks, scale)) == pytest.approx(scale, abs=0.001)


@given(low=RATE, high=RATE, tasks=TASKS, scale=SCALE)
def test_a_higher_pass_rate_never_lowers_the_scale(low: float, high: float, tasks: int, scale: float) -> None:
    low, high = sorted((low, high))
    assert corrected(0.3, CONTROL, seen(low, tasks, scale)) <= corrected(0.3, CONTROL, seen(high, tasks, scale))


@given(rate=RATE, tasks=TASKS, scale=SCALE)
def test_steps_and_scales_are_bounded(rate: float, tasks: int, scale: float) -> None:
    moved = corrected(0.3, CONTROL, seen(rate, tasks, scale))
    assert CONTROL.least <= moved <= CONTROL.most
    assert scale / CONTROL.step - 0.001 <= moved <= scale * CONTROL.step + 0.001


@given(rate=st.floats(0.4, 1), few=st.integers(0, 50), more=st.integers(0, 50))
def test_more_tasks_move_further(rate: float, few: int, more: int) -> None:
    assert corrected(0.3, CONTROL, seen(rate, few)) <= corrected(0.3, CONTROL, seen(rate, few + more))


@pytest.mark.parametrize("slope", [0.7, 1.5, 3.0])
@pytest.mark.parametrize("ease", [-1.0, 0.0, 1.5])
def test_it_converges_on_a_fixed_response(slope: float, ease: float) -> None:
    """Solvers whose log-odds fall with the logarithm of the scale: each level they can reach ends at its target."""
    rates = Rates()
    for _ in range(40):
        now = scales(LEVELS, CONTROL, rates)
        rates = Rates(observed=tuple(measure(level, scale, ease, slope) for level, scale in now.items()))
    for last in rates.observed:
        target = LEVELS[last.difficulty].target
        reachable = sorted(response(bound, ease, slope) for bound in (CONTROL.least, CONTROL.most))
        assert last.pass_rate == pytest.approx(min(max(target, reachable[0]), reachable[1]), abs=0.02)


def test_it_settles_near_the_target_under_noise() -> None:
    rng, scale, late = stream("noise"), 1.0, list[float]()
    for batch in range(120):
        passed = sum(rng.random() < response(scale, 0.0, 1.5) for _ in range(60)) / 60
        late += [passed] if batch >= 40 else []
        scale = corrected(0.3, CONTROL, seen(passed, 60, scale))
    assert sum(late) / len(late) == pytest.approx(0.3, abs=0.03)


def response(scale: float, ease: float, slope: float) -> float:
    """The pass rate of simulated solvers."""
    return 1 / (1 + math.exp(slope * math.log(scale) - ease))


def measure(level: Difficulty, scale: float, ease: float, slope: float) -> Observed:
    """What a batch of a hundred tasks would show."""
    return Observed(difficulty=level, tasks=100, pass_rate=response(scale, ease, slope), scale=scale)


@given(value=st.integers(0, 5000), low=SCALE, high=SCALE)
def test_scaled_numbers_grow_with_the_scale_and_stay_in_bounds(value: int, low: float, high: float) -> None:
    low, high = sorted((low, high))
    assert 1 <= scaled(value, low, 1, 900) <= scaled(value, high, 1, 900) <= 900
    assert scaled(value, 1.0, 0, 5000) == value


@pytest.mark.parametrize("bad", [{"pass_rate": 1.1}, {"tasks": -1}, {"scale": 0.0}, {"scale": math.inf}])
def test_impossible_measurements_are_refused(bad: dict[str, float]) -> None:
    good = {"difficulty": "hard", "tasks": 1, "pass_rate": 0.5, "scale": 1.0}
    with pytest.raises(ValidationError):
        Observed.model_validate(good | bad)
