"""Partitions: a recipe is cut into batches of tasks; a batch is what one run drafts, builds and proves.

catalog = find_recipes(Path("datasets/recipes"))
catalog.batch("main.002")     # the recipe and the orders of its third batch
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from dagster import StaticPartitionMapping, StaticPartitionsDefinition

from generators.errors import TermforgeError
from generators.recipe import Order, Recipe, batches, load_recipe

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Catalog:
    """Every recipe that can be made, with its batches in order."""

    recipes: Mapping[str, Recipe]
    orders: Mapping[str, list[Order]]  # by batch key

    def recipe(self, key: str) -> Recipe:
        """The recipe of a recipe key or of a batch key."""
        return self.recipes[key.partition(".")[0]]

    def batch(self, key: str) -> tuple[Recipe, list[Order]]:
        """A batch's recipe and orders."""
        return self.recipe(key), self.orders[key]

    def batch_keys(self, recipe: str) -> list[str]:
        """The batches of one recipe, in order."""
        return [key for key in self.orders if key.partition(".")[0] == recipe]

    @cached_property
    def batch_partitions(self) -> StaticPartitionsDefinition:
        """A partition per batch."""
        return StaticPartitionsDefinition(list(self.orders))

    @cached_property
    def recipe_partitions(self) -> StaticPartitionsDefinition:
        """A partition per recipe."""
        return StaticPartitionsDefinition(list(self.recipes))

    @cached_property
    def fan_in(self) -> StaticPartitionMapping:
        """Every batch belongs to its recipe."""
        return StaticPartitionMapping({key: self.recipe(key).name for key in self.orders})


def find_recipes(folder: Path, extra: Iterable[Recipe] = ()) -> Catalog:
    """The recipes of a folder, then extra ones, which win over files of the same name.

    A file that is not valid is left out with a warning, so that it cannot take the others down.

    Raises:
        RecipeError: an extra recipe asks for what there is not.
    """
    known: dict[str, Recipe] = {}
    orders: dict[str, list[list[Order]]] = {}
    for recipe, cut in _from_files(folder):
        if recipe.name in known:
            log.warning("a second recipe is called %s; it is left out", recipe.name)
            continue
        known[recipe.name], orders[recipe.name] = recipe, cut
    for recipe in extra:
        known[recipe.name], orders[recipe.name] = recipe, batches(recipe)
    return Catalog(known, {batch_key(name, n): cut for name in known for n, cut in enumerate(orders[name])})


def batch_key(recipe: str, number: int) -> str:
    """The partition key of a recipe's batch."""
    return f"{recipe}.{number:03d}"


def _from_files(folder: Path) -> Iterator[tuple[Recipe, list[list[Order]]]]:
    for path in sorted(folder.glob("*.yaml")):
        try:
            recipe = load_recipe(path)
            yield recipe, batches(recipe)
        except TermforgeError as error:
            log.warning("%s is left out: %s", path.name, error)
