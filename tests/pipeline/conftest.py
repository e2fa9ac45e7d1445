"""One small recipe, really built and proven once; the tests look at it from several sides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from dagster import AssetKey, DagsterInstance, Definitions, ExecuteInProcessResult

from generators.recipe import Recipe
from generators.task import Difficulty
from pipeline.definitions import build_defs
from pipeline.io import ParquetIOManager
from pipeline.resources import ReleaseRoot

TINY = Recipe(
    name="tiny",
    seed=7,
    count=4,
    families=("ledger_reconciliation",),
    difficulty={Difficulty.EASY: 25, Difficulty.MEDIUM: 50, Difficulty.HARD: 25},
    batch=2,
)


@dataclass(frozen=True)
class Floor:
    """Definitions over folders of their own, and an instance that forgets."""

    folder: Path
    defs: Definitions
    instance: DagsterInstance

    def run(self, job: str, partition: str, raising: bool = True) -> ExecuteInProcessResult:
        """One run in this process."""
        return self.defs.resolve_job_def(job).execute_in_process(
            instance=self.instance, partition_key=partition, raise_on_error=raising
        )

    def frame(self, asset: str, partition: str) -> pl.DataFrame:
        """What an asset keeps."""
        return pl.read_parquet(self.folder / "frames" / asset / f"{partition}.parquet")

    def metadata(self, asset: str) -> dict[str, object]:
        """What the UI shows of an asset's last materialization."""
        event = self.instance.get_latest_materialization_event(AssetKey(asset))
        assert event and event.asset_materialization
        return {name: value.value for name, value in event.asset_materialization.metadata.items()}

    def version(self, asset: str) -> str:
        """An asset's last data version."""
        event = self.instance.get_latest_materialization_event(AssetKey(asset))
        assert event and event.asset_materialization and event.asset_materialization.tags
        return event.asset_materialization.tags["dagster/data_version"]


def floor_in(folder: Path, instance: DagsterInstance, recipe: Recipe = TINY, **more: Any) -> Floor:
    """A floor whose only recipe is the given one."""
    resources = {
        "io_manager": ParquetIOManager(folder / "frames"),
        "release_root": ReleaseRoot(path=str(folder / "datasets")),
        **more,
    }
    return Floor(folder, build_defs(folder / "no-recipes", [recipe], resources), instance)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Floor]:
    """The small recipe, taken from drafts to the release."""
    with DagsterInstance.ephemeral() as instance:
        floor = floor_in(tmp_path_factory.mktemp("floor"), instance)
        for batch in ("tiny.000", "tiny.001"):
            floor.run("build_batch", batch)
        floor.run("publish", "tiny")
        yield floor


@pytest.fixture(scope="session")
def candidate(made: Floor) -> pl.DataFrame:
    """Its candidate."""
    return made.frame("candidate_dataset", "tiny")
