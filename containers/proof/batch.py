"""Prove many tasks at once, on a bounded number of workers; what was proven before is not done again."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from containers.pool import MAX_SANDBOXES, Pool
from containers.proof.gates import StoppedError
from containers.proof.prove import plan_name, prove
from containers.proof.store import ProofStore
from containers.sandbox import Engine
from generators.evidence import Evidence
from generators.task import Task


@dataclass(frozen=True)
class Proven:
    """A task with its evidence; `cached` says that an earlier run had proven it."""

    task: Task
    evidence: Evidence
    cached: bool


def default_workers() -> int:
    """Two sandboxes at once for each core, within the bound: many wait for a service or a deadline."""
    return max(1, min(MAX_SANDBOXES, 2 * len(os.sched_getaffinity(0))))


def tamper_plan(tasks: Sequence[Task]) -> set[str]:
    """Digests of the tasks that meet every attack: in each family, the one of the lowest serial."""
    lowest: dict[str, Task] = {}
    for task in tasks:
        known = lowest.get(task.provenance.family)
        if known is None or task.provenance.serial < known.provenance.serial:
            lowest[task.provenance.family] = task
    return {task.digest for task in lowest.values()}


def prove_all(
    engine: Engine,
    tasks: Sequence[Task],
    store: ProofStore | None = None,
    workers: int | None = None,
    stop: Callable[[], bool] = lambda: False,
    attacked: set[str] | None = None,
) -> Iterator[Proven]:
    """Evidence for every task, in the order in which it becomes ready. Invalid evidence is yielded but not kept.

    `attacked` holds the digests of the tasks that meet the attacks, where the tasks are only a part of a set.
    """
    if attacked is None:
        attacked = tamper_plan(tasks)
    todo: list[Task] = []
    for task in tasks:
        known = store.load(task.digest, plan_name(task.digest in attacked)) if store else None
        if known is None:
            todo.append(task)
        else:
            yield Proven(task, known.model_copy(update={"task_id": task.id}), cached=True)

    def work(task: Task) -> Proven | None:
        tamper = task.digest in attacked
        try:
            evidence = prove(pool, task, tamper=tamper, stop=stop)
        except StoppedError:
            return None
        if store:
            store.save(evidence, plan_name(tamper))
        return Proven(task, evidence, cached=False)

    todo.sort(
        key=lambda task: task.digest not in attacked
    )  # the long ones first, so that no worker waits for one at the end
    count = workers or default_workers()
    pool = Pool(engine, count)
    queue = iter(todo)
    with ThreadPoolExecutor(count, thread_name_prefix="prove") as threads:
        running: set[Future[Proven | None]] = set()
        try:
            while True:
                while len(running) < 2 * count and not stop() and (task := next(queue, None)):
                    running.add(threads.submit(work, task))
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (proven for future in done if (proven := future.result()) is not None)
        finally:
            for future in running:
                future.cancel()
