"""Rewrite a slow SQLite report: the same rows whatever the NULLs, within a budget of virtual-machine steps."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass

from generators.family import Draft, Draw, Family, Miss, Setting, Voice
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS

PRIME = 10007
REGIONS = ("north", "south", "east", "west", "isles")
NAMES = ("owner", "group", "fact", "key", "value", "day", "state", "void", "part", "black")


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling; `words` are the names of tables and columns, in the order of NAMES."""

    folder: str
    database: str
    report: str
    words: tuple[str, ...]
    text: str


def world(line: str, voice: Voice, text: str) -> World:
    """A world from one line of words separated by bars."""
    name, persona, scenario, folder, database, report, words = line.split("|")
    return World(name, persona, scenario, voice, folder, database, report, tuple(words.split()), text)


SETTINGS = (
    world(
        "web_shop|shop operator|customer report|/srv/shop|shop.db|customers.sql|"
        "customers region orders customer_id amount placed status void refunds blocked",
        "email",
        """Good morning,

the customer report of {firm} ({report}, run against {database}) was written when we had fifty customers. Now it
keeps the machine
busy and the morning mail is late. Could you rewrite it?

{rules}

Best wishes
{persona}
""",
    ),
    world(
        "power_grid|billing engineer|site report|/data/grid|grid.db|sites.sql|"
        "sites feeder bills site_id cents issued stage cancelled credits retired",
        "ticket",
        """GRID-{ticket}: {report} times out
Affects: nightly job of {firm}. Data: {database}.

Acceptance criteria
{rules}
""",
    ),
    world(
        "courier|dispatch planner|driver report|/opt/courier|fleet.db|drivers.sql|"
        "drivers depot trips driver_id metres ended outcome aborted detours suspended",
        "note",
        """Rewrite {report} so that it is fast on {database}.
{rules}
-- {persona}
""",
    ),
    world(
        "hospital|ward controller|ward report|/var/lib/wards|wards.db|wards.sql|"
        "wards wing stays ward_id minutes began kind planned transfers shut",
        "specification",
        """Performance requirement for the ward report

Query: {report}. Reference data: {database}. Issued by {firm}, {persona}.

{rules}
""",
    ),
    world(
        "streaming|data engineer|listener report|/home/etl/radio|radio.db|listeners.sql|"
        "listeners country plays listener_id seconds heard quality broken skips banned",
        "chat",
        """hi! {report} is eating our database box alive ({database}), every listener costs a walk through all plays
or worse. can you
fix the query?
{rules}
ty!
""",
    ),
    world(
        "quarry|production analyst|pit report|/srv/quarry|pits.db|pits.sql|"
        "pits valley loads pit_id kilos weighed grade waste returns flooded",
        "runbook",
        """Runbook entry: report over its step budget

Symptom: the job that runs {report} on {database} is killed by the watchdog of {firm}.
Remedy: rewrite the query until all of the following is true.
{rules}
""",
    ),
    world(
        "theatre|box office lead|visitor report|/data/theatre|tickets.db|visitors.sql|"
        "visitors district bookings visitor_id price shown channel test upgrades deceased",
        "email",
        """Hi,

our visitor report takes the whole coffee break. The statement is in {report} and works on {database}; nobody dares
to touch it
since the person who wrote it has left {firm}. Your turn, please:

{rules}

{persona}
""",
    ),
    world(
        "fishery|quota officer|vessel report|/opt/fishery|catch.db|vessels.sql|"
        "vessels harbour landings vessel_id weight landed method research discards scrapped",
        "ticket",
        """Ticket {ticket} (performance)

The vessel report ({report}) for {firm} needs a rewrite, it is quadratic in the landings or worse. Sample data:
{database}.
{rules}
Reporter: {persona}
""",
    ),
)

