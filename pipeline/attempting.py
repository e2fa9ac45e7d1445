"""Attempts of a batch or a release by one model: opens what they need, and makes frames of what came of them.

Replies are kept by content and costs booked as for writers; valid trajectories are kept, so that a stopped run goes on.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import polars as pl

from agent.attempts import Attempts, Plan
from agent.limits import EpisodeLimits
from agent.models import SCRIPTED, identity, player
from agent.passk import by_task
from agent.store import AttemptStore, run_key
from agent.styles import open_style
from agent.trajectory import Status, Trajectory
from containers.pool import default_size
from containers.sandbox import Engine
from containers.state import State, default_state
from generators.chat.ledger import Ceiling, Ledger
from generators.chat.limits import Rates
from generators.chat.model import ChatModel, Effort, Usage
from generators.chat.models import open_model
from generators.chat.prices import Prices
from generators.difficulty import Observed
from generators.errors import UsageError
from generators.evidence import Gate, Verdict
from generators.task import Difficulty, Task
from pipeline.writing import models_folder
from trainer.examples import worked_examples


@dataclass(frozen=True)
class AttemptSettings:
    """Who attempts, how often, within which budgets."""

    model: str = "scripted:replay"
    k: int = 1
    mode: Literal["all", "until_pass", "adaptive"] = "all"
    style: str = "structured"
    native: bool = False  # act by the provider's tool calls
    examples: str = ""  # worked ones before the task: the name of shipped ones, or a file
    base_url: str | None = None
    temperature: float | None = None
    reasoning: Effort | None = None
    workers: int | None = None
    max_dollars: float | None = None
    max_tokens: int | None = None
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    prices: Path | None = None
    limits: EpisodeLimits = field(default_factory=EpisodeLimits)

    def __post_init__(self) -> None:
        if self.native and self.model.startswith(SCRIPTED):
            raise UsageError(f"{self.model} makes no tool calls; leave the provider's tools out")

    @property
    def slug(self) -> str:
        """Model and style as part of a file's name."""
        name = f"{self.model}-{self.style}{'-tools' if self.native else ''}"
        return re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-").lower()


def settings_key(settings: AttemptSettings) -> str:
    """Names everything but task and attempt that an episode depends on.

    Raises:
        UsageError: there is no such style, or there are no such examples.
    """
    return run_key(
        identity(settings.model),
        settings.base_url or "",
        open_style(settings.style),
        settings.native,
        settings.limits,
        settings.temperature,
        worked_examples(settings.examples),
        settings.reasoning,
    )


def trajectories_file(settings: AttemptSettings) -> str:
    """The name of the file for their trajectories. Settings that are not the usual ones get one of their own, since rows do not
    tell them all."""
    usual = AttemptSettings(model=settings.model, style=settings.style, native=settings.native)
    key = settings_key(settings)
    plain = key == settings_key(usual) and identity(settings.model) == settings.model  # else a script, which may change
    return f"trajectories-{settings.slug}{'' if plain else f'-{key[:8]}'}.parquet"


def trajectories_folder() -> Path:
    """Where trajectories go, and are looked for, where no folder is named."""
    return default_state().home / "trajectories"


def attempt(
    engine: Engine,
    tasks: Sequence[Task],
    settings: AttemptSettings,
    stop: Callable[[], bool] = lambda: False,
    tell: Callable[[Trajectory], None] = lambda _: None,
    say: Callable[[str], None] = print,
    state: State | None = None,
) -> list[Trajectory]:
    """All attempts; those made before are only read.

    Raises:
        UsageError: a name or a value that there is not.
        BudgetError: the ceiling is reached; what was done is kept.
        KeyboardInterrupt: stopped; likewise.
    """
    state, style = state or default_state(), open_style(settings.style)
    examples = worked_examples(settings.examples)
    folder = models_folder(state)
    ledger = Ledger(folder / "ledgers" / f"attempts-{settings.slug}.db")
    prices = Prices.load(settings.prices) if settings.prices else Prices.load()
    attempts = Attempts(
        engine,
        lambda: player(settings.model, lambda spec: _opened(spec, settings, ledger, folder, prices, say)),
        style,
        Plan(k=settings.k, mode=settings.mode),
        settings.limits,
        AttemptStore(state.folder("attempts") / engine.name, settings_key(settings)),
        settings.workers or default_size(),
        settings.native,
        settings.temperature,
        _price(settings.model, prices),
        stop,
        examples,
    )
    try:
        return attempts.run(tasks, tell)
    finally:
        ledger.close()


def _opened(
    spec: str, settings: AttemptSettings, ledger: Ledger, folder: Path, prices: Prices, say: Callable[[str], None]
) -> ChatModel:
    return open_model(
        spec,
        base_url=settings.base_url,
        cache=folder / "replies",
        ledger=ledger,
        ceiling=Ceiling(settings.max_dollars, settings.max_tokens),
        prices=prices,
        per_minute=Rates(settings.requests_per_minute, settings.tokens_per_minute),
        reasoning=settings.reasoning,
        say=say,
    )


def _price(model: str, prices: Prices) -> Callable[[Usage], float | None]:
    """What a usage costs; a script costs nothing."""
    if model.startswith(SCRIPTED):
        return lambda _: 0.0
    price = prices.find(model)
    return lambda usage: price.of(usage) if price else None


def measured(tasks: Sequence[Task], frame: pl.DataFrame) -> list[Observed]:
    """Pass rates of what language models wrote, by level and scale: `measured` of the recipe for their next batch."""
    rates = by_task(frame.filter(~pl.col("model").str.starts_with(SCRIPTED))).drop_nulls("rate")
    found: dict[tuple[Difficulty, float], list[float]] = {}
    for task in tasks:
        scale = task.provenance.knobs.get("scale")
        if task.provenance.writer == "model" and isinstance(scale, int | float):
            own: list[float] = rates.filter(pl.col("task_id") == task.id)["rate"].to_list()
            found.setdefault((task.axes.difficulty, float(scale)), []).extend(own)
    return [
        Observed(difficulty=level, tasks=len(own), pass_rate=round(math.fsum(own) / len(own), 4), scale=scale)
        for (level, scale), own in sorted(found.items())
        if own
    ]


def solvable(attempts: Sequence[Mapping[str, object]]) -> Verdict:
    """The verdict of the gate `solvable` on one task's attempts: some valid one passed.

    Where none was valid, nothing is known, and the verdict says so.
    """
    valid = [row for row in attempts if row["valid"]]
    passed = sum(row["status"] == Status.PASSED for row in valid)
    figures = {"attempts": len(valid), "passed": passed, "model": str(attempts[0]["model"]) if attempts else ""}
    if passed:
        return Verdict(gate=Gate.SOLVABLE, holds=True, figures=dict(figures))
    if not valid:
        detail = str(attempts[0]["reason"]) if attempts else "there was no attempt"
        return Verdict(gate=Gate.SOLVABLE, holds=False, reason="attempts_invalid", detail=detail, figures=dict(figures))
    detail = f"none of {len(valid)} attempts passed; the last ended by {valid[-1]['end']}"
    return Verdict(gate=Gate.SOLVABLE, holds=False, reason="not_solved", detail=detail, figures=dict(figures))
