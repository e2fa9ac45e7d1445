"""What each stage of the model writer has to answer: one record a stage, whose JSON Schema goes to the provider.

Field descriptions are part of the prompt. Lists of records become repeated <item> tags where a provider has no structured output.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Literal, cast

from pydantic import BeforeValidator, Field, JsonValue

from generators.bases import Base
from generators.fixtures.spec import FixtureSpec
from generators.task import Record, Text


def _name(value: object) -> object:
    """`Off-by-one` is meant as `off_by_one`."""
    return re.sub(r"[^a-z0-9]+", "_", value.lower()).strip("_") if isinstance(value, str) else value


def _mode(value: object) -> object:
    """644, "0o644" and git's "100644" are all meant as "0644"."""
    text = str(value).strip().lower().removeprefix("0o") if isinstance(value, str | int) else value
    return f"0{text[-3:]}" if isinstance(text, str) and re.fullmatch(r"(?:100)?0?[0-7]{3}", text) else text


def _object(value: object) -> object:
    """A JSON object in a JSON text."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _pairs(value: object) -> object:
    """{"test_a": 0.5} is meant as a list of pairs."""
    if not isinstance(value, dict):
        return value
    return [{"test": test, "weight": weight} for test, weight in cast(dict[str, object], value).items()]


Name = Annotated[str, BeforeValidator(_name), Field(pattern=r"^[a-z][a-z0-9_]{0,60}$")]
TestName = Annotated[str, Field(pattern=r"^test_[a-zA-Z0-9_]{1,80}$")]


class Description(Record):
    """Stage 1: what the agent is asked, and what only its examiner knows."""

    title: Annotated[str, Field(min_length=8, max_length=120, description="a short heading")]
    instruction: Annotated[
        str,
        Field(min_length=120, max_length=8000, description="all that the agent sees; absolute paths, exact formats"),
    ]
    truth: Annotated[dict[str, JsonValue], BeforeValidator(_object)] = Field(
        min_length=1,
        description="a JSON object: the expected results that the tests compare with, never shown to the agent",
    )
    discoverable: tuple[str, ...] = Field(
        default=(), description="a JSON list: keys of truth whose single values have to occur in the files of the image"
    )


class File(Record):
    """A file of the build context."""

    path: Annotated[str, Field(min_length=1, max_length=200, description="relative, without '..'")]
    content: str = Field(description="the whole text of the file")
    mode: Annotated[str, BeforeValidator(_mode)] = Field(
        default="0644", pattern=r"^0?[0-7]{3,4}$", description="permissions, octal"
    )


class Environment(Record):
    """Stage 2: the container in its initial state, and tests that it is."""

    base: Base = Field(default=Base.PYTHON, description="python, build (with gcc) or science (with numpy)")
    packages: tuple[Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.+-]{1,60}$")], ...] = Field(
        default=(),
        max_length=12,
        description="a JSON list: further Debian packages; the only thing that comes from a network",
    )
    dockerfile: Annotated[
        str, Field(max_length=20_000, description="lines after the packages: COPY, RUN, ENV, WORKDIR, USER; no FROM")
    ]
    files: tuple[File, ...] = Field(default=(), max_length=64, description="the build context")
    initial_tests: Text = Field(description="a pytest module: plain functions test_*, standard library only")


class FurnishedEnvironment(Environment):
    """Stage 2 of a task with a fixture that is no text."""

    fixtures: tuple[FixtureSpec, ...] = Field(
        min_length=1, max_length=4, description="a JSON list of what our makers produce in the image"
    )


class Weight(Record):
    """A goal test and its share of the score."""

    test: TestName
    weight: Annotated[float, Field(gt=0, le=1)]


class Mapped(Record):
    """A sentence of the instruction, word for word, and the tests that check it."""

    sentence: Text
    tests: tuple[TestName, ...] = Field(min_length=1, description="a JSON list of test names")


class Completion(Record):
    """Stage 3: the tests of the end state."""

    source: Text = Field(
        description="a pytest module: plain functions test_*, standard library only; TRUTH is a global"
    )
    weights: Annotated[tuple[Weight, ...], BeforeValidator(_pairs)] = Field(
        min_length=1, description="goals, which fail on the untouched container"
    )
    guards: tuple[TestName, ...] = Field(
        default=(), description="a JSON list: tests that hold before and must hold after"
    )
    requirements: tuple[Mapped, ...] = Field(min_length=1, description="every test is named at least once")


class Solution(Record):
    """Stage 4: a way to do it."""

    script: Text = Field(description="a bash script that does the task from the instruction alone")


class Miss(Record):
    """A plausible wrong solution."""

    name: Name
    why: Text = Field(description="what it gets wrong")
    script: Text = Field(description="a bash script")
    caught_by: tuple[TestName, ...] = Field(min_length=1, description="a JSON list: goal tests that must fail after it")


class Misses(Record):
    """Stage 5: at least two of them; every goal test is named by one."""

    misses: tuple[Miss, ...] = Field(min_length=2, max_length=8)


class Judgement(Record):
    """A judge's opinion on the whole task, before it is tried."""

    verdict: Literal["accept", "revise"]
    stage: Literal["describe", "environment", "tests"] = Field(
        default="describe", description="which part has to be revised"
    )
    reasons: str = Field(
        default="", description="what a fair and careful agent could not know, or what is checked without being said"
    )
