"""Recipes: clear errors, and a plan that is the same anywhere."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from generators.errors import RecipeError, UsageError
from generators.procedural import find_family
from generators.recipe import Recipe, batches, explain_override, load_recipe, plan
from generators.task import Difficulty

ROOT = Path(__file__).resolve().parents[2]
GOOD = "name: x\nseed: 1\ncount: 6\nfamilies: [ledger_reconciliation]\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD + "colour: red\n", "unknown key 'colour'"),
        (GOOD.replace("6", "0"), "count: Input should be greater than 0"),
        (GOOD.replace("6", "999"), "beyond what"),
        (GOOD.replace("ledger", "ledgre"), "unknown family 'ledgre_reconciliation'"),
        (GOOD + "splits: {train: 50, dev: 50}\n", "unknown split 'dev'"),
        (GOOD + "splits: {train: 50}\n", "sum to 50 per cent"),
        (GOOD + "difficulty: {easy: 10}\n", "sum to 10 per cent"),
        (GOOD + "difficulty: {trivial: 100}\n", "difficulty.trivial"),
        (GOOD + "batch: 100000\n", "batch"),
        (GOOD + "difficulty: {extremely_hard: 100}\n", "none of its families offers extremely_hard"),
        (GOOD.replace("[ledger_reconciliation]", "[]"), "families"),
        ("- a list\n", "must be a mapping"),
        ("a: [unclosed\n", "not valid YAML"),
        ("name: x\n", "seed: Field required"),
        (GOOD + "seed: 2\nseed: 3\n", "key 'seed' is given twice"),
        (GOOD.replace("seed: 1", "seed: true"), "seed: Input should be a valid integer"),
    ],
)
def test_a_wrong_recipe_gets_one_clear_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(text)
    with pytest.raises(RecipeError) as caught:
        plan(load_recipe(path))
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="No such file"):
        load_recipe(tmp_path / "none.yaml")


def test_unknown_families_are_said() -> None:
    with pytest.raises(UsageError, match="termforge families"):
        find_family("nothing")


def test_overrides_are_validated() -> None:
    with pytest.raises(RecipeError, match="greater than 0"):
        explain_override(Recipe(name="x", seed=1, count=5), {"count": 0})


@pytest.fixture(scope="module")
def main() -> Recipe:
    return load_recipe(ROOT / "datasets" / "recipes" / "main.yaml")


def test_the_main_recipe_keeps_its_promises(main: Recipe) -> None:
    orders = plan(main)
    families = Counter(order.family for order in orders)
    levels = Counter(order.difficulty for order in orders)
    assert len(orders) >= 331 and len(families) >= 40 and max(families.values()) <= 12
    assert len({find_family(name).domain for name in families}) >= 9
    for level, share in (
        (Difficulty.EASY, 12),
        (Difficulty.MEDIUM, 42),
        (Difficulty.HARD, 37),
        (Difficulty.EXTREMELY_HARD, 9),
    ):
        assert abs(100 * levels[level] / len(orders) - share) < 1
    assert min(Counter(find_family(name).verifier for name in families).values()) >= 2
    assert len(Counter(find_family(name).verifier for name in families)) == 5


def test_orders_are_unique_and_within_what_families_offer(main: Recipe) -> None:
    orders = plan(main)
    assert len({(order.family, order.serial) for order in orders}) == len(orders)
    assert all(order.difficulty in find_family(order.family).difficulties for order in orders)


def test_batches_are_the_plan_in_pieces(main: Recipe) -> None:
    assert [order for batch in batches(main) for order in batch] == plan(main)
    assert {len(batch) for batch in batches(main)[:-1]} == {main.batch}


def test_a_family_by_name_only_is_in_no_recipe_that_does_not_name_it(main: Recipe) -> None:
    assert find_family("ladder").by_name_only and "ladder" not in {order.family for order in plan(main)}
    ladder = load_recipe(ROOT / "datasets" / "recipes" / "ladder.yaml")
    assert {order.family for order in plan(ladder)} == {"ladder"} and len(plan(ladder)) == 160
