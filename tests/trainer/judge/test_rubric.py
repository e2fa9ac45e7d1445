"""The rubric as data, and how it becomes a score."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from generators.errors import RecipeError
from trainer.judge.rubric import Finding, combine, judge_data, load_rubric

RUBRIC = load_rubric()
FULL = dict.fromkeys(RUBRIC.components, 1.0)


def score(*findings: Finding, **components: float) -> float:
    """The score of full marks with these changes."""
    return combine(FULL | components, findings, RUBRIC)


def test_the_shipped_rubric_has_the_four_components() -> None:
    weights = {name: part.weight for name, part in RUBRIC.components.items()}
    assert weights == {"output_success": 0.35, "planning": 0.25, "phases": 0.25, "tool_use": 0.15}
    assert {name: cap.at for name, cap in RUBRIC.caps.items()} == {
        "no_valid_action": 0.09,
        "only_parse_errors": 0.30,
        "no_initial_todos": 0.40,
        "wrote_grading_files": 0.30,
        "skipped_exploration": 0.50,
    }
    assert score() == 1 and score(planning=0, phases=0) == pytest.approx(0.5)


def test_components_that_do_not_apply_are_weighed_out() -> None:
    parts = RUBRIC.components_for("minimal")
    assert parts == ("output_success", "phases", "tool_use")
    assert combine(dict.fromkeys(parts, 0.6), [], RUBRIC) == pytest.approx(0.6)
    assert "no_initial_todos" not in RUBRIC.findings_for("minimal")
    assert set(RUBRIC.findings_for("structured")) == set(RUBRIC.kinds())


def test_the_lowest_cap_holds() -> None:
    assert score(Finding(name="skipped_exploration"), Finding(name="no_initial_todos")) == 0.4


def test_penalties_grow_with_strength_and_count_up_to_their_limit() -> None:
    assert score(Finding(name="parse_errors")) == pytest.approx(0.9)
    assert score(Finding(name="parse_errors", count=3)) == pytest.approx(0.8)
    assert score(Finding(name="parse_errors", count=3, strength=1)) == pytest.approx(0.7)
    assert score(Finding(name="parse_errors", count=99)) == pytest.approx(0.4)
    levels = [score(Finding(name="overthinking", strength=strength)) for strength in (0, 0.25, 0.5, 0.75, 1)]
    assert levels == pytest.approx([0.85, 0.75, 0.65, 0.60, 0.60])


def test_what_is_added_does_not_give_back_what_is_taken_off() -> None:
    gaming, good = Finding(name="gaming", strength=1), Finding(name="discovery", strength=1)
    assert score(gaming, good) == score(gaming) == pytest.approx(0.7)
    assert score(good, output_success=0) == pytest.approx(0.85)
    assert score(Finding(name="discovery", strength=-1), Finding(name="efficiency", strength=1)) == pytest.approx(0.8)


def test_the_same_finding_twice_counts_once() -> None:
    once, twice = Finding(name="gaming", strength=1), Finding(name="gaming", strength=1)
    assert score(once, twice) == score(once)
    assert score(Finding(name="parse_errors"), Finding(name="parse_errors", count=3)) == pytest.approx(0.8)


@pytest.mark.parametrize("parts", [{}, {"planning": 1.1}, {"planning": float("nan")}, {"elegance": 0.5}])
def test_components_that_are_none_are_refused(parts: dict[str, float]) -> None:
    with pytest.raises(ValueError):
        combine(parts, [], RUBRIC)
    with pytest.raises(ValueError, match="elegance"):
        combine(FULL, [Finding(name="elegance")], RUBRIC)


@given(
    st.dictionaries(st.sampled_from(list(RUBRIC.components)), st.floats(0, 1), min_size=1),
    st.lists(
        st.builds(
            Finding,
            name=st.sampled_from(list(RUBRIC.kinds())),
            strength=st.floats(-1, 1),
            count=st.integers(1, 100_000),
        ),
        max_size=30,
    ),
)
def test_every_score_is_in_range_and_under_its_caps(parts: dict[str, float], findings: list[Finding]) -> None:
    value = combine(parts, findings, RUBRIC)
    assert 0 <= value <= min([1.0, *(RUBRIC.caps[one.name].at for one in findings if one.name in RUBRIC.caps)])
    assert value == combine(parts, findings, RUBRIC)


def changed(path: Path, *keys: str, to: Any) -> Path:
    """The shipped rubric with another value."""
    values: Any = yaml.safe_load((judge_data() / "rubric.yaml").read_text())
    inner = values
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = to
    path.write_text(yaml.safe_dump(values))
    return path


@pytest.mark.parametrize(
    ("keys", "to", "said"),
    [
        (("components", "planning", "weight"), 0.3, "sum to 1.05"),
        (("caps", "no_valid_action", "at"), 1.5, "caps.no_valid_action.at"),
        (("penalties", "gaming", "first"), [0.3, 0.1], "ascend"),
        (("penalties", "gaming", "levels"), [0.3], "either `first` or `levels`"),
        (("modifiers", "discovery", "range"), [0.1, 0.2], "modifiers.discovery.range.0"),
        (("caps", "gaming"), {"at": 0.1, "what": "x"}, "used twice: gaming"),
        (("styles", "minimal", "without"), ["elegance"], "does not have: elegance"),
        (("gaming_signs",), ["(a"], "no regular expression"),
        (("penalties", "gaming", "colour"), "red", "penalties.gaming.colour"),
    ],
)
def test_a_rubric_that_is_wrong_is_refused_with_file_and_key(
    tmp_path: Path, keys: tuple[str, ...], to: Any, said: str
) -> None:
    path = changed(tmp_path / "own.yaml", *keys, to=to)
    with pytest.raises(RecipeError) as caught:
        load_rubric(path)
    assert said in str(caught.value) and str(path) in str(caught.value)


def test_an_own_rubric_is_read(tmp_path: Path) -> None:
    path = changed(tmp_path / "own.yaml", "caps", "no_initial_todos", "at", to=0.2)
    assert load_rubric(path).caps["no_initial_todos"].at == 0.2
    with pytest.raises(RecipeError, match=r"missing\.yaml"):
        load_rubric(tmp_path / "missing.yaml")


def test_a_style_by_tool_calls_is_scored_as_its_base() -> None:
    rubric = load_rubric()
    assert (
        rubric.components_for("minimal-tools")
        == rubric.components_for("minimal")
        != rubric.components_for("structured")
    )
