"""Difficulty as a control loop: measured pass rates move the scale that a level's knobs are multiplied by.

    scales(levels, control, Rates(observed=(Observed(difficulty=Difficulty.HARD, tasks=40, pass_rate=0.55, scale=1.5),)))

Hard tasks that are solved too often get more files, steps and edge cases in the next batch; too rarely, fewer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Self

from pydantic import Field, model_validator

from generators.task import Difficulty, Record, Text

DIGITS = 3  # scales are rounded, so that the last bit of a logarithm cannot differ between machines


class Level(Record):
    """A difficulty: the pass rate it aims at, its scale before anything was measured, and what a prompt says of it."""

    target: float = Field(gt=0, lt=1)
    scale: float = Field(gt=0, allow_inf_nan=False)
    say: Text


class Control(Record):
    """How measured rates act.

    gain    share of the error, in log-odds, that is corrected at once
    step    greatest factor by which one batch moves a scale
    prior   tasks that count as no evidence: a batch of this size acts at half its strength
    least, most    bounds of every scale
    """

    gain: float = Field(gt=0, le=1)
    step: float = Field(gt=1, allow_inf_nan=False)
    prior: float = Field(ge=0, allow_inf_nan=False)
    least: float = Field(gt=0, allow_inf_nan=False)
    most: float = Field(allow_inf_nan=False)

    @model_validator(mode="after")
    def _bounds_in_order(self) -> Self:
        if self.least > self.most:
            raise ValueError(f"least {self.least:g} is above most {self.most:g}")
        return self


class Observed(Record):
    """A measured batch of one level: how many tasks, their mean pass rate, and the scale they were made at."""

    difficulty: Difficulty
    tasks: int = Field(ge=0)
    pass_rate: float = Field(ge=0, le=1)
    scale: float = Field(gt=0, allow_inf_nan=False)


class Rates(Record):
    """What earlier batches measured, oldest first. The last of each level decides."""

    observed: tuple[Observed, ...] = ()

    def latest(self) -> dict[Difficulty, Observed]:
        """The last measurement of each level that has tasks."""
        return {seen.difficulty: seen for seen in self.observed if seen.tasks}


def scales(levels: Mapping[Difficulty, Level], control: Control, rates: Rates | None = None) -> dict[Difficulty, float]:
    """The scale of each level for the next batch. A level without a measurement keeps the one it starts with."""
    latest = rates.latest() if rates else {}
    return {
        difficulty: corrected(level.target, control, latest[difficulty]) if difficulty in latest else level.scale
        for difficulty, level in levels.items()
    }


def corrected(target: float, control: Control, seen: Observed) -> float:
    """One bounded step from the scale a batch was made at towards the scale that meets `target`."""
    smoothed = (seen.pass_rate * seen.tasks + target) / (seen.tasks + 1)  # never 0 or 1; one task's worth of the target
    trust = seen.tasks / (seen.tasks + control.prior)
    error = control.gain * trust * (_log_odds(smoothed) - _log_odds(target))
    limit = math.log(control.step)
    moved = seen.scale * math.exp(max(-limit, min(limit, error)))
    return round(max(control.least, min(control.most, moved)), DIGITS)


def scaled(value: int, scale: float, least: int, most: int) -> int:
    """A whole number times a scale, rounded half up, kept between `least` and `most`."""
    return max(least, min(most, math.floor(value * scale + 0.5)))


def _log_odds(share: float) -> float:
    return math.log(share / (1 - share))
