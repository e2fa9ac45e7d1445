"""A recipe says what to make: which families, how many tasks, how hard, from which seed, and how to split them.

    name: main
    seed: 331
    count: 331
    writer: procedural            # or model: language models write; which ones is said when it is built
    families: all                 # or a list of names
    difficulty: {easy: 12, medium: 42, hard: 37, extremely_hard: 9}      # per cent
    splits: {train: 80, validation: 10, test: 10}                        # per cent

`plan` turns a recipe into the list of tasks to write; the same recipe gives the same list anywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError, model_validator

from generators.difficulty import Observed
from generators.errors import RecipeError
from generators.family import Family
from generators.problems import one_problem
from generators.procedural import all_families
from generators.seeds import stream
from generators.strict_yaml import read_mapping
from generators.task import Difficulty, Record

Percent = Annotated[float, Field(ge=0, le=100)]
WRITTEN = "written"  # stands for the family of what language models write
SPLITS = ("train", "validation", "test")
DEFAULT_SPLITS = {"train": 80.0, "validation": 10.0, "test": 10.0}
DEFAULT_MIX = {
    Difficulty.EASY: 12.0,
    Difficulty.MEDIUM: 42.0,
    Difficulty.HARD: 37.0,
    Difficulty.EXTREMELY_HARD: 9.0,
}


class Recipe(Record):
    """A validated recipe."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$")]
    seed: Annotated[int, Field(strict=True, ge=-(2**63), lt=2**63)]
    count: Annotated[int, Field(strict=True, gt=0)]
    writer: Literal["procedural", "model"] = "procedural"
    families: Literal["all"] | Annotated[tuple[str, ...], Field(min_length=1)] = "all"
    difficulty: dict[Difficulty, Percent] | None = None  # DEFAULT_MIX, as far as the families offer its levels
    splits: dict[str, Percent] = Field(default_factory=lambda: dict(DEFAULT_SPLITS))
    separate_families: bool = False
    per_family: Annotated[int, Field(gt=0)] = 12
    batch: Annotated[int, Field(ge=1, le=256)] = 128
    twin_similarity: Annotated[float, Field(gt=0, le=1)] = 0.8
    measured: tuple[
        Observed, ...
    ] = ()  # pass rates of earlier batches, oldest first, which correct how hard models write

    @model_validator(mode="after")
    def _shares(self) -> Self:
        for label, shares in (("difficulty", self.difficulty), ("splits", self.splits)):
            if shares is None:
                continue
            total = sum(shares.values())
            if abs(total - 100) > 0.01:
                raise ValueError(f"{label}: the shares sum to {total:g} per cent, not to 100")
        if unknown := sorted(set(self.splits) - set(SPLITS)):
            raise ValueError(f"splits: unknown split {unknown[0]!r}; there are {', '.join(SPLITS)}")
        if self.writer == "model" and self.families != "all":
            raise ValueError("families: a recipe for language models has none; they write for cells of the axes")
        if self.measured and self.writer != "model":
            raise ValueError("measured: pass rates correct what language models write; families have fixed levels")
        return self

    def members(self) -> list[Family]:
        """The families it asks for, by name; none where language models write.

        Raises:
            RecipeError: one is unknown.
        """
        if self.writer == "model":
            return []
        known = all_families()
        if self.families == "all":
            return [family for family in known.values() if not family.by_name_only]
        if unknown := [name for name in self.families if name not in known]:
            raise RecipeError(f"recipe {self.name}: unknown family {unknown[0]!r}; `termforge families` lists them")
        return [known[name] for name in sorted(set(self.families))]

    def mix(self) -> dict[Difficulty, float]:
        """The wanted share of each level, in per cent. The default mix is cut down to what the families offer.

        Raises:
            RecipeError: a level was asked for that none of the families offers.
        """
        if self.writer == "model":
            return dict(self.difficulty or DEFAULT_MIX)
        offered = {level for family in self.members() for level in family.difficulties}
        wanted = self.difficulty
        if wanted is None:
            kept = {level: share for level, share in DEFAULT_MIX.items() if level in offered}
            return {level: 100 * share / sum(kept.values()) for level, share in kept.items()}
        if missing := [level for level, share in wanted.items() if share and level not in offered]:
            raise RecipeError(f"recipe {self.name}: difficulty: none of its families offers {missing[0].value}")
        return dict(wanted)


@dataclass(frozen=True)
class Order:
    """One task to write. For a language model, family and difficulty come with the cell of that serial."""

    family: str
    serial: int
    difficulty: Difficulty


