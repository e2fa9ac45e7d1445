"""Make a report program linear where it is quadratic: same output, counted catalogue reads, bounded processor time."""

from __future__ import annotations

import hashlib
from bisect import bisect_right, insort
from dataclasses import dataclass

from generators.family import Draft, Draw, Family, Miss, Setting
from generators.task import Difficulty, Verifier
from generators.vocabulary import CITIES, FIRMS, FIRST_NAMES

EVENTS, SECONDS = 25_000, 2


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    folder: str
    program: str
    reader: str
    table: str
    event: str
    account: str
    group: str
    text: str


EMAIL = """Hello,

the {thing} report used to take a second. Since {firm} opened {city} it runs past midnight, and it is not the
machine: twice the {event}s, four
times the wait. The program is {folder}/{program}.

{same} {speed} {reads} {keep}

Thank you, {persona}
"""
TICKET = """PERF-{ticket} {thing} report does not finish ({firm}, {city})

Program: {folder}/{program}
[1] {same}
[2] {speed}
[3] {reads}
[4] {keep}
"""
NOTE = """{folder}/{program} ({thing}) is far too slow for a full day of {event}s.
{same}
{speed}
{reads}
{keep}
"""
SPECIFICATION = """Performance requirements, {thing} report of {firm}

Subject: {folder}/{program}
Correctness: {same}
Processor time: {speed}
Billing: {reads}
Scope: {keep}
"""
CHAT = """{persona}: the {thing} report is eating the night again
{persona}: it is {folder}/{program}, {city} alone has 25000 {event}s now
{persona}: {same}
{persona}: {speed}
{persona}: also accounting complains. {reads}
{persona}: {keep}
"""
RUNBOOK = """Capacity problem: {thing} at {firm}

Diagnosis so far: the run time of {folder}/{program} grows with the square of its input.
Change requested:
 a) {speed}
 b) {reads}
Invariants:
 c) {same}
 d) {keep}
"""
REVIEW = """Code review remark by {persona} on {folder}/{program} ({thing}), turned into a task

Nobody looked at the cost of this when {firm} was small. {speed} {reads}

It goes without saying, but is checked: {same} {keep}
"""
HANDOVER = """Notes for my successor, {thing}

{folder}/{program} is the slow one everybody asks about, {city} most of all. I never got round to it. What I promised
them:
- {speed}
- {reads}
- {same}
- {keep}
{persona}
"""

SETTINGS = (
    World(
        "parcels",
        "depot planner",
        "parcel fee",
        "email",
        "/srv/parcels",
        "fees.py",
        "tariff",
        "tariff.csv",
        "scan",
        "customer",
        "zone",
        EMAIL,
    ),
    World(
        "fraud",
        "fraud analyst",
        "card velocity",
        "ticket",
        "/opt/velocity",
        "velocity.py",
        "cards",
        "cards.csv",
        "payment",
        "card",
        "issuer",
        TICKET,
    ),
    World(
        "library",
        "reading room clerk",
        "loan activity",
        "note",
        "/home/library/stats",
        "loans.py",
        "readers",
        "readers.csv",
        "loan",
        "reader",
        "branch",
        NOTE,
    ),
    World(
        "tolls",
        "toll road engineer",
        "toll usage",
        "specification",
        "/var/lib/tolls",
        "usage.py",
        "plates",
        "plates.csv",
        "passage",
        "plate",
        "band",
        SPECIFICATION,
    ),
    World(
        "games",
        "game operator",
        "player spending",
        "chat",
        "/data/arena",
        "spend.py",
        "players",
        "players.csv",
        "purchase",
        "player",
        "region",
        CHAT,
    ),
    World(
        "water",
        "network operator",
        "water draw",
        "runbook",
        "/usr/local/water",
        "draw.py",
        "meters",
        "meters.csv",
        "pulse",
        "meter",
        "district",
        RUNBOOK,
    ),
    World(
        "support",
        "support lead",
        "ticket effort",
        "specification",
        "/srv/desk/reports",
        "effort.py",
        "agents",
        "agents.csv",
        "booking",
        "agent",
        "team",
        REVIEW,
    ),
    World(
        "harvest",
        "estate manager",
        "picker tally",
        "email",
        "/opt/harvest",
        "tally.py",
        "pickers",
        "pickers.csv",
        "crate",
        "picker",
        "field",
        HANDOVER,
    ),
)
SAMES = (
    "Its standard output must stay the same to the byte for every input that it can read, as must the way it is "
    "called.",
    "Whatever {event}s it is given, and with the same arguments as now, it has to print exactly what it prints now.",
    "The output is not up for discussion: for any file of {event}s and any arguments, byte for byte what today's "
    "program prints.",
)
SPEEDS = (
    "For 25000 {event}s, however they are spread over {account}s, it may use at most 2 seconds of processor time.",
    "A file of 25000 {event}s has to be done in 2 seconds of CPU time, be it one busy {account} or thousands of them.",
    "2 seconds of processor time have to be enough for 25000 {event}s, of a single {account} just as of very many.",
)
READS = (
    "{table} is to be read through {reader}.py only, which meters the rows it delivers: a run may take at most "
    "twice as many as the table has.",
    "Every row that {reader}.py delivers is charged to us: per run no more than two times the number of rows of "
    "{table}, which must not be read by any other way.",
    "Rows of {table} cost money. They have to come from {reader}.py, and one run may fetch at most double the "
    "number of rows there are.",
)
KEEPS = (
    "{reader}.py and {table} stay untouched.",
    "Do not change {reader}.py, nor {table}.",
    "Leave the reader module {reader}.py and the data in {table} alone.",
)

