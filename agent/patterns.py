"""Patterns of paths: `*`, `?` and `[...]` within a name, `**` for any number of folders, `{a,b}` for alternatives.

As in a shell, a name that begins with a dot is matched only where the pattern spells the dot. Time is bounded by the product of the
lengths of pattern and path, whatever they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fnmatch import translate

MOST_ALTERNATIVES = 20
_Name = Callable[[str], bool]
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")


def matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a path (relative, no leading `./`) matches.

    Raises:
        ValueError: the pattern has too many alternatives.
    """
    ways = [[_name(part) for part in _ended(parts(way))] for way in alternatives(pattern)]
    return lambda path: any(_fits(way, path.split("/")) for way in ways)


def parts(pattern: str) -> list[str]:
    """A pattern's names, without empty ones and `.`."""
    return [part for part in pattern.split("/") if part not in ("", ".")]


def _ended(names: list[str]) -> list[str]:
    """`**` at the end stands for all that is below, not for the folder itself."""
    return [*names, "*"] if names[-1:] == ["**"] else names


def literal(part: str) -> bool:
    """Whether a name means just itself."""
    return not set(part) & set("*?[{")


def alternatives(pattern: str) -> list[str]:
    """The patterns without braces that it stands for, innermost braces first.

    Raises:
        ValueError: there are too many.
    """
    done: list[str] = []
    todo = [pattern]
    while todo:
        one = todo.pop()
        found = _BRACES.search(one)
        if found is None:
            done.append(one)
        else:
            todo += [one[: found.start()] + choice + one[found.end() :] for choice in found.group(1).split(",")]
        if len(done) + len(todo) > MOST_ALTERNATIVES:
            raise ValueError(f"the pattern has more than {MOST_ALTERNATIVES} alternatives")
    return done


def _name(part: str) -> _Name | None:
    """A test of one name; None for `**`."""
    if part == "**":
        return None
    fits, dot = re.compile(translate(part)).match, part.startswith(".")
    return lambda name: (dot or not name.startswith(".")) and fits(name) is not None


def _fits(way: Sequence[_Name | None], names: Sequence[str]) -> bool:
    """Follow all ways to match at once: the places in the pattern that may come next."""
    places = _open(way, {0})
    for name in names:
        stepped: set[int] = set()
        for place in places:
            test = way[place] if place < len(way) else _nothing
            if test is None:
                stepped |= set() if name.startswith(".") else {place}
            elif test(name):
                stepped.add(place + 1)
        places = _open(way, stepped)
    return len(way) in places


def _open(way: Sequence[_Name | None], places: set[int]) -> set[int]:
    """With the places that are reached because `**` may stand for no folder at all."""
    reached = set(places)
    for place in sorted(places):
        while place < len(way) and way[place] is None:
            place += 1
            reached.add(place)
    return reached


def _nothing(_: str) -> bool:
    return False
