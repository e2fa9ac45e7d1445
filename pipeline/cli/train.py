"""The commands that train: `train`, and `evaluate` and `report` of a run."""

from __future__ import annotations

import json
from pathlib import Path

import click
import yaml

from agent.limits import EpisodeLimits
from agent.passk import by_model
from agent.table import attempts_frame, write_trajectories
from containers.engines.registry import open_engine
from generators.errors import UsageError
from pipeline.attempting import AttemptSettings, attempt
from pipeline.cli.output import Out, engine_option, json_option
from pipeline.exchange.rows import from_row
from pipeline.places import project_root
from pipeline.release import load_release
from pipeline.stages import stoppable
from pipeline.training import TrainingWish, dry_run, plan_training, raise_for, train
from trainer.curriculum_requests import as_yaml
from trainer.curriculum_run import wanted_recipes
from trainer.launch import training_python
from trainer.presets import Preset, load_preset, parse_sets, preset_names
from trainer.report import rollouts_table, write_report
from trainer.run import RunFolder
from trainer.serve import checkpoint_folder, served

_EVALUATED_AT_ONCE = 32  # episodes: most of their time they wait for the server


@click.command("train")
@click.argument("preset", required=False)
@click.option("--data", type=click.Path(path_type=Path, file_okay=False), help="A release (default: datasets/main).")
@click.option(
    "--model", type=click.Path(path_type=Path, file_okay=False), help="A model folder in Hugging Face's format."
)
@click.option("--to", type=click.Path(path_type=Path, file_okay=False), help="The run's folder (default: runs/PRESET).")
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Another value for a key of the preset.")
@click.option("--resume", is_flag=True, help="Go on from the run's last checkpoint.")
@click.option("--dry-run", "dry", is_flag=True, help="Check all, print verl's resolved configuration, start nothing.")
@click.option(
    "--ray", "ray_address", default="", help="Address of a Ray cluster that is there (default: one of its own)."
)
@click.option("--python", default="", envvar="TERMFORGE_TRAIN_PYTHON", help="A Python that has verl.")
@json_option
def train_command(
    preset: str | None,
    data: Path | None,
    model: Path | None,
    to: Path | None,
    sets: tuple[str, ...],
    resume: bool,
    dry: bool,
    ray_address: str,
    python: str,
    out: Out,
) -> None:
    """Train a policy on a release with PRESET; without one, list the presets.

    The first Ctrl-C ends after the step, with a checkpoint; the second at once. Exit code 5 where it failed or the watchdog stopped it.
    """
    if preset is None and (resume or dry or data or model or to or sets):
        raise UsageError("say which preset: termforge train PRESET; without one and without options, they are listed")
    if preset is None:
        presets = [load_preset(name) for name in preset_names()]
        rows = [(one.name, one.device, one.hardware.ranks, one.about) for one in presets]
        out.result(
            [one.model_dump(mode="json") for one in presets],
            lambda console: console.print(out.table(("preset", "device", "ranks", "about"), rows), markup=False),
        )
        return
    if model is None:
        raise UsageError(
            "say which model learns: --model FOLDER, in Hugging Face's format (`make train-setup` makes a small one)"
        )
    wish = TrainingWish(
        preset,
        data or project_root() / "datasets" / "main",
        model,
        to or project_root() / "runs" / Path(preset).stem,
        parse_sets(sets),
        resume,
        ray_address,
        python,
    )
    run, order, warnings = plan_training(wish)
    for warning in warnings:
        out.say(f"warning: {warning}")
    if dry:
        text = dry_run(run, order)
        out.result(yaml.safe_load(text), lambda _: click.echo(text))
        return
    out.say(f"training in {run.path}; everything that verl prints is in {run.log}")
    state = train(run, order, out.say)
    raise_for(state, run, out.say)
    value = {**state.model_dump(mode="json"), "run": str(run.path), "report": str(run.report)}
    out.result(value, lambda console: console.print(f"finished {state.step} steps; report: {run.report}", markup=False))


@click.command("evaluate")
@click.argument("run", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--step", type=click.IntRange(min=0), help="Of the checkpoint (default: the last one; 0: the model it began with)."
)
@click.option("--data", type=click.Path(path_type=Path, file_okay=False), help="A release (default: the run's own).")
@click.option("--split", default="validation", show_default=True)
@click.option("-k", "k", type=click.IntRange(1, 1024), default=4, show_default=True, help="Attempts at each task.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="Of the checkpoint's server (default: a free one)."
)
@engine_option
@json_option
def evaluate(
    run: Path, step: int | None, data: Path | None, split: str, k: int, port: int, engine_name: str, out: Out
) -> None:
    """Serve a checkpoint of RUN and let it attempt a split, with the run's own style, budgets and temperature."""
    folder = RunFolder(run.absolute())
    folder.state()
    try:
        facts = json.loads(folder.settings.read_text())
        preset, first = Preset.model_validate(facts["preset"]), Path(facts["model"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{folder.settings}: not the settings of a training run ({type(error).__name__})") from None
    model = first if step == 0 else checkpoint_folder(folder, step)
    tasks = [from_row(row)[0] for row in load_release(data or Path(facts["data"])) if row["split"] == split]
    if not tasks:
        raise UsageError(f"{data or facts['data']}: there are no tasks in its {split} split")
    limits: EpisodeLimits = preset.loop.limits
    where = folder.path / f"evaluation-step-{folder.last_checkpoint() if step is None else step}-{split}.parquet"
    with (
        served(model, training_python(), preset.device, preset.lengths.model, port) as server,
        open_engine(engine_name, say=out.say) as engine,
        stoppable() as stop,
    ):
        settings = AttemptSettings(
            model=f"openai:{server.name}",
            k=k,
            style=preset.loop.style,
            examples=preset.loop.examples,
            base_url=server.base_url,
            temperature=preset.temperature,
            limits=limits,
            workers=min(_EVALUATED_AT_ONCE, preset.loop.sandboxes),
        )
        done = attempt(engine, tasks, settings, stop.is_set, say=out.say)
    write_trajectories(done, where)
    rates = by_model(attempts_frame(done)).to_dicts()
    out.result(
        {"passk": rates, "trajectories": str(where)},
        lambda console: console.print(
            out.table(("k", "pass@k", "tasks"), [(row["k"], row["value"], row["tasks"]) for row in rates]), markup=False
        ),
    )


@click.command("report")
@click.argument("run", type=click.Path(path_type=Path, file_okay=False))
@click.option("--wanted", is_flag=True, help="Instead: recipes of new tasks where the policy is weak (curriculum).")
@json_option
def report(run: Path, wanted: bool, out: Out) -> None:
    """Write the page and the table of rollouts of RUN anew; it may still be training."""
    folder = RunFolder(run.absolute())
    folder.state()
    if wanted:
        recipes = wanted_recipes(folder)
        out.result(
            [one.model_dump(mode="json") for one in recipes],
            lambda _: click.echo(
                "---\n".join(map(as_yaml, recipes)) or "no task is wanted: the policy is weak nowhere yet"
            ),
        )
        return
    page, table = write_report(folder), rollouts_table(folder)
    out.result(
        {"report": str(page), "rollouts": str(table)}, lambda console: console.print(f"{page}\n{table}", markup=False)
    )