READER = '''"""Reads {table}. Rows are metered: METER, if set, names a file that gets their number in the end."""
import atexit
import os

PATH = os.environ.get("TABLE", "{folder}/{table}")
delivered = 0


def rows():
    """All rows of the table, in its order: ({account}, {group})."""
    global delivered
    with open(PATH) as table:
        for line in table:
            delivered += 1
            yield tuple(line.rstrip("\\n").split(","))


@atexit.register
def report():
    if "METER" in os.environ:
        with open(os.environ["METER"], "w") as out:
            out.write(str(delivered))
'''
HEAD = '''#!/usr/bin/env python3
"""{thing} report. Arguments: file of {event}s (time,id,{account},amount; ascending time), window{more}."""
import sys
'''
SLOW = """
sys.path.insert(0, "{folder}")
import {reader}


def {group}_of({account}):
    # the first row counts
    for name, {group} in {reader}.rows():
        if name == {account}:
            return {group}
    return "?"


def main():
    window = int(sys.argv[2])
    {peak}last = int(sys.argv[3])
    seen, kept, totals = [], [], []
    for line in open(sys.argv[1]):
        time, key, {account}, amount = line.strip().split(",")
        time, amount = int(time), int(amount)
        if key in seen:
            continue
        seen.append(key)
        {group} = {group}_of({account})
        kept.append((time, {account}, {group}, amount))
        recent = sum(row[3] for row in kept if row[1] == {account} and row[0] > time - window)
        {peak}peak = max(row[3] for row in kept[-last:])
        {peak}rank = sum(1 for row in kept if row[2] == {group} and row[3] > amount)
        print(key, {group}, recent{columns})
        for total in totals:
            if total[0] == {group}:
                total[1] += 1
                total[2] += amount
                break
        else:
            totals.append([{group}, 1, amount])
    for {group}, count, amount in sorted(totals):
        print("=", {group}, count, amount)


main()
"""
FAST = """from bisect import bisect_right, insort
from collections import deque

sys.path.insert(0, "{folder}")
import {reader}


def main():
    window = int(sys.argv[2])
    {peak}last = int(sys.argv[3])
    known = {}
    for name, {group} in {reader}.rows():
        known.setdefault(name, {group})
    seen, queues, sums, totals, ranks = set(), {}, {}, {}, {}
    peaks, number = deque(), 0
    out = []
    for line in open(sys.argv[1]):
        time, key, {account}, amount = line.strip().split(",")
        time, amount = int(time), int(amount)
        if key in seen:
            continue
        seen.add(key)
        {group} = known.get({account}, "?")
        queue = queues.setdefault({account}, deque())
        queue.append((time, amount))
        recent = sums.get({account}, 0) + amount
        while queue and queue[0][0] <= time - window:
            recent -= queue.popleft()[1]
        sums[{account}] = recent
        while peaks and peaks[-1][1] <= amount:
            peaks.pop()
        peaks.append((number, amount))
        {peak}if peaks[0][0] <= number - last:
        {peak}    peaks.popleft()
        number += 1
        peak = peaks[0][1]
        ordered = ranks.setdefault({group}, [])
        rank = len(ordered) - bisect_right(ordered, amount)
        insort(ordered, amount)
        out.append("%s %s %d{formats}\\n" % (key, {group}, recent{columns}))
        count, total = totals.get({group}, (0, 0))
        totals[{group}] = (count + 1, total + amount)
    sys.stdout.write("".join(out))
    for {group} in sorted(totals):
        print("=", {group}, *totals[{group}])


main()
"""
OTHER = """import heapq
from bisect import bisect, bisect_left

sys.path.insert(0, "{folder}")
import {reader}

window = int(sys.argv[2])
last = int(sys.argv[3]) if {hard} else 1
first = dict(reversed(list({reader}.rows())))
rows = {}
for line in open(sys.argv[1]):
    time, key, account, amount = line.strip().split(",")
    rows.setdefault(key, (int(time), account, first.get(account, "?"), int(amount)))
rows = list(zip(rows, rows.values()))
times, sums, heap, totals, ladders = {}, {}, [], {}, {}
for number, (key, (time, account, group, amount)) in enumerate(rows):
    moments, running = times.setdefault(account, []), sums.setdefault(account, [0])
    moments.append(time)
    running.append(running[-1] + amount)
    recent = running[-1] - running[bisect(moments, time - window)]
    count, total = totals.get(group, (0, 0))
    totals[group] = (count + 1, total + amount)
    if not {hard}:
        print(key, group, recent)
        continue
    heapq.heappush(heap, (-amount, -number))
    while -heap[0][1] <= number - last:
        heapq.heappop(heap)
    ladder = ladders.setdefault(group, [])  # negative amounts, ascending
    rank = bisect_left(ladder, -amount)
    ladder.insert(rank, -amount)
    print(key, group, recent, -heap[0][0], rank)
for group, pair in sorted(totals.items()):
    print("=", group, *pair)
"""

