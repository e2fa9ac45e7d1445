"""Finish a SQLite schema migration that stopped half way, with a program that can be run again and loses nothing."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from datetime import date

from generators.family import Draft, Draw, Family, Miss, Setting, Voice
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS, FIRST_NAMES, LAST_NAMES


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling: names of the two tables, of a row of each, and of the columns."""

    folder: str
    database: str
    people: str
    person: str
    moves: str
    balance: str
    cents: str
    day: str
    kind: str
    kinds: tuple[str, ...]
    text: str


def world(words: str, voice: Voice, text: str) -> World:
    """A world from one line of words separated by bars."""
    name, persona, scenario, folder, database, people, person, moves, balance, cents, day, kind, kinds = words.split(
        "|"
    )
    columns = (people, person, moves, balance, cents, day, kind)
    return World(name, persona, scenario, voice, folder, database, *columns, tuple(kinds.split()), text)


SETTINGS = (
    world(
        "rowing_club|club treasurer|membership "
        "database|/srv/club|club.db|members|member|payments|balance|cents|paid_on|"
        "purpose|fee boat locker gift",
        "email",
        """Hello,

the upgrade of our membership database died last night when the server lost power. It is {database}, and {note} is
the plan the
vendor worked from. Could you bring it to the end?

{rules}

The club opens on Saturday. Thank you!
{persona}, {firm}
""",
    ),
    world(
        "clinic_billing|database administrator|clinic "
        "billing|/var/lib/clinic|billing.db|patients|patient|charges|owed|amount|"
        "charged_on|category|visit lab scan drug",
        "ticket",
        """DBA-{ticket} migration job aborted on {database}
Reporter: {persona} ({firm})
Plan: {note}

Definition of done
{rules}
""",
    ),
    world(
        "grain_store|cooperative clerk|grain "
        "deliveries|/data/grain|store.db|growers|grower|deliveries|account|value|delivered|"
        "crop|wheat rye oats maize",
        "note",
        """{database} is stuck between the old and the new schema; the plan is {note}.

{rules}

({persona})
""",
    ),
    world(
        "housing|housing officer|tenant "
        "ledger|/opt/housing|ledger.db|tenants|tenant|bookings|saldo|minor|booked_on|reason|rent heat water deposit",
        "specification",
        """Completion of the ledger migration, {firm}

Subject: the database {database}. Reference: {note}, binding in every detail. Requirements:

{rules}

Responsible: {persona}.
""",
    ),
    world(
        "ferry|ticketing engineer|passenger "
        "accounts|/srv/ferry|passengers.db|riders|rider|trips|spent|price|sailed_on|class|deck cabin car bike",
        "chat",
        """so the migration of {database} crashed in the middle, and of course the app kept writing into it all
morning. the plan we had
is in {note}, can you finish it properly? what I need:

{rules}

no downtime needed, the app is stopped until you say go
""",
    ),
    world(
        "charity|data steward|donor "
        "records|/home/steward/charity|donors.db|donors|donor|gifts|given_total|pence|received|campaign|winter school "
        "meals shelter",
        "runbook",
        """Runbook: recovery of an interrupted donor migration ({firm})

Database: {database}
Plan of the migration: {note}
On call: {persona}

The recovery is complete when all of this holds:
{rules}
""",
    ),
    world(
        "suppliers|purchasing analyst|supplier "
        "ledger|/data/purchasing|suppliers.db|vendors|vendor|invoices|payable|net|issued|article|steel paper paint "
        "tools",
        "email",
        """Dear all,

our contractor left in the middle of moving the supplier ledger ({database}) to the new layout. His plan, {note}, is
good; he just
never finished, and part of what he did went to production. Whoever takes this over, please note:

{rules}

Regards
{persona}
{firm}
""",
    ),
    world(
        "lending|systems librarian|reader "
        "accounts|/var/lib/readers|readers.db|readers|reader|fines|due|units|fined_on|cause|late loss damage copy",
        "ticket",
        """Ticket #{ticket}: reader accounts half migrated

What happened: the job that turns the legacy tables of {database} into the new ones (plan: {note}) was killed. The
desks of {firm}
are closed meanwhile.

What we expect:
{rules}

Filed by the {persona}.
""",
    ),
)

SENTENCES: dict[str, tuple[str, str, str]] = {
    "database": (
        "When you are done, the migration in {database} is complete: every step of the plan has been carried out and "
        "every legacy row is "
        "accounted for as the plan says.",
        "{database} itself ends up fully migrated, exactly as the plan describes, with each legacy row either "
        "migrated or accounted for.",
        "The plan has been executed to its last step in {database}; no legacy row is left that is neither migrated "
        "nor accounted for "
        "by the plan's rules.",
    ),
    "program": (
        "Leave the executable program {program} behind: called with the path of a database as its only argument, it "
        "finishes the migration "
        "in that database, whatever point it had stopped at, and exits with 0; we have more of these databases on "
        "other sites.",
        "Other sites have the same problem at other points of the plan, so deliver {program}, an executable that "
        "takes the path of a database as "
        "its one argument, completes the migration there and exits with status 0.",
        "The way to do it must be repeatable: {program} (executable, one argument: path of the database) completes "
        "the migration of any such "
        "database from wherever it stopped, exit status 0.",
    ),
    "again": (
        "Running it once more on a finished database changes nothing.",
        "A second run on the same database must leave its rows as they are.",
        "It is idempotent: on a database that is finished already no row changes.",
    ),
    "live": (
        "Rows that the application has written or edited in the new tables since are never overwritten from the "
        "legacy ones.",
        "What is in the new tables already is newer than the legacy data and wins over it.",
        "Never replace a row of the new tables by its legacy version, the application may have changed it.",
    ),
    "triggers": (
        "{balance} of a {person} has to stay right afterwards, too, whatever the application does with {moves}: "
        "adding, changing (also to "
        "another {person}) and deleting.",
        "After the migration any insert, update (of the value or of the {person}) or delete in {moves} keeps "
        "{balance} correct by itself.",
        "From then on the database keeps {balance} of each {person} up to date by triggers when {moves} are inserted, "
        "updated (their "
        "{person} included) or deleted.",
    ),
    "legacy": (
        "The legacy tables stay untouched.",
        "Leave every row of the legacy tables as it is.",
        "Neither remove nor alter anything in the legacy tables.",
    ),
}

