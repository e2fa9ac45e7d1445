"""The stages of a batch as plain functions over data frames. Assets and tests call these; nothing here knows Dagster.

    drafts -> environments -> proven -> candidate

A row is a task. A task that fails a stage stays in the frame with its gate and reason code; later stages pass it on.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import polars as pl

from containers.proof.batch import default_workers, prove_all
from containers.proof.store import ProofStore
from containers.sandbox import BuildFailure, Engine
from generators.errors import SandboxFault, TaskError
from generators.evidence import Evidence, Gate, Verdict
from generators.overlap import twins
from generators.procedural import find_family, write_task
from generators.recipe import Order, Recipe
from generators.task import Task

Report = Callable[[str, int, int], None]  # stage, done, of

DRAFTS = {
    "family": pl.String,
    "serial": pl.Int64,
    "difficulty": pl.String,
    "task_id": pl.String,
    "digest": pl.String,
    "gate": pl.String,  # the gate that dropped it, empty while it is in
    "reason": pl.String,
    "detail": pl.String,
    "task": pl.String,  # canonical JSON
}
ENVIRONMENTS = {
    **DRAFTS,
    "build_seconds": pl.Float64,
    "layers": pl.Int64,
    "base_digest": pl.String,
    "image_digest": pl.String,
}
PROVEN = {
    **ENVIRONMENTS,
    "proven": pl.Boolean,
    "valid": pl.Boolean,
    "cached": pl.Boolean,
    "seconds": pl.Float64,
    "evidence": pl.String,
}
_IN = {"gate": "", "reason": "", "detail": ""}


def silent(stage: str, done: int, of: int) -> None:
    """Report to nobody."""


def write_drafts(recipe: Recipe, orders: list[Order], report: Report = silent) -> pl.DataFrame:
    """Write the tasks of a batch. A family that raises costs its row, not the batch."""
    rows: list[dict[str, Any]] = []
    for order in orders:
        row: dict[str, Any] = {"family": order.family, "serial": order.serial, "difficulty": order.difficulty.value}
        try:
            task = write_task(find_family(order.family), recipe.seed, order.serial, order.difficulty)
            row |= {
                "task_id": task.id,
                "digest": task.digest,
                "gate": "",
                "reason": "",
                "detail": "",
                "task": task.canonical(),
            }
        except TaskError as error:
            name = f"{order.family}-{order.serial}"
            row |= {
                "task_id": name,
                "digest": "",
                "gate": "draft",
                "reason": "family_raised",
                "detail": str(error),
                "task": "",
            }
        rows.append(row)
        report("drafts", len(rows), len(orders))
    return pl.DataFrame(rows, schema=DRAFTS)


def build_environments(engine: Engine, drafts: pl.DataFrame, report: Report = silent) -> pl.DataFrame:
    """Build every image, several at once."""
    rows = list(drafts.iter_rows(named=True))

    def build(row: dict[str, Any]) -> dict[str, Any]:
        result = {**row, "build_seconds": 0.0, "layers": 0, "base_digest": "", "image_digest": ""}
        if row["gate"]:
            return result
        task = Task.model_validate_json(row["task"])
        began = time.monotonic()
        try:
            built = engine.build(task.image, task.limits)
            result |= {"layers": len(built.layers), "base_digest": built.base_digest, "image_digest": built.digest}
        except BuildFailure as failure:
            result |= {"gate": "build", "reason": failure.reason, "detail": f"{failure.step}: {failure.output[-300:]}"}
        except SandboxFault as fault:
            result |= {"gate": "build", "reason": "infrastructure", "detail": str(fault)}
        return result | {"build_seconds": round(time.monotonic() - began, 4)}

    done: list[dict[str, Any]] = []
    with stoppable() as stop, ThreadPoolExecutor(default_workers()) as pool:
        for result in pool.map(lambda row: row if stop.is_set() else build(row), rows):
            if stop.is_set():
                raise KeyboardInterrupt
            done.append(result)
            report("environments", len(done), len(rows))
    return pl.DataFrame(done, schema=ENVIRONMENTS)


def prove_tasks(
    engine: Engine, store: ProofStore | None, environments: pl.DataFrame, report: Report = silent
) -> pl.DataFrame:
    """Take every task that was built through the gates. Proven tasks are looked up in the store, not proven again."""
    rows = {row["task_id"]: row for row in environments.iter_rows(named=True)}
    tasks = [Task.model_validate_json(row["task"]) for row in rows.values() if not row["gate"]]
    results = {
        name: {**row, "proven": False, "valid": True, "cached": False, "seconds": 0.0, "evidence": ""}
        for name, row in rows.items()
    }
    done = len(rows) - len(tasks)
    attacked = {task.digest for task in tasks if task.provenance.serial == 0}  # a batch is only a part of the recipe
    with stoppable() as stop:
        for proven in prove_all(engine, tasks, store, stop=stop.is_set, attacked=attacked):
            row = results[proven.task.id]
            evidence = _with_build(proven.evidence, row)
            failure = evidence.failure
            row |= {
                "proven": evidence.proven,
                "valid": evidence.valid,
                "cached": proven.cached,
                "seconds": round(sum(verdict.seconds for verdict in evidence.verdicts), 4),
                "evidence": evidence.canonical(),
            }
            if failure:
                row |= {"gate": failure.gate.value, "reason": failure.reason, "detail": failure.detail}
            elif not evidence.valid:
                row |= {"gate": "infrastructure", "reason": "infrastructure", "detail": evidence.fault}
            done += 1
            report("proven", done, len(rows))
        if stop.is_set():
            raise KeyboardInterrupt
    return pl.DataFrame(list(results.values()), schema=PROVEN)


def _with_build(evidence: Evidence, row: Mapping[str, Any]) -> Evidence:
    """Evidence whose build verdict states the time that the build really took, not that of finding it in the cache."""
    verdicts = tuple(
        verdict.model_copy(update={"seconds": row["build_seconds"]}) if verdict.gate is Gate.BUILD else verdict
        for verdict in evidence.verdicts
    )
    return evidence.model_copy(update={"verdicts": verdicts})


def assemble(recipe: Recipe, batches: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """All batches of a recipe as one frame in the order of ids, with the twin gate judged over the whole set."""
    frame = pl.concat([batches[key] for key in sorted(batches)]) if batches else pl.DataFrame(schema=PROVEN)
    rows = sorted(frame.iter_rows(named=True), key=lambda row: row["task_id"])
    instructions = {row["task_id"]: Task.model_validate_json(row["task"]).instruction for row in rows if row["proven"]}
    found = twins(instructions, recipe.twin_similarity)
    for row in rows:
        if not row["proven"]:
            continue
        twin = found.get(row["task_id"])
        verdict = Verdict(
            gate=Gate.TWIN,
            holds=twin is None,
            reason="near_duplicate" if twin else "",
            detail=f"{twin.similarity:.2f} like {twin.other}" if twin else "",
        )
        row["evidence"] = Evidence.model_validate_json(row["evidence"]).with_verdict(verdict).canonical()
        if twin:
            row |= {"proven": False, "gate": Gate.TWIN.value, "reason": verdict.reason, "detail": verdict.detail}
    return pl.DataFrame(rows, schema=PROVEN)


@contextmanager
def stoppable() -> Generator[threading.Event]:
    """Within this, Ctrl-C sets an event, so that workers finish what they hold and nothing is left half done."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, lambda *_: stop.set())
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
