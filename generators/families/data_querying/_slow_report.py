"""Databases for a report, the same rows in SQL and in Python, and what the report returns on them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass

from generators.family import Draw

PRIME = 10007
REGIONS = ("north", "south", "east", "west", "isles")

Cell = str | int | None
Tables = tuple[list[list[Cell]], list[list[Cell]], list[list[Cell]], list[list[Cell]]]


@dataclass(frozen=True)
class Recipe:
    """How a database is filled: sizes and, for each column, the numbers of a quadratic remainder; SQL and Python agree."""

    owners: int
    facts: int
    parts: int
    black: tuple[int | None, ...]
    numbers: tuple[tuple[int, int, int], ...]

    def values(self, rows: int, *columns: int) -> Iterator[tuple[int, ...]]:
        """The numbers of some columns for all rows, the row's number first."""
        series = range(1, rows + 1)
        return zip(
            series,
            *([(n * n * a + n * b + c) % PRIME for n in series] for a, b, c in (self.numbers[k] for k in columns)),
            strict=True,
        )

    def sql_value(self, column: int) -> str:
        """The same in SQL, of row n."""
        a, b, c = self.numbers[column]
        return f"((n * n * {a} + n * {b} + {c}) % {PRIME})"

    def tables(self, void: str) -> Tables:
        """All rows. Owners have ids in steps of 3; some own nothing, some facts belong to nobody known."""
        owners: list[list[Cell]] = []
        for n, v in self.values(self.owners, 0):
            owners.append([3 * n, f"no {(n * 7) % self.owners}", None if v % 11 == 0 else REGIONS[v % 5]])
        facts: list[list[Cell]] = []
        for n, v, w, x, y in self.values(self.facts, 1, 2, 3, 4):
            key = None if v % 29 == 0 else 3 * (1 + v % (self.owners * 9 // 10)) + (v % 31 == 0)
            value = None if w % 13 == 0 else w % 400 - 40
            day = None if x % 17 == 0 else f"2024-{1 + x % 12:02d}-{1 + x % 5:02d}"
            facts.append([n, key, value, day, None if y % 9 == 0 else void if y % 7 == 0 else "done"])
        parts: list[list[Cell]] = []
        for n, v in self.values(self.parts, 5):
            parts.append([n, None if v % 19 == 0 else 1 + v % (self.facts + 9), None if v % 23 == 0 else v % 90])
        return owners, facts, parts, [[key] for key in self.black]

    def sql(self, void: str) -> str:
        """Statements that fill the tables with the same rows."""
        v = [self.sql_value(column) for column in range(6)]
        regions = " ".join(f"WHEN {number} THEN '{name}'" for number, name in enumerate(REGIONS))
        series = "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {})"
        black = ", ".join(f"({'NULL' if key is None else key})" for key in self.black)
        return f"""
INSERT INTO @owner@ {series.format(self.owners)} SELECT 3 * n, 'no ' || ((n * 7) % {self.owners}),
  CASE WHEN {v[0]} % 11 = 0 THEN NULL ELSE CASE {v[0]} % 5 {regions} END END FROM s;
INSERT INTO @fact@ {series.format(self.facts)} SELECT n,
  CASE WHEN {v[1]} % 29 = 0 THEN NULL ELSE 3 * (1 + {v[1]} % {self.owners * 9 // 10}) + ({v[1]} % 31 = 0) END,
  CASE WHEN {v[2]} % 13 = 0 THEN NULL ELSE {v[2]} % 400 - 40 END,
  CASE WHEN {v[3]} % 17 = 0 THEN NULL ELSE printf('2024-%02d-%02d', 1 + {v[3]} % 12, 1 + {v[3]} % 5) END,
  CASE WHEN {v[4]} % 9 = 0 THEN NULL WHEN {v[4]} % 7 = 0 THEN '{void}' ELSE 'done' END FROM s;
INSERT INTO @part@ {series.format(self.parts)} SELECT n,
  CASE WHEN {v[5]} % 19 = 0 THEN NULL ELSE 1 + {v[5]} % {self.facts + 9} END,
  CASE WHEN {v[5]} % 23 = 0 THEN NULL ELSE {v[5]} % 90 END FROM s;
INSERT INTO @black@ VALUES {black};
"""


def recipe(draw: Draw, owners: int, facts: int, null_in_black: bool) -> Recipe:
    """A database; one owner in twenty is on the black list."""
    black: list[int | None] = [3 * number for number in sorted(draw.sample(range(1, owners + 1), owners // 20))]
    if null_in_black:
        black.append(None)
    numbers = tuple(
        (draw.between(1, PRIME - 1), draw.between(1, PRIME - 1), draw.between(0, PRIME - 1)) for _ in range(6)
    )
    return Recipe(owners, facts, facts // 4, tuple(black), numbers)


def result(tables: Tables, void: str, hard: bool) -> list[list[Cell]]:
    """What the report returns, worked out without a database."""
    owners, facts, parts, black = tables
    mine: dict[Cell, list[list[Cell]]] = {}
    owner_of: dict[Cell, Cell] = {}
    for fact in facts:
        owner_of[fact[0]] = fact[1]
        if fact[1] is not None:
            mine.setdefault(fact[1], []).append(fact)
    part_sum: dict[Cell, int] = {}
    for _, fact_id, value in parts:
        key = owner_of.get(fact_id)
        if isinstance(value, int) and key is not None:
            part_sum[key] = part_sum.get(key, 0) + value
    totals: dict[Cell, int | None] = {}
    counts: dict[Cell, int] = {}
    for owner in owners:
        valid = [fact for fact in mine.get(owner[0], []) if fact[4] is not None and fact[4] != void]
        numbers = [fact[2] for fact in valid if isinstance(fact[2], int)]
        counts[owner[0]], totals[owner[0]] = len(valid), sum(numbers) if numbers else None
    in_group: dict[Cell, list[int]] = {}
    for owner in owners:
        total = totals[owner[0]]
        if total is not None:
            in_group.setdefault(owner[2], []).append(total)
    if any(key is None for [key] in black):
        return []
    excluded = {key for [key] in black}
    rows: list[tuple[int, int, list[Cell]]] = []
    for owner in owners:
        key, name, group = owner
        if key in excluded:
            continue
        own, total = mine.get(key, []), totals[key]
        last = max(own, key=lambda fact: (fact[3] or "", fact[0]))[0] if own else None
        row: list[Cell] = [
            key,
            name,
            group or "(none)",
            counts[key],
            total,
            last,
            len({fact[3] for fact in own} - {None}),
        ]
        if hard:
            numbers = [fact[2] for fact in own if isinstance(fact[2], int)]
            better = 0
            if group is not None and total is not None:
                better = sum(1 for rival in in_group[group] if rival > total)
            row += [
                part_sum.get(key, 0),
                sum(1 for number in numbers if number * len(numbers) > sum(numbers)),
                1 + better,
            ]
        rows.append((-total if total is not None else 10**9, int(key or 0), row))
    return [row for _, _, row in sorted(rows, key=lambda entry: entry[:2])]


def digest(rows: list[list[Cell]]) -> str:
    """Hex sha256 of rows as JSON."""
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()