NOTE = """# Plan: @people@ and @moves@ get a proper schema

Legacy tables: `legacy_@people@` and `legacy_@moves@`. They stay in the file, unchanged, for another year.
New tables: `@people@`, `@moves@`, `@kind@_names`, `quarantine`@EXTRA_TABLES@. They exist already.
`migration` has a row for each step. `last_id` was written before each batch, and batches ran out of order, so it
proves nothing: what counts
is whether a row is in its new table. State of every step at the end: `done`. The very last action sets `PRAGMA
user_version` to @VERSION@.

## Step 1: @people@
The id stays. `full_name`, blanks squeezed and trimmed: the last word is `family`, all before it `given`; a name of
fewer than two words goes
to quarantine with reason `bad_name`. `contact` is `email;phone`, both trimmed, the e-mail address in lower case, an
empty part is NULL; without
a semicolon it is all e-mail. `active` is 1 for `Y` or `y`, else 0 (NULL too).

@MERGE@## Step @S2@: @moves@
The id stays. `@day@` is DD.MM.YYYY in the legacy table and becomes YYYY-MM-DD; no such day: reason `bad_day`. The
legacy `amount` has a decimal
comma with exactly two decimals, optional dots between thousands and an optional minus; `@cents@` is the whole number
of hundredths; anything
else: reason `bad_amount`. `@kind@`, trimmed and in lower case, is looked up in `@kind@_names` and added there if
new; NULL or empty stays NULL.
The row needs an existing row in the new table `@people@`@ALIAS@; @people@ that only the application has created
count. Without one: `no_@person@`.
If several reasons apply, the first in this order is recorded: bad_day, bad_amount, no_@person@.

## Step @S3@: quarantine
`quarantine` has (source, source_id, reason), source being the name of the legacy table. One line for each legacy row
that cannot be migrated.
@RELEASE@
## Step @S4@: balances
`@people@.@balance@` is the sum of `@cents@` over the @moves@ of that @person@, 0 if there are none. Triggers keep it
so. The first batches were
copied before there was a trigger, so stored balances cannot be trusted. An index on `@moves@.@person@_id` is needed
as well.
"""
MERGE_STEP = """## Step 2: one row for each e-mail address
Of all @people@ with the same e-mail address (NULL is not an address) the lowest id stays. If its phone is NULL, it
takes the phone of the
lowest of the other ids that has one; it is active if any of them is. The others are deleted from `@people@`, their
@moves@ go over to the one that
stays, and `aliases` gets (old_id, new_id). new_id always names a row that exists in `@people@`: older aliases are
redirected when their target
goes. A legacy row whose id is an old_id has been migrated, it is not copied again.

"""
RELEASE_HARD = "Rows that are there already with a reason that still holds stay there once."
RELEASE_EXTREME = """A row whose reason has gone since (its @person@ exists by now) leaves the quarantine and is
migrated.
`deleted` has (source, source_id) of legacy rows that had been migrated and were then deleted on purpose by the
application. They are neither
migrated again nor quarantined.
"""

DDL = """CREATE TABLE legacy_@people@ (id INTEGER PRIMARY KEY, full_name TEXT, contact TEXT, active TEXT);
CREATE TABLE legacy_@moves@ (id INTEGER PRIMARY KEY, @person@_id INTEGER, @day@ TEXT, amount TEXT, @kind@ TEXT);
CREATE TABLE @people@ (id INTEGER PRIMARY KEY, given TEXT NOT NULL, family TEXT NOT NULL, email TEXT, phone TEXT,
  active INTEGER NOT NULL CHECK (active IN (0, 1)), @balance@ INTEGER NOT NULL DEFAULT 0);
CREATE TABLE @kind@_names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE @moves@ (id INTEGER PRIMARY KEY, @person@_id INTEGER NOT NULL REFERENCES @people@(id), @day@ TEXT NOT NULL,
  @cents@ INTEGER NOT NULL, @kind@_id INTEGER REFERENCES @kind@_names(id));
CREATE TABLE quarantine (source TEXT NOT NULL, source_id INTEGER NOT NULL, reason TEXT NOT NULL,
  PRIMARY KEY (source, source_id));
CREATE TABLE migration (step TEXT PRIMARY KEY, state TEXT NOT NULL, last_id INTEGER);
"""
DDL_EXTREME = """CREATE TABLE aliases (old_id INTEGER PRIMARY KEY, new_id INTEGER NOT NULL);
CREATE TABLE deleted (source TEXT NOT NULL, source_id INTEGER NOT NULL, PRIMARY KEY (source, source_id));
"""
ADDED = """CREATE TRIGGER @moves@_added AFTER INSERT ON @moves@ BEGIN
  UPDATE @people@ SET @balance@ = @balance@ + new.@cents@ WHERE id = new.@person@_id; END;
"""

