"""What writing a recipe will take: the prompts' own lengths, and for the rest what the ledgers of earlier writing measured."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from containers.state import State
from generators.chat.ledger import Ledger, Total
from generators.chat.model import Usage
from generators.chat.prices import Prices
from generators.errors import TermforgeError, UsageError
from generators.recipe import Recipe
from generators.written.problems import STAGES, Stage
from pipeline.writing import WriterSettings, models_folder

_ROLES: dict[Stage, str] = {
    "describe": "writer",
    "environment": "writer",
    "tests": "tester",
    "solution": "solver",
    "alternative": "solver",
    "near_misses": "tester",
    "judge": "judge",
}


def estimate(recipe: Recipe, settings: WriterSettings, state: State | None = None) -> dict[str, Any]:
    """Requests, tokens, dollars and minutes to write a whole recipe, and what that is based on. None: there is nothing to go by.

    Figures of the same models count where there are any, else those of all models.

    Raises:
        UsageError: no writer was named.
    """
    if not settings.writer:
        raise UsageError(f"recipe {recipe.name} is written by language models; name one: --writer openai:MODEL")
    known, tasks = _measured(models_folder(state) / "ledgers")
    value: dict[str, Any] = {"recipe": recipe.name, "tasks": recipe.count, **settings.models, "measured_tasks": tasks}
    if not tasks:
        return value | dict.fromkeys(("requests", "input_tokens", "output_tokens", "dollars", "minutes"))
    prices = Prices.load(settings.prices) if settings.prices else Prices.load()
    requests, usage, dollars, seconds = 0.0, [0.0, 0.0], 0.0, 0.0
    priced = True
    for stage in STAGES:
        model = settings.models.get(_ROLES[stage])
        if model is None or stage not in known:
            continue
        count, tokens_in, tokens_out, took = known[stage]
        scale = recipe.count / tasks
        requests += scale * count
        usage = [usage[0] + scale * tokens_in, usage[1] + scale * tokens_out]
        seconds += scale * took
        price = prices.find(model)
        priced = priced and price is not None
        if price:
            dollars += price.of(Usage(input_tokens=round(scale * tokens_in), output_tokens=round(scale * tokens_out)))
    minutes = max(seconds / min(settings.concurrency, recipe.count), _paced(settings, requests, sum(usage))) / 60
    return value | {
        "requests": round(requests),
        "input_tokens": round(usage[0]),
        "output_tokens": round(usage[1]),
        "dollars": round(dollars, 4) if priced else None,
        "minutes": round(minutes, 1),
    }


def _paced(settings: WriterSettings, requests: float, tokens: float) -> float:
    """Seconds that the account's rates alone make it take."""
    by_requests = requests / settings.requests_per_minute if settings.requests_per_minute else 0.0
    by_tokens = tokens / settings.tokens_per_minute if settings.tokens_per_minute else 0.0
    return 60 * max(by_requests, by_tokens)


def _measured(folder: Path) -> tuple[dict[str, tuple[float, int, int, float]], int]:
    """Requests, tokens and seconds of each stage over all ledgers, and of how many tasks that is."""
    sums: dict[str, list[Total]] = defaultdict(list)
    tasks = 0
    for path in sorted(folder.glob("*.db")):
        try:
            ledger = Ledger(path)
        except TermforgeError:
            continue
        try:
            for total in ledger.totals("stage"):
                sums[total.by["stage"]].append(total)
            tasks += len(ledger.totals("task"))
        finally:
            ledger.close()
    return {
        stage: (
            sum(total.requests - total.cached for total in totals),
            sum(total.input_tokens for total in totals),
            sum(total.output_tokens for total in totals),
            sum(total.seconds for total in totals),
        )
        for stage, totals in sums.items()
    }, tasks
