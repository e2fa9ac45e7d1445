"""Units of a service manager: what a target starts, which ordering entries close a cycle, and the start order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

Statement = tuple[str, str, str]  # (stating unit, "After" or "Before", other unit)


@dataclass
class Unit:
    """A unit as drawn. `extra` holds the lists that stand in a drop-in, `reset` keys that the drop-in clears first."""

    name: str
    rank: int | None = None
    lists: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    extra: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    reset: tuple[str, ...] = ()
    wanted_by: str = ""

    def add(self, key: str, other: str, in_extra: bool = False) -> None:
        """Put a name into a list; nothing is both before and after the same unit."""
        opposite = {"After": "Before", "Before": "After"}.get(key, "")
        for lists in (self.lists, self.extra):
            if other in lists.get(opposite, []):
                lists[opposite].remove(other)
        entries = (self.extra if in_extra else self.lists).setdefault(key, [])
        if other not in entries:
            entries.append(other)

    def entries(self, key: str) -> list[str]:
        """The effective list."""
        base = [] if key in self.reset else self.lists.get(key, [])
        return list(dict.fromkeys([*base, *self.extra.get(key, [])]))


def started(units: Mapping[str, Unit], target: str) -> set[str]:
    """What the target pulls in."""
    done: set[str] = set()
    todo = [target]
    while todo:
        name = todo.pop()
        if name in done or name not in units:
            continue
        done.add(name)
        todo += [*units[name].entries("Wants"), *units[name].entries("Requires")]
        todo += [unit.name for unit in units.values() if unit.wanted_by == name]
    return done


def ends(statement: Statement) -> tuple[str, str]:
    """First and second of the two units."""
    unit, key, other = statement
    return (other, unit) if key == "After" else (unit, other)


def reachable(statements: Iterable[Statement]) -> dict[str, set[str]]:
    """Which units come later, for each."""
    later: dict[str, set[str]] = {}
    for statement in statements:
        first, second = ends(statement)
        later.setdefault(first, set()).add(second)
    result: dict[str, set[str]] = {}
    for start in later:
        seen: set[str] = set()
        todo = [start]
        while todo:
            fresh = later.get(todo.pop(), set()) - seen
            seen |= fresh
            todo += fresh
        result[start] = seen
    return result


def break_cycles(units: Mapping[str, Unit], statements: set[Statement]) -> list[Statement]:
    """The statements to delete, in order."""
    left, removed = set(statements), list[Statement]()
    while True:
        later = reachable(left)
        bad = [s for s in left if ends(s)[0] in later.get(ends(s)[1], ())]
        if not bad:
            return removed

        def place(statement: Statement) -> tuple[int, str, str]:
            rank = units[statement[0]].rank
            return (50 if rank is None else rank, statement[0], statement[2])

        removed.append(min(bad, key=place))
        left.discard(removed[-1])


def start_order(names: set[str], statements: Iterable[Statement]) -> list[str]:
    """Alphabetical among those that may be next."""
    pairs = {ends(s) for s in statements}
    order: list[str] = []
    left = set(names)
    while left:
        blocked = {second for first, second in pairs if first in left}
        order.append(min(left - blocked))
        left.discard(order[-1])
    return order
