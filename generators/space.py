"""The space of tasks as data: the values of every axis, their weights, and which of them fit together.

A folder of YAML files, one per axis (datasets/axes). Each value has a `say`: a sentence or two that can be put into a prompt.

    space = load_space(folder)
    space.domains["security"].categories["incident triage"]
    space.languages["rust"].apt                       # packages that the base lacks
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self, get_args

from pydantic import Field, ValidationError, model_validator

from generators.axis_values import (
    Anchors,
    Complexities,
    Difficulties,
    Domain,
    Fixture,
    Language,
    Persona,
    Value,
    VerifierKind,
)
from generators.errors import RecipeError
from generators.family import Voice
from generators.strict_yaml import read_mapping
from generators.task import Axes, Difficulty, Record, Text, Verifier

LEAST_SKILLS, MOST_SKILLS = 3, 5
COMMANDS = "commands"  # the knob that tells task complexities apart; not scaled by difficulty


class Space(Record):
    """All axes, validated together: every name that one file uses exists in the other, and nothing leads nowhere."""

    domains: dict[Text, Domain] = Field(min_length=1)
    skills: dict[Text, tuple[Text, ...]]
    contexts: dict[Text, Value] = Field(min_length=1)
    personas: dict[Text, Persona]
    languages: dict[Text, Language]
    complexities: Complexities
    verifiers: dict[Verifier, VerifierKind]
    fixtures: dict[Text, Fixture]
    anchors: Anchors
    voices: dict[Voice, Value] = Field(min_length=1)
    difficulties: Difficulties

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        self._known_names()
        self._ranges()
        self._each_domain_is_served()
        self._nothing_leads_nowhere()
        return self

    def _known_names(self) -> None:
        axes = Axes.model_fields
        _same("fixtures", self.fixtures, get_args(axes["fixture"].annotation))
        _same("complexities: task", self.complexities.task, get_args(axes["task_complexity"].annotation))
        _same("complexities: command", self.complexities.command, get_args(axes["command_complexity"].annotation))
        _same("verifiers", self.verifiers, [verifier.value for verifier in Verifier])
        _same("difficulties: levels", self.difficulties.levels, [level.value for level in Difficulty])
        _same("skills", self.skills, self.domains)
        known: dict[str, Iterable[str]] = {
            "domains": self.domains,
            "fixtures": self.fixtures,
            "verifiers": self.verifiers,
            "task_complexities": self.complexities.task,
            "command_complexities": self.complexities.command,
        }
        for where, value in self._values():
            for field in sorted(set(known) & set(type(value).model_fields)):
                _once_and_known(f"{where}: {field}", getattr(value, field), known[field])
        for verifier, kind in self.verifiers.items():
            for name, fixture in self.fixtures.items():
                if (name in kind.fixtures) != (verifier.value in fixture.verifiers):
                    raise ValueError(f"fixtures: {name} and verifiers: {verifier.value} do not agree whether they fit")

    def _values(self) -> Iterable[tuple[str, Record]]:
        axes: dict[str, Mapping[Any, Record]] = {
            "verifiers": self.verifiers,
            "fixtures": self.fixtures,
            "languages": self.languages,
            "personas": self.personas,
            "anchors": self.anchors.anchors,
        }
        return ((f"{axis}: {name}", value) for axis, values in axes.items() for name, value in values.items())

    def _ranges(self) -> None:
        knobs = self.complexities.knobs
        for name, complexity in self.complexities.task.items():
            _same(f"complexities: task: {name}: knobs", complexity.knobs, knobs)
            for key, (low, high) in (complexity.knobs | {COMMANDS: complexity.commands}).items():
                if low > high:
                    raise ValueError(f"complexities: task: {name}: {key}: from {low} to {high} is no range")
        for key, knob in knobs.items():
            if key == COMMANDS or knob.least > knob.most:
                raise ValueError(f"complexities: knobs: {key}: from {knob.least} to {knob.most} cannot be a knob")

    def _each_domain_is_served(self) -> None:
        everywhere = [skill for skills in self.skills.values() for skill in skills]
        _once_and_known("skills", everywhere, everywhere)
        categories = [category for domain in self.domains.values() for category in domain.categories]
        _once_and_known("domains: categories", categories, categories)
        for name in self.domains:
            if len(self.skills[name]) < MOST_SKILLS:
                raise ValueError(f"skills: {name}: {len(self.skills[name])} are given, at least {MOST_SKILLS} needed")
            for label, values in (("personas", self.personas), ("anchors", self.anchors.anchors)):
                if not any(name in value.domains for value in values.values()):
                    raise ValueError(f"{label}: none serves the domain {name}")

    def _nothing_leads_nowhere(self) -> None:
        for domain in self.domains:
            for command in self.complexities.command:
                if not self.languages_for(domain, command):
                    raise ValueError(f"languages: none fits {command} in {domain}")
                if not self.verifiers_for(command):
                    raise ValueError(f"verifiers: none fits {command}")
                for verifier in self.verifiers_for(command):
                    if not self.fixtures_for(domain, command, verifier):
                        raise ValueError(f"fixtures: none fits {verifier} with {command} in {domain}")
        for verifier in self.verifiers:
            for level in Difficulty:
                if not self.complexities_for(verifier, level):
                    raise ValueError(f"complexities: task: none fits {verifier.value} at {level.value}")

    def verifiers_for(self, command: str) -> dict[str, float]:
        """The verifiers that fit a command complexity, with their weights."""
        return {
            name.value: kind.weight for name, kind in self.verifiers.items() if command in kind.command_complexities
        }

    def fixtures_for(self, domain: str, command: str, verifier: str) -> dict[str, float]:
        """The fixtures that fit all three, with their weights."""
        return {
            name: fixture.weight
            for name, fixture in self.fixtures.items()
            if verifier in fixture.verifiers
            and command in fixture.command_complexities
            and domain in (fixture.domains or self.domains)
        }

    def complexities_for(self, verifier: Verifier | str, level: Difficulty) -> dict[str, float]:
        """The task complexities that fit a verifier and a difficulty, with their weights."""
        fitting = self.verifiers[Verifier(verifier)].task_complexities
        return {
            name: complexity.weight
            for name, complexity in self.complexities.task.items()
            if name in fitting and level in complexity.difficulties
        }

    def languages_for(self, domain: str, command: str) -> dict[str, float]:
        """The languages that fit both, with their weights."""
        return {
            name: language.weight
            for name, language in self.languages.items()
            if command in language.command_complexities and domain in (language.domains or self.domains)
        }


def load_space(folder: Path) -> Space:
    """Read and validate a folder of axes, one file `<axis>.yaml` for each field of Space.

    Raises:
        RecipeError: a file is missing, not YAML or not valid; the message names file and key.
    """
    data = {name: read_mapping(folder / f"{name}.yaml", "axes") for name in Space.model_fields}
    try:
        return Space.model_validate(data)
    except ValidationError as error:
        problem = error.errors()[0]
        file, *keys = [str(part) for part in problem["loc"]] or ["", ""]
        where = f"{folder / file}.yaml: {'.'.join(keys)}" if file else f"axes in {folder}"
        raise RecipeError(f"{where.removesuffix(': ')}: {problem['msg'].removeprefix('Value error, ')}") from error


def _same(where: str, given: Iterable[str], wanted: Iterable[str]) -> None:
    """Refuse names that are missing or unknown."""
    if missing := sorted(set(wanted) - set(given)):
        raise ValueError(f"{where}: {missing[0]!r} is missing")
    if unknown := sorted(set(given) - set(wanted)):
        raise ValueError(f"{where}: {unknown[0]!r} is unknown")


def _once_and_known(where: str, given: Iterable[str], known: Iterable[str]) -> None:
    names = list(given)
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"{where}: {twice[0]!r} is given twice")
    if unknown := sorted(set(names) - {str(name) for name in known}):
        raise ValueError(f"{where}: {unknown[0]!r} is unknown")
