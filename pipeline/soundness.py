"""What must hold of a candidate before it is published. Plain functions: a recipe and a frame in, a finding out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import polars as pl
from pydantic import JsonValue, ValidationError

from generators.errors import TaskError, UsageError
from generators.evidence import SUITE, Evidence, Gate
from generators.overlap import twins
from generators.recipe import Recipe, plan
from generators.task import Difficulty, Task
from pipeline.funnel import attacked
from pipeline.splits import Item, split

POINTS = 3.0  # how far a difficulty's share may lie from the recipe's, in per cent
Details = dict[str, JsonValue]


class Finding(NamedTuple):
    """Whether something holds, and what was found."""

    passed: bool
    details: Details


def enough_tasks(recipe: Recipe, candidate: pl.DataFrame) -> Finding:
    """As many tasks survive as the recipe asks for; of what language models write, any."""
    count = _kept(candidate).height
    return Finding(
        count >= (recipe.count if recipe.writer == "procedural" else 1), {"proven": count, "asked for": recipe.count}
    )


def as_planned(recipe: Recipe, candidate: pl.DataFrame) -> Finding:
    """The rows are those that the recipe plans now: no batch is missing or left from an older version of the recipe."""
    keys = ("family", "serial", "difficulty") if recipe.writer == "procedural" else ("serial",)
    planned = Counter(tuple(str(getattr(order, key)) for key in keys) for order in plan(recipe))
    there = Counter(tuple(map(str, row)) for row in candidate.select(keys).iter_rows())
    seeds = {task.provenance.seed for task in _tasks(candidate)}
    details: Details = {"missing": (planned - there).total(), "not planned": (there - planned).total()}
    return Finding(planned == there and seeds <= {recipe.seed}, {**details, "seeds": [*sorted(seeds)]})


def rows_proven(recipe: Recipe, candidate: pl.DataFrame) -> Finding:
    """What would be published passed every gate, by evidence of exactly that task, and each family was attacked."""
    problems = {row["task_id"]: found for row in _kept(candidate).iter_rows(named=True) if (found := _unproven(row))}
    families = set(_kept(candidate)["family"]) - set(attacked(candidate))
    problems |= dict.fromkeys(sorted(families), "no task of this family was attacked")
    return Finding(not problems, _some(problems))


def ids_unique(recipe: Recipe, candidate: pl.DataFrame) -> Finding:
    """No id and no digest stands there twice."""
    kept = _kept(candidate)
    ids = [name for name, count in Counter(candidate["task_id"]).items() if count > 1]
    digests = [name for name, count in Counter(kept["digest"]).items() if count > 1]
    return Finding(not ids and not digests, {"ids": [*ids[:5]], "digests": [*digests[:5]]})


def no_twins(recipe: Recipe, candidate: pl.DataFrame) -> Finding:
    """No two instructions resemble each other more than the recipe allows."""
    found = twins({task.id: task.instruction for task in _tasks(_kept(candidate))}, recipe.twin_similarity)
    return Finding(not found, _some({twin.task: f"{twin.similarity:.2f} like {twin.other}" for twin in found.values()}))


def families_bounded(recipe: Recipe, candidate: pl.DataFrame) -> Finding:
    """No family gives more tasks than the recipe allows; what language models write is bounded by the axes."""
    counts = Counter(_kept(candidate)["family"])
    most = recipe.per_family if recipe.writer == "procedural" else recipe.count
    above: dict[str, JsonValue] = {name: count for name, count in counts.items() if count > most}
    return Finding(not above, {"families": len(counts), "largest": max(counts.values(), default=0), "above": above})


def difficulty_mix(recipe: Recipe, candidate: pl.DataFrame) -> Finding:
    """Each difficulty's share is near the recipe's: within 3 points, or within one task where that is more. What survives of a
    language model's tasks has the shares that it has."""
    levels = Counter(_kept(candidate)["difficulty"])
    total = levels.total()
    if not total:
        return Finding(False, {"tasks": 0})
    off = {level: 100 * levels[level.value] / total - recipe.mix().get(level, 0.0) for level in Difficulty}
    passed = recipe.writer == "model" or all(
        abs(distance) <= max(POINTS, 100 / total) + 1e-9 for distance in off.values()
    )
    return Finding(passed, {f"{level.value}, points off": round(distance, 2) for level, distance in off.items()})


def splits_cover(recipe: Recipe, candidate: pl.DataFrame) -> Finding:
    """Every task is in one split, no split that has a share is empty, and families stay together where they must."""
    kept = _kept(candidate)
    items = [Item(*values) for values in kept.select("task_id", "family", "difficulty").iter_rows()]
    where = split(items, recipe.splits, recipe.seed, recipe.separate_families)
    counts = Counter(where.values())
    wanted = [name for name, share in recipe.splits.items() if share * kept.height >= 100]
    empty = [name for name in wanted if not counts[name]]
    homes = Counter(family for family, _ in {(item.family, where.get(item.id)) for item in items})
    torn = sorted(name for name, count in homes.items() if count > 1) if recipe.separate_families else []
    passed = bool(items) and set(where) == {item.id for item in items} and not empty and not torn
    return Finding(passed, {**counts, "empty": [*empty], "torn families": [*torn]})


Check = Callable[[Recipe, pl.DataFrame], Finding]
CHECKS: tuple[Check, ...] = (
    enough_tasks,
    as_planned,
    rows_proven,
    ids_unique,
    no_twins,
    families_bounded,
    difficulty_mix,
    splits_cover,
)


def refuse_unless_sound(recipe: Recipe, candidate: pl.DataFrame) -> None:
    """The same checks once more, for whoever publishes without having run them.

    Raises:
        UsageError: one does not hold.
    """
    for check in CHECKS:
        finding = check(recipe, candidate)
        if not finding.passed:
            details = ", ".join(f"{name}: {value}" for name, value in finding.details.items())
            raise UsageError(f"recipe {recipe.name}: not published, {check.__name__} does not hold ({details})")


def _kept(candidate: pl.DataFrame) -> pl.DataFrame:
    return candidate.filter("proven")


def _tasks(frame: pl.DataFrame) -> Iterator[Task]:
    """The tasks of a frame, those that were written. Digests are not looked at here: `rows_proven` does."""
    for text in frame["task"]:
        if text:
            yield Task.model_validate_json(text)


def _unproven(row: Mapping[str, Any]) -> str:
    """Why a row that claims to be proven is not."""
    try:
        task = Task.model_validate_json(row["task"])
        evidence = Evidence.model_validate_json(row["evidence"]).bound_to(task)
    except (ValidationError, TaskError) as error:
        return " ".join(str(error).split())[:200]
    lacking = set(Gate) - {Gate.TAMPER} - {verdict.gate for verdict in evidence.verdicts}
    if not evidence.proven or row["gate"] or lacking:
        return f"not proven: {row['gate'] or ', '.join(sorted(lacking)) or 'a gate does not hold'}"
    if (task.id, task.digest) != (row["task_id"], row["digest"]):
        return "the row's id or digest is not its task's"
    return "" if evidence.suite == SUITE else f"proven by suite {evidence.suite}, this is suite {SUITE}"


def _some(problems: Mapping[str, str]) -> Details:
    return {"problems": len(problems), **dict(list(problems.items())[:5])}
