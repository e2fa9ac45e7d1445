"""The options and answers of the build command that concern language models: which, what they may cost, what they took."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click
import polars as pl
from click.core import ParameterSource
from rich.console import Console

from generators.errors import UsageError
from generators.recipe import Recipe
from pipeline.cli.output import Out
from pipeline.costs import by_axis, by_stage, total
from pipeline.estimates import BY_STAGE_LEFT, estimate
from pipeline.writing import WriterSettings, ledger_of

_OPTIONS = (
    click.option("--writer", metavar="MODEL", default="", envvar="TERMFORGE_WRITER", help="openai:NAME or anthropic:NAME; writes tasks."),
    click.option("--tester", metavar="MODEL", default="", help="Writes tests and near misses (default: the writer)."),
    click.option("--solver", metavar="MODEL", default="", help="Writes solutions (default: the writer)."),
    click.option("--judge", metavar="MODEL", default="", help="Gives a second opinion on each draft (default: nobody)."),
    click.option(
        "--base-url",
        help="A server that speaks the protocol of the writer's provider: vLLM, SGLang, llama.cpp, OpenRouter. Models of another "
        "provider keep their own address.",
    ),
    click.option("--max-dollars", type=click.FloatRange(min=0), help="Ceiling of all that this recipe's writing costs."),
    click.option("--max-tokens", type=click.IntRange(min=1), help="The same in tokens."),
    click.option("--concurrency", type=click.IntRange(1, 4096), default=256, show_default=True, help="Requests at once."),
    click.option("--requests-per-minute", type=click.IntRange(min=1), help="What the account allows."),
    click.option("--tokens-per-minute", type=click.IntRange(min=1), help="What the account allows."),
    click.option("--reasoning", type=click.Choice(["low", "medium", "high"]), help="Effort of a reasoning model."),
    click.option(
        "--answers",
        type=click.Choice(["structured", "tagged"]),
        default="structured",
        show_default=True,
        help="JSON of a schema where the provider has it, or tagged text.",
    ),
    click.option("--prices", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="Prices of your own (YAML)."),
)  # fmt: skip
_NAMES = tuple(WriterSettings.__dataclass_fields__)


def writer_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of language models; the command receives them as `models`."""

    @wraps(command)
    def with_models(*args: Any, **kwargs: Any) -> Any:
        own = {name: kwargs.pop(name) for name in _NAMES}
        if not own["writer"]:
            _refuse_alone(click.get_current_context())
        return command(*args, models=WriterSettings(**own), **kwargs)

    for option in reversed(_OPTIONS):
        with_models = option(with_models)
    return with_models


def _refuse_alone(context: click.Context) -> None:
    """Options of models say nothing where no model writes.

    Raises:
        UsageError: one was given.
    """
    for name in _NAMES:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE and name != "writer":
            option = f"--{name.replace('_', '-')}"
            raise UsageError(
                f"{option} is about language models, and none was named to write: add --writer openai:MODEL"
            )


def writing_costs(recipe: Recipe, candidate: pl.DataFrame) -> dict[str, Any]:
    """What writing a recipe took, for the answer of a build."""
    ledger = ledger_of(recipe)
    try:
        stages = by_stage(ledger)
    finally:
        ledger.close()
    whole = total(candidate)
    return {"by_stage": stages, "by_axis": [*by_axis(candidate), *([whole] if whole else [])]}


def estimate_writing(recipe: Recipe, settings: WriterSettings, engine: str, out: Out) -> None:
    """Say what writing a recipe will take from here on, and what that is based on."""
    value = estimate(recipe, settings, engine)
    rows = [
        (key.replace("_", " "), "unknown" if item is None else item) for key, item in value.items() if key != "by_stage"
    ]
    stages = [
        ["unknown" if row[head.replace(" ", "_")] is None else row[head.replace(" ", "_")] for head in BY_STAGE_LEFT]
        for row in value["by_stage"]
    ]

    def show(console: Console) -> None:
        console.print(out.table(("what", "value"), rows))
        console.print(out.table(BY_STAGE_LEFT, stages))

    out.result(value, show)
