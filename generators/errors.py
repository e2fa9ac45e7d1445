"""The one vocabulary of errors.

TermforgeError (exit 1)
├── UsageError (2)           the user asked for something that does not exist or does not fit
│   ├── RecipeError              a recipe file is not valid
│   └── TaskError                a task record is not valid (edited, malformed, tests that do not compile)
├── EngineError (3)          this machine cannot do what the engine needs
├── StorageError (4)         disk full, unwritable output, unreadable cache
└── SandboxFault (5)         infrastructure failed: the result is invalid and may be retried, never a 0

Each message is one line: what, where, what to do. The command line prints it and exits with `exit_code`.
"""

from __future__ import annotations


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
