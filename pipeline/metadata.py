"""What the UI shows of an asset: counts, funnel, reasons, plots, a preview; and the version of its content."""

from __future__ import annotations

import base64
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import ParamSpec, TypeVar

import polars as pl
from dagster import DataVersion, MaterializeResult, MetadataValue, TableColumn, TableRecord, TableSchema

from generators.digest import digest_of
from generators.evidence import Evidence
from generators.recipe import Recipe
from generators.task import Difficulty
from pipeline.card import table
from pipeline.costs import BY_AXIS, by_axis, total
from pipeline.funnel import attacked, funnel, reasons
from pipeline.plots import counts_png, funnel_png
from pipeline.release import Release

P = ParamSpec("P")
T = TypeVar("T")
Metadata = dict[str, MetadataValue]
PREVIEW = ("task_id", "difficulty", "gate", "reason", "detail", "rounds", "dollars", "build_seconds", "seconds")
PREVIEW_ROWS = 12
BAR = 20  # characters; with them the table stays below the 1,000 that the UI shows without a click


def timed(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> tuple[T, float]:
    """What a call returns and how long it took."""
    began = time.monotonic()
    result = call(*args, **kwargs)
    return result, round(time.monotonic() - began, 3)


def described(
    frame: pl.DataFrame, seconds: float, recipe: Recipe, assembled: bool = False
) -> MaterializeResult[pl.DataFrame]:
    """A frame as an asset's output, with its version and all that the UI shows."""
    metadata: Metadata = {
        "dagster/row_count": MetadataValue.int(frame.height),
        "seconds": MetadataValue.float(seconds),
        **_funnel(frame, assembled),
        **_costs(frame),
        **(_shape(frame, recipe) if assembled else {}),
        "preview": _records(frame.select([name for name in PREVIEW if name in frame.columns]).head(PREVIEW_ROWS)),
    }
    return MaterializeResult(value=frame, metadata=metadata, data_version=DataVersion(content_version(frame)))


def attempted(frame: pl.DataFrame, seconds: float) -> MaterializeResult[pl.DataFrame]:
    """Attempts as an asset's output: how they ended, what they cost, a preview."""
    ends = frame.group_by("model", "style", "status", "end").agg(pl.len().cast(pl.Int64).alias("attempts"))
    ends = ends.sort(["attempts", "status", "end"], descending=[True, False, False])
    dollars = frame["cost"]
    columns = ("task_id", "model", "attempt", "status", "end", "weighted", "turns")
    metadata: Metadata = {
        "dagster/row_count": MetadataValue.int(frame.height),
        "seconds": MetadataValue.float(seconds),
        "ends": MetadataValue.md(table(ends.columns, ends.iter_rows()) if frame.height else "no attempts"),
        "passed": MetadataValue.int(int((frame["status"] == "passed").sum())),
        "invalid": MetadataValue.int(int((~frame["valid"]).sum())),
        "tokens": MetadataValue.int(int(frame["input_tokens"].sum()) + int(frame["output_tokens"].sum())),
        "dollars": MetadataValue.text("unknown" if dollars.null_count() else f"{dollars.sum():.4f}"),
        "preview": _records(frame.select(columns).head(PREVIEW_ROWS)),
    }
    rows = sorted(
        [row["task_digest"], row["model"], row["attempt"], row["status"], row["end"]]
        for row in frame.iter_rows(named=True)
    )
    return MaterializeResult(value=frame, metadata=metadata, data_version=DataVersion(digest_of(rows)))


def released(release: Release, candidate: pl.DataFrame, seconds: float, recipe: Recipe) -> MaterializeResult:
    """A release as an asset's result; its content hash is the version."""
    metadata: Metadata = {
        "dagster/row_count": MetadataValue.int(sum(release.files.values())),
        "seconds": MetadataValue.float(seconds),
        "folder": MetadataValue.path(str(release.folder)),
        "files": MetadataValue.md(table(("file", "rows"), release.files.items())),
        **_funnel(candidate, True),
        **_costs(candidate),
        **_shape(candidate, recipe),
        "card": MetadataValue.md(release.card.read_text()),
    }
    return MaterializeResult(metadata=metadata, data_version=DataVersion(release.digest))


def content_version(frame: pl.DataFrame) -> str:
    """sha256 of what tasks there are and what was found out about each; no timing, machine or order enters."""
    rows = frame.iter_rows(named=True)
    return digest_of(
        sorted([row["task_id"], row["digest"], row["gate"], row["reason"], *_verdicts(row)] for row in rows)
    )


def _verdicts(row: Mapping[str, str]) -> list[str]:
    if not row.get("evidence"):
        return [row.get("image_digest", "")]
    verdicts = Evidence.model_validate_json(row["evidence"]).verdicts
    return [f"{verdict.gate.value} {verdict.holds} {verdict.reason}" for verdict in verdicts]


def _funnel(frame: pl.DataFrame, assembled: bool) -> Metadata:
    stages, dropped = funnel(frame, assembled), reasons(frame)
    schema = TableSchema([TableColumn("stage", "string"), TableColumn("tasks", "int")])
    records = [TableRecord({"stage": stage, "tasks": count}) for stage, count in stages]
    found: Metadata = {
        "funnel_plot": _image(funnel_png(stages, "tasks let through by each stage"), "funnel"),
        "funnel": MetadataValue.md(
            table(("stage", "tasks", ""), [(*stage, _bar(stage[1], stages)) for stage in stages])
        ),
        "funnel_table": MetadataValue.table(records, schema),
        "reasons": MetadataValue.md(
            table(dropped.columns, dropped.iter_rows()) if dropped.height else "nothing dropped"
        ),
    }
    if "evidence" in frame.columns:
        found["attacked"] = MetadataValue.int(sum(attacked(frame).values()))
        found["dropped"] = MetadataValue.int(frame.height - int(frame["proven"].sum()))
    return found


def _costs(frame: pl.DataFrame) -> Metadata:
    """Yield, rounds, tokens and money by axis, of what language models wrote."""
    whole = total(frame)
    if whole is None:
        return {}
    return {
        "written_by_models": MetadataValue.md(table(BY_AXIS[2:], [whole[2:]])),
        "by_axis": MetadataValue.md(table(BY_AXIS, by_axis(frame))),
    }


def _bar(count: int, stages: Sequence[tuple[str, int]]) -> str:
    """A bar of text: the UI shows text at once, and a picture after a click."""
    return "█" * round(BAR * count / max(1, stages[0][1]))


def _shape(frame: pl.DataFrame, recipe: Recipe) -> Metadata:
    """Difficulty and domain of what is proven."""
    rows = frame.filter("proven")
    levels = Counter(rows["difficulty"])
    domains = Counter(json.loads(task)["axes"]["domain"] for task in rows["task"])
    wanted = {level.value: rows.height * recipe.mix().get(level, 0) / 100 for level in Difficulty}
    by_level = {level.value: levels[level.value] for level in Difficulty}
    return {
        "difficulty_plot": _image(counts_png(by_level, "difficulty", wanted), "difficulty"),
        "domain_plot": _image(counts_png(dict(domains.most_common()), "domain"), "domain"),
    }


def _records(frame: pl.DataFrame) -> MetadataValue:
    """A frame as a table that the UI draws."""
    kinds = {pl.Int64: "int", pl.Float64: "float", pl.Boolean: "bool"}
    columns: Sequence[TableColumn] = [
        TableColumn(name, next((kind for dtype, kind in kinds.items() if frame.schema[name] == dtype), "string"))
        for name in frame.columns
    ]
    return MetadataValue.table([TableRecord(row) for row in frame.iter_rows(named=True)], TableSchema(columns))


def _image(png: bytes, name: str) -> MetadataValue:
    return MetadataValue.md(f"![{name}](data:image/png;base64,{base64.b64encode(png).decode()})")
