"""Attempts: many episodes of many tasks at once, as many of each as a plan asks for; what was done before is not done again.

attempts = Attempts(engine, player, style, Plan(k=16), store=store)
trajectories = attempts.run(tasks, tell=print)
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

from agent.episode import Episode, StoppedError
from agent.limits import EpisodeLimits
from agent.models import Player
from agent.store import AttemptStore
from agent.styles.style import Style
from agent.trajectory import Status, Trajectory
from containers.pool import Pool, default_size
from containers.sandbox import BuildFailure, BuiltImage, Engine
from generators.chat.model import Usage
from generators.errors import EngineError, SandboxFault
from generators.task import Record, Task

_TRIES = 3  # of an episode that infrastructure spoilt
_PAUSE = 1.0  # seconds, doubled each time
_THREADS_PER_EPISODE = 2  # one acts while another cleans up


class Plan(Record):
    """How many attempts a task gets.

    all         k
    until_pass  up to k, in waves, until one passes: enough to know whether pass@k > 0
    adaptive    4; 8 if those were all alike; k as soon as two differ
    """

    k: Annotated[int, Field(ge=1, le=1024)] = 16
    mode: Literal["all", "until_pass", "adaptive"] = "all"

    def wave(self, passed: Sequence[bool]) -> int:
        """How many to make next, after these."""
        made, left = len(passed), self.k - len(passed)
        if left <= 0:
            return 0
        match self.mode:
            case "until_pass":
                return 0 if any(passed) else min(left, max(1, made))
            case "adaptive" if len(set(passed)) < 2:
                return min(left, 4) if made < 8 else 0
            case _:
                return left


@dataclass
class Attempts:
    """Who attempts, how, and where."""

    engine: Engine
    player: Callable[[], AbstractAsyncContextManager[Player]]
    style: Style
    plan: Plan = field(default_factory=Plan)
    limits: EpisodeLimits = field(default_factory=EpisodeLimits)
    store: AttemptStore | None = None
    workers: int = field(default_factory=default_size)
    native: bool = False  # act by the provider's tool calls
    temperature: float | None = None
    price: Callable[[Usage], float | None] = lambda _: None
    stop: Callable[[], bool] = lambda: False
    examples: str = ""  # worked ones, see agent/styles/examples.py

    def run(self, tasks: Sequence[Task], tell: Callable[[Trajectory], None] = lambda _: None) -> list[Trajectory]:
        """Every attempt, by task (in their order) and number; invalid ones too. `tell` hears of each as it is done.

        Raises:
            KeyboardInterrupt: stopped.
            BudgetError, UsageError: the model may not, or cannot, be asked.
        """
        try:
            return asyncio.run(self._run(tasks, tell))
        except BaseExceptionGroup as several:
            found: BaseException = several
            while isinstance(found, BaseExceptionGroup):
                found = found.exceptions[0]
            if isinstance(found, StoppedError):
                raise KeyboardInterrupt from None
            raise found from None

    async def _run(self, tasks: Sequence[Task], tell: Callable[[Trajectory], None]) -> list[Trajectory]:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(_THREADS_PER_EPISODE * self.workers + 2, "episode"))
        places = asyncio.Semaphore(self.workers)
        with Pool(self.engine, self.workers, stop=self.stop) as pool:
            async with self.player() as player, asyncio.TaskGroup() as group:
                runs = [group.create_task(_TaskRun(self, player, pool, places, task, tell).run()) for task in tasks]
        return [trajectory for run in runs for trajectory in run.result()]


@dataclass
class _TaskRun:
    """All attempts at one task."""

    attempts: Attempts
    player: Player
    pool: Pool
    places: asyncio.Semaphore
    task: Task
    tell: Callable[[Trajectory], None]
    _built: asyncio.Task[BuiltImage] | None = None

    async def run(self) -> list[Trajectory]:
        """Wave after wave."""
        done: list[Trajectory] = []
        while count := self.attempts.plan.wave([trajectory.status is Status.PASSED for trajectory in done]):
            numbers = range(len(done), len(done) + count)
            done += await asyncio.gather(*(self._attempt(number) for number in numbers))
        return done

    async def _attempt(self, number: int) -> Trajectory:
        store = self.attempts.store
        known = store.load(self.task, number) if store else None
        trajectory = known or await self._tried(number)
        self.tell(trajectory)
        return trajectory

    async def _tried(self, number: int) -> Trajectory:
        """Play; again, after a pause, where infrastructure failed."""
        for left in reversed(range(_TRIES)):
            async with self.places:
                trajectory = await self._played(number)
            patient = trajectory.reason.startswith("provider")  # its requests were tried again and again already
            if trajectory.valid or patient or not left or self.attempts.stop():
                return self.attempts.store.save(self.task, trajectory) if self.attempts.store else trajectory
            await asyncio.sleep(_PAUSE * 2 ** (_TRIES - 1 - left))
        raise AssertionError("unreachable")

    async def _played(self, number: int) -> Trajectory:
        plan = self.attempts
        if plan.stop():
            raise StoppedError
        episode = Episode(
            self.task,
            plan.style,
            plan.limits,
            number,
            plan.native,
            plan.temperature,
            plan.price,
            plan.stop,
            plan.examples,
        )
        model = self.player(self.task, plan.style)
        try:
            built = await self._build()
        except (BuildFailure, SandboxFault, EngineError) as fault:
            self._built = None
            return episode.invalid(model.name, plan.engine.name, f"build: {fault}")
        return await episode.run(self.pool, built, model)

    async def _build(self) -> BuiltImage:
        """The image, built once for all attempts."""
        if self._built is None:
            engine = self.pool.engine
            self._built = asyncio.ensure_future(asyncio.to_thread(engine.build, self.task.image, self.task.limits))
        return await asyncio.shield(self._built)
