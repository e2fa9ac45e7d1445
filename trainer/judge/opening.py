"""Opening judges: one by its name, or one that follows the choice in the file while training runs."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from generators.chat.ledger import Ceiling, Ledger
from generators.chat.model import Effort
from generators.chat.models import open_model
from generators.chat.retry import Patience
from generators.errors import TermforgeError
from trainer.judge.backend import RULES, Backend, BackendReader, backend_path
from trainer.judge.cases import load_cases
from trainer.judge.model import ModelJudge
from trainer.judge.rubric import Rubric
from trainer.judge.rules import RuleJudge
from trainer.judge.verdict import Judge, Judged, Verdict

CONCURRENCY = 64
_IMPATIENT = Patience(tries=2, first=0.5)  # somebody waits for the answer


def _to_stderr(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@dataclass(frozen=True)
class JudgeSettings:
    """What a judge that is a model is opened with."""

    cache: Path | None = None
    ledger: Ledger | None = None
    ceiling: Ceiling | None = None
    concurrency: int = CONCURRENCY
    reasoning: Effort | None = None
    rubric: Rubric | None = None
    say: Callable[[str], None] = _to_stderr


def open_judge(backend: Backend, settings: JudgeSettings | None = None) -> Judge:
    """The judge that a backend names.

    Raises:
        UsageError: name, key or address do not fit.
    """
    settings = settings or JudgeSettings()
    if backend.backend == RULES:
        return RuleJudge(settings.rubric)
    model = open_model(
        backend.backend,
        base_url=backend.base_url,
        cache=settings.cache,
        ledger=settings.ledger,
        ceiling=settings.ceiling,
        concurrency=settings.concurrency,
        say=settings.say,
    )
    return ModelJudge(model, settings.rubric, settings.reasoning)


async def check_backend(backend: Backend, ask: bool = False) -> None:
    """Find out whether a backend can be opened here, and with `ask` whether it judges a real episode.

    Raises:
        TermforgeError: it cannot, or does not; which one says what is wrong.
    """
    if backend.backend == RULES:
        return
    model = open_model(backend.backend, base_url=backend.base_url, patience=_IMPATIENT, say=lambda _: None)
    try:
        if ask:
            await ModelJudge(model).scored(load_cases()[0].judged)
    finally:
        await model.close()


class SwappingJudge:
    """Judges by the backend that is chosen now. One that cannot be opened here is said once, and the last one stays."""

    def __init__(self, settings: JudgeSettings | None = None, reader: BackendReader | None = None) -> None:
        self._settings = settings or JudgeSettings()
        self._reader = reader or BackendReader(backend_path(), self._settings.say)
        self._chosen: Backend | None = None
        self._judge: Judge = RuleJudge(self._settings.rubric)
        self._users: dict[int, int] = {}
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def name(self) -> str:
        """The backend in use."""
        return self._judge.name

    async def judge(self, judged: Judged, sample: int = 0) -> Verdict:
        """Score one episode; one that has begun is ended by the judge that it began with."""
        judge = self._current()
        self._users[id(judge)] = self._users.get(id(judge), 0) + 1
        try:
            return await judge.judge(judged, sample)
        finally:
            self._users[id(judge)] -= 1
            if not self._users[id(judge)]:
                del self._users[id(judge)]
                if judge is not self._judge:
                    await judge.close()

    async def close(self) -> None:
        """Close the judge in use, and wait for those that are being closed."""
        await asyncio.gather(*self._closing)
        await self._judge.close()

    def _current(self) -> Judge:
        chosen = self._reader.current()
        if chosen != self._chosen:
            self._chosen = chosen
            self._swap(chosen)
        return self._judge

    def _swap(self, chosen: Backend) -> None:
        try:
            judge = open_judge(chosen, self._settings)
        except TermforgeError as error:
            self._settings.say(f"judge {chosen.backend} cannot be used here: {error}; {self._judge.name} stays in use")
            return
        before, self._judge = self._judge, judge
        if id(before) not in self._users:
            task = asyncio.get_running_loop().create_task(before.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)