SENTENCES: dict[str, tuple[str, str, str]] = {
    "speed": (
        "On this database, and on any other of the same schema, the query takes at most {limit} steps of SQLite's "
        "virtual machine (as its "
        "progress handler counts them) for each row that {tables} have together.",
        "Budget: {limit} virtual-machine instructions of SQLite, counted by a progress handler, per row in {tables} "
        "(added up), on this "
        "database and on every other one with these tables.",
        "Count the steps of SQLite's virtual machine with a progress handler: there may be no more than {limit} for "
        "every row of all the "
        "tables {tables} together, here and with other data in the same tables.",
    ),
    "same": (
        "It returns exactly what it returns today: the same columns, the same rows in the same order, for any data "
        "that the schema allows, "
        "NULLs in every nullable column included.",
        "Columns, rows and their order do not change in any way, whatever data the schema permits; mind that nearly "
        "every column can "
        "be NULL.",
        "The outcome stays identical (column names, rows, order) to that of the present statement for all data that "
        "fit the schema, with "
        "NULLs wherever they are allowed.",
    ),
    "single": (
        "The file {report} still holds one single SELECT statement that works on a read-only connection.",
        "{report} must remain one statement, a SELECT (WITH is fine), and run on a connection that was opened "
        "read-only.",
        "Keep it a single SELECT in {report}; the connection it is run on is read-only.",
    ),
    "keep": (
        "The database is a replica: no index, no statistics, no change of data.",
        "Nothing in {database} changes, neither rows nor schema, and no statistics are gathered.",
        "Leave {database} alone: same tables, same rows, no new index and no ANALYZE.",
    ),
}

DDL = """CREATE TABLE @owner@ (id INTEGER PRIMARY KEY, name TEXT NOT NULL, @group@ TEXT);
CREATE TABLE @fact@ (id INTEGER PRIMARY KEY, @key@ INTEGER, @value@ INTEGER, @day@ TEXT, @state@ TEXT);
CREATE TABLE @part@ (id INTEGER PRIMARY KEY, @fact@_id INTEGER, @value@ INTEGER);
CREATE TABLE @black@ (@key@ INTEGER);
"""
SLOW = """-- all @owner@ that are not @black@
SELECT c.id, c.name, coalesce(c.@group@, '(none)') AS @group@,
  (SELECT count(*) FROM @fact@ o WHERE o.@key@ + 0 = c.id AND o.@state@ <> '@void@') AS @fact@,
  (SELECT sum(o.@value@) FROM @fact@ o WHERE o.@key@ + 0 = c.id AND o.@state@ <> '@void@') AS total,
  (SELECT o.id FROM @fact@ o WHERE o.@key@ + 0 = c.id ORDER BY o.@day@ DESC, o.id DESC LIMIT 1) AS latest,
  (SELECT count(DISTINCT o.@day@) FROM @fact@ o WHERE o.@key@ + 0 = c.id) AS days@MORE@
FROM @owner@ c
WHERE c.id NOT IN (SELECT @key@ FROM @black@)
ORDER BY total DESC, c.id;
"""
MORE = """,
  (SELECT coalesce(sum(r.@value@), 0) FROM @part@ r JOIN @fact@ o ON o.id + 0 = r.@fact@_id
    WHERE o.@key@ + 0 = c.id) AS @part@,
  (SELECT count(*) FROM @fact@ o WHERE o.@key@ + 0 = c.id AND o.@value@ >
    (SELECT avg(p.@value@) FROM @fact@ p WHERE p.@key@ + 0 = o.@key@)) AS above_average,
  1 + (SELECT count(*) FROM @owner@ d WHERE d.@group@ = c.@group@ AND
    (SELECT sum(o.@value@) FROM @fact@ o WHERE o.@key@ + 0 = d.id AND o.@state@ <> '@void@') >
    (SELECT sum(o.@value@) FROM @fact@ o WHERE o.@key@ + 0 = c.id AND o.@state@ <> '@void@')) AS place"""

