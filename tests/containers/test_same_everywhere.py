"""The same tasks, proven in every engine, leave the same evidence: verdicts, reasons and scores."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest

from containers.proof.batch import prove_all, tamper_plan
from containers.sandbox import Engine
from generators.evidence import Evidence
from generators.procedural import find_family, write_task
from generators.recipe import load_recipe, plan
from generators.task import Task

RECIPE = Path(__file__).resolve().parents[2] / "datasets" / "recipes" / "main.yaml"
TASKS = int(os.environ.get("TERMFORGE_TEST_SAME", "24"))
ATTACKED = int(os.environ.get("TERMFORGE_TEST_SAME_ATTACKED", "2"))
VARYING = {"solve_seconds", "layers", "notes"}  # what an engine's own way of doing it decides

pytestmark = pytest.mark.slow


@cache
def sample() -> tuple[Task, ...]:
    """Tasks of as many families as there are places, spread over the recipe."""
    orders = plan(load_recipe(RECIPE))
    families = sorted({order.family for order in orders})
    chosen = families[:: max(1, len(families) // TASKS)][:TASKS]
    first = [next(order for order in orders if order.family == family) for family in chosen]
    return tuple(write_task(find_family(order.family), 331, order.serial, order.difficulty) for order in first)


def evidence(engine: Engine) -> dict[str, Evidence]:
    """Of every task of the sample; the first few meet the attacks."""
    attacked = sorted(tamper_plan(sample()))[:ATTACKED]
    found = prove_all(engine, sample(), workers=4, attacked=set(attacked))
    return {proven.task.id: proven.evidence for proven in found}


@pytest.fixture(scope="module")
def expected(engine: Engine) -> dict[str, Evidence]:
    return evidence(engine)


def said(found: Evidence) -> list[tuple[object, ...]]:
    """What must be the same: each gate's verdict, reason and figures."""
    return [
        (
            verdict.gate.value,
            verdict.holds,
            verdict.reason,
            {k: v for k, v in verdict.figures.items() if k not in VARYING},
        )
        for verdict in found.verdicts
    ] + [("fault", found.fault)]


def test_the_evidence_is_the_same(other_engine: Engine, expected: dict[str, Evidence]) -> None:
    assert all(found.proven for found in expected.values()), [said(found) for found in expected.values()]
    found = evidence(other_engine)
    assert {task: said(found[task]) for task in found} == {task: said(expected[task]) for task in expected}
