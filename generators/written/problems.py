"""What can be wrong with a task in the making. All of it is data: it becomes a round of repair, or a row with a reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Stage = Literal["describe", "environment", "tests", "solution", "alternative", "near_misses", "judge"]
STAGES: tuple[Stage, ...] = ("describe", "environment", "tests", "solution", "alternative", "near_misses", "judge")


@dataclass(frozen=True)
class Problem:
    """What has to be repaired: in which stage, the reason code, and the exact error as the model will read it. `gate` names the
    gate that found it, where it was not seen in the answer itself."""

    stage: Stage
    reason: str
    detail: str
    advice: str = ""
    gate: str = ""


@dataclass(frozen=True)
class Round:
    """A repair that was asked for."""

    stage: Stage
    number: int
    reason: str
    detail: str


class AnswerError(Exception):
    """An answer cannot be used."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason, self.detail = reason, detail


class DroppedError(Exception):
    """A stage had all its rounds and is not right: the task is given up."""

    def __init__(self, problem: Problem, rounds: tuple[Round, ...]) -> None:
        super().__init__(f"{problem.stage}: {problem.reason}: {problem.detail}")
        self.problem, self.rounds = problem, rounds