FAST = """WITH ordered AS (
  SELECT *, row_number() OVER (PARTITION BY @key@ ORDER BY @day@ DESC, id DESC) AS n,
    avg(@value@) OVER (PARTITION BY @key@) AS mean FROM @fact@ WHERE @key@ IS NOT NULL
), sums AS (
  SELECT @key@ AS k, count(*) FILTER (WHERE @state@ <> '@void@') AS cnt,
    sum(@value@) FILTER (WHERE @state@ <> '@void@') AS total, max(id) FILTER (WHERE n = 1) AS latest,
    count(DISTINCT @day@) AS days, count(*) FILTER (WHERE @value@ > mean) AS above
  FROM ordered GROUP BY @key@
), parts AS (
  SELECT o.@key@ AS k, sum(r.@value@) AS part FROM @part@ r JOIN @fact@ o ON o.id = r.@fact@_id GROUP BY o.@key@
), everyone AS (
  SELECT c.id, c.name, c.@group@ AS g, s.*, p.part,
    CASE WHEN c.@group@ IS NULL OR s.total IS NULL THEN 1
      ELSE rank() OVER (PARTITION BY c.@group@ ORDER BY s.total DESC) END AS place
  FROM @owner@ c LEFT JOIN sums s ON s.k = c.id LEFT JOIN parts p ON p.k = c.id
)
SELECT id, name, coalesce(g, '(none)') AS @group@, coalesce(cnt, 0) AS @fact@, total, latest,
  coalesce(days, 0) AS days@PICK@
FROM everyone WHERE id NOT IN (SELECT @key@ FROM @black@)
ORDER BY total DESC, id;
"""
PICK = ", coalesce(part, 0) AS @part@, coalesce(above, 0) AS above_average, place"

# another way: every subquery is grouped once and joined
JOINS = """WITH t AS (SELECT @key@ AS k, count(*) AS cnt, sum(@value@) AS total FROM @fact@
  WHERE @state@ <> '@void@' GROUP BY 1),
u AS (SELECT @key@ AS k, count(DISTINCT @day@) AS days, avg(@value@) AS mean FROM @fact@ GROUP BY 1),
v AS (SELECT k, CAST(substr(max(tag), 11) AS INTEGER) AS latest FROM
  (SELECT @key@ AS k, printf('%10s%012d', coalesce(@day@, ''), id) AS tag FROM @fact@) GROUP BY k),
w AS (SELECT o.@key@ AS k, count(*) AS above FROM @fact@ o JOIN u ON u.k = o.@key@ WHERE o.@value@ > u.mean GROUP BY 1),
x AS (SELECT o.@key@ AS k, sum(r.@value@) AS part FROM @part@ r JOIN @fact@ o ON o.id = r.@fact@_id GROUP BY 1),
y AS (SELECT c.id AS k, c.@group@ AS g, t.total, row_number() OVER (ORDER BY c.@group@, t.total DESC) AS line
  FROM @owner@ c JOIN t ON t.k = c.id WHERE t.total IS NOT NULL AND c.@group@ IS NOT NULL),
z AS (SELECT g, min(line) AS line FROM y GROUP BY g),
q AS (SELECT g, total, min(line) AS line FROM y GROUP BY g, total)
SELECT c.id, c.name, ifnull(c.@group@, '(none)') AS @group@, ifnull(t.cnt, 0) AS @fact@, t.total AS total,
  v.latest AS latest, ifnull(u.days, 0) AS days@PICK@
FROM @owner@ c LEFT JOIN t ON t.k = c.id LEFT JOIN u ON u.k = c.id LEFT JOIN v ON v.k = c.id LEFT JOIN w ON w.k = c.id
  LEFT JOIN x ON x.k = c.id LEFT JOIN y ON y.k = c.id LEFT JOIN z ON z.g = y.g 
  LEFT JOIN q ON q.g = y.g AND q.total = y.total
WHERE c.id NOT IN (SELECT @key@ FROM @black@)
ORDER BY t.total DESC, c.id
"""
JOINS_PICK = (
    ", ifnull(x.part, 0) AS @part@, ifnull(w.above, 0) AS above_average, ifnull(q.line - z.line + 1, 1) AS place"
)

