"""Group `dataset`: the batches of a recipe become a candidate, which is checked, then published."""

import polars as pl
from dagster import (
    AssetExecutionContext,
    AssetIn,
    AssetsDefinition,
    AutomationCondition,
    MaterializeResult,
    asset,
)

from pipeline.batches import Catalog
from pipeline.metadata import described, released, timed
from pipeline.release import publish
from pipeline.resources import ReleaseRoot
from pipeline.soundness import refuse_unless_sound
from pipeline.stages import assemble

WHEN_PROVEN = AutomationCondition.eager()
WHEN_CHECKED = AutomationCondition.eager() & AutomationCondition.all_deps_blocking_checks_passed()


def dataset_assets(catalog: Catalog) -> list[AssetsDefinition]:
    """candidate_dataset -> [blocking checks] -> published_dataset, a partition per recipe."""
    recipes = catalog.recipe_partitions
    batches = AssetIn(partition_mapping=catalog.fan_in)

    @asset(
        group_name="dataset",
        partitions_def=recipes,
        ins={"solvable": batches},
        automation_condition=WHEN_PROVEN,
        kinds={"polars"},
    )
    def candidate_dataset(
        context: AssetExecutionContext, solvable: dict[str, pl.DataFrame]
    ) -> MaterializeResult[pl.DataFrame]:
        """All batches of a recipe, near duplicates dropped. Not to be used before its checks have passed."""
        recipe = catalog.recipe(context.partition_key)
        frame, seconds = timed(assemble, recipe, solvable)
        return described(frame, seconds, recipe, assembled=True)

    @asset(group_name="dataset", partitions_def=recipes, automation_condition=WHEN_CHECKED, kinds={"parquet"})
    def published_dataset(
        context: AssetExecutionContext, candidate_dataset: pl.DataFrame, release_root: ReleaseRoot
    ) -> MaterializeResult:
        """The release: parquet splits, manifest and card. Its data version is its content hash."""
        recipe = catalog.recipe(context.partition_key)
        refuse_unless_sound(recipe, candidate_dataset)
        release, seconds = timed(publish, recipe, candidate_dataset, release_root.folder)
        return released(release, candidate_dataset, seconds, recipe)

    return [candidate_dataset, published_dataset]
