"""Reconcile a bank statement with the books: decimals against minor units, closest date wins, batches pay many entries."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from generators.family import Draft, Draw, Family, Miss, Setting
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    folder: str
    line: str  # what a row of the statement is called
    entry: str  # what a row of the books is called
    text: str


EMAIL = """Hi,

month end at {firm} is stuck on the {line} reconciliation and I am out of office from tonight. Both extracts are on the box:
{folder}/statement.csv (what the bank says) and {folder}/books.csv (what we say). {rules}

{output}

Please leave both extracts as they are, audit compares their checksums.

Thanks, {persona}
"""
TICKET = """[{firm}] FIN-{ticket}: automatic reconciliation is down, do this period by hand

Inputs: {folder}/statement.csv and {folder}/books.csv. They are evidence and must not change.

{rules}

Deliverable. {output}
"""
NOTE = """{folder}/statement.csv vs {folder}/books.csv. Inputs stay untouched.
{rules}
{output}
"""
SPECIFICATION = """Reconciliation procedure of {firm}

1. Sources. {folder}/statement.csv lists every {line}; {folder}/books.csv lists every {entry}. Neither file is modified.
2. Matching. {rules}
3. Result. {output}
"""

CHAT = """{persona} at {firm}: quick one before the auditors arrive. Two extracts in {folder}, statement.csv from the bank and
books.csv from us. Audit hashes both, so they stay byte for byte what they are. How we pair them: {rules}
What I need back: {output}
"""
RUNBOOK = """Runbook {ticket} ({firm}): when the nightly {line} matching has not run

Precondition: {folder}/statement.csv and {folder}/books.csv have arrived. Both are read only for this procedure.
Procedure: {rules}
Outcome: {output}
"""

SETTINGS = (
    World("retail_bank", "treasury accountant", "month-end close", "email", "/srv/close", "bank line", "entry", EMAIL),
    World("card_payouts", "payments engineer", "payout control", "ticket", "/data/payouts", "payout", "sale", TICKET),
    World("tuition", "bursar", "tuition fees", "note", "/home/bursar/fees", "transfer", "invoice", NOTE),
    World(
        "freight",
        "controller",
        "freight billing",
        "specification",
        "/opt/freight",
        "remittance",
        "waybill",
        SPECIFICATION,
    ),
    World(
        "clinic", "practice manager", "insurer settlements", "email", "/var/lib/claims", "settlement", "claim", EMAIL
    ),
    World(
        "energy",
        "billing analyst",
        "meter billing",
        "specification",
        "/srv/meter",
        "direct debit",
        "bill",
        SPECIFICATION,
    ),
    World("auction", "auction clerk", "buyer settlements", "chat", "/srv/hammer/settle", "wire", "lot", CHAT),
    World(
        "ferry",
        "revenue officer",
        "agency sales",
        "runbook",
        "/var/spool/revenue",
        "card batch",
        "ticket sale",
        RUNBOOK,
    ),
)

TESTS = """
import hashlib
from pathlib import Path

FOLDER = Path(TRUTH["folder"])


def report():
    return json.loads((FOLDER / "report.json").read_text())


def test_matches():
    assert report()["matched"] == TRUTH["matched"]


def test_leftovers():
    got = report()
    assert got["unmatched_statement"] == TRUTH["unmatched_statement"]
    assert got["unmatched_books"] == TRUTH["unmatched_books"]


def test_difference():
    got = report()["difference"]
    assert isinstance(got, int) and got == TRUTH["difference"]


def test_inputs_untouched():
    for name, digest in TRUTH["inputs"].items():
        assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == digest, name
"""

INITIAL = """
from pathlib import Path


def test_inputs_are_there():
    folder = Path(TRUTH["folder"])
    assert (folder / "statement.csv").is_file() and (folder / "books.csv").is_file()
    assert not (folder / "report.json").exists()
