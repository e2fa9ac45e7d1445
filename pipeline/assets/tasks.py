"""Group `tasks`: a batch is written, built, proven and attempted."""

import polars as pl
from dagster import AssetExecutionContext, AssetsDefinition, MaterializeResult, ResourceParam, asset

from pipeline.batches import Catalog
from pipeline.metadata import attempted, described, timed
from pipeline.resources import AgentResource, EngineResource, Progress, WriterResource
from pipeline.stages import attempt_tasks, build_environments, keep_solvable, prove_tasks, write_batch


def task_assets(catalog: Catalog) -> list[AssetsDefinition]:
    """drafts -> environments -> proven -> attempts -> solvable, a partition per batch."""
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

    @asset(group_name="tasks", partitions_def=batches, kinds={"polars", "linux"})
    def attempts(
        context: AssetExecutionContext,
        proven: pl.DataFrame,
        engine: EngineResource,
        agent: AgentResource,
        progress: ResourceParam[Progress],
    ) -> MaterializeResult[pl.DataFrame]:
        """Attempts at every proven task: by a language model, or the reference solution replayed as an agent's actions."""
        report = progress.reporter(context.log.info)
        frame, seconds = timed(attempt_tasks, engine.open, proven, agent.settings(), report)
        return attempted(frame, seconds)

    @asset(group_name="tasks", partitions_def=batches, kinds={"polars"})
    def solvable(
        context: AssetExecutionContext, proven: pl.DataFrame, attempts: pl.DataFrame
    ) -> MaterializeResult[pl.DataFrame]:
        """The proven tasks with what attempts say of them; those that none solved are dropped."""
        frame, seconds = timed(keep_solvable, proven, attempts)
        return described(frame, seconds, catalog.recipe(context.partition_key))

    return [drafts, environments, proven, attempts, solvable]
