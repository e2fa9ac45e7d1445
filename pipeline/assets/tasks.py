"""Group `tasks`: a batch is written, built and proven."""

import polars as pl
from dagster import AssetExecutionContext, AssetsDefinition, MaterializeResult, ResourceParam, asset

from pipeline.batches import Catalog
from pipeline.metadata import described, timed
from pipeline.resources import EngineResource, Progress, WriterResource
from pipeline.stages import build_environments, prove_tasks, write_batch


def task_assets(catalog: Catalog) -> list[AssetsDefinition]:
    """drafts -> environments -> proven, a partition per batch."""
    batches = catalog.batch_partitions

    @asset(group_name="tasks", partitions_def=batches, kinds={"polars"})
    def drafts(
        context: AssetExecutionContext,
        engine: EngineResource,
        writer: WriterResource,
        progress: ResourceParam[Progress],
    ) -> MaterializeResult[pl.DataFrame]:
        """The tasks of a batch as they were written; one that failed stays as a row with the reason."""
        recipe, orders = catalog.batch(context.partition_key)
        report = progress.reporter(context.log.info)
        by = (engine.open, engine.store(), writer.settings())
        frame, seconds = timed(write_batch, recipe, orders, *by, report)
        return described(frame, seconds, recipe)

    @asset(group_name="tasks", partitions_def=batches, kinds={"polars", "linux"})
    def environments(
        context: AssetExecutionContext, drafts: pl.DataFrame, engine: EngineResource, progress: ResourceParam[Progress]
    ) -> MaterializeResult[pl.DataFrame]:
        """Every task's image, built."""
        report = progress.reporter(context.log.info)
        frame, seconds = timed(build_environments, engine.open(), drafts, report)
        return described(frame, seconds, catalog.recipe(context.partition_key))

    @asset(group_name="tasks", partitions_def=batches, kinds={"polars", "linux"})
    def proven(
        context: AssetExecutionContext,
        environments: pl.DataFrame,
        engine: EngineResource,
        progress: ResourceParam[Progress],
    ) -> MaterializeResult[pl.DataFrame]:
        """Every task taken through the gates, with the evidence."""
        report = progress.reporter(context.log.info)
        frame, seconds = timed(prove_tasks, engine.open(), engine.store(), environments, report)
        return described(frame, seconds, catalog.recipe(context.partition_key))

    return [drafts, environments, proven]
