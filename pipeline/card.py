"""The data card: everything in it is computed from the rows and their evidence."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from generators.evidence import Gate
from generators.recipe import SPLITS, Recipe
from pipeline.costs import BY_AXIS, by_axis, total
from pipeline.funnel import funnel, reasons

Row = Mapping[str, Any]


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A markdown table."""
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    lines += [f"| {' | '.join(str(cell) for cell in row)} |" for row in rows]
    return "\n".join(lines)


def card(recipe: Recipe, rows: Sequence[Row], candidate: pl.DataFrame, digest: str) -> str:
    """The card of a release as markdown, with the YAML head that HuggingFace reads."""
    present = [name for name in SPLITS if any(row["split"] == name for row in rows)]
    parts = [
        _head(recipe, rows, present),
        f"# Termforge tasks: {recipe.name}\n",
        f"{len(rows)} terminal tasks for reinforcement learning, each with the evidence that it is buildable, solvable, not "
        f"already solved, not guessable, stable, and says all that its tests check. Content hash `{digest[:16]}`; "
        f"recipe seed {recipe.seed}.\n",
        "## Load\n",
        _loading(recipe, present),
        "## What is in a row\n",
        _columns(),
        "## The funnel\n",
        table(("stage", "tasks"), funnel(candidate)),
        _dropped(candidate),
        _written(candidate),
        "## How it was proven\n",
        _evidence(rows),
        "## Distribution\n",
        _distribution(rows, present),
        "## Lengths\n",
        _lengths(rows),
        "## Limits\n",
        f"The tasks are synthetic: {_ORIGIN[recipe.writer]} Difficulty is by design, not by measured "
        "pass rate. The image column's Dockerfiles use Debian 12 packages, whose versions move with Debian.\n",
        "## Licence\n",
        "Apache-2.0. No text or code of other data sets or benchmarks is in it.\n",
    ]
    return "\n".join(parts)


_ORIGIN = {
    "procedural": "families written by hand draw data, story and truth from a seed, so tasks of one family share their idea "
    "(split by family with `termforge export --separate-families`).",
    "model": "language models wrote them for sampled cells of the axes; what is published passed the same gates as tasks written "
    "by hand, attacks included, each task by itself.",
}


def _written(candidate: pl.DataFrame) -> str:
    """What language models took, where they wrote."""
    whole = total(candidate)
    if whole is None:
        return ""
    models = Counter(json.loads(text)["provenance"]["knobs"].get("model", "") for text in candidate["task"] if text)
    names = ", ".join(sorted(name for name in models if name))
    return (
        f"## What writing took\n\nModels: {names}.\n\n{table(BY_AXIS[2:], [whole[2:]])}\n\n"
        f"{table(BY_AXIS, by_axis(candidate))}\n"
    )


def _head(recipe: Recipe, rows: Sequence[Row], present: Sequence[str]) -> str:
    files = "\n".join(f"  - split: {name}\n    path: {name}.parquet" for name in present)
    size = "n<1K" if len(rows) < 1000 else "1K<n<10K"
    return (
        f"---\nlicense: apache-2.0\nlanguage: [en]\npretty_name: Termforge {recipe.name}\nsize_categories: [{size}]\n"
        f"tags: [reinforcement-learning, terminal, agents]\nconfigs:\n- config_name: default\n  data_files:\n{files}\n---\n"
    )


def _loading(recipe: Recipe, present: Sequence[str]) -> str:
    files = ", ".join(f'"{name}": "{name}.parquet"' for name in present)
    return (
        "```python\nimport polars as pl\n"
        f'train = pl.read_parquet("datasets/{recipe.name}/train.parquet")\n\n'
        "from datasets import load_dataset  # HuggingFace\n"
        f'tasks = load_dataset("parquet", data_dir="datasets/{recipe.name}", data_files={{{files}}})\n\n'
        "from pipeline.exchange.rows import from_row, read_parquet  # Termforge's own records\n"
        f'task, evidence = from_row(read_parquet("datasets/{recipe.name}/train.parquet")[0])\n```\n'
    )


def _columns() -> str:
    return (
        "`instruction` is all that an agent sees. `image` holds the Dockerfile and its context. `truth`, `completion_tests`, "
        "`solution`, `alternatives` and `near_misses` are privileged: never show them to an agent, never place them in its "
        "container before grading. Goals carry weights that sum to 1; a failing guard takes the score to 0. "
        "`evidence` holds a verdict per gate, bound to `digest`; timings and engine are there and nowhere else, so that all "
        "other columns are the same bytes on any machine.\n"
    )


def _dropped(candidate: pl.DataFrame) -> str:
    frame = reasons(candidate)
    if frame.is_empty():
        return "\nNothing was dropped.\n"
    return "\nDropped, by gate and reason:\n\n" + table(frame.columns, frame.iter_rows()) + "\n"


def _evidence(rows: Sequence[Row]) -> str:
    verdicts = [verdict for row in rows for verdict in row["evidence"]["verdicts"]]
    lines = []
    for gate in Gate:
        own = [verdict for verdict in verdicts if verdict["gate"] == gate.value]
        if own:
            median = statistics.median(verdict["seconds"] for verdict in own)
            lines.append((gate.value, len(own), sum(verdict["holds"] for verdict in own), f"{median:.3f}"))
    engines = ", ".join(sorted({row["evidence"]["engine"] for row in rows}))
    return (
        table(("gate", "tasks tried", "holds", "median seconds"), lines)
        + f"\n\nEngine: {engines}. The solution ran in three fresh sandboxes that differed in clock, time zone, host name, hash "
        "seed and order of the tests. Every attack was run on at least one task of each family.\n"
    )


def _counts(rows: Sequence[Row], key: Callable[[Row], str], name: str) -> str:
    counts = Counter(key(row) for row in rows)
    total = len(rows)
    return (
        table((name, "tasks", "share"), [(value, n, f"{100 * n / total:.1f} %") for value, n in counts.most_common()])
        + "\n"
    )


def _distribution(rows: Sequence[Row], present: Sequence[str]) -> str:
    families = Counter(row["provenance"]["family"] for row in rows)
    parts = [
        _counts(rows, lambda row: row["axes"]["difficulty"], "difficulty"),
        _counts(rows, lambda row: row["axes"]["domain"], "domain"),
        _counts(rows, lambda row: row["axes"]["verifier"], "verifier"),
        _counts(rows, lambda row: row["split"], "split"),
        f"{len(families)} families, {min(families.values())} to {max(families.values())} tasks each.\n",
    ]
    return "\n".join(parts)


def _lengths(rows: Sequence[Row]) -> str:
    measures: list[tuple[str, Callable[[Row], int]]] = [
        ("instruction, characters", lambda row: len(row["instruction"])),
        ("context files", lambda row: len(row["image"]["files"])),
        ("context, bytes", lambda row: sum(len(file["content"]) for file in row["image"]["files"])),
        ("goal tests", lambda row: sum(not test["guard"] for test in row["completion_tests"]["tests"])),
        ("guards", lambda row: sum(test["guard"] for test in row["completion_tests"]["tests"])),
        ("near misses", lambda row: len(row["near_misses"])),
        ("solution, lines", lambda row: len((row["solution"] or "").splitlines())),
    ]
    lines = []
    for name, measure in measures:
        values = sorted(measure(row) for row in rows)
        lines.append((name, values[0], int(statistics.median(values)), values[-1]))
    return table(("what", "least", "median", "most"), lines) + "\n"
