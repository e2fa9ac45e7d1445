"""`termforge analyze` and `termforge trajectory show`, as a user meets them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import click
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from agent.atif import from_atif
from agent.table import SCHEMA, to_row, trajectory_id, write_trajectories
from agent.trajectory import End, Item, Status, TestOutcome, Trajectory
from pipeline.cli.output import guarded
from pipeline.cli.trajectories import analyze, trajectory
from tests.agent.recorded import FINISH, act, bash, recorded

LONG = "\n".join(f"line {number}" for number in range(1000))
RUNS = [
    recorded(*[bash("make", "no rule", 2)] * 3, FINISH, attempt=0),
    recorded(bash("cat big", LONG), FINISH, attempt=1, status=Status.PASSED, binary=1, weighted=1.0),
    recorded(
        bash("ls \x1b[31m[bold]x"),
        act("file", action="write", file_path="/srv/x", content="a\nb"),
        Item(mistake="<bash> line 2, column 3: not closed"),
        Item(call=act("bash", cmd="never").call, skipped=True),
        task_id="sums-2",
        end=End.TURNS,
        weighted=0.4,
        tests=(TestOutcome(name="test_a", passed=True), TestOutcome(name="test_b", passed=False, message="3 is not 4")),
    ),
    recorded(task_id="sums-2", attempt=1, status=Status.INVALID, end=End.BROKEN, reason="provider timeout: gone"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("runs")
    write_trajectories(RUNS[:2], place / "trajectories-0.parquet")
    write_trajectories(RUNS[2:], place / "trajectories-1.parquet")
    return place


def call(command: click.Command, capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str, str]:
    """Exit code, standard output and standard error, under the guard that the real command line has."""
    code = guarded(lambda: command.main([str(word) for word in words], standalone_mode=False))
    said = capsys.readouterr()
    return code, said.out, said.err


def answer(command: click.Command, capsys: pytest.CaptureFixture[str], *words: str | Path) -> Any:
    code, out, err = call(command, capsys, *words)
    assert code == 0, err
    return json.loads(out)


def test_analyze_as_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    value = answer(analyze, capsys, folder, "--json")
    assert value["attempts"] == 4 and value["plots"] == []
    first = value["pass_at_k"][0]
    assert (first["model"], first["k"], first["value"], first["tasks"]) == ("scripted:x", 1, 0.25, 2)
    assert [(row["task_id"], row["n"], row["passed"], row["invalid"]) for row in value["tasks"]] == [
        ("sums-1", 2, 1, 0),
        ("sums-2", 1, 0, 1),
    ]
    assert {row["failure"]: row["main"] for row in value["failures"] if row["main"]} == {
        "loop": 1,
        "turns_exhausted": 1,
    }
    assert [row["id"] for row in value["runs"]] == [trajectory_id(run) for run in RUNS]
    assert value["by_skill"][0]["skill"] == "arithmetic" and value["by_domain"][0]["failed"] == 2


def test_analyze_as_tables(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(analyze, capsys, folder / "trajectories-0.parquet")
    assert code == 0
    assert "pass@k" in out and "scripted:x" in out and "by difficulty" in out and "always_0" in out
    assert "programs after error" in out and "out_of_tokens" in out


def test_analyze_writes_plots(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    value = answer(analyze, capsys, folder, "--plots", tmp_path / "new", "--json")
    files = sorted((tmp_path / "new").iterdir())
    assert sorted(value["plots"]) == [str(file) for file in files] and len(files) == 7
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in files)


def test_runs_without_a_pass_or_without_a_count_can_be_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_trajectories(RUNS[3:], tmp_path / "trajectories.parquet")
    value = answer(analyze, capsys, tmp_path, "--plots", tmp_path / "plots", "--json")
    assert value["pass_at_k"][0]["value"] is None and len(value["plots"]) == 7


def test_show_for_a_reader(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(trajectory, capsys, "show", folder, trajectory_id(RUNS[2])[:8])
    assert code == 0
    for words in (
        "sums-2, scripted:x, attempt 0, failed",
        "turn 1: 100 tokens in, 10 out",
        "> bash cmd=ls [bold]x",
        "> file action=write file_path=/srv/x\n  content:\n    a\n    b",
        "! <bash> line 2, column 3: not closed",
        "not run",
        "end: turns_exhausted; failed",
        "passed test_a",
        "FAILED test_b 3 is not 4",
        "weighted 0.4, binary 0",
    ):
        assert words in out
    assert "\x1b" not in out


def test_long_results_are_cut_and_a_turn_can_be_seen_whole(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = ("show", folder, "--task", "sums-1", "--attempt", "1")
    _, out, _ = call(trajectory, capsys, *place)
    assert "characters left out" in out and "line 500" not in out
    _, out, _ = call(trajectory, capsys, *place, "--step", "1")
    assert "line 500" in out and "turn 2" not in out and "score" not in out


def test_show_as_json_and_atif(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = trajectory_id(RUNS[1])
    value = answer(trajectory, capsys, "show", folder, name, "--json")
    assert value.pop("id") == name and Trajectory.model_validate_json(json.dumps(value)) == RUNS[1]
    assert (
        answer(trajectory, capsys, "show", folder, name, "--step", "2", "--json")["items"][0]["call"]["tag"] == "finish"
    )
    assert from_atif(answer(trajectory, capsys, "show", folder, name, "--atif")) == RUNS[1]


def test_the_only_one_needs_no_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_trajectories(RUNS[3:], tmp_path / "trajectories.parquet")
    code, out, _ = call(trajectory, capsys, "show", tmp_path)
    assert code == 0 and "provider timeout: gone" in out


@pytest.mark.parametrize("spoilt", [{"weighted": math.nan}, {"weighted": 7.0}, {"attempt": -1}])
def test_a_damaged_file_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], spoilt: dict[str, float]
) -> None:
    rows = [to_row(run) for run in RUNS[:2]]
    pq.write_table(pa.Table.from_pylist([rows[0] | spoilt, rows[1]], schema=SCHEMA), tmp_path / "trajectories.parquet")
    for command, words in ((analyze, [tmp_path]), (trajectory, ["show", tmp_path])):
        code, out, err = call(command, capsys, *words)
        assert (code, out, err.count("\n")) == (4, "", 1), err
        assert "trajectories.parquet is damaged" in err and next(iter(spoilt)) in err and "fault" not in err


def test_wrong_usage_gets_one_line(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    pl.DataFrame({"id": ["x"]}).write_parquet(tmp_path / "foreign.parquet")
    write_trajectories([], tmp_path / "trajectories.parquet")
    cases = [
        (analyze, ["/nowhere"], "/nowhere does not exist"),
        (analyze, [tmp_path / "empty"], "holds no trajectories*.parquet"),
        (analyze, [tmp_path / "foreign.parquet"], "it has no column 'task_id'"),
        (analyze, [Path(__file__)], "cannot be read as parquet"),
        (analyze, [tmp_path / "trajectories.parquet"], "holds no trajectory yet"),
        (trajectory, ["show", tmp_path / "trajectories.parquet"], "it holds none"),
        (trajectory, ["show", folder], "4 trajectories fit"),
        (trajectory, ["show", folder, "--task", "sums-1"], f"2 trajectories fit in {folder}; name one by its id"),
        (trajectory, ["show", folder, "zzz"], f"no trajectory fits in {folder}"),
        (trajectory, ["show", folder, "--task", "sums-1", "--attempt", "1", "--step", "9"], "there is no turn 9"),
        (trajectory, ["show", folder, "--task", "sums-1", "--attempt", "1", "--atif", "--json"], "leave out --json"),
    ]
    for command, words, says in cases:
        code, out, err = call(command, capsys, *words)
        assert (code, out) == (2, ""), err
        assert err.count("\n") == 1 and says in err, err
