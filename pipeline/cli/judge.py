"""The judge commands: choose the judge of a running training, see which it is, and find out how good judges are."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from containers.state import storage
from generators.chat.ledger import Ceiling, Ledger
from generators.chat.models import require_one_provider
from generators.errors import ProviderFault, UsageError
from pipeline.cli.output import Out, json_option
from trainer.judge.backend import RULES, Backend, backend_path, history, named_backend, read_backend, set_backend
from trainer.judge.cases import Case, load_cases
from trainer.judge.evaluation import Evaluation, evaluate, plot, ranking
from trainer.judge.opening import CONCURRENCY, JudgeSettings, check_backend, open_judge

_COLUMNS = ("judge", "pass_rate", "mean_error", "too_high", "too_low", "failed", "spread", "disagreements")
_SHOWN = 10  # changes


@click.group()
def judge() -> None:
    """Choose and test the judge of how an agent worked."""


@judge.command(short_help="Choose the judge, also while training runs.")
@click.argument("backend")
@click.option("--base-url", help="A server that speaks the provider's protocol: vLLM, SGLang, llama.cpp, OpenRouter.")
@click.option("--check", is_flag=True, help="Have it judge one of our transcripts first.")
@json_option
def use(backend: str, base_url: str | None, check: bool, out: Out) -> None:
    """Make BACKEND the judge: rules, openai:NAME or anthropic:NAME.

    Every trainer that reads the same file changes within seconds, without a restart. The file is $TERMFORGE_JUDGE, or judge.json in
    the state folder; keys are not in it, they come from each machine's environment.
    """
    wanted = named_backend(backend, base_url)
    asyncio.run(check_backend(wanted, ask=check))
    chosen = set_backend(wanted.backend, wanted.base_url)
    place = backend_path()
    value = chosen.model_dump() | {"file": str(place)}
    out.result(
        value,
        lambda console: console.print(f"judge {chosen.backend} (change {chosen.version}) in {place}", highlight=False),
    )


@judge.command()
@json_option
def show(out: Out) -> None:
    """Show the judge that is in use, and the last changes. Exit code 2 if its file is damaged."""
    place, problem = backend_path(), ""
    try:
        chosen = read_backend(place)
    except FileNotFoundError:
        chosen = Backend()
    except (OSError, ValueError) as error:
        chosen = None
        problem = (
            f"{place} cannot be read ({type(error).__name__}): trainers stay with the last good judge; choose one again"
        )
    changes = history(place)[-_SHOWN:]
    value = {
        "judge": chosen.model_dump() if chosen else None,
        "file": str(place),
        "problem": problem,
        "changes": [change.model_dump() for change in changes],
    }

    def tell(console: Console) -> None:
        console.print(
            problem or f"judge {chosen.backend if chosen else ''}, file {place}", highlight=False, markup=False
        )
        if changes:
            heads = ("change", "at", "who", "judge", "address")
            rows = [
                (change.version, change.at, change.who, change.backend, change.base_url or "") for change in changes
            ]
            console.print(out.table(heads, rows))

    out.result(value, tell)
    if problem:
        raise click.exceptions.Exit(2)


@judge.command("eval", short_help="How good judges are on transcripts of known quality.")
@click.option(
    "--judge", "names", multiple=True, default=(RULES,), show_default=True, help="May be repeated; ranks them."
)
@click.option("--base-url", help="A server that speaks the provider's protocol. For models of one provider.")
@click.option("--attempts", type=click.IntRange(min=1), default=1, show_default=True, help="Judgements of each case.")
@click.option("--case", "only", multiple=True, help="Only this case (may be repeated).")
@click.option("--cases", "file", type=click.Path(path_type=Path, dir_okay=False), help="Another file of cases.")
@click.option("--plot", "picture", type=click.Path(path_type=Path, dir_okay=False), help="Write a PNG.")
@click.option(
    "--concurrency", type=click.IntRange(1, 4096), default=CONCURRENCY, show_default=True, help="Requests at once."
)
@click.option("--max-dollars", type=click.FloatRange(min=0), help="Ceiling of all that judge evaluations cost.")
@json_option
def eval_(
    names: tuple[str, ...],
    base_url: str | None,
    attempts: int,
    only: tuple[str, ...],
    file: Path | None,
    picture: Path | None,
    concurrency: int,
    max_dollars: float | None,
    out: Out,
) -> None:
    """Judge transcripts of our own writing and compare the scores with the range that each deserves."""
    cases = _chosen(load_cases(file), only)
    if base_url is not None:
        require_one_provider(name for name in names if name != RULES)
    backends = [named_backend(name, None if name == RULES else base_url) for name in dict.fromkeys(names)]
    with contextlib.ExitStack() as stack:
        settings = _settings(backends, concurrency, max_dollars, out, stack)
        found = ranking(asyncio.run(_evaluate_all(backends, cases, attempts, settings)))
    silent = [one for one in found if one.mean_error is None]
    if len(silent) == len(found):
        raise _no_score(silent)
    if picture:
        with storage("writing the plot"):
            picture.write_bytes(plot(found))
    value = {
        "ranking": [one.row() for one in found],
        "cases": {one.judge: [case.row() for case in one.cases] for one in found},
    }
    out.result(value, lambda console: _tables(console, out, found))
    if silent:
        raise _no_score(silent)


def _no_score(silent: Sequence[Evaluation]) -> ProviderFault:
    why = next(case.reason for one in silent for case in one.cases if case.reason)
    return ProviderFault(f"no score came from {', '.join(one.judge for one in silent)}: {why}", "down")


async def _evaluate_all(
    backends: Sequence[Backend], cases: Sequence[Case], attempts: int, settings: JudgeSettings
) -> list[Evaluation]:
    judges = [open_judge(backend, settings) for backend in backends]
    try:
        return [await evaluate(one, cases, attempts) for one in judges]
    finally:
        for one in judges:
            await one.close()


def _settings(
    backends: Sequence[Backend], concurrency: int, max_dollars: float | None, out: Out, stack: contextlib.ExitStack
) -> JudgeSettings:
    """With cache and ledger where a model is asked."""
    if all(backend.backend == RULES for backend in backends):
        return JudgeSettings()
    from pipeline.writing import models_folder  # with it come sandboxes and proofs

    ledger = Ledger(models_folder() / "ledgers" / "judge.db")
    stack.callback(ledger.close)
    ceiling = None if max_dollars is None else Ceiling(money=max_dollars)
    return JudgeSettings(models_folder() / "replies", ledger, ceiling, concurrency, say=out.say)


def _chosen(cases: tuple[Case, ...], only: tuple[str, ...]) -> tuple[Case, ...]:
    if unknown := sorted(set(only) - {case.name for case in cases}):
        raise UsageError(f"no case {unknown[0]!r}; there are {', '.join(case.name for case in cases)}")
    return tuple(case for case in cases if not only or case.name in only)


def _tables(console: Console, out: Out, found: Sequence[Evaluation]) -> None:
    missed = [
        (
            one.judge,
            case.name,
            f"{case.low:g}-{case.high:g}",
            "none" if case.mean is None else f"{case.mean:.2f}",
            case.reason[:80],
        )
        for one in found
        for case in one.cases
        if case.pass_rate < 1
    ]
    if missed:
        console.print(out.table(("judge", "case", "expected", "mean score", "trouble"), missed))
        console.print()
    rows = [one.row() for one in found]
    console.print(
        out.table(
            [name.replace("_", " ") for name in _COLUMNS], [[_cell(row[name]) for name in _COLUMNS] for row in rows]
        )
    )


def _cell(value: Any) -> str:
    return "none" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)
