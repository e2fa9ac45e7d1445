"""Rewards: always the same keys, always finite, never a 0 for what says nothing about the agent."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from agent.trajectory import Status
from generators.errors import ProviderFault
from tests.trainer.episodes import episode
from trainer.judge.verdict import Judged, Verdict
from trainer.reward import KEYS, RewardSettings, check_fallbacks, fallback_share, reward, rewarded

MIXED = RewardSettings()
DONE: dict[str, Any] = {"status": Status.FAILED, "weighted": 0.4}


class Fixed:
    """A judge that says this, and counts."""

    name = "fixed"

    def __init__(self, score: float | None) -> None:
        self.score, self.asked = score, 0

    async def judge(self, judged: Judged, sample: int = 0) -> Verdict:
        self.asked += 1
        return Verdict(judge=self.name, score=self.score, reason="" if self.score is not None else "down")

    async def close(self) -> None:
        pass


def test_tests_and_judge_are_mixed_by_their_weights() -> None:
    row = reward(episode(**DONE), 0.8, MIXED)
    assert row == pytest.approx(
        {
            "reward": 0.65 * 0.4 + 0.35 * 0.8,
            "tests": 0.4,
            "binary": 0,
            "judge": 0.8,
            "judged": 1,
            "fallback": 0,
            "valid": 1,
        }
    )
    own = RewardSettings(tests=0.9, judge=0.1)
    assert reward(episode(**DONE), 0.8, own)["reward"] == pytest.approx(0.44)


@pytest.mark.parametrize("score", [None, math.nan, math.inf, -0.1, 1.5])
def test_a_judge_that_failed_leaves_the_tests_alone_and_is_marked(score: float | None) -> None:
    row = reward(episode(**DONE), score, MIXED)
    assert (row["reward"], row["judged"], row["fallback"], row["judge"]) == (0.4, 0, 1, 0)


def test_a_judge_that_says_zero_is_no_failure() -> None:
    row = reward(episode(**DONE), 0.0, MIXED)
    assert (row["reward"], row["judged"], row["fallback"]) == (pytest.approx(0.26), 1, 0)


@pytest.mark.parametrize(("mode", "value"), [("tests-only", 0.4), ("binary", 0.0)])
def test_other_modes_want_no_judge(mode: Any, value: float) -> None:
    judge = Fixed(0.9)
    row = asyncio.run(rewarded(Judged(episode(**DONE)), judge, RewardSettings(mode=mode)))
    assert (row["reward"], row["fallback"], row["judged"], judge.asked) == (value, 0, 0, 0)
    passed = episode(status=Status.PASSED, weighted=1.0, binary=1)
    assert reward(passed, None, RewardSettings(mode=mode))["reward"] == 1


def test_an_invalid_episode_is_not_judged_and_says_that_it_must_be_masked() -> None:
    judge = Fixed(0.9)
    row = asyncio.run(rewarded(Judged(episode(status=Status.INVALID)), judge, MIXED))
    assert (row, judge.asked) == (dict.fromkeys(KEYS, 0.0), 0)
    assert reward(episode(weighted=math.nan), 1.0, MIXED)["valid"] == 0


def test_a_valid_episode_is_judged_once() -> None:
    judge = Fixed(None)
    row = asyncio.run(rewarded(Judged(episode(**DONE)), judge, MIXED))
    assert (row["reward"], row["fallback"], judge.asked) == (0.4, 1, 1)


@given(
    st.sampled_from(list(Status)),
    st.floats(),
    st.integers(0, 1),
    st.none() | st.floats(),
    st.sampled_from(["mixed", "tests-only", "binary"]),
    st.floats(0.01, 1),
)
def test_every_reward_is_finite_in_range_and_of_the_same_keys(
    status: Status, weighted: float, binary: int, score: float | None, mode: Any, tests: float
) -> None:
    settings = RewardSettings(mode=mode, tests=tests, judge=1 - tests)
    row = reward(episode(status=status, weighted=weighted, binary=binary), score, settings)
    assert tuple(row) == KEYS
    assert all(type(value) is float and 0 <= value <= 1 for value in row.values())
    assert not (row["judged"] and row["fallback"])
    assert row["valid"] or row["reward"] == 0


@pytest.mark.parametrize(
    "fields",
    [
        {"tests": 0.5, "judge": 0.4},
        {"tests": -0.1, "judge": 1.1},
        {"tests": math.nan},
        {"mode": "best"},
        {"tests": 0.0, "judge": 1.0},
        {"ceiling": 2},
    ],
)
def test_settings_that_make_no_sense_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        RewardSettings(**fields)


def test_too_many_fallbacks_stop_training() -> None:
    good, bad = reward(episode(**DONE), 0.5, MIXED), reward(episode(**DONE), None, MIXED)
    masked = reward(episode(status=Status.INVALID), None, MIXED)
    assert fallback_share([good, good, good, bad, masked]) == 0.25
    assert check_fallbacks([good, good, good, bad, masked], MIXED) == 0.25
    assert fallback_share([]) == fallback_share([masked]) == 0
    with pytest.raises(ProviderFault, match=r"50% of a batch.*ceiling of 25%.*judge use"):
        check_fallbacks([good, bad], MIXED)
