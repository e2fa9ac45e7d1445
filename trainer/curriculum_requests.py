"""Where the tasks of a run stand, and what the writer should be asked for: more of what the policy is weak at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import yaml

from generators.procedural import all_families
from generators.recipe import WRITTEN, Recipe
from generators.seeds import stream
from generators.task import Difficulty
from trainer.curriculum import CurriculumSettings, CurriculumState, CurriculumTask, pass_rate

_LEAST_PLAYED = 2  # tasks of a family and difficulty, before it is called weak


class Standing(NamedTuple):
    """How many of some tasks are in which state, for a step's metrics and the report."""

    unseen: int
    learning: int
    parked: int
    retired: int


def standing(state: CurriculumState, tasks: Iterable[CurriculumTask], step: int) -> Standing:
    """Where the tasks stand."""
    counts = dict.fromkeys(Standing._fields, 0)
    for task in tasks:
        known = state.tasks.get(task.digest)
        if known is None or not known.groups:
            counts["unseen"] += 1
        else:
            counts["retired" if known.retired else "parked" if known.again > step else "learning"] += 1
    return Standing(**counts)


def by_family(
    settings: CurriculumSettings, state: CurriculumState, tasks: Iterable[CurriculumTask], least: int = 1
) -> Mapping[tuple[str, str], float]:
    """The mean pass rate of families and difficulties, over their tasks that were played; `least` so many."""
    rates: dict[tuple[str, str], list[float]] = {}
    for task in tasks:
        known = state.tasks.get(task.digest)
        if known and known.groups:
            rates.setdefault((task.family, task.difficulty), []).append(pass_rate(settings, known))
    return {key: sum(sorted(values)) / len(values) for key, values in sorted(rates.items()) if len(values) >= least}


def requests(
    settings: CurriculumSettings, state: CurriculumState, tasks: Sequence[CurriculumTask], seed: int
) -> tuple[Recipe, ...]:
    """A recipe per difficulty with weak families, `ask` tasks in all or a few more, of another seed than any before.

    Families that no longer exist are left out. Tasks that language models wrote are asked for by their difficulty alone.
    """
    rates = by_family(settings, state, tasks, _LEAST_PLAYED)
    weak = [(family, Difficulty(level)) for (family, level), rate in rates.items() if rate < settings.weak]
    offered = {name: family.difficulties for name, family in all_families().items()}
    weak = [(name, level) for name, level in weak if name == WRITTEN or level in offered.get(name, ())]
    each = -(-settings.ask // len(weak)) if weak else 0
    found: list[Recipe] = []
    for level in Difficulty:
        names = tuple(name for name, own in weak if own == level)
        own = int.from_bytes(stream("curriculum requests", seed, state.step, level).randbytes(4), "big")
        if families := tuple(name for name in names if name != WRITTEN):
            found.append(_recipe(f"practice-{level}-{state.step}", own, each, level, families))
        if WRITTEN in names:
            found.append(_recipe(f"practice-written-{level}-{state.step}", own, each, level, ()))
    return tuple(found)


def _recipe(name: str, seed: int, each: int, level: Difficulty, families: tuple[str, ...]) -> Recipe:
    """Only tasks to train on: held-out splits stay as they are."""
    common = {"name": name, "seed": seed, "difficulty": {level: 100.0}, "splits": {"train": 100.0}}
    if not families:
        return Recipe.model_validate({**common, "count": each, "writer": "model"})
    room = {family: min(each, all_families()[family].capacity) for family in families}
    return Recipe.model_validate(
        {**common, "count": sum(room.values()), "families": families, "per_family": max(room.values())}
    )


def as_yaml(recipe: Recipe) -> str:
    """A recipe as a file for `termforge build --recipe`."""
    return yaml.safe_dump(recipe.model_dump(mode="json", exclude_defaults=True), sort_keys=False)