TESTS = '''
import hashlib
import os
import resource
import subprocess
import tempfile
from bisect import bisect_right, insort
from collections import deque

FOLDER = TRUTH["folder"]
DONE = []


def run(events, arguments, table=None, cpu=60):
    """The program's output and the number of table rows it took."""
    with tempfile.TemporaryDirectory() as room:
        path, meter = os.path.join(room, "events"), os.path.join(room, "meter")
        with open(path, "w") as out:
            out.write(events)
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/root", "LANG": "C.UTF-8", "METER": meter}
        if table is not None:
            env["TABLE"] = os.path.join(room, "table")
            with open(env["TABLE"], "w") as out:
                out.write(table)
        done = subprocess.run(
            ["/usr/bin/python3", os.path.join(FOLDER, TRUTH["program"]), path, *map(str, arguments)],
            env=env, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=40,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 1)),
        )
        assert done.returncode == 0, "more processor time than allowed, or an error"
        with open(meter) as source:
            return done.stdout.decode(), int(source.read())


def expected(events, table, window, last):
    known = {}
    for line in table.splitlines():
        known.setdefault(*line.split(","))
    seen, queues, sums, totals, ranks, peaks, number, out = set(), {}, {}, {}, {}, deque(), 0, []
    for line in events.splitlines():
        time, key, account, amount = line.split(",")
        time, amount = int(time), int(amount)
        if key in seen:
            continue
        seen.add(key)
        group = known.get(account, "?")
        queue = queues.setdefault(account, deque())
        queue.append((time, amount))
        sums[account] = sums.get(account, 0) + amount
        while queue and queue[0][0] <= time - window:
            sums[account] -= queue.popleft()[1]
        extra = ""
        if last:
            while peaks and peaks[-1][1] <= amount:
                peaks.pop()
            peaks.append((number, amount))
            if peaks[0][0] <= number - last:
                peaks.popleft()
            ordered = ranks.setdefault(group, [])
            extra = f" {peaks[0][1]} {len(ordered) - bisect_right(ordered, amount)}"
            insort(ordered, amount)
            number += 1
        out.append(f"{key} {group} {sums[account]}{extra}\\n")
        count, total = totals.get(group, (0, 0))
        totals[group] = (count + 1, total + amount)
    return "".join(out) + "".join(f"= {group} {c} {t}\\n" for group, (c, t) in sorted(totals.items()))


def large():
    """A day of events, always the same one: one busy account and thousands of others."""
    state, lines = TRUTH["start"], []
    for number in range(TRUTH["events"]):
        state = (state * 1103515245 + 12345) % 2**31
        account, amount = "A0", 90000 - 2 * number
        if number % 5 == 0:
            account, amount = f"A{state // 1024 % 3000}", state // 7 % 9000 + 1
        key = number - 3 if number % 50 == 49 else number
        lines.append(f"{number // 3},E{key:06d},{account},{amount}\\n")
    return "".join(lines)


def test_large_day():
    table = "".join(f"A{n},G{n % 7}\\n" for n in range(0, 400, 2))
    events = large()
    arguments = [4000] + ([8000] if TRUTH["last"] else [])
    output, _ = run(events, arguments, table, TRUTH["seconds"])
    assert output == expected(events, table, 4000, 8000 if TRUTH["last"] else 0), "the output of a large run differs"


def small_runs():
    """Case, output and rows taken of every small case; the program runs once for all tests."""
    if not DONE:
        DONE.extend((case, *run(case["events"], case["arguments"], case["table"])) for case in TRUTH["cases"])
    return DONE


def test_table_reads():
    for case, _, taken in small_runs():
        count = case["table"].count("\\n")
        assert 0 < taken <= 2 * count, f"{taken} rows taken of a table of {count}"


def test_same_output():
    for case, output, _ in small_runs():
        assert output == case["output"], "the output differs"


def test_reader_and_table():
    for name, digest in TRUTH["inputs"].items():
        with open(os.path.join(FOLDER, name), "rb") as source:
            assert hashlib.sha256(source.read()).hexdigest() == digest, name
'''
INITIAL = """
import os


def test_program_is_there():
    for name in (TRUTH["program"], *TRUTH["inputs"]):
        assert os.path.isfile(os.path.join(TRUTH["folder"], name)), name
"""


