"""The folder of a training run: where everything of it lies, and its state.

run.json        what it was started with
state.json      how it stands
log.txt         what verl and Ray print
verl.jsonl      verl's own measurements, a line a step
metrics.jsonl   ours, a line a step
rollouts/       a JSON line a rollout, one file a worker; rollouts.parquet is made of them
data/           the rows that verl reads
checkpoints/    verl's, and latest_checkpointed_iteration.txt
report.html     the page with the curves; tensorboard/ beside it
"""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from generators.errors import UsageError
from generators.task import Record

RUN = "TERMFORGE_RUN"  # names the run's folder in the environment of its processes
OWN = (
    "run.json",
    "loop.json",
    "loops.yaml",
    "log.txt",
    "data",
    "tasks",
    "rollouts",
    "curriculum.json",
)  # before there is a state


class Status(StrEnum):
    """How a run stands."""

    STARTING = "starting"
    RUNNING = "running"
    FINISHED = "finished"
    STOPPED = "stopped"  # by its user, or by the watchdog with a reason: goes on with --resume
    FAILED = "failed"


class RunState(Record):
    """What state.json holds. `step` is the last step that was finished, of `steps`."""

    status: Status = Status.STARTING
    reason: str = ""
    step: int = 0
    steps: int = 0
    pid: int = 0


@dataclass(frozen=True)
class RunFolder:
    """Paths of a run, and its state."""

    path: Path

    @property
    def settings(self) -> Path:
        return self.path / "run.json"

    @property
    def log(self) -> Path:
        return self.path / "log.txt"

    @property
    def verl_metrics(self) -> Path:
        return self.path / "verl.jsonl"

    @property
    def metrics(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def rollouts(self) -> Path:
        return self.path / "rollouts"

    @property
    def rollouts_table(self) -> Path:
        return self.path / "rollouts.parquet"

    @property
    def data(self) -> Path:
        return self.path / "data"

    @property
    def curriculum(self) -> Path:
        return self.path / "curriculum.json"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def report(self) -> Path:
        return self.path / "report.html"

    def state(self) -> RunState:
        """How the run stands.

        Raises:
            UsageError: there is no run in this folder, or its state cannot be read.
        """
        try:
            return RunState.model_validate_json((self.path / "state.json").read_bytes())
        except FileNotFoundError:
            raise UsageError(f"{self.path}: there is no training run here") from None
        except ValueError as error:
            what = str(error).splitlines()[0]
            raise UsageError(
                f"{self.path / 'state.json'} is damaged ({what}); begin the run anew in another folder"
            ) from None

    def save_state(self, state: RunState) -> None:
        """Write it so that a reader sees the old one or the new one."""
        write_whole(self.path / "state.json", state.model_dump_json(indent=1) + "\n")

    def last_checkpoint(self) -> int:
        """The step of the last whole checkpoint, 0 where there is none."""
        with contextlib.suppress(OSError, ValueError):
            return int((self.checkpoints / "latest_checkpointed_iteration.txt").read_text())
        return 0


def write_whole(path: Path, text: str) -> None:
    """Write a file at once: never half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_text(text)
    beside.replace(path)


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The JSON lines of a file that may still grow: a last line without an end is left out. No file, no lines."""
    try:
        text = path.read_text()
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n") and line.strip()]
