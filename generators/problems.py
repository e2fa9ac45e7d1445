"""What a record's validation found, in a reader's words: one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_MAPPINGS = ("model_type", "model_attributes_type", "dict_type", "dataclass_type")  # whose own words name our classes


def first_problem(error: ValidationError, whole: str = "") -> str:
    """The first problem, with the dotted key that has it (`whole`, where that is all of it)."""
    return one_problem(error.errors(include_url=False)[0], whole)


def one_problem(problem: ErrorDetails, whole: str = "") -> str:
    """One of them."""
    where = ".".join(str(part) for part in problem["loc"]) or whole
    message = problem["msg"].removeprefix("Value error, ")
    if problem["type"] in _MAPPINGS:
        message = f"it holds keys and their values, and {str(problem['input'])[:60]!r} is neither"
    return f"{where}: {message}" if where else message
