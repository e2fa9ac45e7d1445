"""The asset graph, and a small recipe that really goes through it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from dagster import AssetKey, AssetSelection, DagsterInstance, Definitions, evaluate_automation_conditions

from containers.engines import registry
from containers.engines.bubblewrap.engine import BubblewrapEngine
from generators.errors import UsageError
from generators.evidence import Gate
from pipeline.assets import dataset, tasks
from pipeline.definitions import build_defs, defs
from pipeline.funnel import funnel
from pipeline.metadata import content_version
from pipeline.release import load_release
from pipeline.resources import AgentResource, EngineResource, LogProgress
from pipeline.soundness import CHECKS
from tests.pipeline.conftest import TINY, Floor, floor_in

GRAPH = {  # asset: group, what it is made from, partitions
    "drafts": ("tasks", set(), ["tiny.000", "tiny.001"]),
    "environments": ("tasks", {"drafts"}, ["tiny.000", "tiny.001"]),
    "proven": ("tasks", {"environments"}, ["tiny.000", "tiny.001"]),
    "attempts": ("tasks", {"proven"}, ["tiny.000", "tiny.001"]),
    "solvable": ("tasks", {"proven", "attempts"}, ["tiny.000", "tiny.001"]),
    "candidate_dataset": ("dataset", {"solvable"}, ["tiny"]),
    "published_dataset": ("dataset", {"candidate_dataset"}, ["tiny"]),
    "grpo_run": ("training", {"published_dataset"}, ["tiny"]),
    "checkpoint": ("training", {"grpo_run"}, ["tiny"]),
    "evaluation": ("training", {"checkpoint"}, ["tiny"]),
}


def test_graph_is_as_documented(tmp_path: Path) -> None:
    graph = build_defs(tmp_path, [TINY]).resolve_asset_graph()
    nodes = [graph.get(key) for key in graph.get_all_asset_keys()]
    found = {
        node.key.to_user_string(): (
            node.group_name,
            {parent.to_user_string() for parent in node.parent_keys},
            list(node.partitions_def.get_partition_keys()) if node.partitions_def else [],
        )
        for node in nodes
    }
    assert found == GRAPH


def test_checks_are_blocking(tmp_path: Path) -> None:
    specs = [spec for checks in build_defs(tmp_path, [TINY]).asset_checks or [] for spec in checks.check_specs]  # type: ignore[union-attr]
    assert {spec.name for spec in specs} == {check.__name__ for check in CHECKS}
    assert all(spec.blocking and spec.asset_key == AssetKey("candidate_dataset") for spec in specs)


def test_code_location_loads_with_and_without_recipes(tmp_path: Path) -> None:
    Definitions.validate_loadable(defs)
    Definitions.validate_loadable(build_defs(tmp_path))


def test_assets_are_short() -> None:
    for module in (tasks, dataset):
        for asset in Path(module.__file__ or "").read_text().split("@asset")[1:]:
            body = asset.split('"""', 2)[2].split("\n    return [")[0].strip()
            assert len(body.splitlines()) <= 15


def test_release_holds_the_proven_tasks(made: Floor) -> None:
    rows = load_release(made.folder / "datasets" / "tiny")
    proven = made.frame("candidate_dataset", "tiny").filter("proven")
    assert len(rows) == TINY.count
    assert {row["id"] for row in rows} == set(proven["task_id"])


def test_version_of_a_release_is_its_content_hash(made: Floor) -> None:
    manifest = json.loads((made.folder / "datasets" / "tiny" / "manifest.json").read_text())
    assert made.version("published_dataset") == manifest["digest"]


def test_version_of_a_frame_knows_verdicts_but_no_timing(made: Floor) -> None:
    frame = made.frame("proven", "tiny.000")
    slower = frame.with_columns(seconds=frame["seconds"] + 5, build_seconds=frame["build_seconds"] * 2)
    dropped = frame.with_columns(gate=frame["gate"].replace("", "leak"))
    assert content_version(frame) == content_version(slower) == content_version(frame.reverse())
    assert content_version(frame) != content_version(dropped)


def test_metadata_shows_funnel_plots_and_rows(made: Floor) -> None:
    shown = made.metadata("published_dataset")
    assert shown["dagster/row_count"] == TINY.count
    assert "| published | 4 | ████" in str(shown["funnel"])
    assert len(str(shown["funnel"])) < 1000  # more is hidden behind a click
    for name in ("funnel_plot", "difficulty_plot", "domain_plot"):
        assert str(shown[name]).startswith(f"![{name.removesuffix('_plot')}](data:image/png;base64,")
    assert str(shown["card"]).startswith("---\n")
    assert {"funnel_table", "reasons", "preview", "seconds"} <= set(made.metadata("proven"))


