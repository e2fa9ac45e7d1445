"""What proof leaves behind: a verdict per gate, bound to the digest of the task it speaks of."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from pydantic import Field, JsonValue

from generators.errors import TaskError
from generators.task import Record, Task, Text

SUITE = "4"  # changes whenever a gate judges differently, so that old evidence is not taken for new


class Gate(StrEnum):
    """The gates, in the order in which they are passed."""

    SPEC = "spec"
    BUILD = "build"
    INITIAL = "initial"
    NO_OP = "no_op"
    ORACLE = "oracle"
    ALTERNATIVES = "alternatives"
    NEAR_MISS = "near_miss"
    MUTANTS = "mutants"
    LEAK = "leak"
    TAMPER = "tamper"
    SOLVABLE = "solvable"
    TWIN = "twin"


class Verdict(Record):
    """One gate: whether it holds, a reason code where it does not, what was measured, and how long it took (seconds)."""

    gate: Gate
    holds: bool
    reason: str = ""
    detail: str = ""
    figures: dict[str, JsonValue] = Field(default_factory=dict)
    seconds: float = 0.0


class Evidence(Record):
    """All verdicts on one task from one engine. `valid` is False when infrastructure failed: then it proves nothing."""

    task_id: Text
    task_digest: Text
    suite: Text
    engine: Text
    base_digest: str
    image_digest: str
    verdicts: tuple[Verdict, ...]
    valid: bool = True
    fault: str = ""

    @property
    def proven(self) -> bool:
        """Whether every gate that was tried holds, and at least one was."""
        return self.valid and bool(self.verdicts) and all(verdict.holds for verdict in self.verdicts)

    @property
    def failure(self) -> Verdict | None:
        """The first gate that does not hold."""
        return next((verdict for verdict in self.verdicts if not verdict.holds), None)

    def with_verdict(self, verdict: Verdict) -> Self:
        """The same evidence with one more verdict (replacing an earlier one of that gate)."""
        others = tuple(other for other in self.verdicts if other.gate != verdict.gate)
        return self.model_copy(update={"verdicts": (*others, verdict)})

    def bound_to(self, task: Task) -> Self:
        """This evidence, if it speaks of exactly this task.

        Raises:
            TaskError: the task's digest is another one.
        """
        if self.task_digest != task.digest:
            raise TaskError(f"evidence of {self.task_id} is void: the task was edited after it was proven")
        return self
