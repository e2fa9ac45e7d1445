"""Reconcile a bank statement with the books: decimals against minor units, closest date wins, batches pay many entries."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from generators.family import Draft, Draw, Family, Miss, Setting, load_settings, resource
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    folder: str
    line: str  # what a row of the statement is called
    entry: str  # what a row of the books is called
    text: str


SETTINGS = load_settings(__file__, World)
TESTS, INITIAL = resource(__file__, "tests.py"), resource(__file__, "initial.py")
SOLUTION, ALTERNATIVE = resource(__file__, "solution.sh"), resource(__file__, "alternative.sh")


@dataclass(frozen=True)
class Row:
    """A row of either side. `amount` in minor units; `tag` is the batch it belongs to, or empty."""

    key: str
    day: date
    amount: int
    tag: str


def draw_rows(draw: Draw, pairs: int, batches: int, window: int) -> tuple[list[Row], list[Row]]:
    """Both sides: true pairs, decoys with the same amount just outside or inside the window, batches, leftovers."""
    start = date(2024, draw.between(1, 11), 1)
    statement: list[Row] = []
    books: list[Row] = []
    numbers = iter(draw.sample(range(1000, 9999), pairs * 8))

    def add(side: list[Row], prefix: str, offset: int, amount: int, tag: str = "") -> None:
        side.append(Row(f"{prefix}{next(numbers)}", start + timedelta(days=offset), amount, tag))

    for number in range(pairs):
        offset, amount = draw.between(6, 24), draw.between(500, 250_000)
        add(statement, "S", offset, amount)
        kind = number + 5 if number < 5 else draw.between(0, 9)  # every trap occurs whatever the seed
        if kind < 6:
            add(books, "B", offset + draw.between(-window, window), amount)
        elif kind < 8:  # two candidates: the closer one wins
            add(books, "B", offset - window, amount)
            add(books, "B", offset + draw.between(0, window - 1), amount)
        else:  # just too far
            add(books, "B", offset + window + 1, amount)
    for number in range(batches):
        tag, offset = f"BATCH-{number + 41}", draw.between(5, 25)
        parts = [draw.between(200, 60_000) for _ in range(draw.between(2, 4))]
        for part in parts:
            add(books, "B", offset - draw.between(0, window), part, tag)
        wrong = draw.chance(25)
        add(statement, "S", offset, sum(parts) + (1 if wrong else 0), tag)
    return draw.shuffled(statement), draw.shuffled(books)


def reconcile(statement: Sequence[Row], books: Sequence[Row], window: int) -> dict[str, list[str]]:
    """The stated rules, in the stated order."""
    free = {row.key: row for row in books}
    matched: dict[str, list[str]] = {}
    for line in sorted(statement, key=lambda row: (row.day, row.key)):
        if line.tag:
            parts = [row for row in books if row.tag == line.tag]
            if sum(row.amount for row in parts) == line.amount:
                matched[line.key] = sorted(row.key for row in parts)
            continue
        near = [
            row
            for row in free.values()
            if not row.tag and row.amount == line.amount and abs((row.day - line.day).days) <= window
        ]
        if near:
            best = min(near, key=lambda row: (abs((row.day - line.day).days), row.key))
            matched[line.key] = [best.key]
            del free[best.key]
    return matched


def decimal_text(amount: int, exponent: int) -> str:
    """Minor units as the bank prints them."""
    return f"{amount // 10**exponent:,}.{amount % 10**exponent:0{exponent}d}" if exponent else f"{amount:,}"


def draft(draw: Draw) -> Draft:
    """One reconciliation."""
    world = draw.setting(SETTINGS)
    pairs = draw.by_difficulty(easy=12, medium=40, hard=120)
    batches = draw.by_difficulty(easy=0, medium=3, hard=12)
    window, exponent = draw.between(2, 4), draw.by_difficulty(easy=2, medium=2, hard=draw.pick((0, 3)))
    statement, books = draw_rows(draw, pairs, batches, window)
    matched = reconcile(statement, books, window)
    used = {key for keys in matched.values() for key in keys}
    open_lines = sorted(row.key for row in statement if row.key not in matched)
    open_entries = sorted(row.key for row in books if row.key not in used)
    amounts = {row.key: row.amount for row in [*statement, *books]}

    statement_csv = "line,booked,amount,batch\n" + "".join(
        f'{row.key},{row.day:%d.%m.%Y},"{decimal_text(row.amount, exponent)}",{row.tag}\n' for row in statement
    )
    books_csv = "entry,date,minor,batch\n" + "".join(
        f"{row.key},{row.day.isoformat()},{row.amount},{row.tag}\n" for row in books
    )
    sentences = rules(world, window, exponent, batches > 0)
    output = (
        f"Write {world.folder}/report.json, one JSON object with four keys: matched (object: statement id to the "
        f"ascending list of matched book ids), unmatched_statement and unmatched_books (ascending lists of ids), and "
        f"difference (whole number of minor units: open statement amounts minus open book amounts)."
    )
    truth = {
        "folder": world.folder,
        "matched": matched,
        "unmatched_statement": open_lines,
        "unmatched_books": open_entries,
        "difference": sum(amounts[key] for key in open_lines) - sum(amounts[key] for key in open_entries),
        "inputs": {"statement.csv": sha(statement_csv), "books.csv": sha(books_csv)},
    }
    instruction = world.text.format(
        firm=draw.pick(FIRMS),
        ticket=draw.between(1000, 9999),
        rules=" ".join(sentences.values()),
        output=output,
        folder=world.folder,
        line=world.line,
        entry=world.entry,
        persona=world.persona,
    )
    words = {"FOLDER": world.folder, "EXPONENT": str(exponent), "WINDOW": str(window), "SIGN": ""}
    words["CHOICE"] = "min(b, key=lambda e: (e[0], e[1]))"

    def script(source: str, **changes: str) -> str:
        for name, word in {**words, **changes}.items():
            source = source.replace(f"@{name}@", word)
        return source

    goals = ["test_matches", "test_leftovers", "test_difference"]
    return Draft(
        title=f"Reconcile {world.scenario}",
        setting=world,
        instruction=instruction,
        files={"statement.csv": statement_csv, "books.csv": books_csv},
        dockerfile=f"COPY statement.csv books.csv {world.folder}/\nWORKDIR {world.folder}",
        truth=truth,
        discoverable=("folder", "matched", "unmatched_statement", "unmatched_books"),
        tests=TESTS,
        weights={"test_matches": 0.6, "test_leftovers": 0.25, "test_difference": 0.15},
        guards=["test_inputs_untouched"],
        initial=INITIAL,
        solution=script(SOLUTION),
        alternatives=[script(ALTERNATIVE)],
        misses=[
            Miss(
                "earliest_candidate",
                "takes the earliest candidate instead of the closest",
                script(SOLUTION, CHOICE="min(b, key=lambda e: B[e[1]][0])"),
                ["test_matches"],
            ),
            Miss(
                "window_off_by_one",
                "lets a day too many pass",
                script(SOLUTION, WINDOW=str(window + 1)),
                goals[:2],
            ),
            Miss(
                "sign_of_difference",
                "subtracts the wrong way round",
                script(SOLUTION, SIGN="-"),
                ["test_difference"],
            ),
        ],
        requirements=[
            *((text, ["test_matches", "test_leftovers"]) for text in sentences.values()),
            (output, goals),
            (untouched_sentence(instruction), ["test_inputs_untouched"]),
        ],
        knobs={"pairs": pairs, "batches": batches, "window": window, "exponent": exponent},
    )


def untouched_sentence(instruction: str) -> str:
    """The sentence that each voice uses to protect the inputs."""
    candidates = (
        "Please leave both extracts as they are, audit compares their checksums.",
        "They are evidence and must not change.",
        "Inputs stay untouched.",
        "Neither file is modified.",
        "Audit hashes both, so they stay byte for byte what they are.",
        "Both are read only for this procedure.",
    )
    return next(text for text in candidates if text in instruction)


def rules(world: World, window: int, exponent: int, batches: bool) -> dict[str, str]:
    """The sentences that state every rule the tests check."""
    units = {0: "whole units only, no decimals", 2: "two decimals", 3: "three decimals"}[exponent]
    sentences = {
        "units": f"The statement prints amounts with thousands separators ({units}) and dates as DD.MM.YYYY, the books "
        f"keep whole minor units (1 unit is {10**exponent} minor) and ISO dates.",
        "match": f"A {world.line} matches a {world.entry} of exactly the same amount whose date is at most {window} days away "
        f"in either direction.",
        "order": f"Go through the statement by date, then by id; take the {world.entry} closest in date, the lowest id "
        f"where two are equally close, and use each only once.",
    }
    if batches:
        sentences["batch"] = (
            f"A {world.line} with a batch name ignores dates: it matches all entries of that batch together if their sum is "
            f"exactly its amount, otherwise it stays open, and so do they; batched entries never match anything else."
        )
    return sentences


def sha(text: str) -> str:
    """Hex sha256."""
    return hashlib.sha256(text.encode()).hexdigest()


FAMILY = Family(
    name="ledger_reconciliation",
    domain="data_querying",
    verifier=Verifier.EXACT_TEXT,
    skills=("csv parsing", "record matching", "decimal handling", "json output"),
    difficulties=(Difficulty.EASY, Difficulty.MEDIUM, Difficulty.HARD),
    capacity=24,
    draft=draft,
    command_complexity="code",
)
