"""Commands that look at attempts: `analyze` for many trajectories, `trajectory show` for one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click
import polars as pl
from rich.console import Console

from agent.atif import to_atif
from agent.failure_tables import AXES, LABELS, behaviour, by, findings_frame, flags, report
from agent.failures import examine
from agent.passk import by_model, by_task
from agent.table import read_attempts, read_trajectories, trajectory_id
from agent.trajectory import Trajectory
from containers.state import storage
from generators.errors import UsageError
from generators.task import Difficulty
from pipeline.attempting import trajectories_folder
from pipeline.cli.output import Out, json_option
from pipeline.cli.trajectory_page import Page, in_short

SHOWN_IDS = 8
PathArgument = click.Path(path_type=Path)


@click.command()
@click.argument("path", type=PathArgument, required=False)
@click.option(
    "--plots",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for plots (PNG), made if need be.",
)
@json_option
def analyze(path: Path | None, folder: Path | None, out: Out) -> None:
    """Say how often models solve tasks, and why they fail. PATH is a trajectories*.parquet file, or a folder of such
    files; without it, what `termforge attempt` left where no folder was named.

    pass@k with 95 % intervals; per kind of failure the share of runs; what failed and passed runs do after an error; failures by
    model, domain, skill and difficulty. Invalid attempts count for nothing. --json adds every task and every run.
    """
    path = path or trajectories_folder()
    trajectories = read_trajectories(path)
    if not trajectories:
        raise UsageError(f"{path} holds no trajectory yet")
    attempts = read_attempts(path)
    totals, tasks = by_model(attempts), by_task(attempts)
    frame = findings_frame([examine(trajectory) for trajectory in trajectories])
    written = _write_plots(folder, totals, frame) if folder else []
    value = {"attempts": len(trajectories), "pass_at_k": totals.to_dicts(), "tasks": tasks.to_dicts()} | report(frame)
    out.result(value | {"plots": written}, lambda console: _print_analysis(console, out, totals, tasks, frame, written))


def _print_analysis(
    console: Console, out: Out, totals: pl.DataFrame, tasks: pl.DataFrame, frame: pl.DataFrame, written: Sequence[str]
) -> None:
    known = totals.filter(pl.col("tasks") > 0)
    counts = [(name.value, int((tasks["tier"] == name.value).sum())) for name in Difficulty]
    counts += [(name, int((tasks["always"] == name).sum())) for name in ("always_0", "always_1")]
    _table(console, out, "pass@k, mean over tasks, with its 95 % interval", known)
    _table(console, out, "tasks by pass rate", pl.DataFrame(counts, ["tier", "tasks"], orient="row"))
    _table(console, out, "failures: main label, and runs with the flag", flags(frame))
    _table(console, out, "failed and passed runs, means", behaviour(frame))
    for axis in AXES:
        counted = by(frame, axis)
        absent = [label for label in LABELS if not counted[label].sum()]
        _table(console, out, f"by {axis}", counted.drop(absent))
    for file in written:
        console.print(f"plot: {file}", markup=False, highlight=False, soft_wrap=True)


def _table(console: Console, out: Out, title: str, frame: pl.DataFrame) -> None:
    console.rule(title, align="left")
    rows = [[_cell(value) for value in row] for row in frame.iter_rows()]
    console.print(out.table([name.replace("_", " ") for name in frame.columns], rows), markup=False)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return (
        f"{value:,.0f}"
        if isinstance(value, float) and value >= 1000
        else f"{value:.3g}"
        if isinstance(value, float)
        else str(value)
    )


def _write_plots(folder: Path, totals: pl.DataFrame, frame: pl.DataFrame) -> list[str]:
    """The figures of an analysis, and where they are."""
    from pipeline import plots  # it imports matplotlib

    passed = {
        f"{row['model']} @{row['k']}": (row["value"], row["low"], row["high"])
        for row in totals.iter_rows(named=True)
        if row["value"] is not None
    }
    failed_runs, passed_runs = behaviour(frame).to_dicts()
    after = {
        key: (failed_runs[f"{key}_after_error"], passed_runs[f"{key}_after_error"]) for key in ("programs", "commands")
    }
    figures = {
        "pass_at_k.png": plots.intervals_png(passed, "pass@k"),
        "failures.png": plots.counts_png(
            {row["failure"]: row["main"] for row in flags(frame).to_dicts()}, "Why runs fail"
        ),
        "after_errors.png": plots.pairs_png(
            after, ("failed", "passed"), "Different ones among the 5 acts after an error"
        ),
    }
    for axis in AXES:
        groups = {row[axis] or "-": {label: row[label] for label in LABELS} for row in by(frame, axis).to_dicts()}
        figures[f"failures_by_{axis}.png"] = plots.parts_png(groups, f"Failed runs by {axis}")
    with storage("writing plots"):
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in figures.items():
            (folder / name).write_bytes(data)
    return [str(folder / name) for name in figures]


@click.group()
def trajectory() -> None:
    """Look at single attempts."""


@trajectory.command(short_help="Show one attempt, turn by turn.")
@click.argument("path", type=PathArgument)
@click.argument("name", metavar="[ID]", required=False)
@click.option("--task", help="The attempts at this task (an id or the beginning of one).")
@click.option("--attempt", type=click.IntRange(min=0), help="The attempt of this number.")
@click.option("--step", type=click.IntRange(min=1), help="Only this turn, and nothing of it is cut.")
@click.option("--atif", is_flag=True, help="Print the ATIF 1.8 document instead of text.")
@json_option
def show(
    path: Path, name: str | None, task: str | None, attempt: int | None, step: int | None, atif: bool, out: Out
) -> None:
    """Show the trajectory ID (or the beginning of one, as `termforge analyze --json` lists them) of PATH, a
    trajectories*.parquet file or a folder of such files.

    Long texts are cut in the middle; --step N shows one turn whole, --json everything.
    """
    record = _find(path, name, task, attempt)
    if step is not None and step > len(record.steps):
        raise UsageError(f"{trajectory_id(record)} has {len(record.steps)} turns, there is no turn {step}")
    if atif and (out.as_json or step is not None):
        raise UsageError("--atif prints a whole document; leave out --json and --step")
    if atif:
        click.echo(json.dumps(to_atif(record), ensure_ascii=False))
        return
    value = record.model_dump(mode="json") | {"id": trajectory_id(record)}
    value = value if step is None else record.steps[step - 1].model_dump(mode="json")
    out.result(value, lambda console: Page(console, whole=step is not None).print(record, step))


def _find(path: Path, name: str | None, task: str | None, attempt: int | None) -> Trajectory:
    """The one that was asked for.

    Raises:
        UsageError: none, or more than one.
    """
    found = {trajectory_id(record): record for record in read_trajectories(path)}
    asked = {
        key: record
        for key, record in found.items()
        if key.startswith(name or "")
        and record.task_id.startswith(task or "")
        and (attempt is None or record.attempt == attempt)
    }
    exact = {key: record for key, record in asked.items() if record.task_id == task}
    chosen = exact or asked
    if len(chosen) == 1:
        return next(iter(chosen.values()))
    known = chosen or found
    lines = [f"{key} ({in_short(record)})" for key, record in sorted(known.items(), key=lambda pair: _order(pair[1]))]
    some = "; ".join(lines[:SHOWN_IDS]) + ("; ..." if len(lines) > SHOWN_IDS else "")
    what = f"{len(chosen)} trajectories fit" if chosen else "no trajectory fits"
    raise UsageError(f"{what} in {path}; name one by its id, or --task and --attempt: {some or 'it holds none'}")


def _order(record: Trajectory) -> tuple[str, str, int]:
    return record.task_id, record.model, record.attempt
