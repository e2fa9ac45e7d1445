"""Batches that language models write: from a recipe's orders to a frame of drafts that are proven already.

Models are opened for the time of a batch. Every reply is kept by its content, every cost is booked in a ledger of the recipe, every
proof and every refutation is kept: a run that was stopped or killed asks only what it had not asked before.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast

from containers.pool import Pool
from containers.proof.gates import StoppedError
from containers.proof.store import ProofStore
from containers.repair import Outcome, Workshop
from containers.sandbox import Engine
from containers.state import State, default_state
from containers.turns import StoppedWaitingError
from generators.axes import Cell, load_space, sample
from generators.chat.ledger import Ceiling, Ledger
from generators.chat.limits import Rates
from generators.chat.model import ChatModel, Effort
from generators.chat.models import open_model, provider_of
from generators.chat.prices import Prices
from generators.difficulty import Rates as Measured
from generators.errors import ProviderFault, ProviderReason, SandboxFault, UsageError
from generators.recipe import Order, Recipe
from generators.written import draft
from generators.written.writer import Models, Writer
from pipeline.places import project_root

_WATCH_SECONDS = 0.2


@dataclass(frozen=True)
class WriterSettings:
    """Which models write, and what they may cost. Empty names stand for the writer's own; no judge unless one is named.

    `base_url` is for the writer's provider: models of another keep their own address, since a key goes where its model is asked.
    """

    writer: str = ""
    tester: str = ""
    solver: str = ""
    judge: str = ""
    base_url: str | None = None
    max_dollars: float | None = None
    max_tokens: int | None = None
    concurrency: int = 256
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    reasoning: Effort | None = None
    answers: Literal["structured", "tagged"] = "structured"
    prices: Path | None = None

    def __post_init__(self) -> None:
        if self.max_dollars is not None and not math.isfinite(self.max_dollars):
            raise UsageError(f"a ceiling of {self.max_dollars} dollars is none; leave it out, or give a number")

    @property
    def models(self) -> dict[str, str]:
        """The model of each role."""
        roles = {"writer": self.writer, "tester": self.tester or self.writer, "solver": self.solver or self.writer}
        return roles | ({"judge": self.judge} if self.judge else {})

    def address(self, spec: str) -> str | None:
        """The address that was given for this model, if one was."""
        return self.base_url if provider_of(spec) == provider_of(self.writer) else None


def cells(recipe: Recipe) -> list[Cell]:
    """The cells that a recipe's tasks are written for, by serial."""
    space = load_space(project_root() / "datasets" / "axes")
    return sample(space, recipe.seed, recipe.count, recipe.mix(), rates=Measured(observed=recipe.measured))


def models_folder(state: State | None = None) -> Path:
    """Where replies and ledgers are kept: $TERMFORGE_MODELS, or models/ in the state folder."""
    named = os.environ.get("TERMFORGE_MODELS")
    return Path(named).absolute() if named else (state or default_state()).home / "models"


def ledger_of(recipe: Recipe, state: State | None = None) -> Ledger:
    """What writing a recipe has cost so far."""
    return Ledger(models_folder(state) / "ledgers" / f"{recipe.name}.db")


def orders_of(recipe: Recipe, orders: Sequence[Order], settings: WriterSettings) -> list[draft.Order]:
    """What to ask the models for."""
    known = cells(recipe)
    return [draft.Order(known[order.serial], recipe.seed, order.serial, settings.writer) for order in orders]


@contextlib.asynccontextmanager
async def opened(
    settings: WriterSettings, ledger: Ledger, state: State, say: Callable[[str], None], keyless: bool = False
) -> AsyncIterator[Models]:
    """The models, for the time of a block; `keyless`, to ask nothing but what is kept."""
    prices = Prices.load(settings.prices) if settings.prices else Prices.load()
    known: dict[str, ChatModel] = {}
    try:
        for spec in dict.fromkeys(settings.models.values()):
            known[spec] = open_model(
                spec,
                base_url=settings.address(spec),
                cache=models_folder(state) / "replies",
                ledger=ledger,
                ceiling=Ceiling(settings.max_dollars, settings.max_tokens),
                prices=prices,
                concurrency=settings.concurrency,
                per_minute=Rates(settings.requests_per_minute, settings.tokens_per_minute),
                keyless=keyless,
                say=say,
            )
        roles = {role: known[spec] for role, spec in settings.models.items()}
        yield Models(
            roles["writer"],
            roles["tester"],
            roles["solver"],
            roles.get("judge"),
            settings.reasoning,
            settings.answers == "structured",
        )
    finally:
        for model in known.values():
            await model.close()


@contextlib.asynccontextmanager
async def unasked(settings: WriterSettings, state: State, keyless: bool = False) -> AsyncIterator[Models]:
    """The models under a ceiling of nothing, so that no request is sent, and with a ledger of no account.

    Raises:
        UsageError: a model's name, address, price or (unless `keyless`) key is not one that could be worked with.
    """
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder) / "nothing.db")
        try:
            async with opened(replace(settings, max_tokens=0), ledger, state, lambda _: None, keyless) as models:
                yield models
        finally:
            ledger.close()