"""


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
        folder=world.folder, line=world.line, entry=world.entry, persona=world.persona,
    )
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
        solution=python_script(world.folder, exponent, window),
        alternatives=[sql_script(world.folder, exponent, window)],
        misses=[
            Miss(
                "first_candidate",
                "takes the first candidate instead of the closest",
                python_script(world.folder, exponent, window, choice="b[0]"),
                ["test_matches"],
            ),
            Miss(
                "window_off_by_one",
                "lets a day too many pass",
                python_script(world.folder, exponent, window + 1),
                goals[:2],
            ),
            Miss(
                "sign_of_difference",
                "subtracts the wrong way round",
                python_script(world.folder, exponent, window, sign="-"),
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


def python_script(
    folder: str, exponent: int, window: int, choice: str = "min(b, key=lambda e: (e[0], e[1]))", sign: str = ""
) -> str:
    """The reference solution, or a variation of it."""
    return f"""cd {folder} && python3 - <<'PY'
import csv, json
from datetime import date, datetime
E, W = {exponent}, {window}
S = []
for r in csv.DictReader(open("statement.csv")):
    whole = r["amount"].replace(",", "").replace(".", "")
    S.append((datetime.strptime(r["booked"], "%d.%m.%Y").date(), r["line"], int(whole), r["batch"]))
B = {{r["entry"]: (date.fromisoformat(r["date"]), int(r["minor"]), r["batch"]) for r in csv.DictReader(open("books.csv"))}}
used, matched = set(), {{}}
for day, key, amount, batch in sorted(S):
    if batch:
        parts = sorted(k for k, v in B.items() if v[2] == batch)
        if sum(B[k][1] for k in parts) == amount:
            matched[key] = parts
            used.update(parts)
        continue
    b = [(abs((v[0] - day).days), k) for k, v in B.items()
         if k not in used and not v[2] and v[1] == amount and abs((v[0] - day).days) <= W]
    if b:
        k = ({choice})[1]
        matched[key] = [k]
        used.add(k)
open_s = sorted(s[1] for s in S if s[1] not in matched)
open_b = sorted(k for k in B if k not in used)
amount = {{s[1]: s[2] for s in S}}
difference = sum(amount[k] for k in open_s) - sum(B[k][1] for k in open_b)
json.dump({{"matched": matched, "unmatched_statement": open_s, "unmatched_books": open_b, "difference": {sign}difference}},
          open("report.json", "w"))
PY
"""


def sql_script(folder: str, exponent: int, window: int) -> str:
    """Another way: sqlite does the looking up, the shell drives it."""
    return f"""cd {folder}
db=$(mktemp)
sqlite3 "$db" ".mode csv" ".import statement.csv s" ".import books.csv b" \\
  "alter table s add a; update s set a=cast(replace(replace(amount,',',''),'.','') as integer),
   booked=substr(booked,7,4)||'-'||substr(booked,4,2)||'-'||substr(booked,1,2);" "create table m(l,e);"
sqlite3 "$db" "select line,booked,a,batch from s order by booked,line" | while IFS='|' read -r l d a t; do
  if [ -n "$t" ]; then
    sqlite3 "$db" "insert into m select '$l',entry from b where batch='$t' and
      (select sum(cast(minor as integer)) from b where batch='$t')=$a;"
  else
    sqlite3 "$db" "insert into m select '$l',entry from b where batch='' and cast(minor as integer)=$a
      and abs(julianday(date)-julianday('$d'))<={window} and entry not in (select e from m)
      order by abs(julianday(date)-julianday('$d')),entry limit 1;"
  fi
done
sqlite3 "$db" "select json_object(
 'matched',(select json_group_object(l,json(es)) from (select l,json_group_array(e) es from (select * from m order by e) group by l)),
 'unmatched_statement',(select json_group_array(line) from (select line from s where line not in (select l from m) order by line)),
 'unmatched_books',(select json_group_array(entry) from (select entry from b where entry not in (select e from m) order by entry)),
 'difference',(select coalesce(sum(a),0) from s where line not in (select l from m))
   -(select coalesce(sum(cast(minor as integer)),0) from b where entry not in (select e from m)))" > report.json
rm -f "$db"
"""


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