TESTS = """
import hashlib
import shutil
import sqlite3
import subprocess
import tempfile
from pathlib import Path

W = TRUTH["words"]


def rows(db, query):
    for word, name in W.items():
        query = query.replace(f"@{word}@", name)
    return [list(row) for row in db.execute(query)]


def content(path):
    db = sqlite3.connect(path)
    got = {
        "people": rows(db, "select id, given, family, email, phone, active, @balance@ from @people@ order by id"),
        "moves": rows(db, "select m.id, m.@person@_id, m.@day@, m.@cents@, k.name from @moves@ m "
                          "left join @kind@_names k on k.id = m.@kind@_id order by m.id"),
        "quarantine": rows(db, "select source, source_id, reason from quarantine order by 1, 2"),
        "aliases": rows(db, "select old_id, new_id from aliases order by 1") if TRUTH["extreme"] else [],
    }
    states = rows(db, "select distinct state from migration")
    version = rows(db, "pragma user_version")
    broken = rows(db, "pragma foreign_key_check")
    columns = [rows(db, f"pragma index_info({index[1]})")[0][2] for index in rows(db, "pragma index_list(@moves@)")]
    db.close()
    closed = states == [["done"]] and version == [[TRUTH["version"]]] and not broken
    return got, closed and W["person"] + "_id" in columns


def same(path, want):
    got, closed = content(path)
    for table in want:
        assert got[table] == want[table], f"{table} differs"
    assert closed, "steps, user_version, foreign keys or index"


def test_database_finished():
    same(TRUTH["database"], json.loads(TRUTH["expected"]))


def test_triggers():
    with tempfile.TemporaryDirectory() as folder:
        path = shutil.copy(TRUTH["database"], f"{folder}/copy.db")
        db = sqlite3.connect(path)
        (first, a), (second, b) = rows(db, "select id, @balance@ from @people@ order by id limit 2")

        def check(left, right):
            assert rows(db, "select @balance@ from @people@ order by id limit 2") == [[left], [right]]

        insert = f"insert into @moves@ values (900001, {first}, '2024-01-01', 250, null)"
        for query, left, right in (
            (insert, a + 250, b),
            ("update @moves@ set @cents@ = -100 where id = 900001", a - 100, b),
            (f"update @moves@ set @person@_id = {second}, @cents@ = 70 where id = 900001", a, b + 70),
            ("delete from @moves@ where id = 900001", a, b),
        ):
            rows(db, query)
            check(left, right)
        db.close()


def test_program():
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(json.loads(TRUTH["cases"])):
            path = f"{folder}/site{number}.db"
            db = sqlite3.connect(path)
            db.executescript(TRUTH["ddl"] + case["sql"])
            db.close()
            for attempt in ("first", "second"):
                done = subprocess.run([TRUTH["program"], path], timeout=20, capture_output=True, cwd="/")
                assert done.returncode == 0, f"exit status of the {attempt} run"
                same(path, case["expected"])


def test_legacy_kept():
    db = sqlite3.connect(TRUTH["database"])
    for table, digest in TRUTH["legacy"].items():
        text = json.dumps(rows(db, f"select * from legacy_@{table}@ order by id"))
        assert hashlib.sha256(text.encode()).hexdigest() == digest, table
    db.close()
"""
INITIAL = """
import sqlite3
from pathlib import Path


def test_half_done():
    assert not Path(TRUTH["program"]).exists()
    db = sqlite3.connect(TRUTH["database"])
    assert db.execute("select count(*) from migration where state != 'done'").fetchone()[0]
    db.close()
"""

