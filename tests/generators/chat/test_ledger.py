"""The ledger: rows and totals, ceilings that hold, reservations of the dead."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from generators.chat.ledger import NOTHING, Ceiling, Entry, Ledger
from generators.chat.model import Tag, Usage
from generators.errors import BudgetError, StorageError, UsageError

USAGE = Usage(input_tokens=100, output_tokens=20, cached_tokens=40, reasoning_tokens=5)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    ledger = Ledger(tmp_path / "deep" / "ledger.sqlite")
    yield ledger
    ledger.close()


def entry(task: str = "t", stage: str = "draft", money: float | None = 0.5, outcome: str = "ok") -> Entry:
    return Entry(Tag(task, stage, 1), "openai:m", outcome, USAGE, money, 2.0)


def taken(ledger: Ledger, tokens: int, money: float, ceiling: Ceiling) -> int:
    number = ledger.reserve(tokens, money, ceiling)
    assert number is not None
    return number


def test_totals_by_any_columns(ledger: Ledger) -> None:
    for task, stage in (("a", "draft"), ("a", "tests"), ("b", "draft")):
        ledger.book(entry(task, stage))
    ledger.book(entry("b", "tests", outcome="refused"))
    (all_of_it,) = ledger.totals()
    assert (all_of_it.requests, all_of_it.money, all_of_it.input_tokens, all_of_it.cached_tokens) == (4, 2.0, 400, 160)
    assert [(total.by, total.requests) for total in ledger.totals("task")] == [({"task": "a"}, 2), ({"task": "b"}, 2)]
    assert [total.by for total in ledger.totals("outcome", "stage")] == [
        {"outcome": "ok", "stage": "draft"},
        {"outcome": "ok", "stage": "tests"},
        {"outcome": "refused", "stage": "tests"},
    ]
    with pytest.raises(UsageError, match="price"):
        ledger.totals("price")  # type: ignore[arg-type]


def test_an_unknown_price_is_null_and_counted(ledger: Ledger) -> None:
    ledger.book(entry(money=None))
    ledger.book(entry(money=0.25))
    assert (ledger.totals()[0].money, ledger.totals()[0].unpriced) == (0.25, 1)
    rows = sqlite3.connect(ledger.path).execute("SELECT money FROM requests ORDER BY id").fetchall()
    assert rows == [(None,), (0.25,)]


def test_a_request_that_fits_exactly_is_allowed_and_one_token_more_is_not(ledger: Ledger) -> None:
    ledger.settle(taken(ledger, 200, 0.7, Ceiling(money=1.0, tokens=320)), entry(money=0.3))
    ledger.release(taken(ledger, 200, 0.7, Ceiling(money=1.0, tokens=320)))
    with pytest.raises(BudgetError, match="320 tokens"):
        ledger.reserve(201, 0.7, Ceiling(money=1.0, tokens=320))
    with pytest.raises(BudgetError, match=r"\$1 "):
        ledger.reserve(200, 0.71, Ceiling(money=1.0, tokens=320))


def test_what_others_have_reserved_is_waited_for_and_not_given_twice(ledger: Ledger) -> None:
    ceiling = Ceiling(tokens=1000)
    first = taken(ledger, 600, 0, ceiling)
    assert ledger.reserve(600, 0, ceiling) is None
    ledger.settle(first, entry())  # 120 tokens
    assert ledger.reserve(600, 0, ceiling) is not None


def test_two_ledgers_of_one_file_see_each_others_reservations(ledger: Ledger) -> None:
    other = Ledger(ledger.path)
    taken(other, 600, 0, Ceiling())
    assert ledger.reserve(600, 0, Ceiling(tokens=1000)) is None
    other.close()
    assert ledger.reserve(600, 0, Ceiling(tokens=1000)) is not None


DYING = """
import os, signal, sys
from pathlib import Path
from generators.chat.ledger import Ceiling, Entry, Ledger
from generators.chat.model import Tag, Usage
ledger = Ledger(Path(sys.argv[1]))
ledger.book(Entry(Tag("t"), "m", "ok", Usage(input_tokens=7, output_tokens=0), 0.5, 1.0))
assert ledger.reserve(900, 0, Ceiling()) is not None
print("reserved", flush=True)
sys.stdin.read(1)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_process_leaves_its_rows_and_no_reservation(ledger: Ledger) -> None:
    dying = subprocess.Popen(
        [sys.executable, "-c", DYING, str(ledger.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert dying.stdout and dying.stdout.readline() == "reserved\n"
    assert ledger.reserve(900, 0, Ceiling(tokens=1000)) is None
    dying.communicate("x")
    assert dying.returncode == -signal.SIGKILL
    assert ledger.reserve(900, 0, Ceiling(tokens=1000)) is not None
    assert ledger.spent() == (7, 0.5)


def test_many_may_open_a_new_one_at_once(tmp_path: Path) -> None:
    together = threading.Barrier(8)

    def opened(path: Path) -> None:
        together.wait(30)
        Ledger(path).close()

    with ThreadPoolExecutor(8) as threads:
        for number in range(20):
            list(threads.map(opened, [tmp_path / f"{number}.sqlite"] * 8))


def test_closing_leaves_no_file_of_the_process(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.book(Entry(Tag(), "m", "ok", NOTHING, 0.0, 0.0, cached=True))
    ledger.close()
    assert os.listdir(tmp_path) == ["ledger.sqlite"]


def test_a_file_that_is_no_ledger_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite").write_text("this is a letter, not a database, and it is long enough to be read as one")
    with pytest.raises(StorageError, match=r"ledger\.sqlite"):
        Ledger(tmp_path / "ledger.sqlite")
