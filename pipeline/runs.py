"""Run the asset graph from a program: the same graph, the same instance, so that the UI shows every run."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from dagster import DagsterInstance, ExecuteInProcessResult
from dagster._core.errors import (
    DagsterAssetCheckFailedError,
    DagsterExecutionInterruptedError,
    DagsterUserCodeExecutionError,
)

from containers.engines.registry import DEFAULT
from containers.state import storage
from generators.errors import TermforgeError, UsageError
from generators.recipe import Recipe
from pipeline.batches import batch_key
from pipeline.definitions import build_defs
from pipeline.io import frames_folder
from pipeline.logs import keep_ctrl_c_from_log_programs
from pipeline.places import project_root
from pipeline.resources import AgentResource, EngineResource, ReleaseRoot, WriterResource
from pipeline.soundness import CHECKS
from pipeline.stages import Report

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


class UnsoundError(TermforgeError):
    """A blocking check stopped the release (exit code 1)."""


@dataclass(frozen=True)
class Built:
    """What a build ended with: the assembled candidate, and where it was published."""

    candidate: pl.DataFrame
    folder: Path


@dataclass
class Whole:
    """Progress over all batches of a recipe, as if they were one."""

    report: Report
    total: int
    before: int = 0

    def reporter(self, say: Callable[[str], object]) -> Report:
        """A reporter for the batch at hand."""
        return lambda stage, done, of: self.report(stage, self.before + done, self.total)


def build_recipe(
    recipe: Recipe,
    sizes: Sequence[int],
    target: Path,
    report: Report,
    engine: str = DEFAULT,
    writer: WriterResource | None = None,
    agent: AgentResource | None = None,
) -> Built:
    """Materialize every batch of a recipe, then assemble, check and publish it below `target`.

    Raises:
        UnsoundError: a blocking check failed; nothing was published.
        TermforgeError: whatever a stage raised.
        KeyboardInterrupt: it was interrupted; what was done stays done.
    """
    os.environ.setdefault("DAGSTER_HOME", str(project_root()))
    progress = Whole(report, sum(sizes))
    resources = {
        "progress": progress,
        "release_root": ReleaseRoot(path=str(target)),
        "engine": EngineResource(engine=engine),
        "writer": writer or WriterResource(),
        "agent": agent or AgentResource(),
    }
    defs = build_defs(extra_recipes=[recipe], resource_overrides=resources)
    with _alone(recipe, target), DagsterInstance.get() as instance:
        keep_ctrl_c_from_log_programs(instance)

        def run(job: str, key: str) -> ExecuteInProcessResult:
            return defs.resolve_job_def(job).execute_in_process(
                instance=instance, partition_key=key, run_config=QUIET, raise_on_error=True
            )

        for number, size in enumerate(sizes):
            _unwrapped(lambda number=number: run("build_batch", batch_key(recipe.name, number)))
            progress.before += size
        frames = frames_folder() / "candidate_dataset" / f"{recipe.name}.parquet"
        try:
            _unwrapped(lambda: run("publish", recipe.name))
        except DagsterAssetCheckFailedError as error:
            raise UnsoundError(_unsound(recipe, pl.read_parquet(frames))) from error
        frame = pl.read_parquet(frames)
        return Built(frame, target / recipe.name)


def _unsound(recipe: Recipe, candidate: pl.DataFrame) -> str:
    """Which checks failed, with what they found."""
    findings = {check.__name__: check(recipe, candidate) for check in CHECKS}
    failed = [f"{name} ({finding.details})" for name, finding in findings.items() if not finding.passed]
    return f"recipe {recipe.name} is not published, since these checks fail: {'; '.join(failed)}"


@contextlib.contextmanager
def _alone(recipe: Recipe, target: Path) -> Generator[None]:
    """Keep a second build of the same release out."""
    with storage(f"preparing {target}"):
        target.mkdir(parents=True, exist_ok=True)
        lock = open(target / f".{recipe.name}.lock", "w")  # noqa: SIM115 - held until the end of the block
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"another build of {recipe.name} into {target} is under way; wait for it, or choose another --to"
            ) from None
        yield
        Path(lock.name).unlink(missing_ok=True)


def _unwrapped(run: Callable[[], ExecuteInProcessResult]) -> ExecuteInProcessResult:
    """Run, and raise what really happened instead of what Dagster wraps it in."""
    try:
        return run()
    except DagsterExecutionInterruptedError:
        raise KeyboardInterrupt from None
    except DagsterUserCodeExecutionError as error:
        raise _cause(error) from error


def _cause(error: BaseException) -> BaseException:
    inner: Any = error
    while isinstance(inner, DagsterUserCodeExecutionError) and inner.user_exception is not None:
        inner = inner.user_exception
    return inner