PYTHON = r"""#!/usr/bin/python3
import re, sqlite3, sys
from datetime import date
db = sqlite3.connect(sys.argv[1])
db.isolation_level = None
x = db.execute
x("begin immediate")
extreme = @EXTREME@
x("drop trigger if exists @moves@_added")
gone, alias = set(), {}
if extreme:
    gone = set(x("select source, source_id from deleted"))
    alias = dict(x("select old_id, new_id from aliases"))
def bad(source, key, reason):
    x("insert or replace into quarantine values (?, ?, ?)", (source, key, reason))
have = {r[0] for r in x("select id from @people@")}
for key, name, contact, active in x("select * from legacy_@people@ order by id").fetchall():
    if key in have or key in alias or ("legacy_@people@", key) in gone @CHECKPOINT@:
        continue
    words = (name or "").split()
    if len(words) < 2:
        bad("legacy_@people@", key, "bad_name")
        continue
    email, _, phone = (contact or "").partition(";")
    x("insert into @people@ values (?, ?, ?, ?, ?, ?, 0)", (key, " ".join(words[:-1]), words[-1],
      email.strip().lower() or None, phone.strip() or None, int(active in ("Y", "y"))))
if extreme:
    groups = {}
    query = "select id, email, phone, active from @people@ where email is not null order by id"
    for key, email, phone, active in x(query):
        groups.setdefault(email, []).append((key, phone, active))
    for group in groups.values():
        stays = group[0][0]
        if len(group) > 1:
            phone = next((p for _, p, _ in group if p), None)
            x("update @people@ set phone = ?, active = ? where id = ?", (phone, max(a for _, _, a in group), stays))
        for key, _, _ in group[1:]:
            x("update @moves@ set @person@_id = ? where @person@_id = ?", (stays, key))
            x("update aliases set new_id = ? where new_id = ?", (stays, key))
            x("insert into aliases values (?, ?)", (key, stays))
            x("delete from @people@ where id = ?", (key,))
    alias = dict(x("select old_id, new_id from aliases"))
people = {r[0] for r in x("select id from @people@")}
have = {r[0] for r in x("select id from @moves@")}
for key, person, day, amount, kind in x("select * from legacy_@moves@ order by id").fetchall():
    if key in have or ("legacy_@moves@", key) in gone:
        continue
    m = re.fullmatch(r"(\d\d)\.(\d\d)\.(\d{4})", day or "")
    try:
        day = date(int(m[3]), int(m[2]), int(m[1])).isoformat() if m else None
    except ValueError:
        day = None
    person = alias.get(person, person)
    value = re.fullmatch(r"(-?)(\d+),(\d\d)", (amount or "").replace(".", ""))
    reason = None if day else "bad_day"
    reason = reason or (None if value else "bad_amount") or (None if person in people else "no_@person@")
    if reason:
        bad("legacy_@moves@", key, reason)
        continue
    x("delete from quarantine where source = 'legacy_@moves@' and source_id = ?", (key,))
    kind = (kind or "").strip().lower()
    kid = None
    if kind:
        x("insert or ignore into @kind@_names (name) values (?)", (kind,))
        kid = x("select id from @kind@_names where name = ?", (kind,)).fetchone()[0]
    cents = int(value[2] + value[3]) * (-1 if value[1] else 1)
    x("insert into @moves@ values (?, ?, ?, ?, ?)", (key, person, day, cents, kid))
total = "(select coalesce(sum(@cents@), 0) from @moves@ where @person@_id = @people@.id)"
x(f"update @people@ set @balance@ = {total} where @WHICH@")
x("create index if not exists @moves@_by_@person@ on @moves@(@person@_id)")
add = "update @people@ set @balance@ = @balance@ + new.@cents@ where id = new.@person@_id;"
take = "update @people@ set @balance@ = @balance@ - old.@cents@ where id = old.@person@_id;"
for name, event, body in (("added", "insert", add), ("changed", "update", take + add), ("removed", "delete", take)):
    x(f"create trigger if not exists @moves@_{name} after {event} on @moves@ begin {body} end")
x("update migration set state = 'done'")
x("pragma user_version = @VERSION@")
x("commit")
"""

