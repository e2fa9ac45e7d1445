"""What one rollout of training leaves: a JSON line in rollouts/, read by metrics, curriculum and report."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from agent.trajectory import Trajectory
from generators.task import Record


class RolloutSeconds(Record):
    """Where the time of a rollout went, in wall seconds. `waiting` is for a sandbox, `total` from its beginning to its reward."""

    model: float = 0.0
    tools: float = 0.0
    waiting: float = 0.0
    grading: float = 0.0
    judge: float = 0.0
    total: float = 0.0


class RolloutRecord(Record):
    """A rollout. `step` is the training step it was made for (0: before training); `group` the prompt it shares with its siblings.

    `reward` has trainer.reward.KEYS; where `valid` is 0 in it, the rollout was dropped from its group. `faults` are the reasons of
    tries that infrastructure spoilt, oldest first. Tokens: `prompt_tokens` + `response_tokens` are the whole conversation,
    `written_tokens` of it were written by the policy (mask 1).
    """

    step: int
    split: Literal["train", "validation"]
    task_id: str
    task_digest: str
    family: str = ""
    domain: str = ""
    difficulty: str = ""
    group: str
    sample: int
    reward: dict[str, float]
    turns: int
    prompt_tokens: int
    response_tokens: int
    written_tokens: int
    end: str
    reason: str = ""
    faults: tuple[str, ...] = ()
    logprob: float | None = None  # mean log probability of the written tokens, by the rollout engine
    seconds: RolloutSeconds = Field(default_factory=RolloutSeconds)
    trajectory: Trajectory | None = None