TESTS = """
import hashlib
import sqlite3
from pathlib import Path

REPORT = Path(TRUTH["report"])


def judge(db, want, rows):
    counted = [0]
    budget = TRUTH["limit"] * rows

    def tick():
        counted[0] += 100
        return counted[0] > budget

    db.set_progress_handler(tick, 100)
    try:
        cursor = db.execute(REPORT.read_text())
        got = [list(row) for row in cursor.fetchall()]
    except sqlite3.OperationalError as error:
        raise AssertionError(f"stopped after {counted[0]} steps ({budget} allowed): {error}")
    finally:
        db.set_progress_handler(None, 100)
    assert [column[0] for column in cursor.description] == TRUTH["columns"], "columns"
    assert len(got) == want["count"], f"{len(got)} rows"
    assert hashlib.sha256(json.dumps(got).encode()).hexdigest() == want["digest"], "the rows differ"
    assert counted[0] <= budget


def test_this_database():
    db = sqlite3.connect(f"file:{TRUTH['database']}?mode=ro", uri=True)
    judge(db, TRUTH["expected"], TRUTH["rows"])
    db.close()


def test_other_databases():
    for case in TRUTH["cases"]:
        db = sqlite3.connect(":memory:")
        db.executescript(case["sql"])
        db.execute("pragma query_only = 1")
        judge(db, case["expected"], case["rows"])
        db.close()


def test_database_unchanged():
    db = sqlite3.connect(f"file:{TRUTH['database']}?mode=ro", uri=True)
    objects = [row[0] for row in db.execute("select name from sqlite_master order by 1")]
    assert objects == sorted(TRUTH["tables"]), objects
    for table, digest in TRUTH["tables"].items():
        rows = [list(row) for row in db.execute(f"select * from {table} order by 1")]
        assert hashlib.sha256(json.dumps(rows).encode()).hexdigest() == digest, table
    db.close()
"""
INITIAL = """
from pathlib import Path


def test_report_and_database_are_there():
    assert Path(TRUTH["report"]).is_file() and Path(TRUTH["database"]).is_file()
"""

Cell = str | int | None
Tables = tuple[list[list[Cell]], list[list[Cell]], list[list[Cell]], list[list[Cell]]]


@dataclass(frozen=True)
class Recipe:
    """How a database is filled: sizes and, for each column, the numbers of a quadratic remainder, so that SQL and "
    "Python agree."""

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


def laid_out(voice: Voice, lines: list[str]) -> str:
    """Sentences in the manner of a voice."""
    if voice in ("email", "chat"):
        return "\n".join(lines)
    return "\n".join(
        f"{f'{n})' if voice in ('specification', 'runbook') else '*'} {line}" for n, line in enumerate(lines, 1)
    )


