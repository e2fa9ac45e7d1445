"""Fields of an action as YAML that is easy to read and means exactly the same text when it is read back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_/.][^#]*")
_NULLS = ("null", "~", "")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def yaml_lines(fields: Mapping[str, Any], indent: int = 0) -> list[str]:
    """Lines of a mapping of text, numbers, truth values, lists of text, and lists of mappings."""
    lines: list[str] = []
    for name, value in fields.items():
        pad = " " * indent
        if isinstance(value, list | tuple):
            lines += [f"{pad}{name}:" if value else f"{pad}{name}: []", *_items(value, indent + 2)]
        else:
            lines += _text(f"{pad}{name}:", str(value).lower() if isinstance(value, bool) else value, indent + 2)
    return lines


def _items(values: Any, indent: int) -> list[str]:
    lines: list[str] = []
    for value in values:
        pad = " " * indent
        if isinstance(value, Mapping):
            first, *others = yaml_lines(value, indent + 2)
            lines += [f"{pad}- {first[indent + 2 :]}", *others]
        else:
            lines += _text(f"{pad}-", value, indent + 2)
    return lines


def _text(head: str, value: Any, indent: int) -> list[str]:
    """A scalar in the plainest way that keeps every character: bare, in single quotes, as a block, in double quotes."""
    text = str(value)
    if _is_bare(text):
        return [f"{head} {text}"]
    if text.isprintable() and "'" not in text:
        return [f"{head} '{text}'"]
    if _fits_block(text):
        return _block(head, text, indent)
    return [f'{head} "{"".join(map(_escaped, text))}"']


def _is_bare(text: str) -> bool:
    if not text.isprintable() or not _BARE.fullmatch(text) or text in _NULLS:
        return False
    return ": " not in text and not text.endswith((":", " "))


def _fits_block(text: str) -> bool:
    return bool(text.strip()) and all(character.isprintable() or character in "\n\t" for character in text)


def _block(head: str, text: str, indent: int) -> list[str]:
    """A literal block. Its indentation is said where the text begins with a space or an empty line."""
    said = "2" if text[0] in " \t\n" else ""
    keep = "-" if not text.endswith("\n") else "+" if text.endswith("\n\n") else ""
    lines = text.removesuffix("\n").split("\n")
    return [f"{head} |{said}{keep}", *(f"{' ' * indent}{line}" if line else "" for line in lines)]


def _escaped(character: str) -> str:
    if character.isprintable() and character not in _ESCAPES:
        return character
    number = ord(character)
    wide = f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
    return _ESCAPES.get(character, wide)
