"""Damage to a file: everything gone, or every value another one while the shape stays. What a task's tests have to notice.

    altered('{"sum": 600}', "/srv/sum.json", stream("a", "b"))        # '{"sum": 825}'

Keys of JSON, a table's first line, labels (`total: 5`), section names, comments and markup are shape; all else is value. Each digit becomes
another digit, each letter another letter; the same word becomes the same word everywhere.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from random import Random
from typing import cast

from pydantic import JsonValue

_LOWER, _UPPER = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_MOST_BYTES = 1 << 20  # of a file whose values are altered
_SOURCE_SUFFIXES = (
    ".awk .bash .c .cc .cpp .go .h .hpp .java .jq .js .lua .mjs .pl .pm .py .r .rb .rs .sed .sh .sql .tcl .ts"
)
_STATE_SUFFIXES = ".db .log .pid .sqlite .sqlite3"
_NO_VALUES = frozenset(_SOURCE_SUFFIXES.split()) | frozenset(_STATE_SUFFIXES.split())
_SOURCE_NAMES = frozenset({"Dockerfile", "GNUmakefile", "Makefile", "makefile"})
_SHAPE = re.compile(r"\s*(?:#.*|\[[^\]]*\]\s*$|[-*+>\s]*[A-Za-z_][\w .-]*(?::(?!\S)|=)\s*)")
_VALUE = re.compile(r"</?[\w:-]+|&\w+;|(?P<word>[^\W\d_]+)|(?P<digits>\d+)")
_DELIMITERS = ",;\t|"


@dataclass(frozen=True)
class Damage:
    """What is done to a file: its bytes afterwards, None where it is removed."""

    how: str
    data: bytes | None


def damages(data: bytes, path: str, executable: bool, rng: Random) -> list[Damage]:
    """The damages that mean something for a file of these bytes."""
    found = [Damage("removed", None)]
    if data:
        found.append(Damage("emptied", b""))
    if len(data) <= _MOST_BYTES and not executable and not _kept(data, path):
        other = altered(data.decode(), path, rng).encode()
        if other != data:
            found.append(Damage("given other values in the same shape", other))
    return found


def _kept(data: bytes, path: str) -> bool:
    """Whether a file is no text of values: a program, a log, a database, anything binary."""
    name = PurePosixPath(path)
    if data.startswith(b"#!") or b"\0" in data or path.startswith("/var/log/"):
        return True
    if name.suffix.lower() in _NO_VALUES or name.name in _SOURCE_NAMES:
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return True
    return False


def altered(text: str, path: str, rng: Random) -> str:
    """A text of the same shape with every value changed, JSON and lines of JSON included."""
    other = _Other(rng)
    try:
        return json.dumps(other.json(json.loads(text)), indent=2 if "\n" in text.strip() else None, ensure_ascii=False)
    except (ValueError, RecursionError):
        pass
    lines = text.splitlines(keepends=True)
    try:
        parsed = [json.loads(line) if line.strip() else None for line in lines]
    except (ValueError, RecursionError):
        begin = int(_has_header(lines, path))
        return "".join([*lines[:begin], *map(other.line, lines[begin:])])
    return "".join(json.dumps(other.json(value)) + "\n" if value is not None else "\n" for value in parsed)


def _has_header(lines: list[str], path: str) -> bool:
    """Whether the first line names the columns of a table."""
    if len(lines) < 2 or any(letter.isdigit() for letter in lines[0]):
        return False
    if path.endswith((".csv", ".tsv")):
        return True
    return any(lines[0].count(mark) == lines[1].count(mark) > 0 for mark in _DELIMITERS)


class _Other:
    """Other values, drawn once for each word."""

    def __init__(self, rng: Random) -> None:
        self._rng, self._known = rng, dict[str, str]()

    def word(self, word: str) -> str:
        """Another word or number of the same length."""
        if word not in self._known:
            self._known[word] = "".join(map(self._letter, word))
        return self._known[word]

    def _letter(self, letter: str) -> str:
        letters = "123456789" if letter.isdigit() else _UPPER if letter.isupper() else _LOWER
        return self._rng.choice(letters.replace(letter, ""))

    def text(self, text: str) -> str:
        """A text with other words and numbers; markup stays."""
        return _VALUE.sub(lambda found: self.word(found[0]) if found.lastgroup else found[0], text)

    def line(self, line: str) -> str:
        """A line with other values; what stands in front of them stays."""
        shape = _SHAPE.match(line)
        begin = shape.end() if shape else 0
        return line[:begin] + self.text(line[begin:])

    def json(self, value: JsonValue) -> JsonValue:
        """A JSON value with the same keys and other numbers, strings and truth values."""
        match value:
            case bool():
                return not value
            case int() | float():
                return self._number(value)
            case str():
                return self.text(value)
            case list():
                return [self.json(item) for item in value]
            case dict():
                return {key: self.json(item) for key, item in value.items()}
            case _:
                return value

    def _number(self, value: float) -> int | float:
        if not math.isfinite(value):  # Python's JSON has these, and reads 1e999 as one
            return 0.0
        mantissa, mark, exponent = repr(value).partition("e")
        text = re.sub(r"\d+", lambda found: self.word(found[0]), mantissa)
        return cast("int | float", json.loads(text + mark + exponent))