def check_models(settings: WriterSettings) -> None:
    """That the models can be opened, before anything is made for them.

    Raises:
        UsageError: name, address, price or key of one does not do.
    """

    async def look() -> None:
        async with unasked(settings, default_state()):
            pass

    asyncio.run(look())


@dataclass
class Batch:
    """A batch being written: what stops it, who is told, and what came of each order."""

    engine: Engine
    store: ProofStore
    settings: WriterSettings
    ledger: Ledger
    stop: Callable[[], bool]
    tell: Callable[[int], None]
    say: Callable[[str], None] = lambda _: None
    outcomes: dict[str, Outcome] = field(default_factory=dict[str, Outcome])

    async def write(self, orders: Sequence[draft.Order]) -> list[Outcome]:
        """All orders at once, as far as models and sandboxes bear.

        Raises:
            BudgetError, UsageError, StorageError: nothing more can be asked; what was done is kept.
            StoppedError: stopped.
        """
        with Pool(self.engine, stop=self.stop) as pool:
            workshop = Workshop(pool, self.store, self.stop)
            try:
                async with opened(self.settings, self.ledger, default_state(), self.say) as models:
                    writer = workshop.writer(models)
                    async with asyncio.TaskGroup() as group:
                        watch = group.create_task(self._watch())
                        await asyncio.gather(
                            *(group.create_task(self._one(workshop, writer, order)) for order in orders)
                        )
                        watch.cancel()
            finally:
                workshop.close()
        return [self.outcomes[order.name] for order in orders]

    async def _one(self, workshop: Workshop, writer: Writer, order: draft.Order) -> None:
        try:
            outcome = await workshop.make(writer, order)
        except ProviderFault as fault:
            outcome = Outcome(order, (), gate="infrastructure", reason=f"provider_{fault.reason}", detail=str(fault))
        except SandboxFault as fault:
            outcome = Outcome(order, (), gate="infrastructure", reason="infrastructure", detail=str(fault))
        self.outcomes[order.name] = outcome
        self.tell(len(self.outcomes))

    async def _watch(self) -> None:
        while not self.stop():
            await asyncio.sleep(_WATCH_SECONDS)
        raise StoppedError


def _run(batch: Batch, orders: Sequence[draft.Order]) -> list[Outcome]:
    """Write a batch; of several errors, the first."""
    try:
        return asyncio.run(batch.write(orders))
    except BaseExceptionGroup as several:
        found: BaseException = several
        while isinstance(found, BaseExceptionGroup):
            found = found.exceptions[0]
        if isinstance(found, StoppedError | StoppedWaitingError):
            raise KeyboardInterrupt from None
        raise found from None


def write(
    engine: Engine,
    store: ProofStore,
    recipe: Recipe,
    orders: Sequence[Order],
    settings: WriterSettings,
    stop: Callable[[], bool],
    tell: Callable[[int], None],
    say: Callable[[str], None] = lambda text: print(text, file=sys.stderr, flush=True),
) -> list[dict[str, Any]]:
    """The rows of a batch: tasks that are proven, or the gate and reason each fell at, with rounds and costs.

    Raises:
        UsageError: no model was named.
        BudgetError: the ceiling is reached.
        ProviderFault: the models could be asked for none of them.
        KeyboardInterrupt: stopped.
    """
    if not settings.writer:
        raise UsageError(
            f"recipe {recipe.name} is written by language models: name one (--writer openai:MODEL or anthropic:MODEL; in the "
            f"launchpad resources.writer.config.writer)"
        )
    ledger = ledger_of(recipe)
    try:
        batch = Batch(engine, store, settings, ledger, stop, tell, say)
        outcomes = _run(batch, orders_of(recipe, orders, settings))
        if outcomes and all(outcome.reason.startswith("provider_") for outcome in outcomes):
            reason = cast(ProviderReason, outcomes[0].reason.removeprefix("provider_"))
            raise ProviderFault(outcomes[0].detail, reason)
        costs = {total.by["task"]: total for total in ledger.totals("task")}
        return [_row(outcome, costs.get(outcome.order.name)) for outcome in outcomes]
    finally:
        ledger.close()


def _row(outcome: Outcome, cost: Any) -> dict[str, Any]:
    task, cell = outcome.task, outcome.order.cell
    fallen = bool(outcome.gate)
    return {
        "family": f"written_{cell.domain}",
        "serial": outcome.order.serial,
        "difficulty": cell.difficulty.value,
        "task_id": task.id if task and not fallen else outcome.order.name,
        "digest": task.digest if task else "",
        "gate": outcome.gate,
        "reason": outcome.reason,
        "detail": outcome.detail[:600],
        "task": task.canonical() if task else "",
        "rounds": len(outcome.rounds),
        "requests": cost.requests - cost.cached if cost else 0,
        "input_tokens": cost.input_tokens if cost else 0,
        "output_tokens": cost.output_tokens if cost else 0,
        "dollars": None if cost is None or cost.unpriced else cost.money,
        "axes": cell.axes().canonical(),
    }