SQL = r"""#!/bin/bash
set -e
exec sqlite3 -bail "$1" <<'SQL'
BEGIN IMMEDIATE;
DROP TRIGGER IF EXISTS @moves@_added;
DROP TRIGGER IF EXISTS @moves@_changed;
DROP TRIGGER IF EXISTS @moves@_removed;
CREATE TEMP TABLE gone AS SELECT '' source, 0 source_id WHERE 0;
CREATE TEMP TABLE other AS SELECT 0 old_id, 0 new_id WHERE 0;
--x INSERT INTO gone SELECT * FROM deleted;
--x INSERT INTO other SELECT * FROM aliases;
CREATE TEMP TABLE p AS SELECT id, trim(full_name) n, coalesce(contact, '') || ';' c, coalesce(active, '') a
  FROM legacy_@people@ l
  WHERE id NOT IN (SELECT id FROM @people@) AND id NOT IN (SELECT old_id FROM other)
  AND NOT EXISTS (SELECT 1 FROM gone WHERE source = 'legacy_@people@' AND source_id = l.id);
UPDATE p SET n = replace(replace(replace(n, '  ', ' '), '  ', ' '), '  ', ' ');
INSERT OR IGNORE INTO quarantine SELECT 'legacy_@people@', id, 'bad_name' FROM p WHERE coalesce(n, '') NOT LIKE '% %';
INSERT INTO @people@ SELECT id, rtrim(rtrim(n, replace(n, ' ', ''))), replace(n, rtrim(n, replace(n, ' ', '')), ''),
  nullif(lower(trim(substr(c, 1, instr(c, ';') - 1))), ''),
  nullif(trim(replace(substr(c, instr(c, ';') + 1), ';', '')), ''),
  a IN ('Y', 'y'), 0 FROM p WHERE n LIKE '% %';
--x CREATE TEMP TABLE k AS SELECT q.id old,
--x   (SELECT min(id) FROM @people@ z WHERE z.email = q.email) new FROM @people@ q;
--x DELETE FROM k WHERE new IS NULL OR new = old;
--x UPDATE @people@ SET phone = coalesce(phone, (SELECT z.phone FROM k JOIN @people@ z ON z.id = k.old
--x   WHERE k.new = @people@.id AND z.phone IS NOT NULL ORDER BY z.id LIMIT 1)),
--x   active = max(active, (SELECT max(z.active) FROM k JOIN @people@ z ON z.id = k.old WHERE k.new = @people@.id))
--x   WHERE id IN (SELECT new FROM k);
--x UPDATE @moves@ SET @person@_id = (SELECT new FROM k WHERE old = @person@_id)
--x   WHERE @person@_id IN (SELECT old FROM k);
--x UPDATE aliases SET new_id = (SELECT new FROM k WHERE old = new_id) WHERE new_id IN (SELECT old FROM k);
--x INSERT INTO aliases SELECT old, new FROM k;
--x DELETE FROM @people@ WHERE id IN (SELECT old FROM k);
--x DELETE FROM other;
--x INSERT INTO other SELECT * FROM aliases;
CREATE TEMP TABLE m AS SELECT id, coalesce((SELECT new_id FROM other WHERE old_id = @person@_id), @person@_id) person,
  CASE WHEN @day@ GLOB '[0-9][0-9].[0-9][0-9].[0-9][0-9][0-9][0-9]'
    THEN substr(@day@, 7) || '-' || substr(@day@, 4, 2) || '-' || substr(@day@, 1, 2) END day,
  replace(coalesce(amount, ''), '.', '') a, nullif(lower(trim(@kind@)), '') kind, NULL reason FROM legacy_@moves@ l
  WHERE id NOT IN (SELECT id FROM @moves@)
  AND NOT EXISTS (SELECT 1 FROM gone WHERE source = 'legacy_@moves@' AND source_id = l.id);
UPDATE m SET reason = 'no_@person@' WHERE person IS NULL OR person NOT IN (SELECT id FROM @people@);
UPDATE m SET reason = 'bad_amount' WHERE NOT (a GLOB '*[0-9],[0-9][0-9]'
  AND ltrim(replace(a, ',', ''), '-') NOT GLOB '*[^0-9]*');
UPDATE m SET reason = 'bad_day' WHERE day IS NULL OR date(day, '+0 days') IS NOT day;
DELETE FROM quarantine WHERE source = 'legacy_@moves@' AND source_id IN (SELECT id FROM m);
INSERT INTO quarantine SELECT 'legacy_@moves@', id, reason FROM m WHERE reason IS NOT NULL;
INSERT OR IGNORE INTO @kind@_names (name) SELECT kind FROM m WHERE reason IS NULL AND kind IS NOT NULL;
INSERT INTO @moves@ SELECT id, person, day, cast(replace(a, ',', '') AS INTEGER),
  (SELECT id FROM @kind@_names WHERE name = kind) FROM m WHERE reason IS NULL;
UPDATE @people@ SET @balance@ = coalesce((SELECT sum(@cents@) FROM @moves@ WHERE @person@_id = @people@.id), 0);
CREATE INDEX IF NOT EXISTS @moves@_by_@person@ ON @moves@(@person@_id);
CREATE TRIGGER @moves@_added AFTER INSERT ON @moves@ BEGIN
  UPDATE @people@ SET @balance@ = (SELECT coalesce(sum(@cents@), 0) FROM @moves@ WHERE @person@_id = @people@.id)
  WHERE id = new.@person@_id; END;
CREATE TRIGGER @moves@_changed AFTER UPDATE ON @moves@ BEGIN
  UPDATE @people@ SET @balance@ = (SELECT coalesce(sum(@cents@), 0) FROM @moves@ WHERE @person@_id = @people@.id)
  WHERE id IN (new.@person@_id, old.@person@_id); END;
CREATE TRIGGER @moves@_removed AFTER DELETE ON @moves@ BEGIN
  UPDATE @people@ SET @balance@ = (SELECT coalesce(sum(@cents@), 0) FROM @moves@ WHERE @person@_id = @people@.id)
  WHERE id = old.@person@_id; END;
UPDATE migration SET state = 'done';
PRAGMA user_version = @VERSION@;
COMMIT;
SQL
"""

NewPerson = list[str | int | None]  # given, family, email, phone, active
NewMove = tuple[int, str, int, str | None]  # person, day, cents, kind
Cell = str | int | None


@dataclass
class State:
    """A database at some point of the migration."""

    old_people: dict[int, tuple[str, str | None, str | None]] = field(
        default_factory=dict[int, tuple[str, str | None, str | None]]
    )
    old_moves: dict[int, tuple[int | None, str, str, str | None]] = field(
        default_factory=dict[int, tuple[int | None, str, str, str | None]]
    )
    people: dict[int, NewPerson] = field(default_factory=dict[int, NewPerson])
    moves: dict[int, NewMove] = field(default_factory=dict[int, NewMove])
    quarantine: dict[tuple[str, int], str] = field(default_factory=dict[tuple[str, int], str])
    aliases: dict[int, int] = field(default_factory=dict[int, int])
    deleted: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    trigger: bool = True


def new_person(row: tuple[str, str | None, str | None]) -> NewPerson | None:
    """A legacy person in the new form, if the name allows it."""
    words = row[0].split()
    email, _, phone = (row[1] or "").partition(";")
    if len(words) < 2:
        return None
    return [
        " ".join(words[:-1]),
        words[-1],
        email.strip().lower() or None,
        phone.strip() or None,
        int(row[2] in ("Y", "y")),
    ]


