"""The checks of `pipeline.soundness` as blocking asset checks on candidate_dataset.

Dagster shows the result for the recipe that was assembled last; each result names its recipe.
"""

import polars as pl
from dagster import AssetCheckExecutionContext, AssetCheckResult, AssetChecksDefinition, asset_check

from pipeline.batches import Catalog
from pipeline.soundness import CHECKS, Check


def candidate_checks(catalog: Catalog) -> list[AssetChecksDefinition]:
    """All of them."""
    return [_wrapped(catalog, check) for check in CHECKS]


def _wrapped(catalog: Catalog, check: Check) -> AssetChecksDefinition:
    @asset_check(
        asset="candidate_dataset",
        name=check.__name__,
        description=check.__doc__,
        blocking=True,
    )
    def run(context: AssetCheckExecutionContext, candidate_dataset: pl.DataFrame) -> AssetCheckResult:
        recipe = catalog.recipe(context.partition_key)
        finding = check(recipe, candidate_dataset)
        return AssetCheckResult(passed=finding.passed, metadata={"recipe": recipe.name, **finding.details})

    return run
