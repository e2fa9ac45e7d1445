"""The curriculum of a run: its state follows the rollouts that the run leaves, and is kept in curriculum.json."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from pydantic import Field, ValidationError

from generators.errors import UsageError
from generators.evidence import Evidence, Gate
from generators.recipe import Recipe
from generators.task import Record
from trainer.curriculum import CurriculumSettings, CurriculumState, CurriculumTask, Outcome, begin, outcomes, update
from trainer.curriculum_requests import requests
from trainer.records import RolloutRecord
from trainer.run import RunFolder, write_whole
from trainer.tasks import load_task


class RunPlan(Record):
    """Of a run's preset, what decides the order of its tasks."""

    steps: int = Field(ge=1)
    batch: int = Field(ge=1)
    seed: int = 0
    most_refills: int = 0
    curriculum: CurriculumSettings = Field(default_factory=CurriculumSettings)

    @property
    def prompts(self) -> int:
        """As many as a run may ask for: all steps, and groups that take the place of others."""
        return self.steps * (self.batch + self.most_refills)


def run_plan(run: RunFolder) -> RunPlan:
    """What run.json says.

    Raises:
        UsageError: it is missing or not that of a run.
    """
    try:
        preset = json.loads(run.settings.read_bytes())["preset"]
        return RunPlan.model_validate({name: preset[name] for name in RunPlan.model_fields if name in preset})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{run.settings}: no settings of a training run: {error}") from None


def known_outcomes(proofs: Iterable[Evidence]) -> tuple[Outcome, ...]:
    """What the attempts that proved tasks solvable gave, where a data set has them."""
    found: list[Outcome] = []
    for proof in proofs:
        for verdict in proof.verdicts:
            attempts, passed = (verdict.figures.get(key) for key in ("attempts", "passed"))
            if verdict.gate == Gate.SOLVABLE and isinstance(attempts, int) and isinstance(passed, int):
                found.append(Outcome(proof.task_digest, passed, attempts - passed))
    return tuple(found)


def load_state(run: RunFolder) -> CurriculumState | None:
    """The state that was saved, None where there is none yet.

    Raises:
        UsageError: the file is damaged.
    """
    try:
        return CurriculumState.model_validate_json(run.curriculum.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise UsageError(f"{run.curriculum}: no state of a curriculum: {error}") from None


def save_state(run: RunFolder, state: CurriculumState) -> None:
    """Write it at once."""
    write_whole(run.curriculum, state.canonical() + "\n")


def wanted_recipes(run: RunFolder) -> tuple[Recipe, ...]:
    """Recipes for `termforge build` of tasks where the policy of a run is weak; none where its curriculum is off.

    Raises:
        UsageError: there is no run in this folder.
    """
    plan, state = run_plan(run), load_state(run)
    if state is None or not plan.curriculum.enabled:
        return ()
    tasks = [
        CurriculumTask(task.digest, task.provenance.family, task.axes.domain, task.axes.difficulty.value)
        for task in (load_task(path.parent, path.stem) for path in sorted((run.path / "tasks").glob("*.json")))
    ]
    return requests(plan.curriculum, state, tasks, plan.seed)


class _Line(NamedTuple):
    """A rollout as it was read, without its trajectory."""

    step: int
    rollout: RolloutRecord


class Practised:
    """The state of a run, made of its rollouts anew whenever a process begins: after a checkpoint it says what it said then."""

    def __init__(self, run: RunFolder, settings: CurriculumSettings) -> None:
        saved = load_state(run) or CurriculumState()
        self._run, self._settings = run, settings
        self.state = begin(settings, [Outcome(digest, *counts) for digest, counts in saved.known.items()])
        self._read: dict[Path, int] = {}
        self._waiting: dict[int, list[RolloutRecord]] = {}

    def advance(self, step: int) -> CurriculumState:
        """Count all steps before this one. A rollout that comes late, as async modes have them, counts with the next step."""
        for line in self._new_lines():
            self._waiting.setdefault(max(line.step, self.state.step + 1), []).append(line.rollout)
        before = self.state
        for done in sorted(number for number in self._waiting if number < step):
            self.state = update(self._settings, self.state, outcomes(self._waiting.pop(done)), done)
        if self.state != before:
            save_state(self._run, self.state)
        return self.state

    def _new_lines(self) -> list[_Line]:
        """What has been written since; the beginning of a line waits for its end."""
        found: list[_Line] = []
        for path in sorted(self._run.rollouts.glob("*.jsonl")):
            with open(path, "rb") as file:
                file.seek(self._read.get(path, 0))
                data = file.read()
            whole = data[: data.rfind(b"\n") + 1]
            self._read[path] = self._read.get(path, 0) + len(whole)
            found += [_parsed(line) for line in whole.splitlines() if line.strip()]
        return [line for line in found if line.rollout.split == "train"]


def _parsed(line: bytes) -> _Line:
    values = json.loads(line)
    values.pop("trajectory", None)
    rollout = RolloutRecord.model_validate(values)
    return _Line(rollout.step, rollout)
