"""What an episode leaves: every step with its words, actions, results, tokens and times, and how it ended.

The record is our own and complete; agent/atif.py writes it in the field's format, agent/table.py as a row of parquet.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field, JsonValue

from agent.observation import Observation
from generators.chat.model import Usage
from generators.task import Record

VERSION = "1"  # of this record


class Status(StrEnum):
    """How an episode counts. Invalid: infrastructure, provider or grader failed, so it says nothing about the agent."""

    PASSED = "passed"
    FAILED = "failed"
    INVALID = "invalid"


class End(StrEnum):
    """Why the agent's part ended. All but the last lead to grading."""

    FINISHED = "finished"
    TURNS = "turns_exhausted"
    TIME = "out_of_time"
    TOKENS = "out_of_tokens"
    CONTEXT = "context_full"
    FORMAT = "format_errors"  # too many replies in a row without a valid action
    ANSWERS = "useless_answers"  # the model refused, or said nothing, too often in a row
    ENDED = "sandbox_ended"  # the agent ended its own sandbox
    BROKEN = "broken"  # infrastructure failed


class Call(Record):
    """An action as it was asked for."""

    tag: str
    arguments: dict[str, JsonValue] = Field(default_factory=dict)


class Item(Record):
    """One item of a reply in its order: a call with what it led to, or a mistake. `skipped`: not run, for what came before."""

    call: Call | None = None
    mistake: str = ""
    observation: Observation | None = None
    skipped: bool = False


class Step(Record):
    """A turn: what the model said, what was done with it, what it was shown. Seconds are wall time."""

    reply: str
    reasoning: str = ""
    items: tuple[Item, ...] = ()
    shown: str = ""  # the message that followed; empty after the last step
    usage: Usage
    cost: float | None = None  # US dollars; None where the price is unknown
    model_seconds: float = 0.0
    tool_seconds: float = 0.0


class Seconds(Record):
    """Wall time of the parts of an episode."""

    setup: float = 0.0
    model: float = 0.0
    tools: float = 0.0
    grading: float = 0.0


class TestOutcome(Record):
    """One completion test."""

    __test__ = False

    name: str
    passed: bool
    message: str = ""


class Trajectory(Record):
    """One episode. `reward` parts are others' business: here stand only the tests' scores, in [0, 1], 0 unless valid."""

    version: str = VERSION
    task_id: str
    task_digest: str
    family: str = ""
    domain: str = ""
    skills: tuple[str, ...] = ()
    difficulty: str = ""
    model: str
    style: str
    attempt: Annotated[int, Field(ge=0)] = 0
    engine: str = ""
    system: str
    instruction: str  # the first message
    steps: tuple[Step, ...] = ()
    status: Status
    end: End
    reason: str = ""  # why it is invalid, or which budget ended it, in words
    weighted: float = 0.0
    binary: int = 0
    tests: tuple[TestOutcome, ...] = ()
    seconds: Seconds = Seconds()
    limits: dict[str, Any] = Field(default_factory=dict)

    @property
    def valid(self) -> bool:
        """Whether it says anything about the agent."""
        return self.status is not Status.INVALID

    @property
    def input_tokens(self) -> int:
        """Tokens read, over all requests."""
        return sum(step.usage.input_tokens for step in self.steps)

    @property
    def output_tokens(self) -> int:
        """Tokens written, reasoning included."""
        return sum(step.usage.output_tokens for step in self.steps)

    @property
    def cost(self) -> float | None:
        """US dollars, or None where a price is unknown."""
        costs = [step.cost for step in self.steps]
        return None if None in costs else sum(cost for cost in costs if cost is not None)
