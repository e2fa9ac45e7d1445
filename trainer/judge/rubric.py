"""The rubric: components, caps, penalties and modifiers as data, and how they become one score.

    rubric = load_rubric()
    combine({"output_success": 0.9, "planning": 1.0, "phases": 0.8, "tool_use": 1.0}, [Finding(name="overthinking")], rubric)

The shipped one is datasets/judge/rubric.yaml.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, ValidationError, model_validator

from agent.styles.style import base_style
from generators.errors import RecipeError
from generators.problems import first_problem
from generators.strict_yaml import read_mapping
from generators.task import WEIGHT_TOLERANCE, Record

Unit = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Signed = Annotated[float, Field(ge=-1, le=1, allow_inf_nan=False)]
Known = Literal["", "exact", "found"]
Text = Annotated[str, Field(min_length=1)]


def _ascending(values: tuple[float, ...]) -> tuple[float, ...]:
    if list(values) != sorted(values):
        raise ValueError("the amounts must ascend")
    return values


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"{text!r} is no regular expression: {error}") from None
    return text


Span = Annotated[tuple[Unit, Unit], AfterValidator(_ascending)]
Pattern = Annotated[str, AfterValidator(_pattern)]


class Finding(Record):
    """Something that counts for or against an agent. Strength is 0 to 1, for a modifier -1 to 1; caps ignore it."""

    name: str
    strength: Signed = 0.0
    count: Annotated[int, Field(ge=1, le=100_000)] = 1
    why: str = ""


class Component(Record):
    """A part of the score."""

    weight: Annotated[float, Field(gt=0, le=1)]
    what: Text


class Cap(Record):
    """What a score cannot exceed."""

    at: Unit
    what: Text
    known: Known = ""


class Penalty(Record):
    """What is taken off: of a range, or one of several levels."""

    first: Span | None = None
    more: Span = (0.0, 0.0)
    most: Unit = 1.0
    levels: Annotated[tuple[Unit, ...], AfterValidator(_ascending)] = ()
    what: Text
    known: Known = ""

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if (self.first is None) == (not self.levels):
            raise ValueError("either `first` or `levels` is needed")
        return self

    def amount(self, finding: Finding) -> float:
        """What a finding costs."""
        strength = max(0.0, finding.strength)
        if self.first is None:
            return self.levels[min(int(strength * len(self.levels)), len(self.levels) - 1)]
        further = (finding.count - 1) * _between(self.more, strength)
        return min(_between(self.first, strength) + further, self.most)


class Modifier(Record):
    """What is added or taken off."""

    range: tuple[Annotated[float, Field(ge=-1, le=0)], Unit]
    what: Text
    known: Known = ""

    def amount(self, finding: Finding) -> float:
        """What a finding adds."""
        low, high = self.range
        return finding.strength * (high if finding.strength >= 0 else -low)


class StyleRules(Record):
    """What does not apply to a style of agent."""

    without: tuple[str, ...] = ()
    not_applicable: tuple[str, ...] = ()


class Rubric(Record):
    """Everything a judge goes by."""

    version: Annotated[int, Field(ge=1)]
    components: Annotated[dict[str, Component], Field(min_length=1)]
    caps: dict[str, Cap]
    penalties: dict[str, Penalty]
    modifiers: dict[str, Modifier]
    styles: dict[str, StyleRules] = Field(default_factory=dict)
    grading_files: tuple[Pattern, ...] = ()
    gaming_signs: tuple[Pattern, ...] = ()
    orders_to_judge: tuple[Pattern, ...] = ()
    overthinking_from: Annotated[tuple[Annotated[float, Field(gt=0)], ...], AfterValidator(_ascending)] = ()

    @model_validator(mode="after")
    def _fits(self) -> Self:
        total = sum(part.weight for part in self.components.values())
        if abs(total - 1) > WEIGHT_TOLERANCE:
            raise ValueError(f"the components' weights sum to {total:g}, not to 1")
        names = [*self.components, *self.caps, *self.penalties, *self.modifiers]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"a name is used twice: {', '.join(twice)}")
        for style, rules in self.styles.items():
            if unknown := sorted(set(rules.without) - set(self.components) | set(rules.not_applicable) - set(names)):
                raise ValueError(f"style {style} names what the rubric does not have: {', '.join(unknown)}")
            if set(rules.without) >= set(self.components):
                raise ValueError(f"style {style} is left without a component")
        return self

    def kinds(self) -> Mapping[str, Cap | Penalty | Modifier]:
        """Everything that can be found, by name."""
        return {**self.caps, **self.penalties, **self.modifiers}

    def components_for(self, style: str) -> tuple[str, ...]:
        """The components that a style is scored on."""
        rules = self.styles.get(base_style(style), StyleRules())
        return tuple(name for name in self.components if name not in rules.without)

    def findings_for(self, style: str) -> tuple[str, ...]:
        """The names of what can be found of a style."""
        rules = self.styles.get(base_style(style), StyleRules())
        return tuple(name for name in self.kinds() if name not in rules.not_applicable)


def combine(components: Mapping[str, float], findings: Iterable[Finding], rubric: Rubric) -> float:
    """One score in [0, 1]. The weights of the components that are given are made to sum to 1.

    What a modifier adds makes good for what components lack, up to full marks; it does not give back what is taken off.

    Raises:
        ValueError: no component, one outside [0, 1], or a name that the rubric does not have.
    """
    earned, lost, ceiling = _weighted(components, rubric), 0.0, 1.0
    for finding in _merged(findings):
        if finding.name in rubric.caps:
            ceiling = min(ceiling, rubric.caps[finding.name].at)
        elif finding.name in rubric.penalties:
            lost += rubric.penalties[finding.name].amount(finding)
        elif finding.name in rubric.modifiers:
            amount = rubric.modifiers[finding.name].amount(finding)
            earned, lost = earned + max(amount, 0.0), lost - min(amount, 0.0)
        else:
            raise ValueError(f"the rubric has no {finding.name!r}")
    return min(max(min(earned, 1.0) - lost, 0.0), ceiling)


def _weighted(components: Mapping[str, float], rubric: Rubric) -> float:
    if unknown := sorted(set(components) - set(rubric.components)):
        raise ValueError(f"the rubric has no component {unknown[0]!r}")
    if not components or not all(math.isfinite(value) and 0 <= value <= 1 for value in components.values()):
        raise ValueError("components are numbers from 0 to 1, at least one")
    weights = {name: rubric.components[name].weight for name in components}
    return sum(components[name] * weight for name, weight in weights.items()) / sum(weights.values())


def _merged(findings: Iterable[Finding]) -> Sequence[Finding]:
    """One finding per name: of several, the first, with the highest count."""
    kept: dict[str, Finding] = {}
    for finding in findings:
        first = kept.setdefault(finding.name, finding)
        if finding.count > first.count:
            kept[finding.name] = first.model_copy(update={"count": finding.count})
    return tuple(kept.values())


def _between(span: tuple[float, float], strength: float) -> float:
    low, high = span
    return low + strength * (high - low)


def judge_data() -> Path:
    """The folder of the shipped rubric and cases."""
    root = os.environ.get("TERMFORGE_ROOT")
    return (Path(root) if root else Path(__file__).resolve().parents[2]) / "datasets" / "judge"


def load_rubric(path: Path | None = None) -> Rubric:
    """The rubric in a file, or the shipped one.

    Raises:
        RecipeError: not readable or not valid; the message names file and key.
    """
    return _loaded(path or judge_data() / "rubric.yaml")


@cache
def _loaded(path: Path) -> Rubric:
    values = read_mapping(path, "rubric")
    try:
        return Rubric.model_validate(values)
    except ValidationError as error:
        raise RecipeError(f"rubric {path}: {first_problem(error)}") from error
