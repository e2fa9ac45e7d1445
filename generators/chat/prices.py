"""What a model's tokens cost: a table as data (datasets/prices.yaml), and before it a file of the user's own."""

from __future__ import annotations

import os
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import Field, TypeAdapter, ValidationError

from generators.chat.model import Usage
from generators.errors import UsageError
from generators.problems import first_problem
from generators.task import Record

Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]
MILLION = 1_000_000


class Price(Record):
    """Dollars per million tokens, for the models that one of the patterns matches."""

    models: Annotated[tuple[str, ...], Field(min_length=1)]
    input: Dollars
    cached: Dollars
    output: Dollars

    def of(self, usage: Usage) -> float:
        """The dollars that this usage costs."""
        fresh = max(0, usage.input_tokens - usage.cached_tokens)
        return (fresh * self.input + usage.cached_tokens * self.cached + usage.output_tokens * self.output) / MILLION

    def at_most(self, input_tokens: int, output_tokens: int) -> float:
        """The dollars that this many tokens cost when nothing is cached."""
        return (input_tokens * max(self.input, self.cached) + output_tokens * self.output) / MILLION


_FILE = TypeAdapter(tuple[Price, ...])


@dataclass(frozen=True)
class Prices:
    """Prices in order of precedence."""

    table: tuple[Price, ...] = ()

    @classmethod
    def load(cls, own: Path | None = None) -> Prices:
        """The user's own file, if any, and then the project's.

        Raises:
            UsageError: a file cannot be read or is not a list of prices.
        """
        shipped = _shipped()
        return cls((_read(own) if own else ()) + (_read(shipped) if shipped.is_file() else ()))

    def find(self, name: str) -> Price | None:
        """The price of a model, if it is known."""
        return next((price for price in self.table for pattern in price.models if fnmatchcase(name, pattern)), None)


def _shipped() -> Path:
    root = os.environ.get("TERMFORGE_ROOT")
    return (Path(root) if root else Path(__file__).resolve().parents[2]) / "datasets" / "prices.yaml"


def _read(path: Path) -> tuple[Price, ...]:
    try:
        return _FILE.validate_python(yaml.safe_load(path.read_text(encoding="utf-8")) or ())
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"prices {path}: cannot be read ({type(error).__name__})") from error
    except yaml.YAMLError as error:
        raise UsageError(f"prices {path}: not YAML: {' '.join(str(error).split())}") from error
    except ValidationError as error:
        raise UsageError(f"prices {path}: {first_problem(error, 'the file')}") from error
