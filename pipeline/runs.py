"""Run the asset graph from a program: the same graph, the same instance, so that the UI shows every run."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from dagster import DagsterInstance, ExecuteInProcessResult
from dagster._core.errors import DagsterExecutionInterruptedError, DagsterUserCodeExecutionError

from generators.errors import TermforgeError
from generators.recipe import Recipe
from pipeline.batches import batch_key
from pipeline.definitions import build_defs
from pipeline.io import frames_folder
from pipeline.places import project_root
from pipeline.resources import ReleaseRoot
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


def build_recipe(recipe: Recipe, sizes: Sequence[int], target: Path, report: Report) -> Built:
    """Materialize every batch of a recipe, then assemble, check and publish it below `target`.

    Raises:
        UnsoundError: a blocking check failed; nothing was published.
        TermforgeError: whatever a stage raised.
        KeyboardInterrupt: it was interrupted; what was done stays done.
    """
    os.environ.setdefault("DAGSTER_HOME", str(project_root()))
    progress = Whole(report, sum(sizes))
    resources = {"progress": progress, "release_root": ReleaseRoot(path=str(target))}
    defs = build_defs(extra_recipes=[recipe], resource_overrides=resources)
    with DagsterInstance.get() as instance:

        def run(job: str, key: str) -> ExecuteInProcessResult:
            return defs.resolve_job_def(job).execute_in_process(
                instance=instance, partition_key=key, run_config=QUIET, raise_on_error=True
            )

        for number, size in enumerate(sizes):
            _unwrapped(lambda number=number: run("build_batch", batch_key(recipe.name, number)))
            progress.before += size
        _unwrapped(lambda: run("publish", recipe.name))
        frame = pl.read_parquet(frames_folder() / "candidate_dataset" / f"{recipe.name}.parquet")
        return Built(frame, target / recipe.name)


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
