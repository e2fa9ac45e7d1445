"""The choice of the judge: in one step, on record, seen by readers, and nothing lost by whatever lies in the file."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generators.errors import StorageError, UsageError
from trainer.judge.backend import (
    Backend,
    BackendReader,
    backend_path,
    current_backend,
    history,
    read_backend,
    set_backend,
)

ROOT = Path(__file__).resolve().parents[3]


class Clock:
    """Time that a test makes."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Watch:
    """A reader with its clock and what it said."""

    def __init__(self, path: Path) -> None:
        self.clock, self.said = Clock(), list[str]()
        self.reader = BackendReader(path, self.said.append, clock=self.clock)

    def after(self, seconds: float) -> str:
        """The backend so much later."""
        self.clock.now += seconds
        return self.reader.current().backend


def test_a_choice_is_written_whole_and_on_record(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "judge.json"
    first = set_backend("openai:a", "http://127.0.0.1:1/v1", path=path, who="ada")
    second = set_backend("rules", path=path, who="bob")
    assert (first.version, second.version) == (1, 2)
    assert read_backend(path) == second and history(path) == [first, second]
    assert json.loads(path.read_text()) == {
        "version": 2,
        "backend": "rules",
        "base_url": None,
        "at": second.at,
        "who": "bob",
    }
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["judge.json", "judge.json.lock", "judge.json.log"]


@pytest.mark.parametrize(
    ("name", "url", "said"),
    [
        ("gpt-5", None, "write rules, openai:NAME or anthropic:NAME"),
        ("openai:", None, "write rules"),
        ("openai:a b", None, "write rules"),
        ("openai:a", "ftp://x", "address"),
        ("openai:a", "http://user:sk-SECRET@host/v1", "keys belong in the environment"),
        ("openai:a", "http://host/v1?key=sk-SECRET", "keys belong in the environment"),
        ("rules", "http://host/v1", "no address"),
    ],
)
def test_a_wrong_choice_changes_nothing(tmp_path: Path, name: str, url: str | None, said: str) -> None:
    path = tmp_path / "judge.json"
    with pytest.raises(UsageError, match=said) as caught:
        set_backend(name, url, path=path)
    assert "SECRET" not in str(caught.value) and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("openai:sk-ant-api03-SECRET0123456789abcdef", None),
        ("sk-ant-api03-SECRET0123456789abcdef", None),
        ("openai:a", "http://h/sk-ant-api03-SECRET0123456789abcdef/v1"),
        ("openai:a", "http://h/%73k-ant-api03-SECRET0123456789abcdef/v1"),
        ("openai:own-SECRET", None),
        ("openai:a", "http://h/own-SECRET/v1"),
    ],
)
def test_a_key_in_name_or_address_is_refused_and_not_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, url: str | None
) -> None:
    monkeypatch.setenv("OTHER_API_KEY", "own-SECRET")
    with pytest.raises(UsageError, match="keys belong in the environment") as caught:
        set_backend(name, url, path=tmp_path / "judge.json")
    assert "SECRET" not in str(caught.value) and not list(tmp_path.iterdir())


def test_a_placeholder_for_a_key_is_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    assert set_backend("openai:none", path=tmp_path / "judge.json").backend == "openai:none"


def test_no_key_of_the_environment_gets_into_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-SECRET")
    set_backend("openai:a", path=tmp_path / "judge.json")
    assert not any("SECRET" in entry.read_text() for entry in tmp_path.iterdir())


def test_a_place_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="choosing a judge"):
        set_backend("rules", path=tmp_path / "file" / "judge.json")


def test_a_reader_swaps_within_two_seconds_and_looks_no_more_often(tmp_path: Path) -> None:
    path = tmp_path / "judge.json"
    watch = Watch(path)
    assert watch.after(0) == "rules"
    set_backend("openai:a", path=path)
    assert watch.after(1.9) == "rules" and watch.after(0.1) == "openai:a"
    set_backend("anthropic:b", path=path)
    assert watch.after(1) == "openai:a" and watch.after(1) == "anthropic:b"
    assert watch.said == []


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        '{"backend": "openai:a"',
        "[]",
        "null",
        '{"backend": "magic"}',
        '{"backend": "rules", "key": "x"}',
        "\x00\xff",
        "[" * 60_000,
        " " * 70_000,
    ],
)
def test_a_file_that_is_not_whole_changes_nothing_and_is_said_once(tmp_path: Path, content: str) -> None:
    path = tmp_path / "judge.json"
    set_backend("openai:good", path=path)
    watch = Watch(path)
    assert watch.after(0) == "openai:good"
    path.write_text(content, encoding="latin-1")
    assert [watch.after(2) for _ in range(5)] == ["openai:good"] * 5
    assert len(watch.said) == 1 and "openai:good stays in use" in watch.said[0]
    chosen = set_backend("openai:next", path=path)
    assert chosen.version == 2, "the record goes on where it was"
    assert watch.after(2) == "openai:next" and len(watch.said) == 1


def test_a_file_that_goes_away_changes_nothing_and_is_said_once(tmp_path: Path) -> None:
    path = tmp_path / "judge.json"
    set_backend("openai:good", path=path)
    watch = Watch(path)
    assert watch.after(0) == "openai:good"
    path.unlink()
    assert [watch.after(2), watch.after(2)] == ["openai:good"] * 2 and len(watch.said) == 1
    path.mkdir()
    assert [watch.after(2), watch.after(2)] == ["openai:good"] * 2 and len(watch.said) == 2


@settings(max_examples=60)
@given(st.binary(max_size=300))
def test_no_content_raises(data: bytes) -> None:
    path = backend_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    assert isinstance(BackendReader(path, lambda _: None).current(), Backend)


@pytest.fixture(autouse=True)
def _own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERMFORGE_JUDGE", str(tmp_path / "own" / "judge.json"))


def test_the_file_is_named_by_the_environment_or_lies_in_the_state_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_backend("openai:mine")
    assert current_backend().backend == "openai:mine" and (tmp_path / "own" / "judge.json").is_file()
    monkeypatch.delenv("TERMFORGE_JUDGE")
    monkeypatch.setenv("TERMFORGE_HOME", str(tmp_path / "home"))
    assert backend_path() == tmp_path / "home" / "judge.json"


def started(*arguments: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.trainer.judge.worker", *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT)


def test_processes_that_choose_at_once_each_get_a_version_and_readers_see_only_whole_files(tmp_path: Path) -> None:
    path = tmp_path / "judge.json"
    watch = Watch(path)
    workers = [started(path, name, 15) for name in "abc"]
    while any(worker.poll() is None for worker in workers):
        watch.after(2)
        if path.exists():
            read_backend(path)  # raises where a file is not whole
    assert [worker.wait() for worker in workers] == [0, 0, 0]
    changes = history(path)
    assert [change.version for change in changes] == list(range(1, 46)) and read_backend(path) == changes[-1]
    for name in "abc":
        assert [change.backend for change in changes if change.who == name] == [
            f"openai:{name}-{number}" for number in range(15)
        ]
    assert watch.said == []


def test_a_process_that_is_killed_leaves_no_lock_and_no_half_file(tmp_path: Path) -> None:
    path = tmp_path / "judge.json"
    worker = started(path, "killed", 100_000)
    while len(history(path)) < 5:
        assert worker.poll() is None
    os.kill(worker.pid, signal.SIGKILL)
    worker.wait()
    last = max(change.version for change in history(path))
    assert read_backend(path).version in (last, last - 1)
    assert set_backend("rules", path=path).version == last + 1
