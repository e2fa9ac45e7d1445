"""The overlap commands: index a benchmark's texts as hashes, and look for them in a data set."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from generators.benchmarks import Index, Match, Overlap
from generators.errors import UsageError
from generators.ngrams import N
from generators.task import Task
from pipeline.cli.output import Out, json_option
from pipeline.cli.sources import load_tasks
from pipeline.exchange.instructions import Unread, read_instructions
from pipeline.places import project_root

SHOWN = 20


@click.group()
def overlap() -> None:
    """Keep the texts of public benchmarks out of a data set."""


@overlap.command(short_help="Index a folder of tasks as hashes.")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--name", required=True, help="Of the index, such as terminal-bench-2.")
@click.option("--source", default="", help="Where the tasks come from (kept in the manifest).")
@click.option("--licence", default="", help="Theirs (kept in the manifest).")
@click.option("--date", type=click.DateTime(["%Y-%m-%d"]), help="When they were fetched (kept in the manifest).")
@click.option(
    "--to", "target", type=click.Path(path_type=Path, file_okay=False), help="Folder (default: datasets/overlap)."
)
@json_option
def build(
    folder: Path, name: str, source: str, licence: str, date: datetime | None, target: Path | None, out: Out
) -> None:
    """Index every instruction in a folder of tasks as hashes of its 13-grams. The texts are not kept.

    Reads instruction.md, task.yaml and task.toml, and .json, .jsonl and .parquet files with an instruction, a description
    or a prompt.
    """
    found = read_instructions(folder)
    if not found.texts:
        why = f"; {found.unread[0].file} {found.unread[0].reason}" if found.unread else ""
        raise UsageError(f"{folder} holds no task with an instruction{why}")
    index = Index.build(name, found.texts, source, licence, f"{date:%Y-%m-%d}" if date else "")
    about, data = index.write(target or _indexes())
    value = {
        "name": name,
        "tasks": len(index.manifest.tasks),
        "hashes": index.manifest.rows,
        "files": [str(about), str(data)],
        "unread": [vars(unread) for unread in found.unread],
    }
    out.result(value, lambda console: _print_built(console, value, found.unread))


@overlap.command(short_help="Find indexed texts in a data set.")
@click.argument("source", type=click.Path(path_type=Path))
@click.option(
    "--indexes", type=click.Path(path_type=Path, file_okay=False), help="Folder of indexes (default: datasets/overlap)."
)
@click.option(
    "--max",
    "allowed",
    type=click.FloatRange(0, 100),
    default=0.0,
    show_default=True,
    help="Share of tasks that may overlap with an index, in per cent.",
)
@json_option
def check(source: Path, indexes: Path | None, allowed: float, out: Out) -> None:
    """Say which tasks of SOURCE (a release folder, parquet or JSON) share 13 tokens in a row with an indexed task.

    Exit code 1 if their share is above --max for an index.
    """
    known = _load(indexes or _indexes())
    tasks = [task for task, _ in load_tasks(source)]
    if not tasks:
        raise UsageError(f"{source} holds no task")
    shared = {task.id: known.matches(task.instruction) for task in tasks}
    rows = [_row(index, tasks, shared) for index in known.indexes]
    value = {"tasks": len(tasks), "max": allowed, "indexes": rows}
    out.result(value, lambda console: _print_checked(console, out, rows, len(tasks)))
    if any(row["per_cent"] > allowed for row in rows):
        raise click.exceptions.Exit(1)


def _indexes() -> Path:
    return project_root() / "datasets" / "overlap"


def _load(folder: Path) -> Overlap:
    known = Overlap.load(folder)
    if not known.indexes:
        raise UsageError(f"there is no index in {folder}; make one with `termforge overlap build FOLDER --name NAME`")
    return known


def _row(index: Index, tasks: Sequence[Task], shared: dict[str, list[Match]]) -> dict[str, Any]:
    """What one index says of all tasks."""
    name = index.manifest.name
    own = {task: [match for match in found if match.index == name] for task, found in shared.items()}
    which = [
        {"task": task, "like": match.task, "grams": match.grams, "share": match.share}
        for task, found in sorted(own.items())
        for match in found
    ]
    count = sum(bool(own[task.id]) for task in tasks)
    return {
        "name": name,
        "date": index.manifest.date,
        "indexed": len(index.manifest.tasks),
        "overlapping": count,
        "per_cent": 100 * count / len(tasks),
        "which": which,
    }


def _print_built(console: Console, value: dict[str, Any], unread: Sequence[Unread]) -> None:
    lines = [f"{value['name']}: {value['hashes']} hashes of {value['tasks']} tasks in {value['files'][1]}"]
    lines += [f"not read: {miss.file} {miss.reason}" for miss in unread[:SHOWN]]
    if len(unread) > SHOWN:
        lines.append(f"not read: {len(unread) - SHOWN} more (--json lists them)")
    console.print("\n".join(lines), markup=False, highlight=False)


def _print_checked(console: Console, out: Out, rows: Sequence[dict[str, Any]], tasks: int) -> None:
    heads = ("index", "of", "its tasks", "overlapping", "per cent")
    cells = [
        (row["name"], row["date"] or "not stated", row["indexed"], row["overlapping"], f"{row['per_cent']:.2f}")
        for row in rows
    ]
    console.print(out.table(heads, cells), markup=False)
    which = [(row["name"], *found.values()) for row in rows for found in row["which"]]
    if which:
        console.print(out.table(("index", "task", "like", f"{N}-grams", "share"), which[:SHOWN]), markup=False)
    more = f" ({len(which) - SHOWN} more pairs: --json lists them)" if len(which) > SHOWN else ""
    console.print(f"{tasks} tasks looked at{more}", markup=False, highlight=False)