def new_move(row: tuple[int | None, str, str, str | None], state: State, person: str) -> NewMove | str:
    """A legacy move in the new form, or the reason why not; the people have to be complete."""
    owner, day, amount, kind = row
    try:
        parts = [int(part) for part in day.split(".")]
        iso = date(parts[2], parts[1], parts[0]).isoformat()
    except (ValueError, IndexError):
        return "bad_day"
    if not re.fullmatch(r"-?\d+,\d\d", amount.replace(".", "")):
        return "bad_amount"
    owner = state.aliases.get(owner, owner) if owner else owner
    if owner not in state.people:
        return f"no_{person}"
    return owner, iso, int(amount.replace(".", "").replace(",", "")), (kind or "").strip().lower() or None


def merge_people(state: State) -> None:
    """One row for each e-mail address."""
    first: dict[str, int] = {}
    for key in sorted(state.people):
        row = state.people[key]
        if not isinstance(row[2], str):
            continue
        stays = first.setdefault(row[2], key)
        if stays == key:
            continue
        target = state.people[stays]
        target[3] = target[3] or row[3]
        target[4] = max(int(target[4] or 0), int(row[4] or 0))
        del state.people[key]
        state.aliases = {old: stays if new == key else new for old, new in state.aliases.items()}
        state.aliases[key] = stays
        state.moves = {k: (stays, *v[1:]) if v[0] == key else v for k, v in state.moves.items()}


def finish(state: State, place: World, extreme: bool) -> dict[str, list[list[Cell]]]:
    """Completes the state by the plan and gives the rows of the new tables."""
    sources = (f"legacy_{place.people}", f"legacy_{place.moves}")
    for key, row in sorted(state.old_people.items()):
        if key in state.people or key in state.aliases or (sources[0], key) in state.deleted:
            continue
        made = new_person(row)
        if made is None:
            state.quarantine[sources[0], key] = "bad_name"
        else:
            state.people[key] = made
    if extreme:
        merge_people(state)
    for key, move in sorted(state.old_moves.items()):
        if key in state.moves or (sources[1], key) in state.deleted:
            continue
        result = new_move(move, state, place.person)
        if isinstance(result, str):
            state.quarantine[sources[1], key] = result
        else:
            state.quarantine.pop((sources[1], key), None)
            state.moves[key] = result
    sums = dict.fromkeys(state.people, 0)
    for owner, _, cents, _ in state.moves.values():
        sums[owner] += cents
    return {
        "people": [[key, *row, sums[key]] for key, row in sorted(state.people.items())],
        "moves": [[key, *row] for key, row in sorted(state.moves.items())],
        "quarantine": [[source, key, reason] for (source, key), reason in sorted(state.quarantine.items())],
        "aliases": [[old, new] for old, new in sorted(state.aliases.items())],
    }


def draw_state(draw: Draw, place: World, people: int, moves: int, extreme: bool) -> State:
    """A migration stopped somewhere; every trap of the plan is in it."""
    state = State(trigger=draw.chance(60))
    ids = sorted(draw.sample(range(10, 90 * people), people))
    for number, key in enumerate(ids):
        name = f"{draw.pick(FIRST_NAMES)} {draw.pick(LAST_NAMES)}"
        contact: str | None = (
            f"{name.split()[0]}.{key}@Mail.example; +{draw.between(30, 49)} {draw.between(1000, 9999)} "
        )
        active: str | None = draw.pick(("Y", "N", "y", "n"))
        match number:
            case 1:
                name = f" {name.split()[0]}  {draw.pick(FIRST_NAMES)} {name.split()[1]}"
            case 2 | 3:
                name = name.split()[number - 2]
            case 4:
                contact, active = None, None
            case 5:
                contact = f" X{key}@Mail.example"
            case 6:
                contact = f";{draw.between(1000, 9999)}"
            case _:
                pass
        state.old_people[key] = (name, contact, active)
    if extreme:
        share_addresses(draw, state, ids)
    move_ids = sorted(draw.sample(range(10, 40 * moves), moves))
    for number, key in enumerate(move_ids):
        owner: int | None = draw.pick(ids)
        day = f"{draw.between(1, 28):02d}.{draw.between(1, 12):02d}.{draw.between(2019, 2023)}"
        cents = draw.between(100, 300_000) * (-1 if draw.chance(20) else 1)
        amount = f"{'-' if cents < 0 else ''}{abs(cents) // 100:,}".replace(",", ".") + f",{abs(cents) % 100:02d}"
        kind: str | None = draw.pick([*place.kinds, place.kinds[0].upper(), f" {place.kinds[1].title()}", None, ""])
        match number:
            case 0:
                owner = 99_999
            case 1:
                owner = None
            case 2:
                day = "30.02.2021"
            case 3:
                amount = draw.pick(("12.50", "free", "7,5"))
            case 4:
                day, amount, owner = "soon", "", 99_998
            case 5:
                owner, amount = 99_997, "x"
            case 6:
                owner = ids[2]  # whose name is bad
            case 7 | 8:
                owner = 100_001  # a person only the application knows
            case _:
                pass
        state.old_moves[key] = (owner, day, amount, kind)
    advance(draw, state, place, ids, move_ids, extreme)
    return state


def share_addresses(draw: Draw, state: State, ids: list[int]) -> None:
    """Addresses that several people have; the first of a group lacks the phone."""
    for first, others in ((7, (8, 9)), (10, (11,)), (12, (13, 14))):
        for number in (first, *others):
            name, _, _ = state.old_people[ids[number]]
            spelled = draw.pick((f"Home{first}@mail.example", f"home{first}@Mail.Example"))
            state.old_people[ids[number]] = (
                name,
                f"{spelled};{'' if number == first else draw.between(1000, 9999)}",
                draw.pick("YN"),
            )


