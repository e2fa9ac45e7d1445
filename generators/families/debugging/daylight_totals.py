"""Repair totals over local time: doubled and missing hours, offsets given as a table, splits at local midnight and
bands."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from generators.family import Draft, Draw, Family, Miss, Setting
from generators.task import Difficulty, Verifier
from generators.vocabulary import CITIES, FIRMS, FIRST_NAMES


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    folder: str
    program: str
    row: str
    site: str
    text: str


EMAIL = """Hello,

the {thing} minutes of {firm} are wrong every spring and every autumn. {city} complained first. The program is
{path}; it is called
`python3 {path} ROWS` and prints its totals.

{rules}

{job} {keep}

Thanks, {persona}
"""
TICKET = """{ticket}: {thing} totals off by an hour around clock changes ({firm})

Program: python3 {path} ROWS, prints the totals of the {row}s in the file ROWS
Request: {job}

Rules
{rules}

Not to be touched: {keep}
"""
NOTE = """python3 {path} ROWS adds up {thing} minutes. Wrong whenever the clocks change.
{job}
{rules}
{keep}
"""
SPECIFICATION = """Computation of {thing} minutes, {firm}

Implementation under repair: {path}, called as `python3 {path} ROWS`.

{rules}

Order: {job} {keep}
"""
CHAT = """{persona}: the clock change bit us again, {city} says their {thing} numbers make no sense
{persona}: it is {path}, run as `python3 {path} ROWS`
{persona}: {job}
{persona}: I looked up how it should be:
{rules}
{persona}: {keep}
"""
RUNBOOK = """Known defect in {thing} accounting

When: days on which an offset changes. Where: {path} (call: python3 {path} ROWS).
{job}

Definitions
{rules}

{keep}
"""
REVIEW = """Objection of {firm} against the {thing} statement, upheld.

We computed {row}s across clock changes wrongly with {path}. {job} The call `python3 {path} ROWS` remains.

What the contract says:

{rules}

{keep} {persona}
"""
HANDOVER = """Left open by {persona}: {thing} totals

{path} takes a file of {row}s (python3 {path} ROWS). In winter and summer it is fine, between them it is not.
{rules}

