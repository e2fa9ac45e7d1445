"""The overlap commands as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from generators.task import Task
from pipeline.cli.output import guarded
from pipeline.cli.overlap import overlap
from pipeline.cli.sources import load_tasks
from tests.toys import toy

SAMPLE = Path(__file__).parents[2] / "datasets" / "main"
OTHER = (
    "Rename every photograph in /srv/album by the day on which it was taken and keep those without a date as they are."
)


def termforge(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str, str]:
    """Exit code, output and complaint of `termforge overlap`."""
    capsys.readouterr()
    code = guarded(lambda: overlap.main([str(word) for word in words], "termforge overlap", standalone_mode=False))
    said = capsys.readouterr()
    return code, said.out, said.err


def harbor(folder: Path, *tasks: Task) -> Path:
    """A benchmark's folder of tasks."""
    for task in tasks:
        (folder / task.id).mkdir(parents=True)
        (folder / task.id / "instruction.md").write_text(f"# A task\n\n{task.instruction.upper()}\nGood luck!\n")
        (folder / task.id / "task.toml").write_text('version = "1.0"\n')
    return folder


def tasks(folder: Path, *texts: str) -> Path:
    """Task files of ours with these instructions."""
    folder.mkdir()
    for text in texts:
        task = toy(instruction=f"{text}\n{toy().instruction}")
        (folder / f"{task.id}.json").write_text(task.canonical())
    return folder


def test_a_benchmark_is_indexed_and_found_in_the_own_data_set(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    some = [task for task, _ in load_tasks(SAMPLE)][::60]
    folder, to = harbor(tmp_path / "bench", *some), tmp_path / "to"
    about = ("--source", "https://example.org/b", "--licence", "MIT", "--date", "2026-11-29")
    code, out, err = termforge(capsys, "build", folder, "--name", "bench-1", "--to", to, *about, "--json")
    built: dict[str, Any] = json.loads(out)
    assert (code, err, built["tasks"], built["unread"]) == (0, "", len(some), [])
    stated = json.loads((to / "bench-1.json").read_text())
    assert (stated["source"], stated["licence"], stated["date"]) == ("https://example.org/b", "MIT", "2026-11-29")
    code, out, _ = termforge(capsys, "check", SAMPLE, "--indexes", to, "--json")
    (index,) = json.loads(out)["indexes"]
    assert code == 1 and {task.id for task in some} <= {found["task"] for found in index["which"]}
    assert index["indexed"] == len(some) and len(some) <= index["overlapping"] < 331
    whole = {found["task"] for found in index["which"] if found["task"] == found["like"] and found["share"] == 1}
    assert whole == {task.id for task in some}


def test_the_share_that_is_allowed_decides(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = tasks(tmp_path / "own", OTHER, "Two.", "Three.", "Four.")
    for name, text in (("a", OTHER), ("b", "Nothing of the kind.")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "list.json").write_text(json.dumps([{"id": "x", "prompt": f"Please! {text}"}]))
        assert termforge(capsys, "build", tmp_path / name, "--name", name, "--to", tmp_path / "to")[0] == 0
    code, out, err = termforge(capsys, "check", own, "--indexes", tmp_path / "to", "--json")
    shares = {row["name"]: (row["overlapping"], row["per_cent"]) for row in json.loads(out)["indexes"]}
    assert (code, err, shares) == (1, "", {"a": (1, 25.0), "b": (0, 0.0)})
    assert termforge(capsys, "check", own, "--indexes", tmp_path / "to", "--max", "24.9")[0] == 1
    code, out, _ = termforge(capsys, "check", own, "--indexes", tmp_path / "to", "--max", "25")
    assert code == 0 and "25.00" in out and "list.json#x" in out and "4 tasks looked at" in out


def test_files_that_give_nothing_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "good.jsonl").write_text(json.dumps({"prompt": OTHER}))
    code, out, _ = termforge(capsys, "build", tmp_path, "--name", "some", "--to", tmp_path / "to")
    assert code == 0 and "of 1 tasks" in out and "not read: bad.json cannot be read: " in out


def test_the_order_in_which_files_were_made_does_not_change_the_bytes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = []
    for turn, names in (("one", ["a", "b", "c"]), ("two", ["c", "a", "b"])):
        (tmp_path / turn).mkdir()
        for name in names:
            (tmp_path / turn / f"{name}.json").write_text(json.dumps({"id": name, "prompt": f"{OTHER} {name}"}))
        to = tmp_path / f"to-{turn}"
        assert termforge(capsys, "build", tmp_path / turn, "--name", "x", "--to", to)[0] == 0
        made.append([(to / "x.json").read_bytes(), (to / "x.parquet").read_bytes()])
    assert made[0] == made[1]


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["build", "{tmp}/nowhere", "--name", "x"], 2, "is not a folder"),
        (["build", "{tmp}/empty", "--name", "x", "--to", "{tmp}/to"], 2, "holds no task with an instruction"),
        (["build", "{tmp}/own", "--name", "../x", "--to", "{tmp}/to"], 2, "name does not fit"),
        (["build", "{tmp}/own", "--name", "x", "--date", "yesterday"], 2, "yesterday"),
        (["build", "{tmp}/own", "--name", "x", "--to", "/proc/nowhere"], 4, "writing index x"),
        (["check", "{tmp}/own", "--indexes", "{tmp}/empty"], 2, "make one with `termforge overlap build"),
        (["check", "{tmp}/nowhere", "--indexes", "{tmp}/damaged"], 4, "make it again"),
    ],
)
def test_wrong_usage_gets_one_line_and_a_code(
    words: list[str], code: int, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks(tmp_path / "own", OTHER)
    (tmp_path / "empty").mkdir()
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "x.json").write_text("{")
    found, out, err = termforge(capsys, *(word.replace("{tmp}", str(tmp_path)) for word in words))
    assert (found, out) == (code, "") and says in err and "Traceback" not in err
    assert not (tmp_path / "to").exists()
