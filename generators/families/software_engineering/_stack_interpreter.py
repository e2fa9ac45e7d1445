"""Translation and execution of the stack language; the source is also part of the solution's program."""

from __future__ import annotations

import inspect
from functools import cache


class Trouble(Exception):
    """Line and kind of a mistake."""


def consists(word: str, first: str, others: str) -> bool:
    """Whether a word begins with one of some characters and goes on with some of others."""
    return word != "" and word[0] in first and not word[1:].strip(others)


def translate(d: dict[str, str], text: str) -> dict[str, list[tuple[str, int, int]]]:
    """The program as lists of (operation, number or jump, line), the main one under an empty name."""
    roles = {d[role]: role for role in d["words"].split()}
    bodies: dict[str, list[tuple[str, int, int]]] = {"": []}
    here, name = bodies[""], ""
    opened: list[tuple[str, int, int]] = []
    line = 0
    waiting = False
    letters, digits = "abcdefghijklmnopqrstuvwxyz", "0123456789"
    for line, row in enumerate(text.split("\n"), 1):
        for word in row.split(d["comment"])[0].split():
            role = roles.get(word, "")
            if waiting:
                if role or word in bodies or not consists(word, letters, letters + digits + "-"):
                    raise Trouble(line, "name")
                name, waiting = word, False
                here = bodies[name] = []
            elif consists(word.removeprefix("-"), digits, digits):
                if abs(int(word)) > int(d["top"]):
                    raise Trouble(line, "range")
                here.append(("push", int(word), line))
            elif role == "define":
                if name or opened:
                    raise Trouble(line, "nested")
                opened.append(("define", 0, line))
                waiting = True
            elif role in ("close", "end", "else", "until"):
                wanted = {"close": ("define",), "end": ("if", "else"), "else": ("if",), "until": ("begin",)}[role]
                if not opened or opened[-1][0] not in wanted:
                    raise Trouble(line, "stray")
                _, start, _ = opened.pop()
                if role == "close":
                    here, name = bodies[""], ""
                elif role == "until":
                    here.append(("until", start, line))
                else:
                    if role == "else":
                        here.append(("jump", 0, line))
                        opened.append(("else", len(here) - 1, line))
                    here[start] = (here[start][0], len(here), here[start][2])
            elif role in ("if", "begin"):
                opened.append((role, len(here), line))
                if role == "if":
                    here.append(("if", 0, line))
            elif role == "leave" and not name:
                raise Trouble(line, "stray")
            elif role:
                here.append((role, 0, line))
            elif word in bodies:
                here.append((f"call {word}", 0, line))
            else:
                raise Trouble(line, "unknown")
    if opened:
        raise Trouble(opened[-1][2], "unclosed")
    return bodies


def execute(d: dict[str, str], bodies: dict[str, list[tuple[str, int, int]]], out: list[str]) -> None:
    """Run a translated program."""
    top, full, deep, many = int(d["top"]), int(d["full"]), int(d["deep"]), int(d["many"])
    cells = [0] * int(d["cells"])
    stack: list[int] = []
    frames: list[tuple[list[tuple[str, int, int]], int]] = []
    body, at, steps = bodies[""], 0, 0
    takes = {
        "drop": 1,
        "dup": 1,
        "swap": 2,
        "over": 2,
        "rot": 3,
        "print": 1,
        "if": 1,
        "until": 1,
        "fetch": 1,
        "store": 2,
        "not": 1,
    }
    takes |= dict.fromkeys(("add", "sub", "mul", "div", "mod", "equal", "less", "more"), 2)
    while True:
        if at >= len(body):
            if not frames:
                return
            body, at = frames.pop()
            continue
        role, number, line = body[at]
        at += 1
        if role == "jump":
            at = number
            continue
        steps += 1
        if steps > many:
            raise Trouble(line, "steps")
        count = takes.get(role, 0)
        if len(stack) < count:
            raise Trouble(line, "empty")
        args = stack[len(stack) - count :]
        del stack[len(stack) - count :]
        pushed: list[int] = []
        if role == "push":
            pushed = [number]
        elif role.startswith("call "):
            if len(frames) >= deep:
                raise Trouble(line, "depth")
            frames.append((body, at))
            body, at = bodies[role[5:]], 0
        elif role == "leave":
            body, at = frames.pop()
        elif role in ("if", "until"):
            at = number if args[0] == 0 else at
        elif role == "print":
            out.append(f"{args[0]}\n")
        elif role == "depth":
            pushed = [len(stack)]
        elif role in ("dup", "swap", "over", "rot"):
            pushed = [
                args[index] for index in {"dup": (0, 0), "swap": (1, 0), "over": (0, 1, 0), "rot": (1, 2, 0)}[role]
            ]
        elif role in ("equal", "less", "more", "not"):
            left, right = args[0], args[-1]
            pushed = [int({"equal": left == right, "less": left < right, "more": left > right, "not": left == 0}[role])]
        elif role in ("fetch", "store"):
            if not 0 <= args[-1] < len(cells):
                raise Trouble(line, "cell")
            if role == "fetch":
                pushed = [cells[args[0]]]
            else:
                cells[args[1]] = args[0]
        elif role in ("div", "mod"):
            left, right = args
            if right == 0:
                raise Trouble(line, "zero")
            quotient = left // right
            if d["division"] == "zero" and quotient < 0 and quotient * right != left:
                quotient += 1
            pushed = [quotient if role == "div" else left - quotient * right]
        elif role in ("add", "sub", "mul"):
            left, right = args
            pushed = [left + right if role == "add" else left - right if role == "sub" else left * right]
        if any(abs(value) > top for value in pushed):
            raise Trouble(line, "range")
        if len(stack) + len(pushed) > full:
            raise Trouble(line, "full")
        stack += pushed


@cache
def reference_source() -> str:
    """The source of the reference implementation."""
    return "\n\n".join(inspect.getsource(part) for part in (Trouble, consists, translate, execute))