def draft(draw: Draw) -> Draft:
    """One slow report."""
    place = draw.setting(SETTINGS)
    hard = draw.difficulty is Difficulty.HARD
    wording, limit = (
        (draw.serial + draw.serial // 3) % 3,
        draw.pick((230, 240, 250, 260)),
    )
    words = dict(zip(NAMES, place.words, strict=True))
    void = words["void"]

    def spelled(text: str) -> str:
        for name, word in words.items():
            text = text.replace(f"@{name}@", word)
        return text

    main = recipe(draw, *draw.by_difficulty(medium=(130, 800), hard=(120, 700)), False)
    tables = main.tables(void)
    cases: list[dict[str, object]] = []
    for number in range(2):
        other = recipe(draw, 130 + 10 * number, 270, hard and number == 1)
        content = other.tables(void)
        rows = result(content, void, hard)
        expected = {"count": len(rows), "digest": digest(rows)}
        cases.append({"sql": spelled(DDL + other.sql(void)), "expected": expected, "rows": sum(map(len, content))})
    rows = result(tables, void, hard)
    names = [words[name] for name in ("owner", "fact", "part", "black")]
    database, report = f"{place.folder}/{place.database}", f"{place.folder}/{place.report}"
    fill = {
        "limit": str(limit),
        "tables": ", ".join(names[:3]) + " and " + names[3],
        "report": report,
        "database": database,
    }
    said = {name: texts[wording].format(**fill) for name, texts in SENTENCES.items()}
    instruction = place.text.format(
        report=report,
        database=database,
        rules=laid_out(place.voice, list(said.values())),
        firm=draw.pick(FIRMS),
        persona=place.persona,
        ticket=draw.between(100, 9999),
    )

    def script(query: str, *changes: tuple[str, str]) -> str:
        for old, new in changes:
            query = query.replace(old, new)
        return f"cat > {report} <<'SQL'\n{spelled(query)}SQL\n"

    fast = FAST.replace("@PICK@", PICK if hard else "")
    both = ["test_this_database", "test_other_databases"]
    one_left = "(SELECT count(DISTINCT o.@day@) FROM @fact@ o WHERE o.@key@ + 0 = everyone.id) AS days"
    misses = [
        Miss(
            "one_subquery_left",
            "a correlated subquery remains",
            script(fast, ("coalesce(days, 0) AS days", one_left)),
            both,
        ),
        Miss("inner_join", "loses those that own nothing", script(fast, ("LEFT JOIN sums", "JOIN sums")), both),
        Miss(
            "zero_for_null",
            "turns an empty sum into 0",
            script(fast, ("@fact@, total, latest", "@fact@, coalesce(total, 0) AS total, latest")),
            both,
        ),
        Miss("untouched", "relies on what is there", "true", both),
    ]
    if hard:
        misses.append(
            Miss("null_group_ranked", "ranks those without a group", script(fast, ("c.@group@ IS NULL OR ", "")), both)
        )
    return Draft(
        title=f"Speed up a report: {place.scenario}",
        setting=place,
        instruction=instruction,
        files={
            place.report: spelled(SLOW.replace("@MORE@", MORE if hard else "")),
            "fill.sql": spelled(DDL + main.sql(void)),
        },
        dockerfile=f"COPY {place.report} fill.sql {place.folder}/\n"
        f"RUN cd {place.folder} && sqlite3 {place.database} < fill.sql && rm fill.sql\nWORKDIR {place.folder}",
        truth={
            "report": report,
            "database": database,
            "limit": limit,
            "columns": ["id", "name", words["group"], words["fact"], "total", "latest", "days"]
            + ([words["part"], "above_average", "place"] if hard else []),
            "rows": sum(map(len, tables)),
            "expected": {"count": len(rows), "digest": digest(rows)},
            "tables": {name: digest(table) for name, table in zip(names, tables, strict=True)},
            "cases": cases,
        },
        discoverable=("report", "database", "columns", "tables"),
        tests=TESTS,
        weights={"test_this_database": 0.5, "test_other_databases": 0.5},
        guards=["test_database_unchanged"],
        initial=INITIAL,
        solution=script(fast),
        alternatives=[script(JOINS.replace("@PICK@", JOINS_PICK if hard else ""))],
        misses=misses,
        requirements=[
            (said["speed"], both),
            (said["same"], both),
            (said["single"], both),
            (said["keep"], ["test_database_unchanged"]),
        ],
        knobs={"owners": main.owners, "facts": main.facts, "limit": limit, "hidden": len(cases), "wording": wording},
    )


FAMILY = Family(
    name="slow_report",
    domain="data_querying",
    verifier=Verifier.METRIC_THRESHOLD,
    skills=("sql", "query planning", "NULL semantics", "window functions"),
    difficulties=(Difficulty.MEDIUM, Difficulty.HARD),
    capacity=40,
    draft=draft,
    language="sql",
)
