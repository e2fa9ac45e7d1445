"""Group `training`: a release is trained on, in a process of its own; its checkpoint is looked at, and evaluated."""

from dagster import AssetExecutionContext, AssetsDefinition, MaterializeResult, asset

from pipeline.batches import Catalog
from pipeline.resources import ReleaseRoot, TrainingResource
from pipeline.training_runs import checkpointed, evaluated, run_training, trained


def training_assets(catalog: Catalog) -> list[AssetsDefinition]:
    """published_dataset -> grpo_run -> checkpoint -> evaluation, a partition per recipe."""
    recipes = catalog.recipe_partitions

    @asset(group_name="training", partitions_def=recipes, deps=["published_dataset"], kinds={"pytorch"})
    def grpo_run(
        context: AssetExecutionContext, training: TrainingResource, release_root: ReleaseRoot
    ) -> MaterializeResult:
        """A training run on the release: `termforge train`, with its lines in this run's log and its figures below."""
        run = run_training(training, release_root.folder / context.partition_key, context.log.info)
        return trained(run)

    @asset(group_name="training", partitions_def=recipes, deps=[grpo_run], kinds={"huggingface"})
    def checkpoint(
        context: AssetExecutionContext, training: TrainingResource, release_root: ReleaseRoot
    ) -> MaterializeResult:
        """The last checkpoint of the run, as a model in Hugging Face's format."""
        return checkpointed(training.run_of(release_root.folder / context.partition_key))

    @asset(group_name="training", partitions_def=recipes, deps=[checkpoint], kinds={"linux"})
    def evaluation(
        context: AssetExecutionContext, training: TrainingResource, release_root: ReleaseRoot
    ) -> MaterializeResult:
        """The checkpoint served, and its attempts at the validation split."""
        run = training.run_of(release_root.folder / context.partition_key)
        return evaluated(training, run, context.log.info)

    return [grpo_run, checkpoint, evaluation]
