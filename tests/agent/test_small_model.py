"""A real small model attempts real tasks: far too weak to solve one, so what is seen is that every episode comes to a stated end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from agent.failures import Failure
from agent.styles.minimal import Minimal
from agent.table import read_trajectories, trajectory_id
from agent.trajectory import End, Step, Trajectory
from tests.small_model import Served

SOURCE = Path(__file__).resolve().parents[2] / "datasets" / "main"
FAMILIES = ("manpage_tool", "quadratic_cliff", "stack_interpreter")  # of short instructions, quickly graded
TASKS, ATTEMPTS, TURNS, REPLY = 8, 4, 4, 64


def termforge(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command line, with replies and ledgers of this test's own; sandboxes and layers are shared."""
    own = {"TERMFORGE_MODELS": str(folder / "models"), "OPENAI_API_KEY": "none"}
    command = [str(Path(sys.executable).parent / "termforge"), *words]
    done = subprocess.run(command, env={**os.environ, **own}, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    return done


def told(folder: Path, *words: str) -> Any:
    return json.loads(termforge(folder, *words, "--json").stdout)


@pytest.mark.slow
@pytest.mark.long
def test_a_small_model_comes_to_an_end_32_times(small: Served, tmp_path: Path) -> None:
    out, before, began = tmp_path / "out", small.answers(), time.monotonic()
    words = ["attempt", str(SOURCE), "--model", f"openai:{small.model}", "--base-url", small.base_url]
    words += [word for family in FAMILIES for word in ("--task", family)]
    words += ["--limit", str(TASKS), "-k", str(ATTEMPTS), "--turns", str(TURNS), "--reply", str(REPLY)]
    words += ["--style", "minimal", "--temperature", "0.8", "--seconds", "300", "--workers", "8", "--to", str(out)]
    value = told(tmp_path, *words)
    runs, asked = read_trajectories(out), small.answers() - before
    ends, seconds = Counter(run.end.value for run in runs), time.monotonic() - began
    print(f"{asked} replies, {seconds:.0f} s, {dict(ends)}, {_deeds(runs)}", file=sys.stderr)

    assert Counter(Counter(run.task_id for run in runs).values()) == {ATTEMPTS: TASKS}
    for run in runs:
        well_formed(run)
    assert asked >= sum(len(run.steps) for run in runs) >= TASKS * ATTEMPTS
    assert {row["n"] for row in value["tasks"]} == {ATTEMPTS} and not any(row["invalid"] for row in value["tasks"])

    again = told(tmp_path, *words)
    assert again == value and read_trajectories(out) == runs and small.answers() - before == asked
    looked_at(tmp_path, out, runs)


def well_formed(run: Trajectory) -> None:
    """It counts, ended for a reason that its steps show, was graded, and every turn got its answer."""
    assert run.valid and not run.reason and run.end is not End.BROKEN and run.tests, run
    assert 1 <= len(run.steps) <= TURNS or run.end in (End.TIME, End.CONTEXT)
    assert (run.end is End.TURNS) <= (len(run.steps) == TURNS)
    assert all(step.usage.input_tokens > 0 and step.usage.output_tokens <= REPLY for step in run.steps)
    for step in run.steps[:-1]:
        answered(step)
    last = [item.call.tag for step in run.steps[-1:] for item in step.items if item.call]
    assert (run.end is End.FINISHED) == ("finish" in last)


def answered(step: Step) -> None:
    """A turn that was not the last: a mistake is named with its place and the expected form, a command's output is shown."""
    assert step.shown
    for item in step.items:
        if item.mistake:
            assert item.mistake in step.shown and item.mistake.startswith("line ") and "expected:" in item.mistake
        else:
            assert item.call and item.observation and item.observation.text.rstrip() in step.shown
    read = Minimal().parse(step.reply).items
    assert len(step.items) in (0, len(read)), "no items: the reply was of no use at all"


def looked_at(folder: Path, out: Path, runs: list[Trajectory]) -> None:
    """The commands that read trajectories read these."""
    value = told(folder, "analyze", str(out))
    assert value["attempts"] == len(runs) and len(value["runs"]) == len(runs)
    known = {failure.value for failure in Failure}
    assert {row["failure"] for row in value["failures"]} <= known and sum(row["main"] for row in value["failures"])
    name = trajectory_id(runs[0])
    shown = told(folder, "trajectory", "show", str(out), name)
    assert shown.pop("id") == name and Trajectory.model_validate_json(json.dumps(shown)) == runs[0]
    assert "turn 1: " in termforge(folder, "trajectory", "show", str(out), name).stdout


def _deeds(runs: list[Trajectory]) -> dict[str, int]:
    items = [item for run in runs for step in run.steps for item in step.items]
    return dict(Counter("mistake" if item.mistake else item.call.tag if item.call else "" for item in items))
