"""Records with a text in a file of another project: Markdown, YAML, TOML, JSON, JSON lines or parquet."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

KEYS = ("instruction", "description", "prompt")
NAMES = ("id", "task_id", "instance_id", "name")
NOTHING = f"holds no {KEYS[0]}, {KEYS[1]} or {KEYS[2]}"
LIMIT = 1 << 28  # bytes; a larger file is data, and reading it whole would take the memory of the machine
_BATCH = 1024


class Unreadable(Exception):
    """Why a file gives no text; whoever reads many files lists it and goes on."""


@dataclass(frozen=True)
class Found:
    """A record's name in its file, and its texts."""

    name: str
    texts: tuple[str, ...]


def records(path: Path) -> Iterator[Found]:
    """The records of a file that have a text, in their order.

    Raises:
        Unreadable: it cannot be read in whole, or no record has one. What could be read has been given by then.
    """
    count = 0
    try:
        if not path.is_file():
            raise Unreadable("is not a file")
        for found in _READERS[path.suffix](path):
            count += 1
            yield found
    except (OSError, ValueError, TypeError, OverflowError, yaml.YAMLError, pa.ArrowException) as error:
        raise Unreadable(_why(error)) from error
    except RecursionError as error:
        raise Unreadable("is nested too deeply") from error
    if not count:
        raise Unreadable(NOTHING)


def _markdown(path: Path) -> Iterator[Found]:
    text = _text(path)
    if text.strip():
        yield Found("1", (text,))


def _whole(parse: Callable[[str], Any]) -> Callable[[Path], Iterator[Found]]:
    return lambda path: _numbered(_search(parse(_text(path)), set()))


def _lines(path: Path) -> Iterator[Found]:
    """Lines that are not JSON are counted, and the first is named, after all others were given."""
    bad: list[int] = []
    with path.open(encoding="utf-8-sig", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            try:
                found = list(_search(json.loads(line), set())) if line.strip() else []
            except (ValueError, RecursionError):
                bad.append(number)
                continue
            yield from (_named(record, number) for record in found)
    if bad:
        raise Unreadable(f"has {len(bad)} lines that are not JSON, the first is line {bad[0]}")


def _parquet(path: Path) -> Iterator[Found]:
    with pq.ParquetFile(path) as file:
        columns = [name for name in file.schema_arrow.names if name in KEYS + NAMES]
        if not set(columns) & set(KEYS):
            return
        rows = (row for batch in file.iter_batches(_BATCH, columns=columns) for row in batch.to_pylist())
        for number, row in enumerate(rows, 1):
            if _texts(row):
                yield _named(row, number)


_READERS: dict[str, Callable[[Path], Iterator[Found]]] = {
    ".md": _markdown,
    ".yaml": _whole(yaml.safe_load),
    ".yml": _whole(yaml.safe_load),
    ".toml": _whole(tomllib.loads),
    ".json": _whole(json.loads),
    ".jsonl": _lines,
    ".parquet": _parquet,
}


def _text(path: Path) -> str:
    if path.stat().st_size > LIMIT:
        raise Unreadable(f"is larger than {LIMIT >> 20} MiB")
    return path.read_text(encoding="utf-8-sig")


def _search(value: Any, seen: set[int]) -> Iterator[Mapping[str, Any]]:
    """The outermost mappings with a text. YAML's anchors may point at one thing often, or at itself: it is seen once."""
    if not isinstance(value, dict | list) or id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, dict) and _texts(value):
        yield value
        return
    for item in value.values() if isinstance(value, dict) else value:
        yield from _search(item, seen)


def _numbered(found: Iterator[Mapping[str, Any]]) -> Iterator[Found]:
    for number, record in enumerate(found, 1):
        yield _named(record, number)


def _named(record: Mapping[str, Any], number: int) -> Found:
    names = [str(record[key]) for key in NAMES if isinstance(record.get(key), str | int) and str(record[key])]
    return Found(names[0] if names else str(number), _texts(record))


def _texts(record: Mapping[str, Any]) -> tuple[str, ...]:
    """What stands under the keys; a prompt may be a list of messages."""
    texts: list[str] = []
    for value in (record.get(key) for key in KEYS):
        if isinstance(value, list):
            texts += [str(item["content"]) for item in value if isinstance(item, dict) and item.get("content")]
        elif isinstance(value, str) and value.strip():
            texts.append(value)
    return tuple(texts)


def _why(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "is not UTF-8"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return f"cannot be read: {(str(error).strip() or type(error).__name__).splitlines()[0]}"
