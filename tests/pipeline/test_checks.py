"""Each check holds on a good candidate and fails on one that was made bad."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

from generators.evidence import Evidence, Gate
from generators.recipe import Recipe
from generators.task import Difficulty, Task
from pipeline import soundness
from pipeline.funnel import funnel, reasons
from pipeline.soundness import CHECKS, Check
from tests.pipeline.conftest import TINY


def first(frame: pl.DataFrame, **changes: object) -> pl.DataFrame:
    """The frame with its first row changed."""
    rows = frame.to_dicts()
    rows[0] |= changes
    return pl.DataFrame(rows, schema=frame.schema)


def with_verdicts(frame: pl.DataFrame, keep: Callable[[Gate], bool]) -> pl.DataFrame:
    """The frame with some gates' verdicts struck out of all evidence."""
    rows = frame.to_dicts()
    for row in rows:
        evidence = Evidence.model_validate_json(row["evidence"])
        kept = tuple(verdict for verdict in evidence.verdicts if keep(verdict.gate))
        row["evidence"] = evidence.model_copy(update={"verdicts": kept}).canonical()
    return pl.DataFrame(rows, schema=frame.schema)


def copied(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with its second task replaced by the first one under other limits: another digest, the same text."""
    rows = frame.to_dicts()
    task = Task.model_validate_json(rows[0]["task"])
    fields = {name: getattr(task, name) for name in Task.model_fields if name not in ("id", "digest")}
    fields["limits"] = task.limits.model_copy(update={"solve_seconds": 999})
    twin = Task.create("copy", **fields)
    rows[1] |= {"task_id": twin.id, "digest": twin.digest, "task": twin.canonical()}
    return pl.DataFrame(rows, schema=frame.schema)


def recipe(**changes: object) -> Recipe:
    return TINY.model_copy(update=changes)


Bad = Callable[[pl.DataFrame], tuple[Recipe, pl.DataFrame]]
BAD: list[tuple[str, Check, Bad]] = [
    ("a task was dropped", soundness.enough_tasks, lambda frame: (TINY, first(frame, proven=False))),
    ("a row is missing", soundness.as_planned, lambda frame: (TINY, frame.tail(3))),
    ("a row is of another recipe", soundness.as_planned, lambda frame: (TINY, first(frame, serial=77))),
    ("the seed was changed", soundness.as_planned, lambda frame: (recipe(seed=8), frame)),
    (
        "evidence of another task",
        soundness.rows_proven,
        lambda frame: (TINY, first(frame, evidence=frame["evidence"][1])),
    ),
    ("no evidence", soundness.rows_proven, lambda frame: (TINY, first(frame, evidence=""))),
    (
        "a gate was skipped",
        soundness.rows_proven,
        lambda frame: (TINY, with_verdicts(frame, lambda gate: gate != "leak")),
    ),
    (
        "nobody attacked",
        soundness.rows_proven,
        lambda frame: (TINY, with_verdicts(frame, lambda gate: gate != "tamper")),
    ),
    ("the digest is another", soundness.rows_proven, lambda frame: (TINY, first(frame, digest="0" * 64))),
    (
        "the task was edited",
        soundness.rows_proven,
        lambda frame: (TINY, first(frame, task=frame["task"][0].replace('"solve_seconds":', '"solve_seconds":9'))),
    ),
    ("a row stands twice", soundness.ids_unique, lambda frame: (TINY, pl.concat([frame, frame.head(1)]))),
    ("the same text twice", soundness.no_twins, lambda frame: (TINY, copied(frame))),
    ("a family too often", soundness.families_bounded, lambda frame: (recipe(per_family=3), frame)),
    (
        "another mix",
        soundness.difficulty_mix,
        lambda frame: (recipe(difficulty={Difficulty.EASY: 75, Difficulty.HARD: 25}), frame),
    ),
    ("an empty candidate", soundness.difficulty_mix, lambda frame: (TINY, frame.clear())),
    (
        "one family for two splits",
        soundness.splits_cover,
        lambda frame: (recipe(separate_families=True, splits={"train": 50.0, "test": 50.0}), frame),
    ),
    ("an empty candidate", soundness.splits_cover, lambda frame: (TINY, frame.clear())),
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_check_holds_on_a_good_candidate(check: Check, candidate: pl.DataFrame) -> None:
    assert check(TINY, candidate).passed


@pytest.mark.parametrize(("why", "check", "spoil"), BAD, ids=[f"{check.__name__}: {why}" for why, check, _ in BAD])
def test_check_fails_on_a_bad_candidate(why: str, check: Check, spoil: Bad, candidate: pl.DataFrame) -> None:
    assert not check(*spoil(candidate)).passed, why


def test_every_check_is_seen_to_fail() -> None:
    assert {check for _, check, _ in BAD} == set(CHECKS)


def test_funnel_and_reasons_tell_where_tasks_were_lost(candidate: pl.DataFrame) -> None:
    rows = candidate.to_dicts()
    rows[0] |= {"gate": "build", "reason": "step_failed", "proven": False, "evidence": ""}
    rows[1] |= {"gate": "draft", "reason": "family_raised", "proven": False, "evidence": ""}
    rows[2] |= {"gate": "twin", "reason": "near_duplicate", "proven": False}
    frame = pl.DataFrame(rows, schema=candidate.schema)
    stages = dict(funnel(frame))
    assert (stages["requested"], stages["written"], stages["spec"], stages["build"]) == (4, 3, 3, 2)
    assert (stages["leak"], stages["twin"], stages["published"]) == (2, 1, 1)
    assert set(reasons(frame).iter_rows()) == {
        ("build", "step_failed", 1),
        ("draft", "family_raised", 1),
        ("twin", "near_duplicate", 1),
    }


def test_what_a_provider_kept_from_being_written_was_not_written(candidate: pl.DataFrame) -> None:
    rows = candidate.to_dicts()
    lost = {"gate": "infrastructure", "reason": "provider_timeout", "proven": False, "evidence": ""}
    rows[0] |= {**lost, "task": ""}
    rows[1] |= lost
    stages = dict(funnel(pl.DataFrame(rows, schema=candidate.schema)))
    assert (stages["requested"], stages["written"], stages["spec"]) == (4, 3, 2)
