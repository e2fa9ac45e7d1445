"""What writing a recipe will take from here on: figures that ledgers and proofs measured, else stated priors, marked as such.

    estimate(recipe, settings)      # {"requests": 215, "dollars": None, "minutes": 12.5, "basis": "assumed", "by_stage": [...], ...}

Nothing is sent. What is kept already (replies, proofs) is not counted again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl

from containers.engines.registry import DEFAULT
from containers.pool import default_size
from containers.proof.prove import plan_name
from containers.proof.store import ProofStore
from containers.state import State, default_state
from generators.chat.ledger import Ledger, Total
from generators.chat.model import Usage
from generators.chat.prices import Prices
from generators.errors import TermforgeError, UsageError
from generators.recipe import Recipe, plan
from generators.written.draft import MOST_ROUNDS
from generators.written.problems import Stage
from pipeline.rehearsal import ANSWER_TOKENS, Left, kept, prompt_tokens, stages_of
from pipeline.writing import WriterSettings, models_folder, orders_of

# Priors, until something was measured.
REQUESTS = 1.3  # for a stage: three of ten answers need a repair
FIRST_TOKEN_SECONDS, TOKENS_PER_SECOND = 2.0, 50.0  # of an answer
REASONING_TOKENS = 2000  # on top of an answer, where a model reasons
PROOF_SECONDS = 30.0  # to build a task and take it through all gates, repairs included

ROLES: Mapping[Stage, str] = {
    "describe": "writer",
    "environment": "writer",
    "tests": "tester",
    "solution": "solver",
    "alternative": "solver",
    "near_misses": "tester",
    "judge": "judge",
}
BY_STAGE_LEFT = ("stage", "model", "tasks", "requests", "input tokens", "output tokens", "dollars", "basis")


@dataclass(frozen=True)
class Figure:
    """What a stage takes for one task that gets there; `reach` is the share of tasks that do."""

    requests: float
    input_tokens: float
    output_tokens: float
    seconds: float
    reach: float = 1.0
    measured: bool = False


def estimate(
    recipe: Recipe, settings: WriterSettings, engine: str = DEFAULT, state: State | None = None
) -> dict[str, Any]:
    """Requests, tokens, dollars (None: a price is unknown) and minutes that are left, by stage too, and what that is based on.

    Figures of the same models count where there are any, else those of all models, else the priors of this module.

    Raises:
        UsageError: no writer was named, or what was said of the models could not be worked with.
    """
    if not settings.writer:
        raise UsageError(f"recipe {recipe.name} is written by language models; name one: --writer openai:MODEL")
    state = state or default_state()
    store = ProofStore.of(state, engine)
    orders = orders_of(recipe, plan(recipe), settings)
    left = asyncio.run(kept(orders, settings, store, state))
    totals = _totals(models_folder(state) / "ledgers")
    assumed = asyncio.run(prompt_tokens([order.cell for order in orders], settings))
    figures: dict[Stage, Figure] = {
        stage: _measured(totals, stage, settings) or _assumed(tokens, totals, stage, settings)
        for stage, tokens in assumed.items()
    }
    rows = _by_stage(left, figures, settings)
    proof, proofs = _proof_seconds(store)
    proving = sum(each.proof for each in left)
    spent = {key: sum(row[key] for row in rows) for key in ("requests", "input_tokens", "output_tokens", "seconds")}
    at_once = max(1, min(settings.concurrency, sum(bool(each.stages) for each in left)))
    tokens = spent["input_tokens"] + spent["output_tokens"]
    writing = max(spent["seconds"] / at_once, _paced(settings, spent["requests"], tokens)) / 60
    building = proving * proof / min(default_size(), max(1, proving)) / 60
    dollars = [row["dollars"] for row in rows]
    return {
        "recipe": recipe.name,
        "tasks": recipe.count,
        **settings.models,
        "finished": sum(not each.proof for each in left),
        "to_write": sum(bool(each.stages) for each in left),
        "to_prove": proving,
        "requests": round(spent["requests"]),
        "input_tokens": round(spent["input_tokens"]),
        "output_tokens": round(spent["output_tokens"]),
        "dollars": None if None in dollars else round(sum(dollars), 4),
        "writing_minutes": round(writing, 1),
        "proving_minutes": round(building, 1),
        "minutes": round(writing + building, 1),
        "basis": _basis([figure.measured for figure in figures.values()]),
        "proving_basis": "measured" if proofs else "assumed",
        "measured_tasks": len({total.by["task"] for total in totals}),
        "measured_proofs": proofs,
        "by_stage": [{**row, "requests": round(row["requests"]), "seconds": round(row["seconds"], 1)} for row in rows],
    }


def _basis(measured: Sequence[bool]) -> str:
    return "measured" if all(measured) else "partly assumed" if any(measured) else "assumed"


def _by_stage(left: Sequence[Left], figures: Mapping[Stage, Figure], settings: WriterSettings) -> list[dict[str, Any]]:
    """What each stage will take over all orders."""
    prices = Prices.load(settings.prices) if settings.prices else Prices.load()
    rows: list[dict[str, Any]] = []
    for stage in stages_of(settings):
        figure, model = figures[stage], settings.models[ROLES[stage]]
        reached = sum(_reached(figures, each.stages[0], stage) for each in left if stage in each.stages)
        usage = Usage(
            input_tokens=round(reached * figure.input_tokens), output_tokens=round(reached * figure.output_tokens)
        )
        price = prices.find(model)
        rows.append(
            {
                "stage": stage,
                "model": model,
                "tasks": sum(stage in each.stages for each in left),
                "requests": reached * figure.requests,
                "input_tokens": usage.input_tokens,
                "output_tokens": usage.output_tokens,
                "seconds": reached * figure.seconds,
                "dollars": round(price.of(usage), 4) if price else None,
                "basis": "measured" if figure.measured else "assumed",
            }
        )
    return rows


def _reached(figures: Mapping[Stage, Figure], first: Stage, stage: Stage) -> float:
    """The share of tasks at one stage that get to another."""
    here = figures[first].reach
    return min(1.0, figures[stage].reach / here) if here else 0.0


def _assumed(prompt: float, totals: Sequence[Total], stage: Stage, settings: WriterSettings) -> Figure:
    """The prior: the prompt's own length, and again with the answer in it where that is repaired."""
    answer = ANSWER_TOKENS[stage] + (REASONING_TOKENS if settings.reasoning else 0)
    repairs = REQUESTS - 1
    return Figure(
        requests=REQUESTS,
        input_tokens=REQUESTS * prompt + repairs * ANSWER_TOKENS[stage],
        output_tokens=REQUESTS * answer,
        seconds=REQUESTS * (FIRST_TOKEN_SECONDS + answer / TOKENS_PER_SECOND),
        reach=_reach(totals, set(), settings),
    )


