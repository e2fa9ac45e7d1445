"""The checks of `pipeline.soundness` as blocking asset checks on candidate_dataset.

In a run of one recipe they look at that one; executed by themselves, at every recipe that was assembled. Dagster shows
the last result, and each names its recipe.
"""

from collections.abc import Mapping

import polars as pl
from dagster import AssetCheckExecutionContext, AssetCheckResult, AssetChecksDefinition, asset_check

from pipeline.batches import Catalog
from pipeline.soundness import CHECKS, Check, Details, Finding


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
    def run(context: AssetCheckExecutionContext, candidate_dataset: dict[str, pl.DataFrame]) -> AssetCheckResult:
        here = context.run.tags.get("dagster/partition")
        frames = {name: frame for name, frame in candidate_dataset.items() if here in (None, name)}
        findings = {name: check(catalog.recipe(name), frame) for name, frame in frames.items()}
        passed = bool(findings) and all(finding.passed for finding in findings.values())
        return AssetCheckResult(passed=passed, metadata=_flat(findings))

    return run


def _flat(findings: Mapping[str, Finding]) -> Details:
    """The details of one recipe as they are; those of several under their names."""
    if len(findings) == 1:
        return {"recipe": next(iter(findings)), **next(iter(findings.values())).details}
    return {name: {"passed": finding.passed, **finding.details} for name, finding in findings.items()}
