"""`python -m tests.compare OLD [NEW]`: the same tasks, byte for byte, in the same splits? Evidence may differ.

Without NEW the tasks of OLD's recipe are written anew, which takes no sandbox, and only they are compared.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from generators.digest import canonical_json
from generators.procedural import find_family, write_task
from generators.recipe import Recipe, plan
from pipeline.exchange.rows import from_row
from pipeline.release import content_digest, load_release


def releases(old: Path, new: Path) -> int:
    """Two releases."""
    one, two = ({row["id"]: row for row in load_release(folder)} for folder in (old, new))
    print(f"{len(one)} and {len(two)} tasks; content {content_digest(list(one.values()))[:16]}")
    return _differences(
        {name: canonical_json(row | {"evidence": None}) for name, row in one.items()},
        {name: canonical_json(row | {"evidence": None}) for name, row in two.items()},
    )


def rewritten(old: Path) -> int:
    """A release and what its recipe says."""
    recipe = Recipe.model_validate(json.loads((old / "manifest.json").read_text())["recipe"])
    new = [write_task(find_family(order.family), recipe.seed, order.serial, order.difficulty) for order in plan(recipe)]
    released = [from_row(row)[0] for row in load_release(old)]
    print(f"{len(released)} tasks, written again")
    return _differences({task.id: task.canonical() for task in released}, {task.id: task.canonical() for task in new})


def _differences(one: Mapping[str, str], two: Mapping[str, str]) -> int:
    """Print what differs; 0 if nothing does."""
    only = sorted(set(one) ^ set(two))
    differs = [name for name in sorted(set(one) & set(two)) if one[name] != two[name]]
    for name in only[:10]:
        print(f"only in one: {name}")
    for name in differs[:10]:
        print(f"differs: {name}")
    return int(bool(only or differs))


if __name__ == "__main__":
    folders = [Path(name) for name in sys.argv[1:]]
    sys.exit(releases(*folders) if len(folders) == 2 else rewritten(*folders))
