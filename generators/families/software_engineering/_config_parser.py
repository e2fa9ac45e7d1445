"""The reader of the configuration language; its source is also part of the solution's program."""

from __future__ import annotations

import inspect
import posixpath
from collections.abc import Callable
from functools import cache

Dialect = dict[str, str]
Reader = Callable[[str], str | None]


class Fault(Exception):
    """The first mistake of a file: name, line, column, code."""


def skip(text: str, at: int) -> int:
    """The next place that is neither space nor tab."""
    while text[at : at + 1] in (" ", "\t"):
        at += 1
    return at


LETTERS, DIGITS, HEX = "abcdefghijklmnopqrstuvwxyz", "0123456789", "0123456789abcdefABCDEF"


def run_of(text: str, at: int, allowed: str) -> str:
    """The characters from a place on that are among those allowed."""
    end = at
    while text[end : end + 1] and text[end] in allowed:
        end += 1
    return text[at:end]


def integer(word: str) -> int | None:
    """A decimal integer of the language: no leading zeros, single _ between digits."""
    groups = word.removeprefix("-").split("_")
    if not all(group and not group.strip(DIGITS) for group in groups):
        return None
    if groups[0][0] == "0" and (len(groups) > 1 or groups[0] != "0"):
        return None
    return int(word)


def string_at(
    d: Dialect, text: str, at: int, fault: Callable[[int, str], Fault], root: dict[str, object]
) -> tuple[str, int]:
    """A double-quoted string and the place behind it."""
    start, out = at, ""
    at += 1
    while text[at : at + 1] != '"':
        if at >= len(text):
            raise fault(start, "unterminated")
        if text[at] == "\\":
            escape = text[at + 1 : at + 2]
            if escape and escape in d["escapes"]:
                out += {"n": "\n", "t": "\t"}.get(escape, escape)
                at += 2
                continue
            code = run_of(text, at + 3, HEX) if d["rich"] and text[at + 1 : at + 3] == "u{" else ""
            end = at + 3 + len(code)
            if not 1 <= len(code) <= 6 or text[end : end + 1] != "}":
                raise fault(at, "escape")
            if int(code, 16) > 0x10FFFF or 0xD800 <= int(code, 16) < 0xE000:
                raise fault(at, "escape")
            out += chr(int(code, 16))
            at = end + 1
        elif d["rich"] and text[at : at + 2] == "${":
            name = run_of(text, at + 2, LETTERS + DIGITS + "_.-")
            end = at + 2 + len(name)
            value: object = root
            for part in name.split("."):
                value = value.get(part) if isinstance(value, dict) else None  # pyright: ignore
            if text[end : end + 1] != "}" or not isinstance(value, str | int):
                raise fault(at, "undefined")
            out += value if isinstance(value, str) else str(value).lower()
            at = end + 1
        else:
            out += text[at]
            at += 1
    return out, at + 1


def value_at(
    d: Dialect, text: str, at: int, fault: Callable[[int, str], Fault], root: dict[str, object]
) -> tuple[object, int]:
    """A value and the place behind it."""
    if text[at : at + 1] == '"':
        return string_at(d, text, at, fault, root)
    if text[at : at + 1] == "'":
        end = text.find("'", at + 1)
        if end < 0:
            raise fault(at, "unterminated")
        return text[at + 1 : end], end + 1
    if text[at : at + 1] == "[":
        items: list[object] = []
        at = skip(text, at + 1)
        while text[at : at + 1] != "]":
            item, at = value_at(d, text, at, fault, root)
            items.append(item)
            at = skip(text, at)
            if text[at : at + 1] == ",":
                at = skip(text, at + 1)
            elif text[at : at + 1] != "]":
                raise fault(at, "syntax")
        return items, at + 1
    word = run_of(text, at, LETTERS + LETTERS.upper() + DIGITS + "_+.-")
    if word in (d["true"], d["false"]):
        return word == d["true"], at + len(word)
    number = integer(word)
    if number is not None:
        return number, at + len(word)
    if d["rich"] and word[:2] == "0x" and word[2:] and not word[2:].strip(HEX):
        return int(word, 16), at + len(word)
    raise fault(at, "number" if run_of(word.removeprefix("-"), 0, DIGITS) else "syntax")


def load(
    d: Dialect, name: str, read: Reader, target: dict[str, object], root: dict[str, object], above: list[str]
) -> None:
    """Read a file into a block."""
    blocks: list[tuple[dict[str, object], int, int]] = [(target, 0, 0)]
    number = 0

    def fault(column: int, code: str) -> Fault:
        return Fault(name, number, column + 1, code)

    for number, line in enumerate((read(name) or "").split("\n"), 1):
        at = skip(line, 0)
        if at == len(line) or line.startswith(d["comment"], at):
            continue
        block = blocks[-1][0]
        key = run_of(line, at, LETTERS + DIGITS + "_-") if line[at] in LETTERS else ""
        if line.startswith(d["close"], at):
            if len(blocks) == 1:
                raise fault(at, "unopened")
            blocks.pop()
            after = at + len(d["close"])
        elif not key:
            raise fault(at, "syntax")
        else:
            word, after = key, skip(line, at + len(key))
            if word == d["include"] and line[after : after + 1] == '"':
                quote = after
                path, after = string_at(d, line, after, fault, root)
                path = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
                if path in [*above, name]:
                    raise fault(quote, "cycle")
                if read(path) is None:
                    raise fault(quote, "missing")
                rest = skip(line, after)
                if rest < len(line) and not line.startswith(d["comment"], rest):
                    raise fault(rest, "syntax")
                load(d, path, read, block, root, [*above, name])
            elif word != d["include"] and line.startswith(d["open"], after):
                if word in block and (d["again"] == "error" or not isinstance(block[word], dict)):
                    raise fault(at, "duplicate")
                inner: dict[str, object] = block.setdefault(word, {})  # pyright: ignore
                blocks.append((inner, number, at))
                after += len(d["open"])
            elif word != d["include"] and line.startswith(d["assign"], after):
                if word in block and (d["again"] == "error" or isinstance(block[word], dict)):
                    raise fault(at, "duplicate")
                block[word], after = value_at(d, line, skip(line, after + len(d["assign"])), fault, root)
            else:
                raise fault(after, "syntax")
        after = skip(line, after)
        if after < len(line) and not line.startswith(d["comment"], after):
            raise fault(after, "syntax")
    if len(blocks) > 1:
        raise Fault(name, blocks[-1][1], blocks[-1][2] + 1, "unclosed")


@cache
def reference_source() -> str:
    """The source of the reference implementation."""
    parts = (Fault, skip, run_of, integer, string_at, value_at, load)
    constants = f"LETTERS, DIGITS, HEX = {LETTERS!r}, {DIGITS!r}, {HEX!r}\n"
    return "\n\n".join([constants, *(inspect.getsource(part) for part in parts)])
