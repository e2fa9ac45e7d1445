"""Starts training on what was published: once for each data version, and only where training is switched on."""

from __future__ import annotations

import os
from collections.abc import Iterator

from dagster import (
    AssetKey,
    AssetRecordsFilter,
    DefaultSensorStatus,
    RunRequest,
    SensorDefinition,
    SensorEvaluationContext,
    SkipReason,
    define_asset_job,
    sensor,
)

from pipeline.batches import Catalog
from pipeline.resources import TRAIN_PRESET

JOB = define_asset_job("train", ["grpo_run", "checkpoint"])
_PUBLISHED = AssetKey("published_dataset")
_VERSION = "dagster/data_version"


def training_sensor(catalog: Catalog) -> SensorDefinition:
    """Looks at the newest release of every recipe. The run key is recipe and data version, so the same content starts no second run."""

    @sensor(job=JOB, name="train_on_new_data", default_status=DefaultSensorStatus.RUNNING, minimum_interval_seconds=30)
    def train_on_new_data(context: SensorEvaluationContext) -> Iterator[RunRequest | SkipReason]:
        """Asks for grpo_run once for each data version of published_dataset, where training is switched on."""
        if not os.environ.get(TRAIN_PRESET):
            yield SkipReason(f"training is off; {TRAIN_PRESET} switches it on (docs/training.md)")
            return
        found = 0
        for recipe in catalog.recipe_partitions.get_partition_keys():
            version = _version(context, recipe)
            if version:
                found += 1
                yield RunRequest(run_key=f"{recipe}:{version}", partition_key=recipe)
        if not found:
            yield SkipReason("nothing is published yet")

    return train_on_new_data


def _version(context: SensorEvaluationContext, recipe: str) -> str | None:
    """The data version of the newest release of a recipe."""
    wanted = AssetRecordsFilter(asset_key=_PUBLISHED, asset_partitions=[recipe])
    records = context.instance.fetch_materializations(wanted, limit=1).records
    found = records[0].asset_materialization if records else None
    return (found.tags or {}).get(_VERSION) if found else None
