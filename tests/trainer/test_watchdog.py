"""The watchdog: each rule fires at its threshold after its patience, and not before."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from trainer.watchdog import VITAL, Phase, Watchdog, WatchdogSettings, tied

SETTINGS = WatchdogSettings(patience=3, most_tied=4)
GOOD: dict[str, float] = {
    "time/step": 30.0,
    "actor/loss": 0.1,
    "actor/grad_norm": 0.5,
    "actor/entropy": 1.2,
    "actor/correlation": 0.999,
    "actor/rollout_kl": 0.001,
    "actor/kl": 0.001,
    "invalid_share": 0.0,
    "reward/fallback": 0.0,
    "reward/mean": 0.5,
    "reward/min": 0.0,
    "reward/max": 1.0,
    "tokens/written": 100.0,
    "groups": 8.0,
    "mixed_groups": 5.0,
}


def steps(watchdog: Watchdog, count: int, **changes: float) -> list[str | None]:
    return [
        watchdog.step(GOOD | {key.replace("__", "/"): value for key, value in changes.items()}) for _ in range(count)
    ]


def test_a_good_run_is_never_stopped() -> None:
    assert steps(Watchdog(SETTINGS), 50) == [None] * 50


@pytest.mark.parametrize(
    ("code", "changes", "figures"),
    [
        ("entropy_collapse", {"actor__entropy": 0.001}, ("0.001", "0.005")),
        ("engine_mismatch", {"actor__correlation": 0.5}, ("0.5", "0.8")),
        ("engine_mismatch", {"actor__difference": 0.3}, ("0.3", "0.1")),
        ("kl_explosion", {"actor__rollout_kl": 2.5}, ("2.5", "0.5")),
        ("kl_explosion", {"actor__kl": 4.0}, ("4", "1")),
        ("invalid_rollouts", {"invalid_share": 0.75}, ("0.75", "0.5")),
        ("judge_fallbacks", {"reward__fallback": 0.5}, ("0.5", "0.25")),
        ("length_explosion", {"tokens__written": 900.0}, ("900", "800")),
        ("length_collapse", {"tokens__written": 10.0}, ("10.0", "12.5")),
    ],
)
def test_a_rule_that_stays_broken_stops_with_its_figures(
    code: str, changes: dict[str, float], figures: tuple[str, str]
) -> None:
    watchdog = Watchdog(SETTINGS)
    steps(watchdog, 5)
    *before, reason = steps(watchdog, 3, **changes)
    assert before == [None, None]
    assert reason and reason.startswith(f"{code}: ") and all(figure in reason for figure in figures)


def test_a_good_step_between_begins_the_patience_anew() -> None:
    watchdog = Watchdog(SETTINGS)
    for _ in range(4):
        assert steps(watchdog, 2, actor__entropy=0.0) + steps(watchdog, 1) == [None] * 3


def test_reward_is_measured_against_its_best_moving_mean() -> None:
    watchdog = Watchdog(SETTINGS)
    assert steps(watchdog, 5) == [None] * 5
    found = steps(watchdog, 6, reward__mean=0.0)
    assert found[:-1] == [None] * 5, "the mean of five steps is below 30 % of 0.5 from the fourth on"
    assert found[-1] and found[-1].startswith("reward_collapse: the mean reward is 0.000 (least 0.150), after 0.500")


def test_a_reward_that_was_always_low_is_no_collapse() -> None:
    assert steps(Watchdog(SETTINGS), 30, reward__mean=0.0) == [None] * 30


@pytest.mark.parametrize("key", VITAL)
def test_what_is_no_number_stops_at_once(key: str) -> None:
    assert Watchdog().step(GOOD | {key: float("nan")}) == f"non_finite: {key} is no finite number"
    assert Watchdog().step(GOOD | {f"non_finite/{key}": 1.0}) == f"non_finite: {key} is no finite number"


def test_a_correlation_that_is_no_number_is_not_vital() -> None:
    assert steps(Watchdog(SETTINGS), 9, **{"non_finite": 1.0, "non_finite/actor/correlation": 1.0}) == [None] * 9


def test_tied_rewards_have_a_patience_of_their_own() -> None:
    *before, reason = steps(Watchdog(SETTINGS), 4, mixed_groups=0.0)
    assert before == [None] * 3
    assert reason and reason.startswith("tied_rewards: ") and "4 steps" in reason


def test_with_a_critic_rewards_are_compared_over_the_whole_step() -> None:
    unmixed = GOOD | {"mixed_groups": 0.0}
    assert tied(unmixed)
    assert not tied(unmixed | {"critic/loss": 0.1})
    assert tied(unmixed | {"critic/loss": 0.1, "reward/min": 1.0})


def test_a_validation_by_itself_is_not_judged() -> None:
    assert Watchdog(SETTINGS).step({"step": 0, "val/pass_rate": 0.0, "actor/loss": float("nan")}) is None


@pytest.mark.parametrize(
    ("phase", "limit"), [("starting", 1800), ("step", 1800), ("rollout", 1800), ("sync", 600), ("checkpoint", 3600)]
)
def test_silence_has_a_limit_by_phase(phase: Phase, limit: float) -> None:
    watchdog = Watchdog()
    assert watchdog.silence(limit, phase) is None
    reason = watchdog.silence(limit + 1, phase)
    assert reason and reason.startswith(f"hang: no sign of life for {limit + 1} s") and f"limit {limit} s" in reason


def test_silence_grows_with_the_longest_of_its_phase() -> None:
    watchdog = Watchdog()
    watchdog.step(GOOD | {"time/step": 1000.0, "time/sync": 300.0})
    watchdog.step(GOOD)
    assert watchdog.silence(3000, "step") is None and watchdog.silence(3001, "step")
    assert watchdog.silence(900, "sync") is None and watchdog.silence(901, "sync")
    assert watchdog.silence(1801, "starting")


def test_a_dead_worker_is_named() -> None:
    assert Watchdog().dead({"trainer": True, "engine": True}) is None
    assert Watchdog().dead({"trainer": True, "engine": False}) == "dead_worker: engine ended, 1 of 2 processes"


def test_replay_remembers_the_best_and_forgets_the_patience() -> None:
    lines = [json.loads(json.dumps(GOOD | {"step": step})) for step in range(6)]
    lines += [line | {"reward/mean": 0.0} for line in lines]
    assert Watchdog.replay(lines[:6], SETTINGS) == replayed(lines[:6])
    resumed = Watchdog.replay(lines, SETTINGS)
    found = steps(resumed, 3, reward__mean=0.0)
    assert found[:2] == [None, None], "patience begins anew"
    assert found[2] and "after 0.500 at best" in found[2]


def replayed(lines: list[Mapping[str, float]]) -> Watchdog:
    watchdog = Watchdog(SETTINGS)
    assert [watchdog.step(line) for line in lines] == [None] * len(lines)
    return watchdog


@pytest.mark.parametrize("wrong", [{"patience": 0}, {"least_reward": 1.5}, {"unknown": 1}, {"silent_seconds": "nan"}])
def test_settings_are_strict(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        WatchdogSettings.model_validate(wrong)


NUMBERS = st.one_of(st.floats(), st.integers(), st.none(), st.booleans())


@given(st.lists(st.dictionaries(st.sampled_from([*GOOD, *VITAL, "critic/loss", "time/sync"]), NUMBERS), max_size=9))
def test_no_line_breaks_it(lines: list[dict[str, Any]]) -> None:
    watchdog = Watchdog(WatchdogSettings(patience=1, most_tied=1))
    for line in lines:
        reason = watchdog.step(line)
        assert reason is None or reason.partition(": ")[0].replace("_", "").isalpha()
    assert watchdog.silence(1e308, "starting")
