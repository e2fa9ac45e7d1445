"""Follows a run while it trains: joins verl's line of a step with the rollouts of that step, and writes our own line."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from trainer.metrics import append_line, console_line, step_metrics
from trainer.records import RolloutRecord
from trainer.run import RunFolder, read_lines, write_whole


class Follower:
    """Reads what has grown since the last look. After a resume, what lies beyond the checkpoint is forgotten first: it is done again."""

    def __init__(self, run: RunFolder, say: Callable[[str], None]) -> None:
        self.run, self._say = run, say
        self._part = run.verl_metrics.with_suffix(".part.jsonl")
        self._part.unlink(missing_ok=True)
        _forget_after(run, run.last_checkpoint())
        self.lines: list[dict[str, Any]] = read_lines(run.metrics)
        self._read, self._sizes = 0, dict[Path, int]()
        self._rollouts: dict[int, list[RolloutRecord]] = {}

    def size(self) -> int:
        """Bytes that tell whether anything happens: log and rollouts."""
        paths = [self.run.log, self._part, *self.run.rollouts.glob("*.jsonl")]
        return sum(path.stat().st_size for path in paths if path.exists())

    def look(self, last: bool = False) -> Iterator[dict[str, Any]]:
        """Our lines of the steps that were finished since."""
        lines = read_lines(self._part)
        for verl in lines[self._read :]:
            self._read += 1
            with open(self.run.verl_metrics, "a") as kept:
                kept.write(json.dumps(verl, sort_keys=True) + "\n")
            self._gather()
            step = int(verl["step"])
            rollouts = self._rollouts.pop(step, [])
            line = {"step": step, **step_metrics(verl["data"], rollouts)}
            append_line(self.run, line)
            self.lines.append(line)
            self._say(console_line(line, self._steps()))
            yield line

    def _steps(self) -> int:
        return self.run.state().steps

    def _gather(self) -> None:
        """New rollouts, by step."""
        for path in sorted(self.run.rollouts.glob("*.jsonl")):
            with open(path, "rb") as lines:
                lines.seek(self._sizes.get(path, 0))
                for line in lines:
                    if not line.endswith(b"\n"):
                        break
                    self._sizes[path] = self._sizes.get(path, 0) + len(line)
                    with contextlib.suppress(ValidationError):  # half a line that a killed worker left
                        record = RolloutRecord.model_validate_json(line)
                        self._rollouts.setdefault(record.step, []).append(record)


def _forget_after(run: RunFolder, step: int) -> None:
    """Drop measurements and rollouts of later steps than the checkpoint that training goes on from."""
    for path in (run.verl_metrics, run.metrics):
        lines = read_lines(path)
        kept = [line for line in lines if line["step"] <= step]
        if len(kept) < len(lines):
            write_whole(path, "".join(json.dumps(line, sort_keys=True) + "\n" for line in kept))
    for path in run.rollouts.glob("*.jsonl"):
        kept_lines = [line for line in path.read_bytes().splitlines(keepends=True) if _step_of(line) <= step]
        write_whole(path, b"".join(kept_lines).decode())


def _step_of(line: bytes) -> float:
    """The step of a rollout; a line that is cut off belongs to none."""
    try:
        return RolloutRecord.model_validate_json(line).step
    except ValidationError:
        return float("inf")
