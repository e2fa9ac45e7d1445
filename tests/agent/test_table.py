"""Parquet and back: nothing is lost, nothing secret is kept, foreign files are refused in one line."""

from __future__ import annotations

import math
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.table import (
    SCHEMA,
    attempts_frame,
    from_row,
    merge_trajectories,
    read_attempts,
    read_trajectories,
    to_row,
    trajectory_id,
    write_trajectories,
)
from agent.trajectory import Status, Trajectory
from generators.errors import StorageError, UsageError
from tests.agent.recorded import FINISH, bash, recorded, trajectories


@given(st.lists(trajectories, max_size=3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50, deadline=None)
def test_round_trip_is_exact(tmp_path: Path, runs: list[Trajectory]) -> None:
    path = tmp_path / "trajectories.parquet"
    write_trajectories(runs, path)
    assert read_trajectories(path) == runs
    assert pq.read_schema(path).names == SCHEMA.names
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_the_same_runs_are_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_trajectories([recorded(bash("ls"), FINISH)], tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_folder_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    runs = [recorded(attempt=number) for number in range(3)]
    write_trajectories(runs[2:], tmp_path / "below" / "trajectories.parquet")
    write_trajectories(runs[:1], tmp_path / "trajectories-0.parquet")
    write_trajectories(runs[1:2], tmp_path / "trajectories-1.parquet")
    (tmp_path / "other.parquet").write_bytes(b"not looked at")
    assert sorted(run.attempt for run in read_trajectories(tmp_path)) == [0, 1, 2]
    assert [run.attempt for run in read_trajectories(tmp_path)] == read_attempts(tmp_path)["attempt"].to_list()


def test_attempts_are_flat_rows(tmp_path: Path) -> None:
    run = recorded(bash("ls"), FINISH, status=Status.PASSED, weighted=1.0, binary=1)
    runs = [run, recorded(status=Status.INVALID)]
    write_trajectories(runs, tmp_path / "trajectories.parquet")
    frame = read_attempts(tmp_path)
    assert frame.equals(attempts_frame(runs))
    assert frame["valid"].to_list() == [True, False]
    row = frame.row(0, named=True)
    assert (row["id"], row["turns"], row["input_tokens"], row["cost"]) == (trajectory_id(run), 2, 200, None)
    assert row["skills"] == ["arithmetic", "shell"] and row["binary"] == 1 and frame.schema["binary"] == pl.Int64


def test_no_secret_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "never-to-be-written-1")
    write_trajectories([recorded(bash("env", "SOME_API_KEY=never-to-be-written-1"))], tmp_path / "trajectories.parquet")
    (run,) = read_trajectories(tmp_path)
    assert "never-to-be-written-1" not in run.canonical() and "[secret removed]" in run.canonical()


def test_the_id_does_not_change_by_writing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "never-to-be-written-1")
    run = recorded(bash("echo never-to-be-written-1"))
    assert trajectory_id(run) == trajectory_id(from_row(to_row(run)))


def test_what_is_no_trajectory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        read_trajectories(tmp_path / "nothing")
    with pytest.raises(UsageError, match=r"holds no trajectories\*\.parquet"):
        read_trajectories(tmp_path)
    (tmp_path / "trajectories.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(UsageError, match="cannot be read as parquet"):
        read_trajectories(tmp_path)
    pl.DataFrame({"id": ["x"]}).write_parquet(tmp_path / "trajectories.parquet")
    with pytest.raises(UsageError, match="holds no trajectories: it has no column 'task_id'"):
        read_attempts(tmp_path)
    row = to_row(recorded())
    with pytest.raises(UsageError, match="of version '0'"):
        from_row(row | {"version": "0"})
    with pytest.raises(UsageError, match="not a valid trajectory"):
        from_row(row | {"status": "well"})


def test_what_stands_in_a_file_is_kept_unless_it_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "trajectories.parquet"
    first = [recorded(attempt=0), recorded(attempt=1, status=Status.INVALID)]
    merge_trajectories(first, path)
    others = [recorded(task_id="sums-2"), recorded(limits={"turns": 3}), recorded(model="scripted:X")]
    merge_trajectories(others, path)
    assert read_trajectories(path) == [*first, *others]
    anew = [recorded(bash("ls"), attempt=0), recorded(attempt=1, status=Status.PASSED)]
    merge_trajectories(anew, path)
    assert read_trajectories(path) == [*others, *anew]
    merge_trajectories([recorded(attempt=0, status=Status.INVALID)], path)
    assert read_trajectories(path) == [*others, *anew], "what is invalid takes no valid one's place"
    merge_trajectories([], path)
    assert len(read_attempts(path)) == 5


def test_a_copy_in_another_file_does_not_count_twice(tmp_path: Path) -> None:
    runs = [recorded(attempt=0), recorded(attempt=1)]
    write_trajectories(runs, tmp_path / "trajectories-a.parquet")
    write_trajectories([*runs, recorded(attempt=2)], tmp_path / "trajectories-b.parquet")
    assert [run.attempt for run in read_trajectories(tmp_path)] == [0, 1, 2]
    assert read_attempts(tmp_path)["attempt"].to_list() == [0, 1, 2]


@pytest.mark.parametrize(
    ("column", "value"),
    [("weighted", math.nan), ("weighted", -0.1), ("weighted", 1.5), ("weighted", None), ("attempt", -1), ("binary", 2)],
)
def test_figures_that_cannot_be_are_damage(tmp_path: Path, column: str, value: float | None) -> None:
    path = tmp_path / "trajectories.parquet"
    spoil(path, recorded(), **{column: value})
    for read in (read_trajectories, read_attempts):
        with pytest.raises(StorageError, match=rf"parquet is damaged: .*{column}"):
            read(path)


def test_a_number_that_is_none_is_damage_wherever_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "trajectories.parquet"
    spoil(path, recorded(), seconds={"setup": math.inf, "model": 0, "tools": 0, "grading": 0})
    with pytest.raises(StorageError, match=r"is damaged: row .*JSON compliant"):
        read_trajectories(path)


def test_a_file_whose_middle_is_broken_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "trajectories.parquet"
    write_trajectories([recorded(bash("ls"))], path)
    data = path.read_bytes()
    path.write_bytes(data[:4] + b"\xff" * 400 + data[404:])
    with pytest.raises(StorageError, match="is damaged"):
        read_trajectories(path)


def spoil(path: Path, run: Trajectory, **values: object) -> None:
    """Write a row with values that no program of ours writes."""
    pq.write_table(pa.Table.from_pylist([to_row(run) | values], schema=SCHEMA), path)


def test_an_unwritable_place_is_said(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="writing trajectories"):
        write_trajectories([recorded()], tmp_path / "nowhere" / "trajectories.parquet")
