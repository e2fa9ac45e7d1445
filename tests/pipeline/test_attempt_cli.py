"""`termforge attempt` as a user meets it, and what its figures do to the next batch that a model writes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from agent.limits import EpisodeLimits
from agent.table import read_trajectories
from generators.recipe import Recipe
from generators.task import Difficulty, Task
from pipeline.attempting import AttemptSettings, measured, trajectories_file
from pipeline.cli.sources import load_tasks
from pipeline.writing import cells
from tests.pipeline.test_cli import save, termforge
from tests.provider import Answer, Asked, Fault, Provider
from tests.toys import KEEP, SOLUTION, SUM, toy

KEY = {"OPENAI_API_KEY": "sk-test-0123456789abcdef"}


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    (tmp_path / "tasks").mkdir()
    return save(tmp_path / "tasks", toy(), toy(instruction=f"{SUM} {KEEP} Take your time.\n"))


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {"TERMFORGE_MODELS": str(tmp_path / "models")}


def solving(asked: Asked) -> Answer:
    """Solves at once, and says a secret."""
    return Answer(
        f"My key is {KEY['OPENAI_API_KEY']}.\n<bash>\ncmd: |-\n  {SOLUTION}\n</bash>\n<finish>\nmessage: done\n</finish>"
    )


def test_replayed_solutions_pass_and_idle_ones_do_not(tasks: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ["attempt", str(tasks), "--model", "scripted:replay", "--model", "scripted:idle", "-k", "2", "--json"]
    result = termforge(*words, "--to", str(out))
    assert result.returncode == 0, result.stderr
    value = json.loads(result.stdout)
    rates = {(row["model"], row["k"]): row["value"] for row in value["models"]}
    assert rates["scripted:replay", 1] == rates["scripted:replay", 2] == 1.0 and rates["scripted:idle", 1] == 0.0
    found = read_trajectories(out)
    assert len(found) == 8 and {Path(file).parent for file in value["trajectories"].values()} == {out}
    shown = termforge(
        "trajectory",
        "show",
        str(out / "trajectories-scripted-replay-structured.parquet"),
        "--task",
        found[0].task_id,
        "--attempt",
        "0",
    )
    assert shown.returncode == 0 and "passed" in shown.stdout, shown.stderr
    assert termforge("analyze", str(out)).returncode == 0


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--model", "gpt-5"], 2, "write openai:NAME or anthropic:NAME"),
        (["--model", "openai:gpt-5-mini"], 2, "OPENAI_API_KEY"),
        (
            ["--model", "openai:m", "--model", "anthropic:m", "--base-url", "nowhere"],
            2,
            "openai and anthropic",
        ),
        (["--model", "scripted:/nowhere.yaml"], 2, "/nowhere.yaml"),
        (["--model", "scripted:replay", "--native"], 2, "makes no tool calls"),
        (["--style", "telepathic"], 2, "telepathic"),
        (["--task", "nothing"], 2, "no task of"),
        (["-k", "0"], 2, "0 is not in the range"),
        (["--to", "/proc/here"], 4, "/proc/here"),
    ],
)
def test_wrong_usage_is_said(tasks: Path, home: dict[str, str], words: list[str], code: int, says: str) -> None:
    result = termforge("attempt", str(tasks), *words, OPENAI_API_KEY="", **home)
    assert result.returncode == code, result.stderr
    assert says in result.stderr and "Traceback" not in result.stderr


def test_a_later_run_keeps_what_an_earlier_one_left(tasks: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ids = [task.id for task, _ in load_tasks(tasks)]
    words = ["attempt", str(tasks), "--model", "scripted:idle", "-k", "1", "--to", str(out), "--task"]
    for more in ([ids[0]], [ids[1]], [ids[1]], [ids[1], "--turns", "7"]):
        result = termforge(*words, *more)
        assert result.returncode == 0, result.stderr
    found = [(run.task_id, run.limits["turns"]) for run in read_trajectories(out)]
    assert sorted(found) == sorted([(ids[0], 50), (ids[1], 50), (ids[1], 7)])
    analysis = json.loads(termforge("analyze", str(out), "--json").stdout)
    assert {row["task_id"]: row["n"] for row in analysis["tasks"]} == {ids[0]: 1, ids[1]: 2}
    next(out.glob("*.parquet")).write_bytes(b"PAR1 no")
    result = termforge(*words, ids[0])
    assert result.returncode == 2 and "cannot be read as parquet" in result.stderr, "nothing is written over"


def test_settings_that_rows_do_not_tell_have_files_of_their_own(tmp_path: Path) -> None:
    usual = AttemptSettings(model="openai:m", k=16, workers=2)
    assert trajectories_file(usual) == "trajectories-openai-m-structured.parquet"
    script = tmp_path / "script.yaml"
    others = [replace(usual, base_url="http://h/v1"), replace(usual, temperature=0.5), replace(usual, reasoning="high")]
    others += [replace(usual, examples="ladder"), replace(usual, limits=EpisodeLimits(turns=7))]
    names = [trajectories_file(each) for each in (usual, *others)]
    for reply in "ab":
        script.write_text(f"replies: [{reply}]")
        names.append(trajectories_file(AttemptSettings(model=f"scripted:{script}")))
    assert len(set(names)) == len(names) == 8


def test_a_model_behind_a_server_is_paid_once_and_its_secrets_are_kept_out(
    tasks: Path, home: dict[str, str], tmp_path: Path
) -> None:
    with Provider(solving) as provider:
        words = [
            "attempt",
            str(tasks),
            "--model",
            "openai:m",
            "--base-url",
            provider.url,
            "-k",
            "2",
            "--to",
            str(tmp_path / "a"),
        ]
        first = termforge(*words, **KEY, **home)
        asked = len(provider.asked)
        second = termforge(*words, **KEY, **home)
        assert (first.returncode, second.returncode) == (0, 0), first.stderr
        assert "1.000" in first.stdout and asked == 4 == len(provider.asked)
    kept = [path for path in (tmp_path / "a").rglob("*") if path.is_file()]
    assert kept and not any(KEY["OPENAI_API_KEY"].encode() in path.read_bytes() for path in kept)
    assert "[secret removed]" in read_trajectories(tmp_path / "a")[0].steps[0].reply


def test_a_server_that_is_down_is_invalid_and_says_so(tasks: Path, home: dict[str, str]) -> None:
    with Provider(lambda _: Answer("", Fault("status", 401))) as provider:
        words = ["attempt", str(tasks), "--model", "openai:m", "--base-url", provider.url, "-k", "1"]
        result = termforge(*words, **KEY, **home)
    assert result.returncode == 2 and "OPENAI_API_KEY" in result.stderr


def test_a_ceiling_ends_it_with_a_code_of_its_own(tasks: Path, home: dict[str, str]) -> None:
    with Provider(solving) as provider:
        words = ["attempt", str(tasks), "--model", "openai:m", "--base-url", provider.url, "--max-tokens", "20000"]
        result = termforge(*words, "-k", "8", **KEY, **home)
    assert result.returncode == 6 and "Traceback" not in result.stderr and "attempts were made" in result.stderr, (
        result.stderr
    )


def test_killed_half_way_it_goes_on(tasks: Path, home: dict[str, str], tmp_path: Path) -> None:
    with Provider(lambda asked: time.sleep(0.2) or solving(asked)) as provider:
        words = ["attempt", str(tasks), "--model", "openai:m", "--base-url", provider.url, "-k", "6", "--workers", "2"]
        command = [sys.executable, "-m", "pipeline.cli", *words, "--to", str(tmp_path / "a"), "--json"]
        killed = subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, **KEY, **home})
        while len(provider.asked) < 5:
            time.sleep(0.05)
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        result = termforge(*words, "--to", str(tmp_path / "a"), "--json", **KEY, **home)
        assert result.returncode == 0, result.stderr
        assert 12 <= len(provider.asked) <= 14  # once each, and at most what was under way
    assert len(read_trajectories(tmp_path / "a")) == 12


def written(level: Difficulty, scale: float) -> Task:
    task = toy()
    provenance = task.provenance.model_copy(update={"writer": "model", "knobs": {"scale": scale, "files": 3}})
    axes = task.axes.model_copy(update={"difficulty": level})
    return task.model_copy(update={"id": f"t-{level}-{scale}", "provenance": provenance, "axes": axes})


def test_measured_rates_make_the_next_batch_harder() -> None:
    tasks = [written(Difficulty.HARD, 1.5), written(Difficulty.EASY, 1.0), toy()]
    rows = [
        ("t-hard-1.5", "openai:m", 1),
        ("t-hard-1.5", "openai:m", 1),
        ("t-easy-1.0", "scripted:replay", 1),
        (toy().id, "openai:m", 1),
    ]
    frame = pl.DataFrame(
        [
            {"task_id": task, "model": model, "valid": True, "binary": binary, "weighted": 1.0}
            for task, model, binary in rows
        ]
    )
    (seen,) = measured(tasks, frame)
    assert (seen.difficulty, seen.tasks, seen.pass_rate, seen.scale) == (Difficulty.HARD, 1, 1.0, 1.5)
    recipe = Recipe(name="w", seed=1, count=12, writer="model", difficulty={Difficulty.HARD: 100})
    before, after = cells(recipe), cells(recipe.model_copy(update={"measured": (seen,) * 3}))
    assert min(cell.scale for cell in after) > max(cell.scale for cell in before)
