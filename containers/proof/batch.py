"""Prove many tasks at once, on a bounded number of workers; what was proven before is not done again."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from containers.health import PATIENCE, UnwellError
from containers.housekeeping import preflight
from containers.pool import Pool, default_size
from containers.proof.gates import StoppedError
from containers.proof.prove import plan_name, prove
from containers.proof.store import ProofStore
from containers.sandbox import Engine
from containers.turns import StoppedWaitingError
from generators.errors import EngineError, SandboxFault, StorageError
from generators.evidence import SUITE, Evidence, Gate
from generators.task import Task

_TRIES = 4  # of a task whose infrastructure fails
_PAUSE = 1.0  # seconds
_FULL = "No space left on device"


@dataclass(frozen=True)
class Proven:
    """A task with its evidence; `cached` says that an earlier run had proven it."""

    task: Task
    evidence: Evidence
    cached: bool


def default_workers() -> int:
    """As many as a pool has places."""
    return default_size()


def tamper_plan(tasks: Sequence[Task]) -> set[str]:
    """Digests of the tasks that meet every attack: in each family, the one of the lowest serial."""
    lowest: dict[str, Task] = {}
    for task in tasks:
        known = lowest.get(task.provenance.family)
        if known is None or task.provenance.serial < known.provenance.serial:
            lowest[task.provenance.family] = task
    return {task.digest for task in lowest.values()}


@dataclass
class _Entry:
    """A task in the queue, and how often infrastructure failed it."""

    task: Task
    tamper: bool
    failures: int = 0


def prove_all(
    engine: Engine,
    tasks: Sequence[Task],
    store: ProofStore | None = None,
    workers: int | None = None,
    stop: Callable[[], bool] = lambda: False,
    attacked: set[str] | None = None,
    patience: float = PATIENCE,
) -> Iterator[Proven]:
    """Evidence for every task, in the order in which it becomes ready. Invalid evidence is yielded but not kept.

    A task whose infrastructure failed goes back to the end of the queue, a few times, before it is called invalid; while the
    engine is not well, tasks wait for it for `patience` seconds. `attacked` holds the digests of the tasks that meet the
    attacks, where the tasks are only a part of a set.

    Raises:
        StorageError: there is no room to begin.
        EngineError: this machine cannot do it, however often it is tried.
    """
    if attacked is None:
        attacked = tamper_plan(tasks)
    todo: list[_Entry] = []
    for task in tasks:
        entry = _Entry(task, task.digest in attacked)
        known = store.load(task.digest, plan_name(entry.tamper)) if store else None
        if known is None:
            todo.append(entry)
        else:
            yield Proven(task, known.model_copy(update={"task_id": task.id}), cached=True)
    if not todo:
        return
    preflight(engine)
    todo.sort(key=lambda entry: not entry.tamper)  # the long ones first, so that no worker waits for one at the end
    yield from _prove(engine, deque(todo), store, workers or default_workers(), stop, patience)


def _prove(
    engine: Engine,
    queue: deque[_Entry],
    store: ProofStore | None,
    count: int,
    stop: Callable[[], bool],
    patience: float,
) -> Iterator[Proven]:
    with (
        ThreadPoolExecutor(count, thread_name_prefix="prove") as threads,
        Pool(engine, count, stop=stop, health_patience=patience) as pool,  # closed first: that ends what waits
    ):
        running: dict[Future[Evidence | None], _Entry] = {}
        try:
            while True:
                while len(running) < 2 * count and not stop() and queue:
                    entry = queue.popleft()
                    running[threads.submit(_tried, pool, entry, store, stop)] = entry
                if not running:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    entry, evidence = running.pop(future), future.result()
                    if evidence is None:
                        continue
                    if not evidence.valid and entry.failures < _TRIES:
                        queue.append(entry)
                    else:
                        yield Proven(entry.task, evidence, cached=False)
        finally:
            for future in running:
                future.cancel()


def _tried(pool: Pool, entry: _Entry, store: ProofStore | None, stop: Callable[[], bool]) -> Evidence | None:
    """Evidence from one try, kept if it is valid; None where the run is being stopped."""
    try:
        _pause(entry, stop)
        evidence = _evidence(pool, entry, stop)
        if store:
            store.save(evidence, plan_name(entry.tamper))
    except (StoppedError, StoppedWaitingError):
        return None
    except UnwellError as fault:  # it was waited for long enough
        entry.failures = _TRIES
        evidence = _invalid(pool.engine, entry.task, str(fault))
    except (SandboxFault, StorageError, EngineError, OSError) as fault:
        if isinstance(fault, EngineError) and entry.failures == _TRIES - 1:
            raise
        evidence = _invalid(pool.engine, entry.task, str(fault))
    if not evidence.valid:
        entry.failures += 1
        pool.health.suspect()
    return evidence


def _pause(entry: _Entry, stop: Callable[[], bool]) -> None:
    """What failed needs a moment, each time a longer one: 2, 4, 8 seconds."""
    until = time.monotonic() + (_PAUSE * 2**entry.failures if entry.failures else 0)
    while time.monotonic() < until:
        if stop():
            raise StoppedError
        time.sleep(0.1)


def _evidence(pool: Pool, entry: _Entry, stop: Callable[[], bool]) -> Evidence:
    """Take a task through the gates. A failure is not believed where the engine was not well meanwhile."""
    pool.prepare(stop)
    began = time.monotonic()
    evidence = prove(pool, entry.task, tamper=entry.tamper, stop=stop)
    if failure := evidence.failure:
        doubt = pool.health.doubt(began)
        if failure.gate is Gate.BUILD and _FULL in failure.detail:  # there is room again: what failed was removed
            doubt = doubt or "the disk was full"
        if doubt:
            raise SandboxFault(f"{failure.gate} failed, and meanwhile {doubt}")
    return evidence


def _invalid(engine: Engine, task: Task, fault: str) -> Evidence:
    return Evidence(
        task_id=task.id,
        task_digest=task.digest,
        suite=SUITE,
        engine=engine.name,
        base_digest="",
        image_digest="",
        verdicts=(),
        valid=False,
        fault=fault,
    )
