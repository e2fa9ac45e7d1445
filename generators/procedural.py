"""The procedural writer: families in, task records out. No key, no network, no tool of an image."""

from __future__ import annotations

import importlib
import pkgutil
import traceback
from functools import cache
from typing import Literal

from pydantic import ValidationError

from generators import families
from generators.bases import preamble
from generators.errors import TaskError, UsageError
from generators.family import Content, Draft, Draw, Family, near_misses, with_truth
from generators.problems import first_problem
from generators.seeds import stream
from generators.task import (
    Axes,
    CompletionTests,
    ContextFile,
    Difficulty,
    Image,
    Provenance,
    Requirement,
    Task,
    TestSpec,
)

COMPLEXITY: dict[Difficulty, Literal["short", "moderate", "complex", "intricate"]] = {
    Difficulty.EASY: "short",
    Difficulty.MEDIUM: "moderate",
    Difficulty.HARD: "complex",
    Difficulty.EXTREMELY_HARD: "intricate",
}


@cache
def all_families() -> dict[str, Family]:
    """Every family under `generators/families`, by name, in the order of names."""
    found: dict[str, Family] = {}
    for module in pkgutil.walk_packages(families.__path__, f"{families.__name__}."):
        family = getattr(importlib.import_module(module.name), "FAMILY", None)
        if isinstance(family, Family):
            if family.name in found:
                raise TaskError(f"two families are named {family.name!r}; rename one of them")
            found[family.name] = family
    return dict(sorted(found.items()))


def find_family(name: str) -> Family:
    """A family by name.

    Raises:
        UsageError: there is none of that name.
    """
    try:
        return all_families()[name]
    except KeyError:
        raise UsageError(
            f"unknown family {name!r}; `termforge families` lists the {len(all_families())} there are"
        ) from None


def write_task(family: Family, seed: int, serial: int, difficulty: Difficulty) -> Task:
    """One task of a family: the same arguments give the same record, byte for byte.

    Raises:
        TaskError: the family raised, or what it wrote is not a valid task.
    """
    draw = Draw(stream("termforge", family.name, family.version, seed, serial, difficulty), difficulty, serial)
    try:
        return record(family, family.draft(draw), draw, seed)
    except ValidationError as error:
        raise TaskError(f"family {family.name} (serial {serial}): {first_problem(error)}") from error
    except TaskError:
        raise
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        raise TaskError(
            f"family {family.name} (serial {serial}, {difficulty}) raised {type(error).__name__}: {error} "
            f"({where.filename.rsplit('/', 1)[-1]}:{where.lineno})"
        ) from error


def _file(path: str, content: Content | tuple[Content, int]) -> ContextFile:
    if isinstance(content, tuple):
        return ContextFile.of(path, content[0], content[1])
    return ContextFile.of(path, content)


def record(family: Family, draft: Draft, draw: Draw, seed: int) -> Task:
    """The record of a draft."""
    files = tuple(_file(path, content) for path, content in sorted(draft.files.items()))
    tests = [TestSpec(name=name, weight=weight) for name, weight in draft.weights.items()]
    tests += [TestSpec(name=name, guard=True) for name in draft.guards]
    return Task.create(
        family.name,
        title=draft.title,
        instruction=draft.instruction.strip() + "\n",
        truth=dict(draft.truth),
        discoverable=tuple(draft.discoverable),
        axes=Axes(
            domain=family.domain,
            skills=family.skills,
            difficulty=draw.difficulty,
            verifier=family.verifier,
            task_complexity=COMPLEXITY[draw.difficulty],
            command_complexity=family.command_complexity,
            scenario=draft.setting.scenario,
            persona=draft.setting.persona,
            language=family.language,
            fixture=family.fixture,
            anchor=family.anchor,
        ),
        image=Image(dockerfile=preamble(family.base) + draft.dockerfile.strip() + "\n", files=files),
        initial_tests=with_truth(draft.initial, draft.truth),
        completion_tests=CompletionTests(source=with_truth(draft.tests, draft.truth), tests=tuple(tests)),
        solution=draft.solution,
        alternatives=tuple(draft.alternatives),
        near_misses=near_misses(draft.misses),
        requirements=tuple(Requirement(sentence=text, tests=tuple(names)) for text, names in draft.requirements),
        limits=draft.limits,
        provenance=Provenance(
            writer="procedural",
            family=family.name,
            seed=seed,
            serial=draw.serial,
            setting=draft.setting.name,
            knobs=dict(draft.knobs),
            version=family.version,
        ),
    )
