"""What an agent loop in a worker process needs to know: one JSON file in the run's folder, read by every worker."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from agent.limits import EpisodeLimits
from generators.errors import UsageError
from generators.task import Record
from trainer.reward import RewardSettings

Count = Annotated[int, Field(ge=1)]


class LoopSettings(Record):
    """How rollouts are played and rewarded.

    `limits` counts tokens as evaluation does: `context_tokens` is prompt and response together, `reply_tokens` one reply.
    `tries` are fresh sandboxes after faults of the infrastructure; `deadline_seconds` is wall time for one rollout with all its
    tries, the judge included.
    """

    data: str = ""  # folder of the data set: tasks are found there by digest
    run: str = ""  # the run's folder
    style: str = "structured"
    examples: str = ""  # worked ones, see agent/styles/examples.py; in a preset the name of a shipped file, or a path
    limits: EpisodeLimits = Field(default_factory=EpisodeLimits)
    reward: RewardSettings = Field(default_factory=RewardSettings)
    judge: str = ""  # a judge configuration file; empty: the one that `termforge judge use` chose
    engine: str = "bubblewrap"
    sandboxes: Count = 24  # at once, in one worker process
    tries: Count = 3
    deadline_seconds: Annotated[float, Field(gt=0)] = 1800.0

    @model_validator(mode="after")
    def _deadline(self) -> Self:
        if self.deadline_seconds < self.limits.agent_seconds:
            raise ValueError(
                f"deadline_seconds ({self.deadline_seconds:g}) is less than the agent's own budget"
                f" ({self.limits.agent_seconds:g} s)"
            )
        return self


def load_loop(path: Path) -> LoopSettings:
    """The settings of a run.

    Raises:
        UsageError: the file is missing or damaged.
    """
    try:
        return LoopSettings.model_validate_json(path.read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: no settings of a training run: {error}") from None
