"""The reward of an episode: what its tests gave, and how it was worked, as one record of numbers with the same keys always.

    values = reward(trajectory, verdict.score, RewardSettings())      # 0.65 x weighted tests + 0.35 x judge
    values = await rewarded(Judged(trajectory, dockerfile), judge, RewardSettings())

keys        `reward`, and what it is made of: `tests` (weighted), `binary`, `judge` (0 where `judged` is 0)
`judged`    1 where the judge's score is part of the reward
`fallback`  1 where a judge was wanted and there is no score: the reward is that of the tests alone, not of a judge that said 0
`valid`     0 where infrastructure, provider or grader failed. Such a row says nothing of the agent: its `reward` is 0.0 only because a
            number must stand there, and a trainer has to mask it (no loss, no baseline, no mean)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from agent.trajectory import Trajectory
from generators.errors import ProviderFault
from generators.task import WEIGHT_TOLERANCE, Record
from trainer.judge.verdict import Judge, Judged

Mode = Literal["mixed", "tests-only", "binary"]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
KEYS = ("reward", "tests", "binary", "judge", "judged", "fallback", "valid")


class RewardSettings(Record):
    """How a reward is made. The two weights sum to 1; `ceiling` is the largest share of fallbacks that a batch may have."""

    mode: Mode = "mixed"
    tests: Share = 0.65
    judge: Share = 0.35
    ceiling: Share = 0.25

    @model_validator(mode="after")
    def _weights(self) -> Self:
        if abs(self.tests + self.judge - 1) > WEIGHT_TOLERANCE:
            raise ValueError(f"the weights of tests and judge sum to {self.tests + self.judge:g}, not to 1")
        if self.mode == "mixed" and not self.tests:
            raise ValueError("tests must weigh something: they are what a reward falls back to")
        return self

    @property
    def wants_judge(self) -> bool:
        """Whether a judge's score is part of the reward."""
        return self.mode == "mixed" and self.judge > 0


def reward(trajectory: Trajectory, judged: float | None, settings: RewardSettings) -> dict[str, float]:
    """The reward and its parts, finite and in [0, 1]. Without a judge's score, or with one outside [0, 1], the judge has failed.

    Rows of invalid episodes hold zeros, `valid` included, and must be masked.
    """
    if not trajectory.valid or not _is_share(trajectory.weighted):
        return dict.fromkeys(KEYS, 0.0)
    tests, binary = float(trajectory.weighted), float(bool(trajectory.binary))
    score = float(judged) if settings.wants_judge and judged is not None and _is_share(judged) else None
    fallback = settings.wants_judge and score is None
    if settings.mode == "binary":
        value = binary
    elif score is None:
        value = tests
    else:
        value = (settings.tests * tests + settings.judge * score) / (settings.tests + settings.judge)
    numbers = (min(max(value, 0.0), 1.0), tests, binary, score or 0.0, float(score is not None), float(fallback), 1.0)
    return dict(zip(KEYS, numbers, strict=True))


async def rewarded(judged: Judged, judge: Judge, settings: RewardSettings) -> dict[str, float]:
    """The same with the judge asked, where its score counts and the episode is valid."""
    if not settings.wants_judge or not judged.trajectory.valid:
        return reward(judged.trajectory, None, settings)
    return reward(judged.trajectory, (await judge.judge(judged)).score, settings)


def fallback_share(batch: Sequence[Mapping[str, float]]) -> float:
    """The share of valid rows whose judge failed; 0 where no row is valid."""
    valid = [row for row in batch if row["valid"]]
    return sum(row["fallback"] for row in valid) / len(valid) if valid else 0.0


def check_fallbacks(batch: Sequence[Mapping[str, float]], settings: RewardSettings) -> float:
    """The share of fallbacks of a batch, for its metrics.

    Raises:
        ProviderFault: it is over the ceiling. Training stops: another reward than the one that was asked for would be learnt.
    """
    share = fallback_share(batch)
    if share > settings.ceiling:
        raise ProviderFault(
            f"the judge failed for {share:.0%} of a batch, more than the ceiling of {settings.ceiling:.0%}: choose another one"
            " (termforge judge use) and go on from the last checkpoint",
            "down",
        )
    return share


def _is_share(value: float) -> bool:
    return math.isfinite(value) and 0 <= value <= 1
