"""The code location: assets, checks, jobs, resources and policy in one place.

dagster dev                                        # the UI
build_defs(extra_recipes=[recipe], resource_overrides={"progress": bar})     # the command line and tests
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dagster import (
    AssetSelection,
    AutomationConditionSensorDefinition,
    DefaultSensorStatus,
    Definitions,
    ExecutorDefinition,
    define_asset_job,
    in_process_executor,
)

from generators.recipe import Recipe
from pipeline.assets.dataset import dataset_assets
from pipeline.assets.tasks import task_assets
from pipeline.assets.training import training_assets
from pipeline.batches import find_recipes
from pipeline.checks import candidate_checks
from pipeline.io import ParquetIOManager
from pipeline.places import project_root
from pipeline.resources import AgentResource, EngineResource, LogProgress, ReleaseRoot, TrainingResource, WriterResource
from pipeline.sensors import JOB, training_sensor

BATCH = AssetSelection.assets("drafts", "environments", "proven", "attempts", "solvable")
DATASET = AssetSelection.assets("candidate_dataset", "published_dataset")


def build_defs(
    recipes_folder: Path | None = None,
    extra_recipes: Iterable[Recipe] = (),
    resource_overrides: Mapping[str, Any] | None = None,
    executor: ExecutorDefinition = in_process_executor,
) -> Definitions:
    """Definitions for the recipes of a folder and for extra ones.

    Raises:
        RecipeError: an extra recipe asks for what there is not.
    """
    catalog = find_recipes(recipes_folder or project_root() / "datasets" / "recipes", extra_recipes)
    resources: dict[str, Any] = {
        "engine": EngineResource(),
        "progress": LogProgress(),
        "release_root": ReleaseRoot(),
        "writer": WriterResource(),
        "agent": AgentResource(),
        "training": TrainingResource(),
        "io_manager": ParquetIOManager(),
    }
    return Definitions(
        assets=[*task_assets(catalog), *dataset_assets(catalog), *training_assets(catalog)],
        asset_checks=candidate_checks(catalog),
        jobs=[define_asset_job("build_batch", BATCH), define_asset_job("publish", DATASET), JOB],
        sensors=[_automation(), training_sensor(catalog)],
        resources={**resources, **(resource_overrides or {})},
        executor=executor,
    )


def _automation() -> AutomationConditionSensorDefinition:
    """Runs without a click: a recipe whose batches are all proven is assembled, checked and published."""
    return AutomationConditionSensorDefinition(
        "assemble_when_proven", target=DATASET, default_status=DefaultSensorStatus.RUNNING
    )


defs = build_defs()