def advance(draw: Draw, state: State, place: World, ids: list[int], move_ids: list[int], extreme: bool) -> None:
    """What the first run and the application did: rows copied with gaps, edited, created, quarantined, deleted."""
    copied = [key for number, key in enumerate(ids) if number in (0, 4, 8, 9) or (number > 14 and draw.chance(55))]
    for number, key in enumerate(copied):
        made = new_person(state.old_people[key])
        if made is not None:
            state.people[key] = made
            if number == 1 or draw.chance(15):  # the application has edited it
                made[0], made[4] = draw.pick(FIRST_NAMES), 1 - int(made[4] or 0)
    for key in range(100_001, 100_004):
        state.people[key] = [draw.pick(FIRST_NAMES), draw.pick(LAST_NAMES), f"app{key}@mail.example", None, 1]
    if (
        extreme
    ):  # 9 was merged into 8 already, but 7 comes before both; and the application knows 10 under another number
        state.people.pop(ids[9], None)
        state.aliases[ids[9]] = ids[8]
        state.people[100_003][2] = "home10@mail.example"
        state.people.pop(ids[0], None)
        state.deleted.append((f"legacy_{place.people}", ids[0]))
    for number, key in enumerate(move_ids):
        if 9 <= number < 12 or (number > 12 and draw.chance(50)):
            result = new_move(state.old_moves[key], state, place.person)
            if not isinstance(result, str):
                state.moves[key] = (result[0], result[1], result[2] + 5, result[3]) if draw.chance(20) else result
        elif number in (0, 2):
            state.quarantine[f"legacy_{place.moves}", key] = f"no_{place.person}" if number == 0 else "bad_day"
    for key in range(500_001, 500_005):
        state.moves[key] = (
            draw.pick(sorted(state.people)),
            "2024-03-01",
            draw.between(100, 90_000),
            draw.pick(place.kinds),
        )
    if extreme:
        state.quarantine[f"legacy_{place.moves}", move_ids[7]] = f"no_{place.person}"  # the person exists by now
        state.moves.pop(move_ids[12], None)
        state.deleted.append((f"legacy_{place.moves}", move_ids[12]))


def literal(value: Cell) -> str:
    """A value in SQL."""
    return "NULL" if value is None else str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"


def inserts(table: str, rows: list[list[Cell]]) -> str:
    """An insert statement, or nothing."""
    if not rows:
        return ""
    return f"INSERT INTO {table} VALUES\n" + ",\n".join(f"({','.join(map(literal, row))})" for row in rows) + ";\n"


def load_sql(draw: Draw, state: State, place: World, extreme: bool) -> str:
    """The statements that make the state; some stored balances are stale."""
    kinds = sorted({row[3] for row in state.moves.values() if row[3]})
    balance = {
        key: sum(row[2] for row in state.moves.values() if row[0] == key and (row[2] % 3 or not state.trigger))
        for key in state.people
    }
    balance[100_001] = (balance[100_001] + 1717) or 3  # certainly stale
    steps = (
        ["people", "merge", "moves", "quarantine", "balances"]
        if extreme
        else ["people", "moves", "quarantine", "balances"]
    )
    last = [max(state.old_people), None, max(state.old_moves), None, None]
    text = inserts(f"legacy_{place.people}", [[key, *row] for key, row in state.old_people.items()])
    text += inserts(f"legacy_{place.moves}", [[key, *row] for key, row in state.old_moves.items()])
    text += inserts(place.people, [[key, *row, balance[key]] for key, row in sorted(state.people.items())])
    text += inserts(f"{place.kind}_names", [[number + 3, name] for number, name in enumerate(kinds)])
    text += inserts(
        place.moves,
        [[key, *row[:3], kinds.index(row[3]) + 3 if row[3] else None] for key, row in sorted(state.moves.items())],
    )
    text += inserts("quarantine", [[source, key, reason] for (source, key), reason in sorted(state.quarantine.items())])
    text += inserts("aliases", [[old, new] for old, new in state.aliases.items()])
    text += inserts("deleted", [[source, key] for source, key in state.deleted])
    text += inserts(
        "migration",
        [
            [step, draw.pick(("running", "open")), last[number] if number else max(state.people)]
            for number, step in enumerate(steps)
        ],
    )
    return text + (ADDED if state.trigger else "")


def laid_out(voice: Voice, lines: list[str]) -> str:
    """Sentences in the manner of a voice."""
    if voice in ("email", "chat"):
        return " ".join(lines) if voice == "email" else "\n".join(f"> {line}" for line in lines)
    return "\n".join(
        f"{f'{number}.' if voice in ('specification', 'runbook') else '-'} {line}"
        for number, line in enumerate(lines, 1)
    )


