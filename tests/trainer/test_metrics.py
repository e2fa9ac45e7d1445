"""The line of a step: its figures against ones counted by hand, and that nothing makes it invalid JSON."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.trajectory import End
from trainer.metrics import PARTS, append_line, console_line, step_metrics
from trainer.records import RolloutRecord, RolloutSeconds
from trainer.reward import KEYS
from trainer.run import RunFolder, read_lines

VERL = {
    "actor/loss": -0.02,
    "actor/pg_loss": -0.02,
    "actor/grad_norm": 0.75,
    "actor/entropy": 1.25,
    "actor/ppo_kl": 0.0,
    "actor/pg_clipfrac": 0.01,
    "actor/lr": 2.5e-7,
    "training/rollout_actor_probs_pearson_corr": 0.9991,
    "training/rollout_probs_diff_mean": 0.002,
    "rollout_corr/kl": 0.0001,
    "critic/score/mean": 0.5,
    "perf/throughput": 120.5,
    "timing_s/step": 100.0,
    "timing_s/gen": 40.0,
    "timing_s/old_log_prob": 10.0,
    "timing_s/ref": 5.0,
    "timing_s/update_actor": 20.0,
    "timing_s/update_weights": 3.0,
    "timing_s/save_checkpoint": 8.0,
    "timing_s/testing": 50.0,
}


def rollout(reward: float = 0.0, group: str = "a", **fields: Any) -> RolloutRecord:
    values = dict.fromkeys(KEYS, 0.0) | {"reward": reward, "tests": reward, "binary": float(reward == 1), "valid": 1.0}
    standard: dict[str, Any] = {
        "step": 3,
        "split": "train",
        "task_id": "t",
        "task_digest": "d",
        "group": group,
        "sample": 0,
        "turns": 2,
        "prompt_tokens": 100,
        "response_tokens": 60,
        "written_tokens": 40,
        "end": "finished",
        "seconds": RolloutSeconds(model=6, tools=1, waiting=1, grading=1.5, judge=0.5, total=10),
    }
    reward_parts = values | fields.pop("parts", {})
    return RolloutRecord.model_validate(standard | {"reward": reward_parts} | fields)


ROLLOUTS = [
    rollout(1.0, "a", turns=4, response_tokens=80, parts={"judge": 0.5, "judged": 1.0}),
    rollout(0.0, "a", end="turns_exhausted", parts={"fallback": 1.0}),
    rollout(0.5, "b"),
    rollout(0.5, "b", logprob=-0.5),
    rollout(0.0, "b", turns=9, end="broken", faults=("one", "two"), parts={"valid": 0.0}),
    rollout(1.0, "v", split="validation"),
    rollout(0.0, "w", split="validation"),
]


def test_entropy_is_the_updates_where_no_log_probabilities_are_made_again() -> None:
    verl = {key: value for key, value in VERL.items() if key != "actor/entropy"} | {"actor/entropy_loss": 1.5}
    assert step_metrics(verl, [])["actor/entropy"] == 1.5
    assert step_metrics(VERL | {"actor/entropy_loss": 1.5}, [])["actor/entropy"] == 1.25


def test_rewards_are_those_of_valid_rollouts() -> None:
    line = step_metrics(VERL, ROLLOUTS)
    wanted = {
        "reward/mean": 0.5,
        "reward/std": math.sqrt(0.125),
        "reward/min": 0.0,
        "reward/max": 1.0,
        "reward/tests": 0.5,
        "reward/binary": 0.25,
        "pass_rate": 0.25,
        "reward/judge": 0.5,  # of the one that was judged
        "reward/judged": 0.25,
        "reward/fallback": 0.25,
        "reward/trained": 0.5,
        "invalid_share": 0.2,
        "faults": 2.0,
        "rollouts": 4.0,
        "groups": 2.0,
        "mixed_groups": 1.0,
        "val/reward": 0.5,
        "val/pass_rate": 0.5,
        "val/mixed_groups": 0.0,
    }
    assert {name: line[name] for name in wanted} == pytest.approx(wanted)


def test_sizes_and_ends() -> None:
    line = step_metrics(VERL, ROLLOUTS)
    assert (line["turns"], line["tokens/response"], line["tokens/written"], line["logprob"]) == (2.5, 65.0, 40.0, -0.5)
    ends = {name.removeprefix("end/"): value for name, value in line.items() if name.startswith("end/")}
    assert set(ends) == {end.value for end in End}
    assert (ends["finished"], ends["turns_exhausted"], ends["broken"]) == (0.6, 0.2, 0.2)


def test_the_parts_of_a_step_sum_to_it() -> None:
    line = step_metrics(VERL, ROLLOUTS)
    parts = {name: line[name] for name in PARTS}
    assert parts == pytest.approx(
        {
            "time/model": 24.0,  # 6 of 10 seconds of the rollouts, of 40
            "time/old_log_prob": 15.0,
            "time/update": 20.0,
            "time/sync": 3.0,
            "time/sandbox": 4.0,
            "time/waiting": 4.0,
            "time/grader": 6.0,
            "time/judge": 2.0,
            "time/checkpoint": 8.0,
            "time/other": 14.0,
        }
    )
    assert sum(parts.values()) == pytest.approx(line["time/step"])
    assert line["time/validation"] == 50.0, "after the step, not in it"
    assert line["time/outside_share"] == pytest.approx(1 - (24 + 15 + 20 + 3) / (100 - 8))


def test_verls_figures_keep_their_digits() -> None:
    line = step_metrics(VERL, [])
    assert (line["actor/lr"], line["actor/correlation"], line["throughput"]) == (2.5e-7, 0.9991, 120.5)
    assert "reward/mean" not in line and "time/outside_share" not in line, "nobody measured them"


def test_what_is_no_number_is_flagged_by_name() -> None:
    line = step_metrics(VERL | {"actor/grad_norm": None, "training/rollout_actor_probs_pearson_corr": math.nan}, [])
    assert "actor/grad_norm" not in line and "actor/correlation" not in line
    assert (line["non_finite"], line["non_finite/actor/grad_norm"], line["non_finite/actor/correlation"]) == (2, 1, 1)
    assert step_metrics(VERL, ROLLOUTS)["non_finite"] == 0


def test_a_step_whose_rollouts_are_all_invalid() -> None:
    line = step_metrics(VERL, [rollout(parts={"valid": 0.0}, end="broken")])
    assert (line["invalid_share"], line["groups"], line["end/broken"]) == (1.0, 0.0, 1.0)
    assert "reward/mean" not in line and line["non_finite"] == 0


def test_lines_are_read_back(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    lines = [{"step": 0.0, "val/pass_rate": 0.5}, {"step": 1.0, **step_metrics(VERL, ROLLOUTS)}]
    for line in lines:
        append_line(run, line)
    assert read_lines(run.metrics) == lines


def test_the_console_line_says_the_step_in_short() -> None:
    line = {"step": 3, **step_metrics(VERL, ROLLOUTS)}
    assert console_line(line, 30) == (
        "step 3/30  reward 0.500 (tests 0.500)  pass 25%  mixed 1/2  entropy 1.25  gradient 0.75  tokens 65"
        "  invalid 20%  100 s  validation pass 50%"
    )
    assert console_line({"step": 0, "val/pass_rate": 0.25}, 30) == "step 0/30  validation pass 25%"
    assert console_line({"step": 1, "time/step": 5.0}, 30).startswith("step 1/30  reward - (tests -)  pass -")


FIGURES = st.one_of(st.floats(), st.none(), st.integers(-(10**12), 10**12), st.text(max_size=3))
SECONDS = st.floats(0, allow_nan=False)


@given(
    st.dictionaries(st.sampled_from(sorted(VERL)), FIGURES),
    st.lists(
        st.builds(
            rollout,
            st.floats(),
            st.sampled_from("ab"),
            split=st.sampled_from(["train", "validation"]),
            end=st.text(max_size=5),
            logprob=st.none() | st.floats(),
            parts=st.dictionaries(st.sampled_from(KEYS), st.floats()),
            seconds=st.builds(RolloutSeconds, model=SECONDS, tools=SECONDS, total=SECONDS),
        ),
        max_size=5,
    ),
)
def test_whatever_was_measured_the_line_is_finite_json(verl: dict[str, Any], rollouts: list[RolloutRecord]) -> None:
    line = step_metrics(verl, rollouts)
    assert all(isinstance(value, float) and math.isfinite(value) for value in line.values())
    assert json.loads(json.dumps(line, allow_nan=False)) == line
    assert line["non_finite"] == sum(name.startswith("non_finite/") for name in line)
    assert console_line({"step": 1} | line, 10).startswith("step 1/10")
