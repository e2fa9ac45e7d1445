"""What every request cost, in one SQLite file: a row a request, totals by any column, and a ceiling that holds.

Several processes may write at once, and one may be killed at any moment. Before a request its worst case is reserved; a
reservation counts as spent until it is settled, and is void when its process is gone (a lock file says who lives).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
import threading
import time
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from generators.chat.model import Tag, Usage
from generators.errors import BudgetError, StorageError, UsageError

Column = Literal["task", "stage", "round", "model", "outcome", "cached"]
COLUMNS: tuple[Column, ...] = ("task", "stage", "round", "model", "outcome", "cached")
NOTHING = Usage(input_tokens=0, output_tokens=0)
_TOLERANCE = 1e-9  # dollars: sums of floats are not exact
_BUSY_SECONDS = 60.0

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS requests (id INTEGER PRIMARY KEY, task TEXT NOT NULL, stage TEXT NOT NULL,"
    " round INTEGER NOT NULL, model TEXT NOT NULL, outcome TEXT NOT NULL, input_tokens INTEGER NOT NULL,"
    " output_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL, reasoning_tokens INTEGER NOT NULL,"
    " estimated INTEGER NOT NULL, money REAL, seconds REAL NOT NULL, cached INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS reservations (id INTEGER PRIMARY KEY, owner TEXT NOT NULL, tokens INTEGER NOT NULL,"
    " money REAL NOT NULL)",
    "CREATE TABLE IF NOT EXISTS spent (one INTEGER PRIMARY KEY CHECK (one = 1), tokens INTEGER NOT NULL,"
    " money REAL NOT NULL)",
    "INSERT OR IGNORE INTO spent VALUES (1, 0, 0)",
)
_INSERT = "INSERT INTO requests VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_HELD = "SELECT COALESCE(SUM(tokens), 0), COALESCE(SUM(money), 0.0) FROM reservations"
_SUMS = (
    "COUNT(*), COALESCE(SUM(input_tokens), 0), COALESCE(SUM(output_tokens), 0), COALESCE(SUM(cached_tokens), 0),"
    " COALESCE(SUM(reasoning_tokens), 0), COALESCE(SUM(estimated), 0), COALESCE(SUM(money), 0.0),"
    " COALESCE(SUM(money IS NULL), 0), COALESCE(SUM(seconds), 0.0), COALESCE(SUM(cached), 0)"
)


@dataclass(frozen=True)
class Ceiling:
    """The most that all requests of a ledger may cost together. None: no limit."""

    money: float | None = None  # dollars
    tokens: int | None = None

    def holds(self, money: float, tokens: int) -> bool:
        """Whether these sums stay under it."""
        dear = self.money is not None and money > self.money + _TOLERANCE
        return not dear and (self.tokens is None or tokens <= self.tokens)

    def __str__(self) -> str:
        parts = [
            f"${self.money:g}" if self.money is not None else "",
            "" if self.tokens is None else f"{self.tokens} tokens",
        ]
        return " and ".join(part for part in parts if part)


@dataclass(frozen=True)
class Entry:
    """One request. `outcome` is `ok` or the reason of a fault; money is None where the model's price is unknown."""

    tag: Tag
    model: str
    outcome: str
    usage: Usage
    money: float | None
    seconds: float
    cached: bool = False

    def row(self) -> tuple[object, ...]:
        """The row's values in the table's order."""
        tag, usage = self.tag, self.usage
        counts = (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.reasoning_tokens, usage.estimated)
        named = (tag.task, tag.stage, tag.round, self.model, self.outcome)
        return (*named, *counts, self.money, self.seconds, self.cached)


@dataclass(frozen=True)
class Total:
    """A sum over rows. `unpriced` of them have no money, since their price is unknown."""

    by: dict[str, Any]
    requests: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    reasoning_tokens: int
    estimated: int
    money: float
    unpriced: int
    seconds: float
    cached: int