def draw_table(draw: Draw, accounts: int) -> list[tuple[str, str]]:
    """Accounts and groups; one account is listed twice, and the first row counts."""
    groups = draw.sample(CITIES, 4)
    rows = [(f"K{number}", draw.pick(groups)) for number in draw.sample(range(10, 999), accounts)]
    return [*rows, (rows[0][0], next(group for group in groups if group != rows[0][1]))]


def draw_events(draw: Draw, count: int, accounts: list[str]) -> list[tuple[int, str, str, int]]:
    """Events with equal times, repeated ids and unknown accounts."""
    time, events = draw.between(0, 10**6), list[tuple[int, str, str, int]]()
    for number in range(count):
        time += draw.pick((0, 0, 1, 2, 9))
        key = f"E{draw.between(0, number)}" if number % 6 == 5 else f"E{number}"
        account = "K1" if number % 9 == 4 else draw.pick(accounts)
        events.append((time, key, account, draw.between(1, 60)))
    return events


def report(events: list[tuple[int, str, str, int]], table: list[tuple[str, str]], window: int, last: int) -> str:
    """What the program prints; `last` 0 means without the two extra columns."""
    known = dict(reversed(table))
    kept: dict[str, tuple[int, str, str, int]] = {}
    ordered: dict[str, list[int]] = {}
    amounts: list[int] = []
    out = ""
    for time, key, account, amount in events:
        if key in kept:
            continue
        group = known.get(account, "?")
        kept[key] = (time, account, group, amount)
        amounts.append(amount)
        recent = sum(row[3] for row in kept.values() if row[1] == account and row[0] > time - window)
        sorted_amounts = ordered.setdefault(group, [])
        rank = len(sorted_amounts) - bisect_right(sorted_amounts, amount)
        insort(sorted_amounts, amount)
        out += f"{key} {group} {recent}" + (f" {max(amounts[-last:])} {rank}" if last else "") + "\n"
    return out + "".join(f"= {group} {len(items)} {sum(items)}\n" for group, items in sorted(ordered.items()))


