"""The stages of a batch as plain functions over data frames. Assets and tests call these; nothing here knows Dagster.

    drafts -> environments -> proven -> attempts -> solvable -> candidate

A row is a task. A task that fails a stage stays in the frame with its gate and reason code; later stages pass it on.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import polars as pl

from agent.table import attempts_frame
from agent.trajectory import Trajectory
from containers.proof.batch import default_workers, prove_all
from containers.proof.store import ProofStore
from containers.sandbox import BuildFailure, Engine
from generators.benchmarks import Match, Overlap
from generators.embeddings import open_embed
from generators.errors import SandboxFault, TaskError
from generators.evidence import Evidence, Gate, Verdict
from generators.overlap import Twin, twins
from generators.procedural import find_family, write_task
from generators.recipe import Order, Recipe
from generators.task import Task
from pipeline.attempting import AttemptSettings, attempt, solvable
from pipeline.places import project_root
from pipeline.writing import WriterSettings, check_models, write

log = logging.getLogger(__name__)
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
    "rounds": pl.Int64,  # of repair; this and what follows is of tasks that language models write
    "requests": pl.Int64,
    "input_tokens": pl.Int64,
    "output_tokens": pl.Int64,
    "dollars": pl.Float64,  # null where a price is unknown
    "axes": pl.String,  # canonical JSON of what was asked for
}
_UNWRITTEN = {"rounds": 0, "requests": 0, "input_tokens": 0, "output_tokens": 0, "dollars": 0.0, "axes": ""}
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
        row |= _UNWRITTEN
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


def write_batch(
    recipe: Recipe,
    orders: list[Order],
    open_engine: Callable[[], Engine],
    store: ProofStore,
    settings: WriterSettings,
    report: Report = silent,
) -> pl.DataFrame:
    """The drafts of a batch, by whoever writes this recipe. What a language model writes is proven on the way.

    Raises:
        UsageError: language models are to write, and none was named, or one cannot be opened: known before an engine is.
        BudgetError: their ceiling is reached; a later run goes on.
    """
    if recipe.writer == "procedural":
        return write_drafts(recipe, orders, report)
    if settings.writer:
        check_models(settings)
    with stoppable() as stop:
        engine = open_engine()
        rows = write(
            engine, store, recipe, orders, settings, stop.is_set, lambda done: report("drafts", done, len(orders))
        )
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
                break
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
    attacked = {  # a batch is only a part of the recipe; a model's tasks have no family that would stand for them
        task.digest for task in tasks if task.provenance.serial == 0 or task.provenance.writer == "model"
    }
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
    found = twins(instructions, recipe.twin_similarity, open_embed(log.info))
    known = Overlap.load(project_root() / "datasets" / "overlap")
    for row in rows:
        if not row["proven"]:
            continue
        verdict = _twin(found.get(row["task_id"]), known.matches(instructions[row["task_id"]]))
        row["evidence"] = Evidence.model_validate_json(row["evidence"]).with_verdict(verdict).canonical()
        if not verdict.holds:
            row |= {"proven": False, "gate": Gate.TWIN.value, "reason": verdict.reason, "detail": verdict.detail}
    return pl.DataFrame(rows, schema=PROVEN)


def attempt_tasks(
    open_engine: Callable[[], Engine], proven: pl.DataFrame, settings: AttemptSettings, report: Report = silent
) -> pl.DataFrame:
    """Attempts at every proven task, a row each; those that were made before are looked up.

    Raises:
        UsageError: there is no such model or style.
        BudgetError: its ceiling is reached; a later run goes on.
    """
    tasks = [Task.model_validate_json(row["task"]) for row in proven.iter_rows(named=True) if row["proven"]]
    done, total = 0, len(tasks) * settings.k

    def tell(_: Trajectory) -> None:
        nonlocal done
        done += 1
        report("attempts", done, total)

    with stoppable() as stop:
        found = attempt(open_engine(), tasks, settings, stop.is_set, tell, log.info) if tasks else []
    return attempts_frame(found)


def keep_solvable(proven: pl.DataFrame, attempts: pl.DataFrame) -> pl.DataFrame:
    """The tasks with the verdict of the gate `solvable` in their evidence; what nobody solved is dropped."""
    made: dict[str, list[dict[str, Any]]] = {}
    for row in attempts.iter_rows(named=True):
        made.setdefault(row["task_digest"], []).append(row)
    rows = list(proven.iter_rows(named=True))
    for row in rows:
        if row["proven"]:
            verdict = solvable(made.get(row["digest"], []))
            row["evidence"] = Evidence.model_validate_json(row["evidence"]).with_verdict(verdict).canonical()
            if not verdict.holds:
                row |= {"proven": False, "gate": verdict.gate.value, "reason": verdict.reason, "detail": verdict.detail}
    return pl.DataFrame(rows, schema=PROVEN)


def _twin(twin: Twin | None, overlaps: Sequence[Match]) -> Verdict:
    """Not like another task of the set, nor like one of a public benchmark."""
    if overlaps:
        detail = f"{overlaps[0].grams} runs of 13 words are those of {overlaps[0].index}: {overlaps[0].task}"
        return Verdict(gate=Gate.TWIN, holds=False, reason="benchmark_overlap", detail=detail)
    if twin:
        detail = f"{twin.similarity:.2f} like {twin.other}"
        return Verdict(gate=Gate.TWIN, holds=False, reason="near_duplicate", detail=detail)
    return Verdict(gate=Gate.TWIN, holds=True)


@contextmanager
def stoppable() -> Generator[threading.Event]:
    """Within this, Ctrl-C sets an event, so that workers finish what they hold and nothing is left half done.

    Raises:
        KeyboardInterrupt: at the end, if the event was set: also by a Ctrl-C that came when the work was just done.
    """
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
    if stop.is_set():
        raise KeyboardInterrupt
