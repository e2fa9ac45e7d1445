"""What the rollouts of one worker process share: engine, pool of sandboxes, tasks, judge, and the file that their records go to.

Made on the first rollout of a process and closed when it ends. A worker that is killed leaves nothing: what its engine started ends
with it, and the rest is swept up by the next one (containers/reaper.py).
"""

from __future__ import annotations

import asyncio
import atexit
import os
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

from agent.styles import open_style
from containers.engines.registry import open_engine
from containers.pool import Pool
from containers.sandbox import BuiltImage
from generators.task import Task
from trainer.curriculum import judge_weight
from trainer.curriculum_run import run_plan
from trainer.judge.backend import BackendReader
from trainer.judge.opening import SwappingJudge
from trainer.records import RolloutRecord
from trainer.reward import RewardSettings
from trainer.run import RunFolder
from trainer.settings import LoopSettings, load_loop
from trainer.tasks import load_task

_THREADS = 4  # a sandbox: its shell, a command, the grader, and one to end it


class Environment:
    """Everything that a rollout needs but the policy."""

    def __init__(self, settings: LoopSettings) -> None:
        self.settings, self.run = settings, RunFolder(Path(settings.run))
        self.style = open_style(settings.style)
        self.engine = open_engine(settings.engine)
        self.pool = Pool(self.engine, settings.sandboxes)
        self.threads = ThreadPoolExecutor(_THREADS * settings.sandboxes + 2, "rollout")
        self.curriculum = run_plan(self.run).curriculum
        self.judge = SwappingJudge(reader=_judge_reader(settings)) if settings.reward.wants_judge else None
        self._builds: dict[str, asyncio.Future[BuiltImage]] = {}
        self._lock = threading.Lock()
        self._records = self.run.rollouts / f"{socket.gethostname()}-{os.getpid()}.jsonl"
        self._records.parent.mkdir(parents=True, exist_ok=True)
        atexit.register(self.close)

    def close(self) -> None:
        """End all sandboxes."""
        self.pool.close()
        self.engine.close()
        self.threads.shutdown(wait=False, cancel_futures=True)

    def task(self, digest: str) -> Task:
        """A task of the run, by digest.

        Raises:
            UsageError: it is not there, or was changed.
        """
        return load_task(Path(self.settings.data), digest)

    async def built(self, task: Task) -> BuiltImage:
        """The image of a task: built once, however many rollouts ask for it."""
        loop = asyncio.get_running_loop()
        build = self._builds.get(task.digest)
        if build is None or build.cancelled() or (build.done() and build.exception() is not None):
            build = loop.run_in_executor(self.threads, self.engine.build, task.image, task.limits)
            self._builds[task.digest] = build
        return await asyncio.shield(build)

    def reward_at(self, step: int) -> RewardSettings:
        """How a rollout of a step is rewarded: the curriculum may move weight from the judge to the tests."""
        usual = self.settings.reward
        judge = judge_weight(self.curriculum, step, usual.judge)
        return usual if judge == usual.judge else usual.model_copy(update={"judge": judge, "tests": 1 - judge})

    def record(self, record: RolloutRecord) -> None:
        """Append a line to this process's file."""
        line = record.model_dump_json(exclude_none=True) + "\n"
        with self._lock, open(self._records, "a") as lines:
            lines.write(line)


@lru_cache(maxsize=1)
def environment(settings: Path) -> Environment:
    """The environment of this process."""
    return Environment(load_loop(settings))


def _judge_reader(settings: LoopSettings) -> BackendReader | None:
    """Of the file that a run names, or of the one that `termforge judge use` wrote."""
    return BackendReader(Path(settings.judge), print) if settings.judge else None