def test_what_no_agent_solves_is_dropped_with_the_reason(made: Floor, tmp_path: Path) -> None:
    with DagsterInstance.ephemeral() as instance:
        floor = floor_in(tmp_path, instance, agent=AgentResource(model="scripted:idle", k=2))
        floor.run("build_batch", "tiny.000")
        frame, attempts = floor.frame("solvable", "tiny.000"), floor.frame("attempts", "tiny.000")
        shown = floor.metadata("attempts")
    assert frame["reason"].to_list() == ["not_solved"] * 2 and not frame["proven"].any()
    assert attempts["end"].to_list() == ["finished"] * 4 and attempts["attempt"].to_list() == [0, 1, 0, 1]
    assert (shown["passed"], shown["invalid"]) == (0, 0) and "scripted:idle" in str(shown["ends"])
    assert made.metadata("attempts")["passed"] == 2


def test_missing_batch_blocks_the_release(made: Floor, tmp_path: Path) -> None:
    shutil.copytree(made.folder / "frames", tmp_path / "frames")
    (tmp_path / "frames" / "solvable" / "tiny.001.parquet").unlink()
    with DagsterInstance.ephemeral() as instance:
        floor = floor_in(tmp_path, instance)
        result = floor.run("publish", "tiny", raising=False)
    failed = {check.check_name for check in result.get_asset_check_evaluations() if not check.passed}
    assert not result.success
    assert {"enough_tasks", "as_planned"} <= failed
    assert not (tmp_path / "datasets").exists()


def test_checks_can_be_executed_by_themselves(made: Floor) -> None:
    selection = AssetSelection.checks_for_assets("candidate_dataset")
    job = made.defs.resolve_implicit_global_asset_job_def().get_subset(
        asset_selection=set(), asset_check_selection=selection.resolve_checks(made.defs.resolve_asset_graph())
    )
    result = job.execute_in_process(instance=made.instance)
    evaluations = result.get_asset_check_evaluations()
    assert {check.check_name for check in evaluations} == {check.__name__ for check in CHECKS}
    assert all(check.passed for check in evaluations)


def test_publishing_alone_is_refused_where_checks_would_fail(made: Floor, tmp_path: Path) -> None:
    shutil.copytree(made.folder / "frames", tmp_path / "frames")
    with DagsterInstance.ephemeral() as instance:
        floor = floor_in(tmp_path, instance, TINY.model_copy(update={"seed": 8}))
        job = floor.defs.resolve_implicit_global_asset_job_def()
        selection = [AssetKey("published_dataset")]
        with pytest.raises(UsageError, match="not published, as_planned does not hold"):
            job.execute_in_process(instance=instance, partition_key="tiny", asset_selection=selection)


def test_engine_is_opened_once_and_closed_at_the_end(
    made: Floor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    life: list[str] = []

    class Recorded(BubblewrapEngine):
        def __init__(self, *given: Any) -> None:
            life.append("opened")
            super().__init__(*given)

        def close(self) -> None:
            life.append("closed")
            super().close()

    monkeypatch.setattr(registry, "ENGINES", {"bubblewrap": Recorded})
    made.run("build_batch", "tiny.000")
    assert life == ["opened", "closed"]


def test_unknown_engine_is_named() -> None:
    with pytest.raises(UsageError, match="unknown engine 'lxc'; there are bubblewrap, docker"):
        EngineResource(engine="lxc").open()


def test_progress_is_said_at_every_tenth() -> None:
    said: list[str] = []
    report = LogProgress().reporter(said.append)
    for done in range(1, 65):
        report("proven", done, 64)
    assert len(said) == 10
    assert said[-1] == "proven: 64 of 64"


@pytest.mark.filterwarnings("ignore:Parameter `include_sources`:dagster.BetaWarning")  # of dagster's own call
def test_recipe_is_assembled_once_all_its_batches_are_proven(made: Floor, tmp_path: Path) -> None:
    with DagsterInstance.ephemeral() as instance:
        floor = floor_in(tmp_path, instance)
        asked, cursor = [], None
        for batch in (None, "tiny.000", "tiny.001"):
            if batch:
                floor.run("build_batch", batch)
            tick = evaluate_automation_conditions(floor.defs, instance, cursor=cursor)
            cursor = tick.cursor
            asked.append(tick.get_requested_partitions(AssetKey("candidate_dataset")))
        assert asked == [set(), set(), {"tiny"}]


def test_funnel_names_what_a_frame_can_speak_of(made: Floor) -> None:
    gates = [gate.value for gate in Gate]
    assert funnel(made.frame("drafts", "tiny.000")) == [("requested", 2), ("written", 2)]
    assert [name for name, _ in funnel(made.frame("environments", "tiny.000"))] == ["requested", "written", "build"]
    names = [name for name, _ in funnel(made.frame("proven", "tiny.000"), assembled=False)]
    assert names == ["requested", "written", *gates[:-2], "proven"]
    names = [name for name, _ in funnel(made.frame("solvable", "tiny.000"), assembled=False)]
    assert names == ["requested", "written", *gates[:-1], "proven"]
    names = [name for name, _ in funnel(made.frame("candidate_dataset", "tiny"))]
    assert names == ["requested", "written", *gates, "published"]
