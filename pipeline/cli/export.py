"""The export command: a data set's tasks, dealt anew into splits, as parquet, as directories for Harbor, or as rows for verl."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import click

from agent.styles import STYLES
from containers.state import storage
from generators.errors import TaskError, UsageError
from generators.evidence import Evidence
from generators.recipe import SPLITS
from generators.task import Task
from pipeline.cli.output import Out, json_option
from pipeline.cli.sources import load_tasks
from pipeline.exchange.harbor import check_target, write_harbor
from pipeline.exchange.rows import to_row, write_parquet
from pipeline.places import project_root
from pipeline.release import content_digest, file_digest
from pipeline.splits import Item, split
from trainer.examples import worked_examples
from trainer.verl.rows import write_rows


def parse_shares(text: str) -> dict[str, float]:
    """`train=80,validation=10,test=10` as a mapping.

    Raises:
        UsageError: an unknown split, not a number, or a sum other than 100.
    """
    shares: dict[str, float] = {}
    for part in text.split(","):
        name, _, value = part.strip().partition("=")
        if name not in SPLITS:
            raise UsageError(
                f"unknown split {name!r}; there are {', '.join(SPLITS)}, given as train=80,validation=10,test=10"
            )
        if name in shares:
            raise UsageError(f"split {name} is given twice")
        try:
            shares[name] = float(value)
        except ValueError:
            raise UsageError(f"split {name}: {value!r} is not a share in per cent") from None
        if not 0 <= shares[name] <= 100:
            raise UsageError(f"split {name}: {value} is not between 0 and 100 per cent")
    if abs(sum(shares.values()) - 100) > 0.01:
        raise UsageError(f"the shares sum to {sum(shares.values()):g} per cent, not to 100")
    return shares


FORMATS = ("parquet", "harbor", "verl")
Dealt = tuple[Task, Evidence | None, str]  # with its split
Written = tuple[str, list[dict[str, Any]]]  # the digest of all, and what is said of each file


@click.command()
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path),
    help="Release folder, parquet or JSON (default: datasets/main).",
)
@click.option(
    "--to", "target", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder to write."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="parquet",
    show_default=True,
    help="A file per split, a directory per task as Harbor reads it, or prompts alone as verl reads them.",
)
@click.option(
    "--style",
    type=click.Choice(sorted(STYLES)),
    help="For verl: how the agent is told what to do (default: structured).",
)
@click.option("--examples", help="For verl: worked examples before the task, a file or a shipped one (ladder).")
@click.option("--splits", default="train=80,validation=10,test=10", show_default=True, help="Shares in per cent.")
@click.option("--split", "only", type=str, help="Write only this split.")
@click.option("--separate-families", is_flag=True, help="No family in two splits.")
@click.option("--seed", default=331, show_default=True, help="Seed of the dealing.")
@click.option(
    "--proven/--all", "proven_only", default=True, show_default=True, help="Leave out tasks without a whole proof."
)
@json_option
def export(
    source: Path | None,
    target: Path,
    form: str,
    style: str | None,
    examples: str | None,
    splits: str,
    only: str | None,
    separate_families: bool,
    seed: int,
    proven_only: bool,
    out: Out,
) -> None:
    """Write tasks in splits, stratified by family and difficulty: parquet files, directories for Harbor, or rows for verl.

    Rows for verl hold prompts and the tasks' digests: no test, no truth, no image.
    """
    if only is not None and only not in SPLITS:
        raise UsageError(f"unknown split {only!r}; there are {', '.join(SPLITS)}")
    if form != "verl" and (style or examples):
        raise UsageError("--style and --examples are for --format verl: other formats hold tasks, not prompts")
    shares = parse_shares(splits)
    if form == "harbor":
        check_target(target)
    known = load_tasks(source or project_root() / "datasets" / "main")
    kept = [(task, proof) for task, proof in known if not proven_only or (proof is not None and proof.proven)]
    if not kept:
        raise TaskError("no task with a whole proof in the source; prove them first, or export with --all")
    if doubled := [name for name, times in Counter(task.id for task, _ in kept).items() if times > 1]:
        raise TaskError(f"task {doubled[0]} is there more than once in the source; a task belongs into one split only")
    items = [Item(task.id, task.provenance.family, task.axes.difficulty.value) for task, _ in kept]
    where = split(items, shares, seed, separate_families)
    dealt = [(task, proof, where[task.id]) for task, proof in sorted(kept, key=lambda pair: pair[0].id)]
    if form == "verl":
        digest, files = _as_verl(
            dealt, target, only, style or "structured", worked_examples(examples) if examples else ""
        )
    else:
        digest, files = (_as_harbor if form == "harbor" else _as_parquet)(dealt, target, only)
    value = {"digest": digest, "left_out": len(known) - len(kept), "files": files}
    table = [
        (file["file"], file["rows"], ", ".join(f"{k} {v}" for k, v in sorted(file["difficulty"].items())))
        for file in files
    ]
    out.result(value, lambda console: console.print(out.table(("file", "tasks", "difficulty"), table)))


def _as_parquet(dealt: list[Dealt], target: Path, only: str | None) -> Written:
    """A file per split."""
    rows = [to_row(*item) for item in dealt]
    with storage(f"preparing {target}"):
        target.mkdir(parents=True, exist_ok=True)
    files: list[dict[str, Any]] = []
    for name in SPLITS:
        part = [row for row in rows if row["split"] == name]
        if part and only in (None, name):
            path = target / f"{name}.parquet"
            write_parquet(part, path)
            levels = Counter(row["axes"]["difficulty"] for row in part)
            files.append(
                {"file": str(path), "rows": len(part), "sha256": file_digest(path), "difficulty": dict(levels)}
            )
    return content_digest(rows), files


def _as_harbor(dealt: list[Dealt], target: Path, only: str | None) -> Written:
    """A directory per task.

    Raises:
        TaskError: the split that was asked for is empty.
    """
    part = [item for item in dealt if only in (None, item[2])]
    if not part:
        raise TaskError(f"no task was dealt to split {only}; give it a larger share")
    digest = write_harbor(part, target)
    levels = Counter(task.axes.difficulty.value for task, _, _ in part)
    return digest, [{"file": str(target), "rows": len(part), "sha256": digest, "difficulty": dict(levels)}]


def _as_verl(dealt: list[Dealt], target: Path, only: str | None, style: str, examples: str) -> Written:
    """A file of prompts per split."""
    parts = {name: [task for task, _, own in dealt if own == name] for name in SPLITS if only in (None, name)}
    paths = write_rows(parts, target, style, examples)
    levels = {name: Counter(task.axes.difficulty.value for task in parts[name]) for name in paths}
    files = [
        {"file": str(path), "rows": len(parts[name]), "sha256": file_digest(path), "difficulty": dict(levels[name])}
        for name, path in paths.items()
    ]
    return content_digest([to_row(*item) for item in dealt]), files
