"""The build command: write, build, prove and publish what a recipe says."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import click
import polars as pl
from rich.console import Console

from containers.engines.registry import DEFAULT, open_engine
from containers.proof.batch import default_workers, tamper_plan
from containers.proof.prove import plan_name
from containers.proof.store import ProofStore
from containers.sandbox import Engine
from containers.state import default_state
from generators.bases import Base, preamble
from generators.digest import digest_of
from generators.errors import UsageError
from generators.procedural import find_family, write_task
from generators.recipe import Recipe, batches, explain_override
from generators.task import Image, Limits
from pipeline.cli.output import Out, engine_option, json_option
from pipeline.cli.sources import find_recipe
from pipeline.cli.writing import estimate_writing, writer_options, writing_costs
from pipeline.costs import BY_AXIS, BY_STAGE
from pipeline.funnel import funnel, reasons
from pipeline.places import project_root
from pipeline.writing import WriterSettings, check_models


@click.command()
@click.option(
    "--recipe",
    "recipe_name",
    help="Name in datasets/recipes, or a .yaml file (default: main; with --writer, written).",
)
@click.option("--count", type=int, help="Another number of tasks.")
@click.option("--seed", type=int, help="Another seed.")
@click.option("--family", "names", multiple=True, help="Only this family (may be repeated).")
@click.option(
    "--to", "target", type=click.Path(path_type=Path, file_okay=False), help="Folder of releases (default: datasets)."
)
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@writer_options
@engine_option
@json_option
def build(
    recipe_name: str | None,
    count: int | None,
    seed: int | None,
    names: tuple[str, ...],
    target: Path | None,
    dry_run: bool,
    engine_name: str,
    models: WriterSettings,
    out: Out,
) -> None:
    """Write, build, prove and publish the tasks of a recipe. Stopped at any moment, it goes on where it was."""
    recipe = _overridden(find_recipe(recipe_name or ("written" if models.writer else "main")), count, seed, names)
    if models.writer and recipe.writer != "model":
        raise UsageError(f"recipe {recipe.name} is procedural; a writer is for recipes that say `writer: model`")
    if recipe.writer == "model" and not models.writer:
        raise UsageError(
            f"recipe {recipe.name} is written by language models: name one, --writer openai:MODEL or anthropic:MODEL"
        )
    if recipe.writer == "model":  # another writer's tasks: a release and a ledger of their own
        recipe = recipe.model_copy(update={"name": f"{recipe.name}-{slug(models.writer)}"})
    if engine_name != DEFAULT:  # another engine's evidence: a release of its own
        recipe = recipe.model_copy(update={"name": f"{recipe.name}-{engine_name}"})
    if dry_run:
        if recipe.writer == "model":
            estimate_writing(recipe, models, engine_name, out)
        else:
            _dry_run(recipe, engine_name, out)
        return
    if recipe.writer == "model":
        check_models(models)  # a missing key is said before a base image is made for nothing
    from pipeline.io import frames_folder  # Dagster takes most of a second to import
    from pipeline.resources import WriterResource
    from pipeline.runs import UnsoundError, build_recipe

    with open_engine(engine_name, say=out.say) as engine:  # says first what the machine lacks; makes the base image
        if engine.reaped:
            out.say(f"removed what a killed run had left: {engine.reaped}")
        _warm(engine, recipe)
    sizes, root = [len(batch) for batch in batches(recipe)], target or project_root() / "datasets"
    try:
        with out.progress() as report:
            built = build_recipe(recipe, sizes, root, report, engine_name, WriterResource.of(models))
    except UnsoundError as unsound:
        candidate = pl.read_parquet(frames_folder() / "candidate_dataset" / f"{recipe.name}.parquet")
        _say_outcome(recipe, candidate, None, out)
        if candidate["proven"].any():
            raise
        nothing = f"recipe {recipe.name} is not published: none of its {candidate.height} tasks passed every gate"
        raise UnsoundError(nothing) from unsound
    _say_outcome(recipe, built.candidate, built.folder, out)


def _say_outcome(recipe: Recipe, candidate: pl.DataFrame, folder: Path | None, out: Out) -> None:
    """The funnel with its reasons, what language models took, and where it was published (None: it was not)."""
    steps, why = funnel(candidate), reasons(candidate)
    value: dict[str, Any] = {
        "folder": str(folder) if folder else None,
        "funnel": dict(steps),
        "dropped": why.to_dicts(),
    }
    costs = writing_costs(recipe, candidate) if recipe.writer == "model" else {}
    value |= costs

    def show(console: Console) -> None:
        console.print(out.table(("stage", "tasks"), steps))
        if not why.is_empty():
            console.print(out.table(why.columns, why.rows()))
        if costs:
            console.print(out.table(BY_STAGE, costs["by_stage"]))
            console.print(out.table(BY_AXIS, costs["by_axis"]))
        if folder:
            console.print(f"published in {folder}")

    out.result(value, show)


def slug(text: str) -> str:
    """As part of a recipe's name."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _overridden(recipe: Recipe, count: int | None, seed: int | None, names: tuple[str, ...]) -> Recipe:
    """A recipe with options in place of its keys, under a name of its own: it must not replace the original's release."""
    changes: dict[str, object] = {"count": count, "seed": seed, "families": names or None}
    changes = {key: value for key, value in changes.items() if value is not None}
    if not changes:
        return recipe
    if names:
        changes["difficulty"] = None  # the default mix, cut down to what these families offer
    changed = explain_override(recipe, changes)
    return changed.model_copy(update={"name": f"{recipe.name}-{digest_of(changed.model_dump(mode='json'))[:6]}"})


def _warm(engine: Engine, recipe: Recipe) -> None:
    """Make the layers that many tasks share, one after another, so that workers do not wait for each other."""
    bases = {family.base for family in recipe.members()} or set(Base)
    for base in sorted(bases):
        engine.build(Image(dockerfile=preamble(base)), Limits())


def _dry_run(recipe: Recipe, engine_name: str, out: Out) -> None:
    """Plan, count what is proven already, and estimate the rest from what proofs have taken on this machine."""
    cut = batches(recipe)
    tasks = [
        write_task(find_family(order.family), recipe.seed, order.serial, order.difficulty)
        for batch in cut
        for order in batch
    ]
    store = ProofStore.of(default_state(), engine_name)
    attacked = tamper_plan(tasks)
    known = [store.load(task.digest, plan_name(task.digest in attacked)) for task in tasks]
    seconds = [sum(verdict.seconds for verdict in proof.verdicts) for proof in known if proof]
    left = sum(proof is None for proof in known)
    estimate = round(left * sum(seconds) / len(seconds) / default_workers(), 1) if seconds else None
    value = {
        "recipe": recipe.name,
        "tasks": len(tasks),
        "batches": len(cut),
        "families": len({task.provenance.family for task in tasks}),
        "difficulty": dict(sorted(Counter(task.axes.difficulty.value for task in tasks).items())),
        "domains": dict(sorted(Counter(task.axes.domain for task in tasks).items())),
        "proven_already": len(seconds),
        "to_prove": left,
        "estimated_seconds": estimate,
    }
    rows = [
        (key, ", ".join(f"{k} {v}" for k, v in item.items()) if isinstance(item, dict) else item)
        for key, item in value.items()
    ]
    out.result(value, lambda console: console.print(out.table(("what", "value"), rows)))
