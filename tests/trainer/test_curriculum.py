"""The curriculum: chances, retirement, pauses; the same draw anywhere; a state that can be made anew from a run's rollouts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from generators.errors import UsageError
from generators.evidence import Evidence, Gate, Verdict
from generators.recipe import load_recipe, plan
from trainer.curriculum import (
    CurriculumSettings,
    CurriculumState,
    CurriculumTask,
    Outcome,
    Practice,
    begin,
    choose,
    judge_weight,
    outcomes,
    pass_rate,
    update,
    weights,
)
from trainer.curriculum_requests import Standing, as_yaml, by_family, requests, standing
from trainer.curriculum_run import Practised, known_outcomes, load_state, run_plan, save_state
from trainer.records import RolloutRecord
from trainer.reward import KEYS
from trainer.run import RunFolder

ON = CurriculumSettings(enabled=True)
TASKS = [CurriculumTask(f"{number:064x}", "ladder", "file_operations", "easy") for number in range(8)]
found = st.lists(
    st.builds(Outcome, st.sampled_from([task.digest for task in TASKS]), st.integers(0, 8), st.integers(0, 8)),
    max_size=12,
)
history = st.lists(found, max_size=12)
some_settings = st.builds(
    CurriculumSettings,
    enabled=st.just(True),
    floor=st.floats(0, 1),
    memory=st.floats(0, 1),
    easy_steps=st.integers(0, 30),
    rehearsal=st.floats(0.01, 0.5),
    retire_after=st.integers(1, 3),
    park_after=st.integers(1, 3),
)


def after(settings: CurriculumSettings, steps: list[list[Outcome]]) -> CurriculumState:
    state = begin(settings)
    for number, step in enumerate(steps, 1):
        state = update(settings, state, step, number)
    return state


def rollout(task: CurriculumTask, passed: bool, step: int, **changes: object) -> RolloutRecord:
    values: dict[str, object] = {
        "step": step,
        "split": "train",
        "task_id": "x",
        "task_digest": task.digest,
        "group": "g",
        "sample": 0,
        "reward": dict.fromkeys(KEYS, float(passed)) | {"valid": 1.0},
        "turns": 1,
        "prompt_tokens": 1,
        "response_tokens": 1,
        "written_tokens": 1,
        "end": "finished",
    }
    return RolloutRecord.model_validate(values | changes)


@given(some_settings, history, st.integers(1, 60))
def test_chances_sum_to_one_and_only_parked_tasks_have_none(
    settings: CurriculumSettings, steps: list[list[Outcome]], step: int
) -> None:
    state = after(settings, steps)
    chances = weights(settings, state, TASKS, step)
    assert sum(chances) == pytest.approx(1)
    assert all(chance >= 0 for chance in chances)
    waiting = [state.tasks.get(task.digest, Practice()).again > step for task in TASKS]
    for chance, away in zip(chances, waiting, strict=True):
        assert (chance > 0) == (not away or all(waiting))


@given(some_settings, history, st.integers(1, 60), st.integers(1, 20), st.integers(0, 5))
def test_a_draw_is_the_same_again_and_nothing_comes_twice_too_soon(
    settings: CurriculumSettings, steps: list[list[Outcome]], step: int, batch: int, seed: int
) -> None:
    state = after(settings, steps)
    chosen = choose(settings, state, TASKS, step, batch, seed)
    again = CurriculumState.model_validate_json(state.canonical())
    assert chosen == choose(settings, again, TASKS, step, batch, seed)
    assert len(chosen) == batch and set(chosen) <= set(range(len(TASKS)))
    able = sum(chance > 0 for chance in weights(settings, state, TASKS, step))
    assert len(set(chosen[:able])) == min(batch, able)


@given(found, st.randoms(use_true_random=False))
def test_the_order_within_a_step_does_not_matter(step: list[Outcome], rng: object) -> None:
    other = list(step)
    rng.shuffle(other)  # type: ignore[attr-defined]
    assert update(ON, begin(ON), step, 1) == update(ON, begin(ON), other, 1)


def test_a_draw_is_this_one() -> None:
    """The same on any machine: a changed number here changes every run."""
    assert choose(ON, begin(ON), TASKS, 1, 8, 42) == [5, 2, 6, 4, 3, 0, 1, 7]


def test_half_solved_tasks_are_preferred() -> None:
    state = after(
        ON, [[Outcome(TASKS[0].digest, 4, 4), Outcome(TASKS[1].digest, 7, 1), Outcome(TASKS[2].digest, 1, 7)]]
    )
    half, often, seldom = weights(ON, state, TASKS[:3], 2)
    assert half > often == pytest.approx(seldom)


def test_easy_tasks_come_first_and_later_no_longer() -> None:
    settings = CurriculumSettings(enabled=True, easy_steps=10)
    state = after(settings, [[Outcome(TASKS[0].digest, 6, 2), Outcome(TASKS[1].digest, 2, 6)]])
    early, late = weights(settings, state, TASKS[:2], 1), weights(settings, state, TASKS[:2], 10)
    assert early[0] > 2 * early[1] and late[0] == pytest.approx(late[1])


def test_what_is_always_solved_is_retired_rehearsed_and_comes_back_when_it_is_forgotten() -> None:
    solved = [[Outcome(TASKS[0].digest, 8, 0)]] * 3
    state = after(ON, solved)
    assert standing(state, TASKS, 4) == Standing(unseen=7, learning=0, parked=0, retired=1)
    assert weights(ON, state, TASKS, 4)[0] == pytest.approx(ON.rehearsal)
    assert not update(ON, state, [Outcome(TASKS[0].digest, 7, 1)], 4).tasks[TASKS[0].digest].retired
    assert not after(ON, solved[:2]).tasks[TASKS[0].digest].retired


def test_what_is_never_solved_is_parked_for_longer_and_longer() -> None:
    settings = CurriculumSettings(enabled=True, park_after=2, park_steps=5, park_factor=2, park_most=15)
    state, step, pauses = begin(settings), 0, []
    for _ in range(5):
        step = max(step + 1, state.tasks.get(TASKS[0].digest, Practice()).again)
        state = update(settings, state, [Outcome(TASKS[0].digest, 0, 8)], step)
        pauses.append(max(0, state.tasks[TASKS[0].digest].again - step - 1))
    assert pauses == [0, 5, 10, 15, 15]
    assert weights(settings, state, TASKS, step + 1)[0] == 0
    assert weights(settings, state, TASKS, step + 16)[0] > 0
    assert update(settings, state, [Outcome(TASKS[0].digest, 1, 7)], step + 16).tasks[TASKS[0].digest].parked == 0


def test_where_all_are_parked_they_are_played_all_the_same() -> None:
    state = after(ON, [[Outcome(task.digest, 0, 8) for task in TASKS]] * 3)
    assert standing(state, TASKS, 4).parked == len(TASKS)
    assert sum(weights(ON, state, TASKS, 4)) == pytest.approx(1)


def test_a_step_counts_once() -> None:
    state = after(ON, [[Outcome(TASKS[0].digest, 1, 1)]])
    assert update(ON, state, [Outcome(TASKS[0].digest, 8, 0)], 1) == state


def test_only_valid_rollouts_of_training_count() -> None:
    lines = [
        rollout(TASKS[0], True, 1),
        rollout(TASKS[0], False, 1),
        rollout(TASKS[0], False, 1, reward=dict.fromkeys(KEYS, 0.0)),
        rollout(TASKS[1], True, 1, split="validation"),
    ]
    assert outcomes(lines) == (Outcome(TASKS[0].digest, 1, 1),)


def test_attempts_of_other_models_count_weakly() -> None:
    figures = {"attempts": 16, "passed": 12, "model": "m"}
    verdict = Verdict(gate=Gate.SOLVABLE, holds=True, figures=dict(figures))
    proof = Evidence(
        task_id="x",
        task_digest=TASKS[0].digest,
        suite="4",
        engine="e",
        base_digest="",
        image_digest="",
        verdicts=(verdict, Verdict(gate=Gate.SPEC, holds=True)),
    )
    known = known_outcomes([proof])
    assert known == (Outcome(TASKS[0].digest, 12, 4),)
    state = begin(ON, known)
    assert pass_rate(ON, state.tasks[TASKS[0].digest]) == pytest.approx((1 + 3) / (2 + 4))
    assert standing(state, TASKS, 1).unseen == len(TASKS)
    assert not begin(CurriculumSettings(known=0), known).tasks


def test_the_judge_gives_way_to_the_tests() -> None:
    settings = CurriculumSettings(enabled=True, judge_start=0.4, judge_end=0.1, judge_steps=10)
    assert [round(judge_weight(settings, step, 0.35), 3) for step in (1, 6, 11, 99)] == [0.4, 0.25, 0.1, 0.1]
    assert judge_weight(ON, 5, 0.35) == 0.35
    assert judge_weight(CurriculumSettings(judge_start=0.9), 5, 0.35) == 0.35


def test_more_is_asked_for_where_the_policy_is_weak(tmp_path: Path) -> None:
    tasks = [
        *TASKS,
        *(CurriculumTask(f"f{number}", "intrusion_triage", "security", "hard") for number in range(3)),
        *(CurriculumTask(f"w{number}", "written", "security", "medium") for number in range(3)),
        *(CurriculumTask(f"g{number}", "no_longer_there", "security", "hard") for number in range(3)),
    ]
    good = [Outcome(task.digest, 7, 1) for task in TASKS]
    state = after(ON, [[*good, *(Outcome(task.digest, 0, 8) for task in tasks[8:])]])
    assert by_family(ON, state, tasks)["ladder", "easy"] == pytest.approx(0.8)
    asked = requests(ON, state, tasks, seed=1)
    assert {(recipe.writer, recipe.families) for recipe in asked} == {
        ("procedural", ("intrusion_triage",)),
        ("model", "all"),
    }
    assert asked == requests(ON, state, tasks, seed=1) and not requests(ON, begin(ON), tasks, seed=1)
    for recipe in asked:
        path = tmp_path / f"{recipe.name}.yaml"
        path.write_text(as_yaml(recipe))
        assert load_recipe(path) == recipe
        assert len(plan(recipe)) == recipe.count == 8
    later = requests(ON, update(ON, state, [Outcome(tasks[8].digest, 0, 8)], 2), tasks, seed=1)
    assert later[0].seed != asked[0].seed


def write(run: RunFolder, name: str, lines: list[RolloutRecord], end: str = "\n") -> None:
    run.rollouts.mkdir(parents=True, exist_ok=True)
    with open(run.rollouts / name, "a") as file:
        file.write("\n".join(line.model_dump_json() for line in lines) + end)


def test_the_state_follows_the_rollouts_and_can_be_made_anew(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    save_state(run, begin(ON, [Outcome(TASKS[3].digest, 1, 1)]))
    practised = Practised(run, ON)
    write(run, "a.jsonl", [rollout(TASKS[0], True, 1), rollout(TASKS[1], False, 2)])
    write(run, "b.jsonl", [rollout(TASKS[0], False, 1)])
    assert practised.advance(2).step == 1
    assert practised.state.tasks[TASKS[0].digest].groups == 1 and TASKS[1].digest not in practised.state.tasks
    assert load_state(run) == practised.state
    write(run, "b.jsonl", [rollout(TASKS[2], True, 2)], end="")  # half a line
    practised.advance(3)
    assert TASKS[1].digest in practised.state.tasks and TASKS[2].digest not in practised.state.tasks
    write(run, "b.jsonl", [], end="\n")
    practised.advance(4)
    assert practised.state.step == 3 and TASKS[2].digest in practised.state.tasks, "late, and counted"
    assert practised.state.tasks[TASKS[3].digest].passed == 0.25
    anew = Practised(run, ON)
    assert anew.advance(2) == begin_and_first(run) and anew.advance(3).step == 2


def begin_and_first(run: RunFolder) -> CurriculumState:
    first = [Outcome(TASKS[0].digest, 1, 1)]
    return update(ON, begin(ON, [Outcome(TASKS[3].digest, 1, 1)]), first, 1)


def test_a_damaged_state_is_said(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    assert load_state(run) is None
    run.curriculum.write_text("{")
    with pytest.raises(UsageError, match=r"curriculum\.json"):
        load_state(run)
    with pytest.raises(UsageError, match=r"run\.json"):
        run_plan(run)


def test_the_plan_is_read_from_the_preset(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    preset = {"steps": 3, "batch": 4, "most_refills": 2, "seed": 9, "lr": 1, "curriculum": {"enabled": True}}
    run.settings.write_text(json.dumps({"preset": preset}))
    assert run_plan(run).prompts == 18 and run_plan(run).curriculum.enabled


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(ValidationError, match="park_most"):
        CurriculumSettings(park_steps=10, park_most=5)
    with pytest.raises(UsageError, match="at least one task"):
        choose(ON, begin(ON), [], 1, 1, 1)
