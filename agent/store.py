"""Trajectories on disk, a file each, written whole or not at all: what makes a stopped run of attempts go on where it was."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from agent.limits import EpisodeLimits
from agent.scrub import scrub
from agent.styles.style import Style
from agent.trajectory import VERSION, Trajectory
from containers.state import storage
from generators.digest import digest_of, sha256_hex
from generators.task import Task


def run_key(
    model: str,
    address: str,
    style: Style,
    native: bool,
    limits: EpisodeLimits,
    temperature: float | None,
    examples: str = "",
    reasoning: str | None = None,
) -> str:
    """Names everything but task and attempt that an episode depends on."""
    return digest_of(
        {
            "version": VERSION,
            "model": model,
            "address": address,
            "style": style.name,
            "native": native,
            "prompt": sha256_hex("\0".join([style.system_prompt(), *([examples] if examples else [])])),
            "limits": limits.model_dump(mode="json"),
            "temperature": temperature,
            **({"reasoning": reasoning} if reasoning else {}),
        }
    )


@dataclass(frozen=True)
class AttemptStore:
    """The attempts of one model, style and set of budgets, on one engine."""

    folder: Path
    key: str

    def _path(self, task: Task, attempt: int) -> Path:
        return self.folder / self.key[:24] / task.digest[:32] / f"{attempt}.json"

    def load(self, task: Task, attempt: int) -> Trajectory | None:
        """A valid attempt that was made before, whole."""
        try:
            found = Trajectory.model_validate_json(self._path(task, attempt).read_bytes())
        except (OSError, ValidationError):
            return None
        return found if found.valid and found.task_digest == task.digest else None

    def save(self, task: Task, trajectory: Trajectory) -> Trajectory:
        """Keep a valid one, without secrets. Invalid ones are not kept: they are tried again next time."""
        trajectory = scrub(trajectory)
        if trajectory.valid:
            path = self._path(task, trajectory.attempt)
            part = path.with_suffix(f".{os.getpid()}.part")
            with storage("keeping a trajectory"):
                path.parent.mkdir(parents=True, exist_ok=True)
                part.write_text(trajectory.canonical())
                part.replace(path)
        return trajectory