def draft(draw: Draw) -> Draft:
    """One program."""
    world = draw.setting(SETTINGS)
    hard = draw.difficulty is Difficulty.HARD
    words: dict[str, object] = {
        "folder": world.folder,
        "program": world.program,
        "reader": world.reader,
        "table": world.table,
        "event": world.event,
        "account": world.account,
        "group": world.group,
        "thing": world.scenario,
        "firm": draw.pick(FIRMS),
        "city": draw.pick(CITIES),
        "ticket": draw.between(100, 9999),
        "persona": f"{draw.pick(FIRST_NAMES)}, {world.persona}",
        "more": ", number of last rows" if hard else "",
        "columns": ", peak, rank" if hard else "",
        "formats": " %d %d" if hard else "",
        "hard": hard,
    }

    def fill(text: str) -> str:
        lines = text.splitlines(keepends=True)
        text = "".join(line.replace("{peak}", "") for line in lines if hard or "{peak}" not in line)
        for key, word in words.items():
            text = text.replace(f"{{{key}}}", str(word))
        return text

    same, speed, reads, keep = (fill(draw.pick(texts)) for texts in (SAMES, SPEEDS, READS, KEEPS))
    table = draw_table(draw, draw.between(20, 40))
    table_csv = "".join(f"{account},{group}\n" for account, group in table)
    cases: list[dict[str, object]] = []
    for _ in range(4):
        rows = draw_table(draw, draw.between(4, 12))
        events = draw_events(draw, draw.between(20, 60), [account for account, _ in rows])
        window, last = draw.between(1, 60), draw.between(1, 20) if hard else 0
        cases.append(
            {
                "events": "".join(f"{time},{key},{account},{amount}\n" for time, key, account, amount in events),
                "table": "".join(f"{account},{group}\n" for account, group in rows),
                "arguments": [window, last] if hard else [window],
                "output": report(events, rows, window, last),
            }
        )

    path = f"{world.folder}/{world.program}"
    slow, fast = fill(HEAD + SLOW), fill(HEAD + FAST)
    account, group = str(words["account"]), world.group
    listed = fast.replace("set(), {}", "[], {}", 1).replace("seen.add(", "seen.append(")
    asking = f'dict(reversed(list({world.reader}.rows()))).get({account}, "?")'
    cached = fast.replace("    known = {}\n", "    known = {}\n    asked = {}\n").replace(
        f'known.get({account}, "?")', f"asked.get({account}) or asked.setdefault({account}, {asking})"
    )
    rescans = fast.replace(
        f"        sums[{account}] = recent\n", f"        recent = sums[{account}] = sum(pair[1] for pair in queue)\n"
    )
    misses = [
        Miss("list_of_ids", "keeps the ids in a list", install(path, listed), ["test_large_day"]),
        Miss("table_per_account", "reads the table once per account", install(path, cached), ["test_table_reads"]),
        Miss("window_rescan", "adds up the whole window for every event", install(path, rescans), ["test_large_day"]),
    ]
    if hard:
        counted = fast.replace(
            "len(ordered) - bisect_right(ordered, amount)", "sum(other > amount for other in ordered)"
        )
        misses.append(Miss("rank_by_count", "counts all earlier amounts", install(path, counted), ["test_large_day"]))
    sources = {f"{world.reader}.py": fill(READER), world.table: table_csv}
    first_rows = draw_events(draw, 30, [row[0] for row in table])
    sample = "".join(f"{time},{key},{name},{amount}\n" for time, key, name, amount in first_rows)
    return Draft(
        title=f"Speed up the {world.scenario} report",
        setting=world,
        instruction=fill(world.text.format(same=same, speed=speed, reads=reads, keep=keep, **words)),
        files={**sources, world.program: slow, "example.csv": sample},
        dockerfile=f"COPY {world.reader}.py {world.table} {world.program} example.csv {world.folder}/\n"
        f"WORKDIR {world.folder}",
        truth={
            "folder": world.folder,
            "program": world.program,
            "events": EVENTS,
            "seconds": SECONDS,
            "last": hard,
            "start": draw.between(1, 10**6),
            "cases": cases,
            "inputs": {name: hashlib.sha256(text.encode()).hexdigest() for name, text in sources.items()},
        },
        discoverable=("folder", "program"),
        tests=TESTS,
        weights={"test_large_day": 0.6, "test_table_reads": 0.4},
        guards=["test_same_output", "test_reader_and_table"],
        initial=INITIAL,
        solution=install(path, fast),
        alternatives=[install(path, fill(HEAD + OTHER))],
        misses=misses,
        requirements=[
            (same, ["test_same_output", "test_large_day"]),
            (speed, ["test_large_day"]),
            (reads, ["test_table_reads"]),
            (keep, ["test_reader_and_table"]),
        ],
        knobs={"columns": 4 if hard else 2, "group": group},
    )


def install(path: str, text: str) -> str:
    """Put a program at its path."""
    return f"cat > {path} <<'END_OF_PROGRAM'\n{text}END_OF_PROGRAM\n"


FAMILY = Family(
    name="quadratic_cliff",
    domain="debugging",
    verifier=Verifier.METRIC_THRESHOLD,
    skills=("algorithmic complexity", "data structures", "profiling", "python"),
    difficulties=(Difficulty.MEDIUM, Difficulty.HARD),
    capacity=48,
    draft=draft,
    language="python",
)