{job}
{keep}
"""

SETTINGS = (
    World(
        "cranes",
        "port superintendent",
        "crane operation",
        "email",
        "/srv/port",
        "crane_minutes.py",
        "shift",
        "berth",
        EMAIL,
    ),
    World("nurses", "ward planner", "night duty", "ticket", "/opt/wards", "duty.py", "duty", "ward", TICKET),
    World("parking", "garage owner", "parking", "note", "/home/garage", "parked.py", "stay", "garage", NOTE),
    World(
        "charging",
        "charge point operator",
        "charging session",
        "specification",
        "/var/lib/charging",
        "sessions.py",
        "session",
        "station",
        SPECIFICATION,
    ),
    World("radio", "radio producer", "airtime", "chat", "/data/airtime", "airtime.py", "broadcast", "channel", CHAT),
    World(
        "guards",
        "security dispatcher",
        "guard patrol",
        "runbook",
        "/usr/local/patrol",
        "patrol.py",
        "patrol",
        "object",
        RUNBOOK,
    ),
    World(
        "pools", "leisure manager", "pool heating", "specification", "/srv/pools", "heating.py", "run", "pool", REVIEW
    ),
    World(
        "bikes", "bike share analyst", "bike rental", "email", "/opt/bikes", "rentals.py", "rental", "dock", HANDOVER
    ),
)
WORDINGS = {
    "rows": (
        "A line of ROWS is `{site},begin,end` with local times of that {site} (YYYY-MM-DDTHH:MM); "
        "{folder}/zones.csv gives the zone of every {site}, {folder}/offsets.csv "
        "the offset from UTC in minutes that each zone has from an instant (UTC) on (lines in any order), and "
        "nothing else decides about clocks.",
        "Each {row} in ROWS is `{site},begin,end`, both in the local time of the {site} as YYYY-MM-DDTHH:MM. The "
        "zone of a {site} is in {folder}/zones.csv, and what a zone's "
        "clock shows is in {folder}/offsets.csv alone: zone, UTC instant from which it counts, minutes to add to "
        "UTC; its lines have no order.",
        "Input: `{site},begin,end`, where begin and end are what the local clock showed (YYYY-MM-DDTHH:MM). "
        "{folder}/zones.csv maps {site}s to zones; {folder}/offsets.csv lists "
        "from which UTC instant on a zone is how many minutes ahead of UTC, unsorted. No other source of time "
        "rules counts.",
    ),
    "elapsed": (
        "Minutes are those that really passed from begin to end, not the difference of the two clock readings.",
        "What counts is elapsed time: a {row} over a clock change has more or fewer minutes than its readings suggest.",
        "A {row} lasts as long as it really lasted, in minutes of elapsed time, whatever was done to the clock "
        "meanwhile.",
    ),
    "letter": (
        "A reading that occurs twice has a letter: A behind it means the first occurrence, B the second "
        "(2031-10-26T02:30B); it is never without one.",
        "Where the clock showed a time twice the reading ends in A (earlier) or B (later), for example "
        "2031-10-26T02:30A.",
        "Doubled readings carry a mark at the end, A for the first time round and B for the second, as in "
        "2031-10-26T02:30B.",
    ),
    "twice": (
        "A reading that occurs twice means: for an end the first occurrence that is not before the begin; for a "
        "begin the first one not before the end of the "
        "previous line of the same {site} (the lines of a {site} are in order), or the first of all if there is none.",
        "If the clock showed a time twice, take the earlier occurrence, unless it would lie before what precedes "
        "it: the begin precedes the end, and the end of the {site}'s "
        "previous line precedes the begin (a {site}'s lines are chronological). Then it is the later one.",
        "Doubled readings are resolved by order: every {site}'s begins and ends, line after line, never go back "
        "in time, and the earliest occurrence that fits that is the right one.",
    ),
    "missing": (
        "A reading that the clock skipped is taken with the offset that held before the skip.",
        "Times which never appeared on the clock, because it was put forward, are converted with the offset in "
        "force before that.",
        "For a reading inside a gap of the clock the old offset, the one before the change, is used.",
    ),
    "totals": (
        "Printed is `{site},minutes` for every {site} in ROWS, in ascending order of {site}.",
        "The output has a line `{site},minutes` per {site} that occurs in ROWS, sorted by {site}.",
        "For each {site} of ROWS one line `{site},minutes` is printed, {site}s ascending.",
    ),
    "days": (
        "Minutes belong to the local date on which they pass; printed is `{site},YYYY-MM-DD,minutes` for each "
        "{site} and date with at least one minute, ascending by {site}, then date.",
        "Every minute counts for the date the local clock shows during it. Output lines are "
        "`{site},YYYY-MM-DD,minutes`, sorted by {site} and date, without dates that have no minute.",
        "A {row} over local midnight is divided between the dates; the program prints "
        "`{site},YYYY-MM-DD,minutes`, ordered by {site} and date, only where there are minutes.",
    ),
    "bands": (
        "Minutes belong to the local date on which they pass, and are day minutes from {opens}:00 to before "
        "{shuts}:00 by the local clock, else night minutes; printed is "
        "`{site},YYYY-MM-DD,day,night` for each {site} and date with at least one minute, ascending by {site}, "
        "then date.",
        "For each minute the local clock decides on its date, and whether it is day ({opens}:00 up to "
        "{shuts}:00, the latter excluded) or night. Lines "
        "`{site},YYYY-MM-DD,day,night`, sorted by {site} and date, are printed where there is at least one minute.",
        "Output: `{site},YYYY-MM-DD,day,night`, one line for every {site} and local date that has minutes, in "
        "this order, with the minutes while the local clock shows "
        "{opens}:00 or later but less than {shuts}:00 (day) and the rest (night).",
    ),
}
JOBS = (
    "Repair {path} so that all of this holds for any file of {row}s and any tables.",
    "Make {path} correct under these rules, for other {row}s and other tables as well.",
    "{path} has to follow the rules for whatever {row}s and tables it meets; please see to it.",
)
KEEPS = (
    "Both tables and {folder}/example.csv stay unchanged, the tables are read from where they are; no time zone "
    "data of the machine is used.",
    "Leave the two tables and {folder}/example.csv alone, go on reading the tables from their places, and use no "
    "time zone data from elsewhere.",
    "The program reads the tables at their present paths; do not edit them or {folder}/example.csv, and do not "
    "bring in other time zone data.",
)

PROGRAM = '''#!/usr/bin/env python3
"""{thing} minutes."""
import csv
import sys
from datetime import datetime, timedelta

MINUTE = timedelta(minutes=1)
zones = dict(csv.reader(open("{folder}/zones.csv")))
offsets = {}
for zone, since, minutes in csv.reader(open("{folder}/offsets.csv")):
    offsets.setdefault(zone, []).append((datetime.fromisoformat(since), timedelta(minutes=int(minutes))))
for table in offsets.values():
    table.sort()


def to_utc(zone, text):
    local = datetime.fromisoformat(text[:16])
    found = offsets[zone][0][1]
    for since, offset in offsets[zone]:
        if since <= local:
            found = offset
    return local - found


def main():
    totals = {}
    for site, begin, end in csv.reader(open(sys.argv[1])):
        zone = zones[site]
        minutes = (to_utc(zone, end) - to_utc(zone, begin)) // MINUTE
        {count}
    for key in sorted(totals):
        {show}


main()
'''
COUNTS = {
    "totals": ("totals[site] = totals.get(site, 0) + minutes", 'print(key, totals[key], sep=",")'),
    "days": (
        "totals[site, begin[:10]] = totals.get((site, begin[:10]), 0) + minutes",
        'print(*key, totals[key], sep=",")',
    ),
    "bands": (
        "pair = totals.setdefault((site, begin[:10]), [0, 0])\n        pair[not {opens} <= int(begin[11:13]) < "
        "{shuts}] += minutes",
        'print(*key, *totals[key], sep=",")',
    ),
}
FIXED = '''#!/usr/bin/env python3
"""{thing} minutes."""
import csv
import sys
from datetime import datetime, timedelta

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
zones = dict(csv.reader(open("{folder}/zones.csv")))
offsets = {}
for zone, since, minutes in csv.reader(open("{folder}/offsets.csv")):
    offsets.setdefault(zone, []).append((datetime.fromisoformat(since), timedelta(minutes=int(minutes))))
for table in offsets.values():
    table.sort()


def offset_at(zone, instant):
    found = offsets[zone][0][1]
    for since, offset in offsets[zone]:
        if since <= instant:
            found = offset
    return found


def to_utc(zone, text, floor):
    local = datetime.fromisoformat(text[:16])
    fits = sorted({local - offset for _, offset in offsets[zone] if offset_at(zone, local - offset) == offset})
    if not fits:
        steps = zip(offsets[zone], offsets[zone][1:])
        before = next(old for (_, old), (since, new) in steps if since + old <= local < since + new)
        return local - before
    if text[16:]:
        return fits[0] if text[16:] == "A" else fits[-1]
    return next((instant for instant in fits if floor is None or instant >= floor), fits[-1])


def pieces(zone, start, end):
    """Stretches of local time: the real time cut at changes of the offset and at full local hours."""
    while start < end:
        offset = offset_at(zone, start)
        local = start + offset
        stop = start + HOUR - timedelta(minutes=local.minute)
        stop = min([stop, end] + [since for since, _ in offsets[zone] if since > start])
        yield local, (stop - start) // MINUTE
        start = stop


def main():
    totals, previous = {}, {}
    for site, begin, end in csv.reader(open(sys.argv[1])):
        zone = zones[site]
        start = to_utc(zone, begin, previous.get(site))
        stop = previous[site] = to_utc(zone, end, start)
        {count}
    for key in sorted(totals):
        {show}


main()
'''
FIXED_COUNTS = {
    "totals": "totals[site] = totals.get(site, 0) + (stop - start) // MINUTE",
    "days": "for local, minutes in pieces(zone, start, stop):\n            key = (site, str(local)[:10])\n"
    "            totals[key] = totals.get(key, 0) + minutes",
    "bands": "for local, minutes in pieces(zone, start, stop):\n            pair = totals.setdefault((site, str(local)[:10]), [0, 0])\n"
    "            pair[not {opens} <= local.hour < {shuts}] += minutes",
}
OTHER = """import sys
from calendar import timegm
from time import gmtime, strftime, strptime


