"""The line filter; its source is also part of the solution's program."""

from __future__ import annotations

import inspect
from functools import cache


def parse(page: dict[str, str], arguments: list[str]) -> tuple[dict[str, str], list[str]] | None:
    """The options by role and the operands; None for a usage error."""
    roles = {letter: role for role, letter in page.items() if len(letter) == 1}
    names = {name: role[5:] for role, name in page.items() if role.startswith("long:")}
    flags = ("blank", "upper", "number", "reverse")
    chosen: dict[str, str] = {}
    rest = list(arguments)
    while rest and rest[0].startswith("-") and rest[0] != "-":
        word = rest.pop(0)
        if word == "--":
            break
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            role = names.get(name, "")
            if not role or (role in flags and equals):
                return None
            if role not in flags and not equals:
                if not rest:
                    return None
                value = rest.pop(0)
            chosen[role] = value
            continue
        letters = word[1:]
        while letters:
            role, letters = roles.get(letters[0], ""), letters[1:]
            if not role:
                return None
            chosen[role] = ""
            if role not in flags:
                if not letters and not rest:
                    return None
                chosen[role], letters = (letters or rest.pop(0)), ""
    for role in ("head", "width", "field"):
        value = chosen.get(role, "1")
        if not value.isascii() or not value.isdigit() or int(value) == 0:
            return None
    if len(chosen.get("delimiter", "x")) != 1:
        return None
    return chosen, rest


def transform(chosen: dict[str, str], texts: list[str]) -> str:
    """What comes out for the texts of the inputs."""
    lines: list[str] = []
    for text in texts:
        own = text.split("\n")
        if own[-1] == "":
            own.pop()
        if "blank" in chosen:
            own = [line for line in own if line.strip(" \t")]
        lines += own[: int(chosen["head"])] if "head" in chosen else own
    if "field" in chosen:
        mark, place = chosen.get("delimiter", "\t"), int(chosen["field"])
        lines = [(line.split(mark) + [""] * place)[place - 1] for line in lines]
    if "width" in chosen:
        lines = [line[: int(chosen["width"])] for line in lines]
    if "upper" in chosen:
        lines = [line.upper() for line in lines]
    if "number" in chosen:
        lines = [f"{count}\t{line}" for count, line in enumerate(lines, 1)]
    if "reverse" in chosen:
        lines.reverse()
    if "join" in chosen:
        return chosen["join"].join(lines) + "\n" if lines else ""
    return "".join(line + "\n" for line in lines)


@cache
def reference_source() -> str:
    """The source of the reference implementation."""
    return inspect.getsource(parse) + "\n\n" + inspect.getsource(transform)