def load_recipe(path: Path) -> Recipe:
    """Read and validate a recipe file.

    Raises:
        RecipeError: not readable, not YAML, or not a valid recipe; the message names the key.
    """
    data = read_mapping(path, "recipe", "keys such as name, seed and count")
    try:
        return Recipe.model_validate(data)
    except ValidationError as error:
        raise RecipeError(f"recipe {path}: {explain(error)}") from error


def explain_override(recipe: Recipe, changes: dict[str, object]) -> Recipe:
    """A recipe with some keys replaced, validated again.

    Raises:
        RecipeError: the result is not a valid recipe.
    """
    try:
        return Recipe.model_validate(recipe.model_dump() | changes)
    except ValidationError as error:
        raise RecipeError(f"recipe {recipe.name}: {explain(error)}") from error


def explain(error: ValidationError) -> str:
    """The first problem of a validation as one line."""
    problem = error.errors()[0]
    if problem["type"] == "extra_forbidden":
        where = ".".join(str(part) for part in problem["loc"])
        return f"unknown key {where!r}; known are {', '.join(sorted(Recipe.model_fields))}"
    return one_problem(problem)


def plan(recipe: Recipe) -> list[Order]:
    """What to write, evenly over families and near the wanted mix of difficulties.

    Raises:
        RecipeError: more tasks than the families can give.
    """
    if recipe.writer == "model":
        return [Order(WRITTEN, serial, Difficulty.MEDIUM) for serial in range(recipe.count)]
    members = recipe.members()
    limits = {family.name: min(family.capacity, recipe.per_family) for family in members}
    if recipe.count > sum(limits.values()):
        raise RecipeError(
            f"recipe {recipe.name}: count {recipe.count} is beyond what its {len(members)} families can vary "
            f"({sum(limits.values())} tasks at {recipe.per_family} a family); raise per_family or add families"
        )
    mix = recipe.mix()
    wanted = _whole_shares(recipe.count, {level: mix.get(level, 0) for level in Difficulty})
    given: Counter[str] = Counter()
    levels: dict[str, list[Difficulty]] = {family.name: [] for family in members}
    for level in sorted(Difficulty, key=lambda level: sum(level in family.difficulties for family in members)):
        able = [family for family in members if level in family.difficulties]
        if left := _deal(wanted[level], level, able, limits, given, levels):
            raise RecipeError(
                f"recipe {recipe.name}: difficulty: {wanted[level]} tasks of level {level.value} are wanted, {left} more than its "
                f"families can give at {recipe.per_family} a family; change the mix, or raise per_family"
            )
    return _orders(recipe, levels)


def _whole_shares(count: int, shares: dict[Difficulty, float]) -> dict[Difficulty, int]:
    """Whole numbers that sum to `count`, by largest remainder."""
    exact = {level: count * share / 100 for level, share in shares.items()}
    whole = {level: int(value) for level, value in exact.items()}
    order = sorted(exact, key=lambda level: (whole[level] - exact[level], level))
    for level in order[: count - sum(whole.values())]:
        whole[level] += 1
    return whole


def _deal(
    count: int,
    level: Difficulty,
    able: Sequence[Family],
    limits: dict[str, int],
    given: Counter[str],
    levels: dict[str, list[Difficulty]],
) -> int:
    """Give tasks of one level to the families that have fewest so far. How many could not be given."""
    for done in range(count):
        free = [family for family in able if given[family.name] < limits[family.name]]
        if not free:
            return count - done
        least = min(
            free,
            key=lambda family: (
                given[family.name],
                levels[family.name].count(level),
                len(family.difficulties),
                family.name,
            ),
        )
        given[least.name] += 1
        levels[least.name].append(level)
    return 0


def _orders(recipe: Recipe, levels: dict[str, list[Difficulty]]) -> list[Order]:
    """Serials within each family, then a fixed shuffle, so that every batch holds a mix."""
    orders = [
        Order(name, serial, level)
        for name, own in sorted(levels.items())
        for serial, level in enumerate(stream("levels", recipe.seed, name).sample(own, len(own)))
    ]
    return stream("plan", recipe.seed).sample(orders, len(orders))


def batches(recipe: Recipe) -> list[list[Order]]:
    """The plan cut into batches of the recipe's size."""
    orders = plan(recipe)
    return [orders[start : start + recipe.batch] for start in range(0, len(orders), recipe.batch)]