def stamp(text):
    return timegm(strptime(text[:16], "%Y-%m-%dT%H:%M")) // 60


def table(name):
    with open("{folder}/" + name) as lines:
        return [line.strip().split(",") for line in lines if line.strip()]


changes = {}
for zone, since, offset in table("offsets.csv"):
    changes.setdefault(zone, []).append((stamp(since), int(offset)))
spans = {}
for zone, rows in changes.items():
    rows.sort()
    ends = [row[0] for row in rows[1:]] + [10**12]
    rows[0] = (-(10**12), rows[0][1])
    spans[zone] = [(since, end, offset) for (since, offset), end in zip(rows, ends)]
zones = dict(table("zones.csv"))


def instant(zone, text, floor):
    local = stamp(text)
    good = [local - offset for since, end, offset in spans[zone] if since <= local - offset < end]
    if not good:
        return local - [offset for since, end, offset in spans[zone] if end + offset <= local][-1]
    mark = text[16:]
    if mark:
        return good["AB".index(mark)]
    return ([moment for moment in good if moment >= floor] or good[-1:])[0]


result, floors = {}, {}
for line in open(sys.argv[1]):
    site, begin, end = line.strip().split(",")
    zone = zones[site]
    a = instant(zone, begin, floors.get(site, -(10**12)))
    b = floors[site] = instant(zone, end, a)
    if "{mode}" == "totals":
        result[site] = result.get(site, 0) + b - a
        continue
    for since, stop, offset in spans[zone]:
        for minute in range(max(a, since) + offset, min(b, stop) + offset):
            pair = result.setdefault((site, minute // 1440), [0, 0])
            pair[0 if "{mode}" == "days" or {opens} <= minute % 1440 // 60 < {shuts} else 1] += 1
for key, value in sorted(result.items()):
    if "{mode}" == "totals":
        print(key, value, sep=",")
    else:
        date = strftime("%Y-%m-%d", gmtime(key[1] * 86400))
        print(key[0], date, *value[: 1 if "{mode}" == "days" else 2], sep=",")
"""

TESTS = """
import hashlib
import os
import subprocess
import tempfile


def output(rows):
    with tempfile.NamedTemporaryFile("w", suffix=".csv", delete=False) as out:
        out.write(rows)
    os.chmod(out.name, 0o644)
    try:
        command = ["/usr/bin/python3", TRUTH["program"], out.name]
        done = subprocess.run(command, capture_output=True, text=True, timeout=15)
    finally:
        os.remove(out.name)
    return done.stdout.strip().splitlines() if done.returncode == 0 else ["exit status %d" % done.returncode]


def check(case, tables=None):
    saved = {}
    try:
        for name, text in (tables or {}).items():
            path = os.path.join(TRUTH["folder"], name)
            with open(path) as source:
                saved[path] = source.read()
            with open(path, "w") as out:
                out.write(text)
        assert output(case["rows"]) == case["output"].splitlines(), case["label"] + ": totals differ"
    finally:
        for path, text in saved.items():
            with open(path, "w") as out:
                out.write(text)


def test_doubled_times():
    for case in TRUTH["cases"]["doubled"]:
        check(case)


def test_skipped_times():
    for case in TRUTH["cases"]["skipped"]:
        check(case)


def test_other_tables():
    for case in TRUTH["cases"]["other"]:
        check(case, case["tables"])


def test_quiet_weeks():
    for case in TRUTH["cases"]["quiet"]:
        check(case)


def test_tables_unchanged():
    for path, digest in TRUTH["inputs"].items():
        with open(path, "rb") as source:
            assert hashlib.sha256(source.read()).hexdigest() == digest, path
"""
INITIAL = """
import os


def test_program_and_tables():
    assert os.path.isfile(TRUTH["program"])
    assert all(os.path.isfile(path) for path in TRUTH["inputs"])
"""

DAY = 1440


def civil(days: int) -> str:
    """ISO date of a day number since 1970."""
    era, rest = divmod(days + 719_468, 146_097)
    year = (rest - rest // 1460 + rest // 36_524 - rest // 146_096) // 365
    of_year = rest - (365 * year + year // 4 - year // 100)
    shifted = (5 * of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    return f"{year + era * 400 + (month <= 2):04d}-{month:02d}-{of_year - (153 * shifted + 2) // 5 + 1:02d}"


def clock(minute: int) -> str:
    """A minute number as YYYY-MM-DDTHH:MM."""
    return f"{civil(minute // DAY)}T{minute % DAY // 60:02d}:{minute % 60:02d}"


@dataclass
class Zone:
    """A clock: from each UTC minute on an offset."""

    name: str
    changes: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    def offset(self, instant: int) -> int:
        """The offset at an instant."""
        return [offset for since, offset in self.changes if since <= instant][-1]

    def doubled(self, instant: int) -> str:
        """A or B if the clock shows this reading twice, else nothing."""
        local = instant + self.offset(instant)
        for (_, old), (since, new) in zip(self.changes, self.changes[1:], strict=False):
            if since + new <= local < since + old:
                return "A" if instant < since else "B"
        return ""


def make_zone(draw: Draw, name: str, hard: bool, kind: int) -> Zone:
    """A zone with two changes a year for two years; kind 1 changes at local midnight, kind 2 by half an hour."""
    base = draw.pick((60, 120, 345, 570) if kind == 0 else (-480, -210, 60, 120, 345, 570))
    step = 30 if kind == 2 and hard else 60
    at = DAY if kind == 1 and hard else draw.pick((120, 180))
    zone = Zone(name, [(0, base)])
    year = 22_200 + 365 * draw.between(0, 4)
    for number in range(2):
        spring = (year + 365 * number + draw.between(80, 95)) * DAY + at
        autumn = (year + 365 * number + draw.between(285, 300)) * DAY + at + (60 if at < DAY else 0)
        zone.changes += [(spring - base, base + step), (autumn - base - step, base)]
    return zone


@dataclass
class Rows:
    """Rows of a case, in the order of the file, and minute by minute where they belong."""

    mode: str
    opens: int
    shuts: int
    lines: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    spent: dict[tuple[str, int], list[int]] = field(default_factory=dict[tuple[str, int], list[int]])

    def add(self, site: str, zone: Zone, begin: int, end: int, shown: tuple[str, str]) -> None:
        """A row from one instant to another, as the clock showed them."""
        self.lines.append((site, *shown))
        if self.mode == "totals":
            self.spent.setdefault((site, 0), [0, 0])[0] += end - begin
            return
        while begin < end:
            local = begin + zone.offset(begin)
            edges = [since for since, _ in zone.changes if since > begin]
            stop = min([begin + 60 - local % 60, end, *edges])
            night = self.mode == "bands" and not self.opens <= local % DAY // 60 < self.shuts
            self.spent.setdefault((site, local // DAY), [0, 0])[night] += stop - begin
            begin = stop

    def case(self, label: str) -> dict[str, object]:
        """The rows as a file, and the right output."""
        out = ""
        for (site, day), pair in sorted(self.spent.items()):
            shown = {
                "totals": [site, pair[0]],
                "days": [site, civil(day), pair[0]],
                "bands": [site, civil(day), *pair],
            }[self.mode]
            out += ",".join(map(str, shown)) + "\n"
        return {"label": label, "rows": "".join(",".join(line) + "\n" for line in self.lines), "output": out}


def around_autumn(draw: Draw, zone: Zone, across: bool) -> list[tuple[int, int]]:
    """Spans around a doubled time: one from the first pass into the second, or one up to the first and one from the second
    on; errors of neighbours never cancel. A second pass lies so close to what precedes it that the order rule finds it."""
    since = draw.pick((zone.changes[2], zone.changes[4]))[0]
    size = zone.changes[1][1] - zone.changes[0][1]
    first = since - size // 3 - draw.between(0, 3)
    second = since + size // 3 - draw.between(0, 3) + draw.between(0, size // 6)
    middle = [(first, second)]
    if not across:
        middle = [(since - size - draw.between(90, 300), first), (second, since + size + draw.between(10, 900))]
    return [
        (since - draw.between(2000, 4000), since - size - draw.between(400, 900)),
        *middle,
        (since + size + draw.between(1000, 1500), since + size + draw.between(2600, 5000)),
    ]


def around_spring(draw: Draw, zone: Zone, begins: bool) -> list[tuple[int, int]]:
    """Spans around a gap; one begins or ends with a reading from within the gap (see `told`), never both: they would cancel."""
    since = draw.pick((zone.changes[1], zone.changes[3]))[0]
    inside = since + draw.between(1, 25)
    return [
        (since - draw.between(900, 2500), since - draw.between(300, 700)),
        (since - draw.between(60, 200), since - draw.between(1, 20) if begins else inside),
        (inside if begins else since + draw.between(35, 60), since + draw.between(600, 700)),
        (since + draw.between(800, 1000), since + draw.between(1500, 4000)),
    ]


def told(zone: Zone, instant: int, letters: bool, gap: bool) -> str:
    """The reading of an instant; those right after a clock was put forward may be told by the old offset."""
    offset = zone.offset(instant)
    if gap:
        size = zone.changes[1][1] - zone.changes[0][1]
        recent = [new for since, new in (zone.changes[1], zone.changes[3]) if since <= instant < since + min(size, 30)]
        offset -= size if recent else 0
    return clock(instant + offset) + (zone.doubled(instant) if letters else "")


def make_case(
    draw: Draw, kind: str, label: str, rows: Rows, sites: list[tuple[str, Zone]], letters: bool
) -> dict[str, object]:
    """One file of rows: every site's in order, the sites mixed."""
    queues: list[list[tuple[str, Zone, int, int]]] = []
    for site, zone in sites:
        if kind == "quiet":
            day = zone.changes[2][0] // DAY + 20
            spans: list[tuple[int, int]] = []
            for _ in range(3):
                start = day * DAY + draw.between(600, 700) - zone.changes[0][1]
                spans.append((start, start + draw.between(5, 240)))
                day += draw.between(1, 9)
        else:
            other = len(queues) == 1
            spans = around_spring(draw, zone, other) if kind == "skipped" else around_autumn(draw, zone, not other)
        queues.append([(site, zone, begin, end) for begin, end in spans])
    while queue := [queue for queue in queues if queue]:
        site, zone, begin, end = draw.pick(queue).pop(0)
        gap = kind == "skipped"
        rows.add(site, zone, begin, end, (told(zone, begin, letters, gap), told(zone, end, letters, gap)))
    return rows.case(label)


def tables_of(draw: Draw, sites: list[tuple[str, Zone]]) -> dict[str, str]:
    """The two tables, the offsets in any order."""
    zones = {zone.name: zone for _, zone in sites}
    lines = [f"{zone.name},{clock(since)},{offset}\n" for zone in zones.values() for since, offset in zone.changes]
    return {
        "zones.csv": "".join(f"{site},{zone.name}\n" for site, zone in sites),
        "offsets.csv": "".join(draw.shuffled(lines)),
    }


def draft(draw: Draw) -> Draft:
    """One program."""
    world = draw.setting(SETTINGS)
    mode = draw.by_difficulty(easy="totals", medium="days", hard="bands")
    letters, hard = mode == "totals", mode == "bands"
    opens, shuts = draw.between(6, 8), draw.between(18, 21)
    path = f"{world.folder}/{world.program}"
    words: dict[str, object] = {
        "folder": world.folder,
        "path": path,
        "row": world.row,
        "site": world.site,
        "thing": world.scenario,
        "firm": draw.pick(FIRMS),
        "city": draw.pick(CITIES),
        "ticket": f"DST-{draw.between(10, 999)}",
        "persona": f"{draw.pick(FIRST_NAMES)} ({world.persona})",
        "opens": opens,
        "shuts": shuts,
        "mode": mode,
    }

    def fill(text: str, part: dict[str, str] | None = None) -> str:
        for key, word in {**(part or {}), **words}.items():
            text = text.replace(f"{{{key}}}", str(word))
        return text

    keys = ["rows", "elapsed", "letter" if letters else "twice", "missing", mode]
    sentences = {key: fill(draw.pick(WORDINGS[key])) for key in keys}
    job, keep = fill(draw.pick(JOBS)), fill(draw.pick(KEEPS))
    mark = draw.pick(("- {}\n", "* {}\n", "{}\n", "{}\n\n"))
    rules = "".join(mark.format(sentences[key]) for key in keys).strip()

    def make_sites(count: int) -> list[tuple[str, Zone]]:
        zones = [
            make_zone(draw, name, hard, kind)
            for kind, name in enumerate(draw.sample(["Z1", "Z2", "Z7", "ZX", "ZY"], 3))
        ]
        names = draw.sample([f"{world.site[0].upper()}{number}" for number in range(10, 60)], count)
        return [(name, zones[number % 3]) for number, name in enumerate(names)]

    sites = make_sites(6)

    def case(kind: str, number: int, where: list[tuple[str, Zone]]) -> dict[str, object]:
        return make_case(draw, kind, f"{kind} {number}", Rows(mode, opens, shuts), where, letters)

    count = draw.by_difficulty(easy=2, medium=2, hard=3)
    cases: dict[str, list[dict[str, object]]] = {
        "doubled": [case("doubled", number, draw.sample(sites, 3)) for number in range(count)],
        "skipped": [case("skipped", number, sites[:3]) for number in range(count)],
        "quiet": [case("quiet", number, sites) for number in range(2)],
        "other": [],
    }
    for number in range(count):
        others = make_sites(3)
        kind = ("doubled", "skipped")[number % 2]
        cases["other"].append({**case(kind, number, others), "tables": tables_of(draw, others)})
    count_text, show = COUNTS[mode]
    fixed = fill(FIXED, {"count": FIXED_COUNTS[mode], "show": show})
    begin_date = fill(
        FIXED,
        {
            "count": count_text.replace("+ minutes", "+ (stop - start) // MINUTE").replace(
                "+= minutes", "+= (stop - start) // MINUTE"
            ),
            "show": show,
        },
    )
    first = fixed.replace('return fits[0] if text[16:] == "A" else fits[-1]', "return fits[0]").replace(
        "return next((instant for instant in fits if floor is None or instant >= floor), fits[-1])", "return fits[0]"
    )
    new_offset = fixed.replace("next(old for", "next(new for")
    misses = [
        Miss(
            "always_first",
            "takes every doubled reading for the first",
            install(path, first),
            ["test_doubled_times", "test_other_tables"],
        ),
        Miss("new_offset_in_gap", "uses the offset after the gap", install(path, new_offset), ["test_skipped_times"]),
    ]
    if not letters:
        misses.append(
            Miss(
                "date_of_begin", "books everything on the first date", install(path, begin_date), ["test_doubled_times"]
            )
        )
    example = str(case("quiet", 9, sites)["rows"])
    tables = {**tables_of(draw, sites), "example.csv": example}
    goals = ["test_doubled_times", "test_skipped_times", "test_other_tables"]
    return Draft(
        title=f"Right {world.scenario} minutes across clock changes",
        setting=world,
        instruction=fill(world.text.format(rules=rules, job=job, keep=keep, **words)),
        files={**tables, world.program: fill(PROGRAM, {"count": count_text, "show": show})},
        dockerfile=f"COPY zones.csv offsets.csv example.csv {world.program} {world.folder}/\nWORKDIR {world.folder}",
        truth={
            "folder": world.folder,
            "program": path,
            "cases": cases,
            "inputs": {
                f"{world.folder}/{name}": hashlib.sha256(text.encode()).hexdigest() for name, text in tables.items()
            },
        },
        discoverable=("folder", "program", "cases"),
        tests=TESTS,
        weights={"test_doubled_times": 0.4, "test_skipped_times": 0.3, "test_other_tables": 0.3},
        guards=["test_quiet_weeks", "test_tables_unchanged"],
        initial=INITIAL,
        solution=install(path, fixed),
        alternatives=[install(path, fill(OTHER))],
        misses=misses,
        requirements=[
            *(
                (text, ["test_skipped_times" if key == "missing" else "test_doubled_times", "test_quiet_weeks"])
                for key, text in sentences.items()
            ),
            (job, goals),
            (keep, ["test_tables_unchanged", "test_other_tables"]),
        ],
        knobs={"mode": mode, "letters": letters, "cases": count},
    )


def install(path: str, text: str) -> str:
    """Put a program at its path."""
    return f"cat > {path} <<'END_OF_PROGRAM'\n{text}END_OF_PROGRAM\n"


FAMILY = Family(
    name="daylight_totals",
    domain="debugging",
    verifier=Verifier.ADVERSARIAL_CORPUS,
    skills=("time zones", "date arithmetic", "python debugging", "csv"),
    difficulties=(Difficulty.EASY, Difficulty.MEDIUM, Difficulty.HARD),
    capacity=48,
    draft=draft,
    language="python",
)
