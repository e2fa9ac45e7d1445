"""Budgets of an episode, and the rule for a context that fills up: the same in evaluation and in training.

The rule: nothing that was said or shown is ever changed afterwards. What an action leads to is cut to what still fits; when there
is no room for another reply of MIN_REPLY tokens, the agent's part ends and what it left is graded.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from agent.observation import LIMIT
from generators.task import Record

MIN_REPLY = 256  # tokens
_CHARS_PER_TOKEN = 3  # of terminal output, on the safe side
_MIN_SHOWN = 200  # characters
Count = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0)]


class EpisodeLimits(Record):
    """Budgets. Setting up, the agent and the grader (`Task.limits.grade_seconds`) never share one."""

    turns: Count = 50
    agent_seconds: Seconds = 900.0  # wall time, the model's included
    setup_seconds: Seconds = 600.0
    output_tokens: Count = 131_072  # written in the whole episode
    context_tokens: Count = 65_536  # the whole conversation
    reply_tokens: Count = 8_192  # of one reply
    command_seconds: Annotated[int, Field(ge=1, le=600)] = 30  # where a command names no time of its own
    observation_chars: Annotated[int, Field(ge=_MIN_SHOWN)] = LIMIT
    mistakes: Count = 3  # replies in a row without a valid action

    def reply_allowance(self, used: int, written: int) -> int | None:
        """Tokens for the next reply, after `used` of the context and `written` by the model; None where too few are left."""
        room = min(self.reply_tokens, self.context_tokens - used, self.output_tokens - written)
        return room if room >= min(MIN_REPLY, self.reply_tokens) else None

    def shown_chars(self, used: int) -> int:
        """How long a message may be after `used` tokens, so that a reply still fits."""
        return max(_MIN_SHOWN, (self.context_tokens - used - MIN_REPLY) * _CHARS_PER_TOKEN)
