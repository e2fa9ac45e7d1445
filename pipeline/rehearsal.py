"""Writing a recipe without asking anybody: what is kept already is played back, and where nothing is, prompts meet stand-ins.

left = await kept(orders, settings, store, state)         # which stages of which order still have to be asked for
tokens = await prompt_tokens(cells, settings)             # how long each stage's prompts are, before anything was measured
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import cast

from containers.proof.store import ProofStore
from containers.repair import Workshop
from containers.state import State
from generators.axes import Cell
from generators.chat.model import UNTAGGED, Ask, ChatModel, Reply, Tag, Usage, estimate_tokens
from generators.errors import BudgetError
from generators.evidence import Evidence
from generators.fixtures.spec import read_fixture
from generators.task import Record
from generators.written.answers import render
from generators.written.draft import Order
from generators.written.problems import STAGES, Stage
from generators.written.records import (
    Completion,
    Description,
    Environment,
    File,
    FurnishedEnvironment,
    Judgement,
    Mapped,
    Miss,
    Misses,
    Solution,
    Weight,
)
from generators.written.writer import Models, Writer
from pipeline.writing import WriterSettings, unasked

# How many tokens an answer of each stage has: the prior that stands until a ledger knows better.
ANSWER_TOKENS: dict[Stage, int] = {
    "describe": 700,
    "environment": 1500,
    "tests": 1200,
    "solution": 400,
    "alternative": 400,
    "near_misses": 900,
    "judge": 200,
}
_CELLS = 64  # that prompts are rendered for; the first ones of a sample stand for all
_UNDER_WAY = 1.0  # seconds after which a reply counts as being asked for by another process
_SENTENCE = "Write the sum of all numbers in the file to the result and leave everything else in it as it is."
_TEST = "def test_result():\n    assert open('/srv/result').read()\n"


@dataclass(frozen=True)
class Left:
    """What an order still needs: the stages to ask for, in order, and whether it has to be built and proven."""

    stages: tuple[Stage, ...]
    proof: bool


class _MissingError(Exception):
    """A reply or a proof is not kept. `stage` has to be asked for."""

    def __init__(self, stage: str = "") -> None:
        super().__init__(stage)
        self.stage = stage


def stages_of(settings: WriterSettings) -> tuple[Stage, ...]:
    """The stages that are asked for: without a judge, no judging."""
    return tuple(stage for stage in STAGES if stage != "judge" or settings.judge)


async def kept(orders: Sequence[Order], settings: WriterSettings, store: ProofStore, state: State) -> list[Left]:
    """What is left to do for each order. No request is sent, and no key needed.

    Raises:
        UsageError: a model's name, address or price is not one that could be worked with.
    """
    answered: dict[str, set[str]] = defaultdict(set)
    async with unasked(settings, state, keyless=True) as models:
        workshop = _Records(store)
        writer = workshop.writer(_each(models, lambda model: _Kept(model, answered)))
        return [await _left(workshop, writer, order, answered[order.name], settings) for order in orders]


async def _left(workshop: Workshop, writer: Writer, order: Order, answered: set[str], settings: WriterSettings) -> Left:
    try:
        await workshop.make(writer, order)
    except _MissingError as missing:
        if missing.stage == "describe":
            return Left(stages_of(settings), True)
        return Left(tuple(s for s in stages_of(settings) if s == missing.stage or s not in answered), True)
    return Left((), False)


class _Kept:
    """A model that knows its kept replies only."""

    def __init__(self, inner: ChatModel, answered: dict[str, set[str]]) -> None:
        self._inner, self._answered = inner, answered

    @property
    def name(self) -> str:
        return self._inner.name

    async def ask(self, ask: Ask, tag: Tag = UNTAGGED) -> Reply:
        try:
            async with asyncio.timeout(_UNDER_WAY):
                reply = await self._inner.ask(ask, tag)
        except (BudgetError, TimeoutError):
            raise _MissingError(tag.stage) from None
        self._answered[tag.task].add(tag.stage)
        return reply

    async def close(self) -> None:
        await self._inner.close()


class _Records(Workshop):
    """A workshop without tools: it takes evidence from the store, or has none."""

    def __init__(self, store: ProofStore) -> None:
        self.store = store

    async def _evidence(self, digest: str, plan: str, work: Callable[[], Evidence]) -> Evidence:
        if (known := self.store.load(digest, plan)) is None:
            raise _MissingError
        return known


def _each(models: Models, change: Callable[[ChatModel], ChatModel]) -> Models:
    judge = change(models.judge) if models.judge else None
    return replace(
        models, writer=change(models.writer), tester=change(models.tester), solver=change(models.solver), judge=judge
    )


async def prompt_tokens(cells: Sequence[Cell], settings: WriterSettings) -> dict[Stage, float]:
    """Tokens of each stage's prompts for these cells, by the rule of thumb, with earlier answers as long as the prior says."""
    counts: dict[Stage, list[int]] = {stage: [] for stage in stages_of(settings)}
    structured = settings.answers == "structured"
    for serial, cell in enumerate(cells[:_CELLS]):
        model = _StandIn(counts, cell.fixture != "text_only")
        models = Models(model, model, model, model if settings.judge else None, structured=structured)
        await Writer(models).begin(Order(cell, 0, serial, model.name))
    return {stage: fmean(found) for stage, found in counts.items() if found}


class _StandIn:
    """A model whose answers say nothing, at the length of the prior. It counts what it is asked."""

    name = "stand-in"

    def __init__(self, counts: dict[Stage, list[int]], furnished: bool) -> None:
        self._counts, self._answers = counts, _answers(furnished)

    async def ask(self, ask: Ask, tag: Tag = UNTAGGED) -> Reply:
        stage = cast(Stage, tag.stage)
        self._counts[stage].append(sum(estimate_tokens(message.content) for message in ask.messages))
        usage = Usage(input_tokens=0, output_tokens=0)
        return Reply(text=render(self._answers[stage]), usage=usage, model=self.name, seconds=0.0)

    async def close(self) -> None:
        pass


def _answers(furnished: bool) -> dict[Stage, Record]:
    """An answer of each stage that passes the screens."""

    def pad(stage: Stage, share: float = 1.0) -> str:
        return "# as long as one is\n" * round(share * ANSWER_TOKENS[stage] / 5)

    environment = Environment(
        dockerfile="COPY numbers /srv/\n",
        files=(File(path="numbers", content=pad("environment")),),
        initial_tests=_TEST,
    )
    sound = {"kind": "audio", "path": "/srv/tone.wav", "parts": [{"sound": "dtmf", "keys": "7"}]}
    misses = [
        Miss(name=name, why="It is wrong.", script=pad("near_misses", 1 / 3), caught_by=("test_result",))
        for name in ("first", "second", "third")
    ]
    return {
        "describe": Description(
            title="The sum of a file", instruction=" ".join([_SENTENCE] * 4), truth={"sum": pad("describe", 0.8)}
        ),
        "environment": FurnishedEnvironment(**dict(environment), fixtures=(read_fixture(sound),))
        if furnished
        else environment,
        "tests": Completion(
            source=_TEST + pad("tests"),
            weights=(Weight(test="test_result", weight=1.0),),
            requirements=(Mapped(sentence=_SENTENCE, tests=("test_result",)),),
        ),
        "solution": Solution(script=f"true\n{pad('solution')}"),
        "alternative": Solution(script=f"true\n{pad('alternative')}"),
        "near_misses": Misses(misses=tuple(misses)),
        "judge": Judgement(verdict="accept", reasons=pad("judge")),
    }