def _measured(totals: Sequence[Total], stage: Stage, settings: WriterSettings) -> Figure | None:
    """What this stage took of the same model, else of any; None where it was never asked."""
    model = settings.models[ROLES[stage]]
    asked = [total for total in totals if total.by["stage"] == stage and total.requests > total.cached]
    own = [total for total in asked if total.by["model"] == model]
    asked = own or asked
    if not asked:
        return None
    there = {total.by["task"] for total in asked}
    tasks = len(there)
    return Figure(
        requests=sum(total.requests - total.cached for total in asked) / tasks,
        input_tokens=sum(total.input_tokens for total in asked) / tasks,
        output_tokens=sum(total.output_tokens for total in asked) / tasks,
        seconds=sum(total.seconds for total in asked) / tasks,
        reach=_reach(totals, there, settings),
        measured=True,
    )


def _reach(totals: Sequence[Total], there: set[str], settings: WriterSettings) -> float:
    """The share of tasks that get to a stage where `there` did: others count if they had used up the rounds of an earlier one."""
    own = [total for total in totals if total.by["model"] in settings.models.values()] or totals
    fell = {total.by["task"] for total in own if total.by["round"] >= MOST_ROUNDS} - there
    return len(there) / (len(there) + len(fell)) if fell else 1.0


def _totals(folder: Path) -> list[Total]:
    """All that ledgers have booked, by task, stage, round and model. A ledger that cannot be read counts as none."""
    found: list[Total] = []
    for path in sorted(folder.glob("*.db")):
        try:
            ledger = Ledger(path)
        except TermforgeError:
            continue
        try:
            rows = ledger.totals("task", "stage", "round", "model")
        except TermforgeError:
            rows = []
        finally:
            ledger.close()
        found += [replace(row, by={**row.by, "task": f"{path.stem}: {row.by['task']}"}) for row in rows]
    return found


def _proof_seconds(store: ProofStore) -> tuple[float, int]:
    """Seconds that building and proving took for a task that language models wrote, and of how many that is."""
    from pipeline.io import frames_folder  # Dagster takes most of a second to import

    seconds: list[float] = []
    for path in sorted((frames_folder() / "proven").glob("*.parquet")):
        frame = pl.read_parquet(path)
        if "axes" not in frame.columns:
            continue
        for digest in frame.filter((pl.col("axes") != "") & (pl.col("digest") != ""))["digest"]:
            if proof := store.load(digest, plan_name(True)):
                seconds.append(sum(verdict.seconds for verdict in proof.verdicts))
    return (fmean(seconds), len(seconds)) if seconds else (PROOF_SECONDS, 0)


def _paced(settings: WriterSettings, requests: float, tokens: float) -> float:
    """Seconds that the account's rates alone make it take."""
    by_requests = requests / settings.requests_per_minute if settings.requests_per_minute else 0.0
    by_tokens = tokens / settings.tokens_per_minute if settings.tokens_per_minute else 0.0
    return 60 * max(by_requests, by_tokens)
