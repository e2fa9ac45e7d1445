"""What validation finds, in words that name keys and never our classes."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from generators.problems import first_problem
from trainer.presets import Preset

GOOD = {"name": "a", "about": "b"}


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"hardware": 3}, "hardware: it holds keys and their values, and '3' is neither"),
        ({"verl": [1]}, "verl: it holds keys and their values, and '[1]' is neither"),
        ({"steps": 0}, "steps: Input should be greater than or equal to 1"),
        ({"group": 1}, "grpo compares rollouts of a group: group must be at least 2"),
    ],
)
def test_the_first_problem_is_one_line_that_names_the_key(change: dict[str, object], line: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Preset.model_validate(GOOD | change)
    assert first_problem(caught.value) == line
