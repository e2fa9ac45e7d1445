"""The one vocabulary of errors.

TermforgeError (exit 1)
├── UsageError (2)           the user asked for something that does not exist or does not fit
│   ├── RecipeError              a recipe file is not valid
│   └── TaskError                a task record is not valid (edited, malformed, tests that do not compile)
├── EngineError (3)          this machine cannot do what the engine needs
├── StorageError (4)         disk full, unwritable output, unreadable cache
├── SandboxFault (5)         infrastructure failed: the result is invalid and may be retried, never a 0
│   └── SandboxEnded             what ran inside ended it; its files can still be graded
├── ProviderFault (5)        a language model's provider failed: nothing is judged, the run may go on later
├── AnswerFault (1)          a model's reply came and is of no use: data, with a reason, never a crash
│   └── RefusedError             the model, or its provider's filter, declined
└── BudgetError (6)          the next request could cross the ceiling of tokens or money: nothing was sent

Each message is one line: what, where, what to do. The command line prints it and exits with `exit_code`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from generators.chat.model import Usage

ProviderReason = Literal[
    "rate_limited",  # 429, after all tries
    "out_of_credit",  # the account is empty: waiting does not help
    "down",  # 5xx, overloaded, or an error in the middle of a stream
    "timeout",
    "connection_lost",
    "truncated_stream",  # the stream ended without saying why
    "invalid_response",  # broken JSON, broken UTF-8, or another protocol
]
AnswerReason = Literal[
    "refused",
    "empty",
    "cut_off",  # the limit of output tokens ended it
    "too_long",
    "context_overflow",  # the request does not fit the model's context
]


class TermforgeError(Exception):
    """Base of everything a user may meet."""

    exit_code = 1


class UsageError(TermforgeError):
    """The request cannot be met as it was written."""

    exit_code = 2


class RecipeError(UsageError):
    """A recipe is not valid."""


class TaskError(UsageError):
    """A task record is not valid."""


class EngineError(TermforgeError):
    """The machine lacks something the engine needs."""

    exit_code = 3


class StorageError(TermforgeError):
    """A file could not be written or read."""

    exit_code = 4


class SandboxFault(TermforgeError):
    """Infrastructure failed while a sandbox was in use; the outcome is invalid, not a score."""

    exit_code = 5


class SandboxEnded(SandboxFault):
    """What ran in a sandbox ended the sandbox itself (its first process): its files are still there to be graded."""


class ProviderFault(TermforgeError):
    """A provider failed, as far as known for a while only. `retry_after` is its own word on how long, in seconds."""

    exit_code = 5

    def __init__(self, message: str, reason: ProviderReason, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.reason: ProviderReason = reason
        self.retry_after = retry_after


class AnswerFault(TermforgeError):
    """A reply that came, and was paid for as `usage` says, but cannot be used. `text` is what there is of one that was cut off."""

    def __init__(self, message: str, reason: AnswerReason, usage: Usage | None = None, text: str = "") -> None:
        super().__init__(message)
        self.reason: AnswerReason = reason
        self.usage, self.text = usage, text


class RefusedError(AnswerFault):
    """The model, or a filter of its provider, declined to answer."""

    def __init__(self, message: str, usage: Usage | None = None) -> None:
        super().__init__(message, "refused", usage)


class BudgetError(TermforgeError):
    """The worst case of the next request would cross the ceiling; it was not sent."""

    exit_code = 6