def draft(draw: Draw) -> Draft:
    """One interrupted migration."""
    place = draw.setting(SETTINGS)
    extreme = draw.difficulty is Difficulty.EXTREMELY_HARD
    wording, version = (draw.serial + draw.serial // 3) % 3, draw.between(4, 60)
    words = {name: getattr(place, name) for name in ("people", "person", "moves", "balance", "cents", "day", "kind")}
    step = 3 if extreme else 2
    note_words = {
        "MERGE": MERGE_STEP if extreme else "",
        "RELEASE": RELEASE_EXTREME if extreme else RELEASE_HARD,
        "ALIAS": ", by itself or through `aliases`" if extreme else "",
        "EXTRA_TABLES": ", `aliases`, `deleted`" if extreme else "",
        **{f"S{number + 2}": str(step + number) for number in range(3)},
        "VERSION": str(version),
        "EXTREME": str(extreme),
    }

    def spelled(text: str) -> str:
        for name, word in [*note_words.items(), *words.items()]:
            text = text.replace(f"@{name}@", word)
        return text.replace("--x ", "" if extreme else "--x ")

    sizes = draw.by_difficulty(hard=(34, 60), extremely_hard=(40, 80))
    main = draw_state(draw, place, *sizes, extreme)
    legacy = {
        "people": [[key, *row] for key, row in sorted(main.old_people.items())],
        "moves": [[key, *row] for key, row in sorted(main.old_moves.items())],
    }
    ddl = spelled(DDL + (DDL_EXTREME if extreme else ""))
    seed_sql = ddl + spelled(load_sql(draw, main, place, extreme))
    cases: list[dict[str, object]] = []
    for _ in range(2):
        state = draw_state(draw, place, 17, 20, extreme)
        sql = spelled(load_sql(draw, state, place, extreme))
        cases.append({"sql": sql, "expected": finish(state, place, extreme)})
    database, program = f"{place.folder}/{place.database}", f"{place.folder}/finish"
    note = f"{place.folder}/MIGRATION.md"
    said = {
        name: texts[wording].format(
            database=database, program=program, balance=place.balance, person=place.person, moves=place.moves
        )
        for name, texts in SENTENCES.items()
    }
    instruction = place.text.format(
        database=database,
        note=note,
        persona=place.persona,
        firm=draw.pick(FIRMS),
        ticket=draw.between(100, 9999),
        rules=laid_out(place.voice, list(said.values())),
    )

    def script(source: str, *changes: tuple[str, str]) -> str:
        for old, new in [*changes, ("@CHECKPOINT@", ""), ("@WHICH@", "true")]:
            source = source.replace(old, new)
        start = f"cd {place.folder}\ncat > finish <<'PROGRAM'\n{spelled(source)}PROGRAM\n"
        return f"{start}chmod +x finish\n./finish {place.database}\n"

    every = ["test_database_finished", "test_program"]
    overwrite = (
        ("if key in have or key in alias or", "if key in alias or"),
        ("insert into @people@ values", "insert or replace into @people@ values"),
    )
    checkpoint = (
        "@CHECKPOINT@",
        "or key <= db.execute('select max(id) from @people@ where id < 100000').fetchone()[0]",
    )
    return Draft(
        title=f"Finish a half-done migration: {place.scenario}",
        setting=place,
        instruction=instruction,
        files={"seed.sql": seed_sql, "MIGRATION.md": spelled(NOTE)},
        dockerfile=f"COPY MIGRATION.md seed.sql {place.folder}/\n"
        f"RUN cd {place.folder} && sqlite3 {place.database} < seed.sql && rm seed.sql\nWORKDIR {place.folder}",
        truth={
            "database": database,
            "program": program,
            "words": words,
            "extreme": extreme,
            "version": version,
            "ddl": ddl,
            "legacy": {table: hashlib.sha256(json.dumps(rows).encode()).hexdigest() for table, rows in legacy.items()},
            "expected": json.dumps(finish(main, place, extreme)),
            "cases": json.dumps(cases),
        },
        discoverable=("database", "program", "words", "ddl"),
        tests=TESTS,
        weights={"test_database_finished": 0.4, "test_triggers": 0.15, "test_program": 0.45},
        guards=["test_legacy_kept"],
        initial=INITIAL,
        solution=script(PYTHON),
        alternatives=[script(SQL)],
        misses=[
            Miss(
                "trusts_the_checkpoint", "copies only rows after the last one copied", script(PYTHON, checkpoint), every
            ),
            Miss("overwrites_live_rows", "replaces rows the application has edited", script(PYTHON, *overwrite), every),
            Miss(
                "no_recount",
                "leaves the stored balances and only adds what it copies",
                script(PYTHON, ("@WHICH@", "@balance@ = 0")),
                every,
            ),
            Miss(
                "insert_trigger_only",
                "forgets updates and deletes",
                script(PYTHON, (', ("changed", "update", take + add), ("removed", "delete", take)', ",")),
                ["test_triggers"],
            ),
        ],
        requirements=[
            (said["database"], ["test_database_finished"]),
            (said["program"], ["test_program"]),
            (said["again"], ["test_program"]),
            (said["live"], every),
            (said["triggers"], ["test_triggers"]),
            (said["legacy"], ["test_legacy_kept"]),
        ],
        knobs={"people": sizes[0], "moves": sizes[1], "merge": extreme, "wording": wording, "hidden_cases": len(cases)},
    )


FAMILY = Family(
    name="half_done_migration",
    domain="data_querying",
    verifier=Verifier.EXACT_TEXT,
    skills=("sqlite", "schema migration", "triggers", "idempotent scripts"),
    difficulties=(Difficulty.HARD, Difficulty.EXTREMELY_HARD),
    capacity=40,
    draft=draft,
)
