"""Prompts: a rendered example of each beside this file, and no change of words without a new version.

RENEW_PROMPTS=1 pytest tests/generators/written/test_prompts.py      # writes the examples anew; read their difference
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from generators.chat.model import Ask
from generators.digest import digest_of
from generators.written.answers import render
from generators.written.draft import Order
from generators.written.problems import Problem
from generators.written.prompts import NAMES, prompt, versions
from generators.written.writer import Models, Writer
from tests.generators.written.scripted import CELL, FURNISHED, ORDER, PICTURE_ORDER, SCRIPT, SECRET, Scripted

FOLDER = Path(__file__).parent / "prompts"
VERSIONS = FOLDER / "versions.txt"  # a line each: name, version, digest of the words and settings
RENEW = "RENEW_PROMPTS"
RENEWAL = f"if this is meant, renew the examples: {RENEW}=1 pytest {Path(__file__).name}"
BROKEN = Problem(
    "tests", "already_solved", "gate no_op: passes untouched: test_dearest", "A goal test must fail untouched."
)
EXAMPLES = {  # and the template that each shows
    "system_structured": "system",
    "system_tagged": "system",
    "describe": "describe",
    "environment": "environment",
    "environment_image": "environment",
    "tests": "tests",
    "solution": "solution",
    "alternative": "solution",
    "near_misses": "near_misses",
    "judge": "judge",
    "repair": "repair",
}


def conversation(order: Order, problems: tuple[Problem, ...] = (), structured: bool = False) -> Scripted:
    """All that models are asked while a task is written and revised."""
    script = {**SCRIPT, "environment": (render(FURNISHED),)} if order is PICTURE_ORDER else SCRIPT
    model = Scripted("all", script)
    writer = Writer(Models(model, model, model, model, structured=structured))

    async def write() -> None:
        written = await writer.begin(order)
        for problem in problems:
            written = await writer.revise(written, problem)

    asyncio.run(write())
    return model


@cache
def rendered() -> dict[str, str]:
    """Each example, as a model would be sent it."""
    plain, picture = conversation(ORDER, (BROKEN,)), conversation(PICTURE_ORDER)
    found = {stage: plain.of(stage)[0].messages[1].content for stage in SCRIPT}
    found["environment_image"] = picture.of("environment")[0].messages[1].content
    found["repair"] = plain.of("tests")[1].messages[-1].content
    found["system_tagged"] = plain.of("describe")[0].messages[0].content
    found["system_structured"] = conversation(ORDER, structured=True).of("describe")[0].messages[0].content
    return dict(found)


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_is_what_is_sent(name: str) -> None:
    path, text = FOLDER / f"{name}.txt", rendered()[name]
    if os.environ.get(RENEW):
        path.write_bytes(text.encode())
    assert path.read_bytes().decode() == text, RENEWAL


def test_every_prompt_has_an_example() -> None:
    templates = {path.name.removesuffix(".md") for path in files("generators.written").joinpath("prompts").iterdir()}
    assert templates == set(NAMES) == set(EXAMPLES.values()) and set(EXAMPLES) == set(rendered())
    assert {path.stem for path in FOLDER.iterdir()} == {*EXAMPLES, VERSIONS.stem}


def digest(name: str) -> str:
    known = prompt(name)
    return digest_of([known.template, known.max_tokens, known.temperature])


@pytest.mark.parametrize("name", NAMES)
def test_other_words_have_another_version(name: str) -> None:
    recorded = {known: (int(number), old) for known, number, old in map(str.split, VERSIONS.read_text().splitlines())}
    number, old = recorded.get(name, (0, ""))
    assert digest(name) == old or prompt(name).version > number, f"{name}.md has changed: raise its version"
    if os.environ.get(RENEW):
        recorded[name] = (prompt(name).version, digest(name))
        VERSIONS.write_text("".join(f"{known} {number} {old}\n" for known, (number, old) in sorted(recorded.items())))
        number, old = recorded[name]
    assert (prompt(name).version, digest(name)) == (number, old), RENEWAL


def test_versions_are_part_of_provenance_and_rendering_is_strict() -> None:
    assert versions() == "p" + ".".join(str(prompt(name).version) for name in NAMES)
    with pytest.raises(UndefinedError, match="advice"):
        prompt("repair").render(reason="empty", error="the answer was empty")


def test_describe_names_the_cell() -> None:
    assert CELL.describe() in rendered()["describe"] and "7 commands" in rendered()["describe"]


def truths(asked: list[Ask]) -> Iterator[str]:
    """Where the truth, or the part of the tests that asks for it, stands in prompts."""
    for ask in asked:
        for message in ask.messages:
            yield from (word for word in (SECRET, "184250", "<truth>", "TRUTH['ship']") if word in message.content)


@pytest.mark.parametrize("order", [ORDER, PICTURE_ORDER], ids=["plain", "picture"])
def test_solver_never_sees_the_truth(order: Order) -> None:
    failed = Problem("solution", "solution_fails", "gate oracle: 0 of 3 runs; exit code 1")
    model = conversation(order, (failed, Problem("alternative", "alternative_fails", "gate alternatives: exit code 2")))
    solver = [*model.of("solution"), *model.of("alternative")]
    assert len(solver) == 4 and not list(truths(solver))
    assert set(truths(model.of("tests"))) == {SECRET, "184250", "<truth>"}  # they would have been found
