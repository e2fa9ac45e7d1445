"""Records: frozen, canonical, and void when edited."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from generators.digest import canonical_json
from generators.errors import TaskError
from generators.evidence import SUITE, Evidence, Gate, Verdict
from generators.task import CompletionTests, ContextFile, Requirement, Task, TestSpec
from tests.toys import toy


def test_a_task_survives_its_canonical_json() -> None:
    task = toy()
    assert Task.model_validate_json(task.canonical()) == task


def test_records_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        toy().title = "other"  # type: ignore[misc]


@pytest.mark.parametrize("field", ["instruction", "initial_tests", "solution"])
def test_an_edited_task_is_refused(field: str) -> None:
    data = json.loads(toy().canonical()) | {field: "edited"}
    with pytest.raises(ValidationError, match="was edited"):
        Task.model_validate(data)


def test_what_does_not_change_behaviour_does_not_change_the_digest() -> None:
    assert toy(title="Another title").digest == toy().digest
    assert toy(instruction=toy().instruction + " ").digest != toy().digest


def test_unknown_keys_are_refused() -> None:
    with pytest.raises(ValidationError, match="Extra inputs"):
        Task.model_validate(json.loads(toy().canonical()) | {"surprise": 1})


@pytest.mark.parametrize(
    ("tests", "message"),
    [
        ([("test_a", 0.5, False)], "sum to 0.5"),
        ([("test_a", 1.0, False), ("test_a", 0.0, True)], "named twice"),
        ([("test_a", 0.0, True)], "no goal test"),
        ([("test_a", 1.0, False), ("test_b", 0.0, False)], "carries no weight"),
        ([("test_a", 0.5, False), ("test_b", 0.5, True)], "guard carries a weight"),
    ],
)
def test_weights_that_make_no_sense_are_refused(tests: list[tuple[str, float, bool]], message: str) -> None:
    specs = tuple(TestSpec(name=name, weight=weight, guard=guard) for name, weight, guard in tests)
    with pytest.raises(ValidationError, match=message):
        CompletionTests(source="x", tests=specs)


@pytest.mark.parametrize(
    "changes", [{"requirements": (Requirement(sentence="x", tests=("test_none",)),)}, {"discoverable": ("nothing",)}]
)
def test_names_that_do_not_exist_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=r"do not exist|does not have"):
        toy(**changes)


@pytest.mark.parametrize("path", ["/etc/passwd", "../up", "a/../../b", "a//b", "./a"])
def test_context_paths_stay_inside(path: str) -> None:
    with pytest.raises(ValidationError, match="must be relative"):
        ContextFile.of(path, "x")


@given(st.binary(max_size=200), st.integers(0, 0o7777))
def test_any_bytes_survive_a_context_file(data: bytes, mode: int) -> None:
    file = ContextFile.model_validate_json(ContextFile.of("a/b", data, mode).canonical())
    assert (file.data(), file.mode) == (data, mode)


@given(st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5) | st.none() | st.booleans()))
def test_canonical_json_does_not_depend_on_order(value: dict[str, Any]) -> None:
    assert canonical_json(value) == canonical_json(dict(reversed(value.items())))
    assert json.loads(canonical_json(value)) == value


def test_canonical_json_refuses_nan() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json(float("nan"))


def evidence(**changes: Any) -> Evidence:
    fields: dict[str, Any] = {
        "task_id": toy().id,
        "task_digest": toy().digest,
        "suite": SUITE,
        "engine": "bubblewrap",
        "base_digest": "b",
        "image_digest": "i",
        "verdicts": (Verdict(gate=Gate.BUILD, holds=True),),
    }
    return Evidence(**(fields | changes))


def test_evidence_is_bound_to_the_digest() -> None:
    assert evidence().bound_to(toy()).proven
    with pytest.raises(TaskError, match="void"):
        evidence().bound_to(toy(instruction=toy().instruction + "More."))


def test_invalid_or_empty_evidence_proves_nothing() -> None:
    assert not evidence(valid=False).proven
    assert not evidence(verdicts=()).proven
    assert not evidence().with_verdict(Verdict(gate=Gate.TWIN, holds=False, reason="near_duplicate")).proven
