"""TOML text from plain values: the standard library only reads it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def dump(table: Mapping[str, Any]) -> str:
    """A document of strings, numbers, booleans, lists of these, and tables of all that; what is None is left out.

    Raises:
        TypeError: a value of another kind.
    """
    return "\n".join(_table(table, ())).strip("\n") + "\n"


def _table(table: Mapping[str, Any], path: Sequence[str]) -> list[str]:
    """A table's own values, then the tables within."""
    own = [
        f"{_key(key)} = {_value(value)}" for key, value in table.items() if not _is_table(value) and value is not None
    ]
    inner = [(key, value) for key, value in table.items() if _is_table(value)]
    head = ["", f"[{'.'.join(map(_key, path))}]"] if path and (own or not inner) else []
    return head + own + [line for key, value in inner for line in _table(value, (*path, key))]


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _value(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return repr(value)
        case str():
            return _text(value)
        case list() | tuple():
            return f"[{', '.join(map(_value, value))}]"
        case _:
            raise TypeError(f"TOML has no form here for {type(value).__name__}")


def _text(text: str) -> str:
    """A basic string: as in JSON, but for one more control character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
