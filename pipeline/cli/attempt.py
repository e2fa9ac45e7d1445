"""The command that lets agents attempt tasks: pass@k for each model, and every trajectory in a parquet file."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import click
import polars as pl
from rich.console import Console

from agent.limits import EpisodeLimits
from agent.models import REPLAY, SCRIPTED
from agent.passk import by_model, by_task
from agent.styles import STYLES
from agent.table import attempts_frame, merge_trajectories, read_trajectories
from agent.trajectory import Trajectory
from containers.engines.registry import open_engine
from containers.state import storage
from generators.chat.models import require_one_provider
from generators.errors import BudgetError, UsageError
from pipeline.attempting import AttemptSettings, attempt, measured, trajectories_file, trajectories_folder
from pipeline.cli.output import Out, engine_option, json_option
from pipeline.cli.sources import load_tasks
from pipeline.places import project_root
from pipeline.stages import stoppable


@click.command("attempt")
@click.argument("source", type=click.Path(path_type=Path), required=False)
@click.option(
    "--model", "models", multiple=True, default=(REPLAY,), show_default=True, help="Who attempts (may be repeated)."
)
@click.option("-k", "k", type=click.IntRange(1, 1024), default=16, show_default=True, help="Attempts at each task.")
@click.option(
    "--mode",
    type=click.Choice(["all", "until-pass", "adaptive"]),
    default="all",
    show_default=True,
    help="All k; until one passes; or fewer where attempts are all alike.",
)
@click.option("--style", type=click.Choice(list(STYLES)), default="structured", show_default=True)
@click.option("--examples", default="", help="Worked examples before the task: shipped ones (ladder), or a file.")
@click.option("--native", is_flag=True, help="Act by the provider's tool calls instead of text.")
@click.option("--task", "names", multiple=True, help="Only tasks whose id begins with this (may be repeated).")
@click.option("--limit", type=click.IntRange(min=1), help="Only the first N tasks.")
@click.option("--to", "target", type=click.Path(path_type=Path, file_okay=False), help="Folder for trajectories.")
@click.option("--workers", type=click.IntRange(1, 1024), help="Episodes at once (default: two for each core).")
@click.option(
    "--base-url",
    help="A server that speaks the provider's protocol: vLLM, SGLang, llama.cpp, OpenRouter. For models of one provider.",
)
@click.option("--temperature", type=click.FloatRange(0, 2), help="Of the model (default: the provider's own).")
@click.option("--reasoning", type=click.Choice(["low", "medium", "high"]), help="Effort of a reasoning model.")
@click.option("--turns", type=click.IntRange(min=1), default=50, show_default=True, help="Replies of an episode.")
@click.option("--seconds", type=click.FloatRange(min=1), default=900, show_default=True, help="Wall time of an agent.")
@click.option(
    "--context", type=click.IntRange(min=1024), default=65_536, show_default=True, help="Tokens of a conversation."
)
@click.option("--reply", type=click.IntRange(min=16), default=8_192, show_default=True, help="Tokens of one reply.")
@click.option("--max-dollars", type=click.FloatRange(min=0), help="Ceiling of what this model's attempts cost, ever.")
@click.option("--max-tokens", type=click.IntRange(min=1), help="The same in tokens.")
@click.option("--requests-per-minute", type=click.IntRange(min=1), help="What the account allows.")
@click.option("--tokens-per-minute", type=click.IntRange(min=1), help="What the account allows.")
@click.option(
    "--prices", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="Prices of your own (YAML)."
)
@engine_option
@json_option
def attempt_command(
    source: Path | None,
    models: tuple[str, ...],
    names: tuple[str, ...],
    limit: int | None,
    target: Path | None,
    engine_name: str,
    out: Out,
    **settings: Any,
) -> None:
    """Let models attempt the tasks of SOURCE (default: datasets/main), k times each. Stopped, it goes on where it was.

    Exit code 5 if an attempt is invalid: infrastructure failed, which is never a score.
    """
    source = source or project_root() / "datasets" / "main"
    tasks = [task for task, _ in load_tasks(source) if not names or task.id.startswith(names)][:limit]
    if not tasks:
        raise UsageError(f"no task of {source} matches {', '.join(names)}")
    if settings["base_url"] and all(model.startswith(SCRIPTED) for model in models):
        raise UsageError(f"{models[0]} asks no server; leave --base-url out")
    if settings["base_url"]:
        require_one_provider(model for model in models if not model.startswith(SCRIPTED))
    wanted = [_settings(model, settings) for model in models]
    folder = target or trajectories_folder()
    with storage(f"preparing {folder}"), tempfile.TemporaryFile(dir=_made(folder)):
        pass  # it can be written to
    paths = [folder / trajectories_file(each) for each in wanted]
    for path in paths:
        if path.exists():
            read_trajectories(path)  # what cannot be added to is said before anything is attempted
    done: list[Trajectory] = []
    with open_engine(engine_name, say=out.say) as engine, stoppable() as stop, out.progress() as report:

        def tell(trajectory: Trajectory) -> None:
            done.append(trajectory)
            report("attempts", len(done), sum(len(tasks) * each.k for each in wanted))

        found: list[list[Trajectory]] = []
        files: dict[str, str] = {}
        for each, path in zip(wanted, paths, strict=True):
            before = len(done)
            try:
                found.append(attempt(engine, tasks, each, stop.is_set, tell, out.say))
            except (BudgetError, KeyboardInterrupt):
                merge_trajectories(done[before:], path)
                out.say(f"{len(done) - before} attempts were made; they are in {path}, and are not made again")
                raise
            merge_trajectories(found[-1], path)
            files[each.model] = str(path)
    frame = pl.concat([attempts_frame(trajectories) for trajectories in found])
    _tell(frame, files, [seen.model_dump(mode="json") for seen in measured(tasks, frame)], out)
    if not frame["valid"].all():
        raise click.exceptions.Exit(5)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _settings(model: str, given: dict[str, Any]) -> AttemptSettings:
    values = dict(given)
    limits = EpisodeLimits(
        turns=values.pop("turns"),
        agent_seconds=values.pop("seconds"),
        context_tokens=values.pop("context"),
        reply_tokens=values.pop("reply"),
    )
    values["mode"] = values["mode"].replace("-", "_")
    return AttemptSettings(model=model, limits=limits, **values)


def _tell(frame: pl.DataFrame, files: dict[str, str], rates: list[dict[str, Any]], out: Out) -> None:
    models, tasks = by_model(frame), by_task(frame)
    value = {"models": models.to_dicts(), "tasks": tasks.to_dicts(), "measured": rates, "trajectories": files}

    def show(console: Console) -> None:
        console.print(out.table(("model", "k", "pass@k", "95 %", "tasks"), _rounded(models)), markup=False)
        tiers = tasks.group_by("model", "tier", "always").len().sort("model", "tier", "always")
        console.print(out.table(("model", "tier", "always", "tasks"), tiers.rows()), markup=False)
        for row in frame.filter(~pl.col("valid")).head(5).iter_rows(named=True):
            console.print(f"invalid: {row['task_id']}, attempt {row['attempt']}: {row['reason']}", markup=False)
        if rates:
            console.print("for the recipe of these models' next batch:", f"measured: {json.dumps(rates)}", markup=False)
        for path in files.values():
            console.print(f"trajectories in {path}", markup=False)

    out.result(value, show)


def _rounded(models: pl.DataFrame) -> list[tuple[object, ...]]:
    """A row per model and k that enough attempts speak of."""
    return [
        (
            row["model"],
            row["k"],
            f"{row['value']:.3f}",
            "" if row["low"] is None else f"{row['low']:.3f} to {row['high']:.3f}",
            row["tasks"],
        )
        for row in models.iter_rows(named=True)
        if row["value"] is not None
    ]