class Ledger:
    """The file of costs.

    Raises:
        StorageError: it cannot be opened, read or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.told: set[str] = set()  # models whose missing price was said
        self._guard = threading.Lock()
        self._owner = os.urandom(8).hex()
        with self._explained():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._alive = os.open(self._life(self._owner), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            fcntl.flock(self._alive, fcntl.LOCK_EX)
            self._base = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
            _write_ahead(self._base)
            self._base.execute("PRAGMA synchronous=NORMAL")
        with self._transaction() as base:
            for statement in _SCHEMA:
                base.execute(statement)

    def reserve(self, tokens: int, money: float, ceiling: Ceiling) -> int | None:
        """Set the worst case of a request aside; the number is for `settle` or `release`.

        None: it does not fit now, but may when reservations of other requests are settled for less.

        Raises:
            BudgetError: with what is spent already, it would pass the ceiling.
        """
        with self._transaction() as base:
            self._void_the_dead(base)
            spent_tokens, spent_money = base.execute("SELECT tokens, money FROM spent").fetchone()
            if not ceiling.holds(spent_money + money, spent_tokens + tokens):
                raise BudgetError(
                    f"the next request could cost ${money:.4f} or {tokens} tokens, which with the ${spent_money:.4f} and"
                    f" {spent_tokens} tokens spent so far is over the ceiling of {ceiling}"
                )
            held_tokens, held_money = base.execute(_HELD).fetchone()
            if not ceiling.holds(spent_money + held_money + money, spent_tokens + held_tokens + tokens):
                return None
            cursor = base.execute(
                "INSERT INTO reservations (owner, tokens, money) VALUES (?, ?, ?)", (self._owner, tokens, money)
            )
            return cursor.lastrowid

    def settle(self, reservation: int, entry: Entry) -> None:
        """Book a request in place of its reservation."""
        with self._transaction() as base:
            base.execute("DELETE FROM reservations WHERE id = ?", (reservation,))
            self._insert(base, entry)

    def release(self, reservation: int) -> None:
        """Drop the reservation of a request that was not made."""
        with self._transaction() as base:
            base.execute("DELETE FROM reservations WHERE id = ?", (reservation,))

    def book(self, entry: Entry) -> None:
        """Book a request that needed no reservation."""
        with self._transaction() as base:
            self._insert(base, entry)

    def spent(self) -> tuple[int, float]:
        """Tokens and dollars that are booked."""
        with self._explained(), self._guard:
            tokens, money = self._base.execute("SELECT tokens, money FROM spent").fetchone()
        return tokens, money

    def totals(self, *by: Column) -> list[Total]:
        """Sums for every combination of these columns, in order; without columns, one sum over everything."""
        if unknown := [column for column in by if column not in COLUMNS]:
            raise UsageError(f"the ledger has no column {unknown[0]!r}; there are {', '.join(COLUMNS)}")
        names = ", ".join(by)
        grouped = f"SELECT {names}, {_SUMS} FROM requests GROUP BY {names} ORDER BY {names}"
        with self._explained(), self._guard:
            rows = self._base.execute(grouped if by else f"SELECT {_SUMS} FROM requests").fetchall()
        return [Total(dict(zip(by, row, strict=False)), *row[len(by) :]) for row in rows]

    def close(self) -> None:
        """Void what this process has reserved and let go of the file."""
        with self._transaction() as base:
            base.execute("DELETE FROM reservations WHERE owner = ?", (self._owner,))
        self._base.close()
        self._life(self._owner).unlink(missing_ok=True)
        os.close(self._alive)

    def _insert(self, base: sqlite3.Connection, entry: Entry) -> None:
        base.execute(_INSERT, entry.row())
        tokens = entry.usage.input_tokens + entry.usage.output_tokens
        base.execute("UPDATE spent SET tokens = tokens + ?, money = money + ?", (tokens, entry.money or 0.0))

    def _void_the_dead(self, base: sqlite3.Connection) -> None:
        owners = base.execute("SELECT DISTINCT owner FROM reservations WHERE owner != ?", (self._owner,)).fetchall()
        for (owner,) in owners:
            if not _lives(self._life(owner)):
                base.execute("DELETE FROM reservations WHERE owner = ?", (owner,))
                self._life(owner).unlink(missing_ok=True)

    def _life(self, owner: str) -> Path:
        """The file that a process holds locked while it lives."""
        return self.path.with_name(f"{self.path.name}-{owner}.alive")

    @contextlib.contextmanager
    def _transaction(self) -> Generator[sqlite3.Connection]:
        with self._explained(), self._guard:
            self._base.execute("BEGIN IMMEDIATE")
            try:
                yield self._base
            except BaseException:
                self._base.execute("ROLLBACK")
                raise
            self._base.execute("COMMIT")

    @contextlib.contextmanager
    def _explained(self) -> Generator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise StorageError(f"ledger {self.path}: {error}") from error


def _write_ahead(base: sqlite3.Connection) -> None:
    """Several may open a new file at once, and for this change alone SQLite does not wait for the others."""
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            base.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def _lives(path: Path) -> bool:
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False
