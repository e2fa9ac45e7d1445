"""Parquet and back: nothing is lost, nothing secret is kept, foreign files are refused in one line."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.table import (
    SCHEMA,
    attempts_frame,
    from_row,
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


def test_an_unwritable_place_is_said(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="writing trajectories"):
        write_trajectories([recorded()], tmp_path / "nowhere" / "trajectories.parquet")
