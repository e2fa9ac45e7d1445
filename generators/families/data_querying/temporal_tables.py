"""State as of given moments: half-open intervals, open ends, overlaps decided by what was recorded last, "
"withdrawals."""

from __future__ import annotations

import hashlib
import itertools
import json
from dataclasses import dataclass
from datetime import datetime, timedelta

from generators.family import Draft, Draw, Family, Miss, Setting, Voice
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS

COLUMNS = ("entry", "subject", "value", "start", "end", "recorded")


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling; `columns` are the names of the columns of the history."""

    folder: str
    history: str
    questions: str
    answers: str
    timeline: str
    summary: str
    columns: tuple[str, ...]
    prefix: str
    values: tuple[str, ...]
    text: str


def world(line: str, voice: Voice, text: str) -> World:
    """A world from one line of words separated by bars."""
    name, persona, scenario, folder, files, columns, prefix, values = line.split("|")
    history, questions, answers, timeline, summary = files.split()
    names = (history, questions, answers, timeline, summary)
    return World(
        name, persona, scenario, voice, folder, *names, tuple(columns.split()), prefix, tuple(values.split()), text
    )


SETTINGS = (
    world(
        "tariffs|pricing analyst|tariff history|/srv/tariffs|tariffs.csv disputes.csv answers.csv repaired.csv "
        "totals.json|"
        "line product tariff valid_from valid_to entered|prod|basic plus family night green",
        "email",
        """Hello,

customers of {firm} dispute their bills, and the tariff history ({history}) was kept by hand: periods overlap, some
never end. For
each row of {questions} I have to say which tariff was in force.

{rules}

Thanks a lot
{persona}
""",
    ),
    world(
        "postings|personnel officer|staff postings|/data/staff|postings.csv checks.csv found.csv clean.csv stats.json|"
        "no person unit since until noted|emp|depot office yard garage lab",
        "ticket",
        """HR-{ticket} audit of postings at {firm}
Sources: {history}, {questions}
Assignee: {persona}

{rules}
""",
    ),
    world(
        "leases|network administrator|address leases|/var/lib/leases|leases.csv incidents.csv owners.csv spans.csv "
        "counts.json|"
        "seq address host begins ends logged|10.0.0.|amber basalt cedar delta flint",
        "chat",
        """need to know who had which address when, for the abuse reports. leases are in {history} (merged from three
servers, so they
contradict each other), the incidents in {questions}.
{rules}
thx
""",
    ),
    world(
        "cover|claims adjuster|policy cover|/opt/cover|cover.csv losses.csv decisions.csv periods.csv overview.json|"
        "endorsement policy grade effective expires keyed|pol|bronze silver gold none special",
        "specification",
        """Determination of cover ({firm})

Input A: {history} (endorsements). Input B: {questions} (dates of loss). Contact: {persona}.

{rules}
""",
    ),
    world(
        "tracks|timetable planner|track assignments|/srv/rail|assignments.csv queries.csv replies.csv plan.csv "
        "figures.json|"
        "row train track first_day free_day filed|T|north south loop siding bay",
        "note",
        """Assignments: {history}. Queries: {questions}. {firm}.
{rules}
({persona})
""",
    ),
    world(
        "rates|treasury clerk|internal rates|/home/treasury/rates|rates.csv lookups.csv result.csv series.csv "
        "report.json|"
        "id pair level opens closes captured|cur|low mid high cap floor",
        "runbook",
        """Runbook: as-of lookup of internal rates ({firm})

Where: {history} has the rates, {questions} the lookups of the month. Who: {persona}.
What has to come out:
{rules}
""",
    ),
    world(
        "wards|hospital registrar|bed occupancy|/data/beds|stays.csv reviews.csv review_answers.csv occupancy.csv "
        "sums.json|"
        "stay bed ward occupied released written|bed|cardio ortho neuro onco peds",
        "email",
        """Dear team,

the reviewers want to know in which ward a bed counted at certain points in time (their list: {questions}). Our
records, {history},
were corrected again and again, mostly by adding lines. {firm} has agreed with the reviewers on this reading:

{rules}

{persona}
""",
    ),
    world(
        "rangers|park warden|patrol areas|/srv/park|areas.csv sightings.csv located.csv areas_fixed.csv park.json|"
        "num ranger area from to reported|rg|marsh ridge lake grove dunes",
        "ticket",
        """[park-{ticket}] which area was a ranger responsible for?

{firm} keeps {history}; the sightings to be attributed are in {questions}. It is done when:
{rules}
Opened by the {persona}
""",
    ),
)

SENTENCES: dict[str, tuple[str, str, str]] = {
    "interval": (
        "A line applies from {start} (included) to {end} (excluded); an empty {end} means that it has not ended, and "
        "a line whose {end} is "
        "not after its {start} is void.",
        "{start} belongs to the period of a line, {end} does not any more; no {end} means open-ended; ignore lines "
        "with an {end} at or "
        "before {start}.",
        "Periods are half-open: {start} inclusive, {end} exclusive, unlimited where {end} is empty. Lines that end at "
        "or before their "
        "{start} are disregarded.",
    ),
    "overlap": (
        "Where lines of one {subject} overlap, the one with the latest {recorded} holds, the highest {entry} if these "
        "are equal, and the "
        "other keeps whatever of its period remains, before and after.",
        "If several lines cover the same stretch for a {subject}, take the one with the greatest {recorded} (then the "
        "greatest {entry}); the "
        "rest of the beaten line, on either side, stays valid.",
        "Overlapping lines of a {subject}: the most recently recorded one ({recorded}, and for ties the larger "
        "{entry}) takes precedence "
        "within the overlap only; what sticks out of the older one at either end remains.",
    ),
    "zones": (
        "Times carry different offsets from UTC; everything is compared and written in UTC, as YYYY-MM-DDTHH:MM:SSZ.",
        "Mind the UTC offsets in all time stamps: what counts is the instant, and the output has UTC only "
        "(YYYY-MM-DDTHH:MM:SSZ).",
        "All stamps are to be converted to UTC by their offset before anything else; write them as "
        "YYYY-MM-DDTHH:MM:SSZ.",
    ),
    "withdraw": (
        "A line whose {value} is !N withdraws the line with {entry} N as of its {recorded}: from then on line N "
        "counts as if it had never "
        "existed; such a line states no {value} itself.",
        "!N in {value} is a withdrawal: once it is recorded ({recorded}), the line with {entry} N is treated as never "
        "written; it has no other "
        "effect.",
        "Lines with !N as {value} only cancel line N ({entry}), effective from the {recorded} of the cancellation, "
        "and then entirely.",
    ),
    "answers": (
        "Write {answers} with the header question,{value}: for each row of {questions}, in its order, the {value} of "
        "the {subject} at "
        "the moment asked for{known}, or - if there is none.",
        "{answers} (header question,{value}) answers {questions} row by row in the same order: the {value} that held "
        "for the {subject} at that "
        "moment{known}, a single - where nothing did.",
        "For every row of {questions}, in order, put a row in {answers} (header question,{value}) with the {value} "
        "valid for the {subject} at the "
        "given moment{known}; write - for no {value}.",
    ),
    "timeline": (
        "Write {timeline} with the header {subject},{start},{end},{value}: the repaired history{all}, sorted by "
        "{subject} and {start}, where touching "
        "periods of the same {value} are joined into one and an open {end} is empty.",
        "{timeline} (header {subject},{start},{end},{value}) holds the history without overlaps{all}, ordered by "
        "{subject}, then {start}; periods that "
        "touch and have the same {value} are one period, open ends stay empty.",
        "The corrected history{all} goes to {timeline}, header {subject},{start},{end},{value}, in the order of "
        "{subject} and {start}; join adjacent "
        "periods with equal {value}; leave {end} empty if it is open.",
    ),
    "summary": (
        "Write {summary}, a JSON object with the whole numbers periods (rows of the repaired history), gaps (places "
        "where a {subject} "
        "has nothing between two of its periods) and open (periods without an end).",
        "{summary} is JSON with three counts of that result: periods, gaps (holes between consecutive periods of one "
        "{subject}) and open "
        "(periods with no end).",
        "Count in {summary} (a JSON object): periods = rows of that file, gaps = how often a {subject} has a hole "
        "between two consecutive "
        "periods, open = how many have no end.",
    ),
    "keep": (
        "Both inputs stay as they are.",
        "Leave the two source files unchanged.",
        "Do not modify the files given.",
    ),
}
KNOWN = (
    " by what had been recorded up to and including known",
    ", judged by the lines recorded no later than known",
    ", taking only lines recorded at or before known into account",
)
ALL = (" as known today (all lines)", " by all lines", " (everything recorded counts)")

TESTS = """
import csv
import hashlib
from pathlib import Path


def table(key):
    with open(TRUTH["files"][key], newline="", encoding="utf-8") as file:
        return [row for row in csv.reader(file) if row]


def compare(got, want):
    assert got[:1] == want[:1], "header"
    assert len(got) == len(want), f"{len(got)} lines instead of {len(want)}"
    wrong = [a for a, b in zip(got, want) if a != b]
    assert not wrong, f"{len(wrong)} lines differ, the first is {wrong[0]}"


def test_answers():
    compare(table("answers"), json.loads(TRUTH["answers"]))


def test_timeline():
    compare(table("timeline"), json.loads(TRUTH["timeline"]))


def test_summary():
    assert json.loads(Path(TRUTH["files"]["summary"]).read_text()) == TRUTH["summary"]


def test_inputs_unchanged():
    for path, digest in TRUTH["inputs"].items():
        assert hashlib.sha256(Path(path).read_bytes()).hexdigest() == digest, path
"""
INITIAL = """
from pathlib import Path


def test_nothing_written_yet():
    assert all(Path(path).is_file() for path in TRUTH["inputs"])
    assert not any(Path(path).exists() for path in TRUTH["files"].values())
"""

PYTHON = r"""cd @folder@ && python3 - <<'PY'
import csv, json
from datetime import datetime, timezone
EXACT = @HARD@
LAST = "9999"
def stamp(text):
    if not EXACT or not text:
        return text
    return datetime.fromisoformat(text).astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
lines, gone = [], {}
for r in csv.DictReader(open("@history@", encoding="utf-8")):
    n, at = int(r["@entry@"]), stamp(r["@recorded@"])
    if EXACT and r["@value@"].startswith("!"):
        n = int(r["@value@"][1:])
        gone[n] = min(gone.get(n, at), at)
        continue
    a, b = stamp(r["@start@"]), stamp(r["@end@"]) or LAST
    if a < b:
        lines.append((at, n, r["@subject@"], a, b, r["@value@"]))
lines.sort()
def paint(known):
    spans = {}
    for at, n, who, a, b, value in lines:
        if at > known or gone.get(n, LAST) <= known:
            continue
        kept = []
        for c, d, v in spans.get(who, []):
            if c < a:
                kept.append((c, min(d, a), v))
            if d > b:
                kept.append((max(c, b), d, v))
        spans[who] = sorted(kept + [(a, b, value)])
    return spans
today = paint("9998")
cache = {}
with open("@answers@", "w", newline="") as f:
    w = csv.writer(f, lineterminator="\n")
    w.writerow(["question", "@value@"])
    for q in csv.DictReader(open("@questions@", encoding="utf-8")):
        known = stamp(q["known"]) if EXACT else "9998"
        if known not in cache:
            cache[known] = paint(known)
        m = stamp(q["moment"])
        hit = [v for a, b, v in cache[known].get(q["@subject@"], []) if a <= m < b]
        w.writerow([q["question"], hit[0] if hit else "-"])
periods = gaps = opened = 0
with open("@timeline@", "w", newline="") as f:
    w = csv.writer(f, lineterminator="\n")
    w.writerow(["@subject@", "@start@", "@end@", "@value@"])
    for who in sorted(today):
        joined = []
        for a, b, v in today[who]:
            if joined and joined[-1][1] == a and joined[-1][2] == v:
                joined[-1][1] = b
            else:
                joined.append([a, b, v])
        periods += len(joined)
        gaps += sum(1 for x, y in zip(joined, joined[1:]) if x[1] < y[0])
        opened += sum(1 for x in joined if x[1] == LAST)
        w.writerows([who, a, "" if b == LAST else b, v] for a, b, v in joined)
json.dump({"periods": periods, "gaps": gaps, "open": opened}, open("@summary@", "w"))
PY
"""

SQL = r"""cd @folder@
db=$(mktemp)
sqlite3 "$db" ".import --csv @history@ h" ".import --csv @questions@ q"
sqlite3 "$db" <<'SQL'
@MEDIUM@ALTER TABLE q ADD known;
@MEDIUM@UPDATE q SET known = '9998';
CREATE TABLE w AS SELECT CAST(substr("@value@", 2) AS INTEGER) n, min(@recorded_at@) at
  FROM h WHERE "@value@" LIKE '!%' GROUP BY 1;
CREATE TABLE v AS SELECT CAST("@entry@" AS INTEGER) n, "@subject@" who, "@value@" val, @start_at@ a,
  CASE "@end@" WHEN '' THEN '9999' ELSE @end_at@ END b, @recorded_at@ at FROM h WHERE "@value@" NOT LIKE '!%';
DELETE FROM v WHERE a >= b;
CREATE TABLE p AS SELECT who, p, lead(p) OVER (PARTITION BY who ORDER BY p) z FROM
  (SELECT who, a p FROM v UNION SELECT who, b FROM v);
CREATE TABLE s AS SELECT who, p, z, 
  (SELECT val FROM v WHERE v.who = p.who AND a <= p AND b > p AND n NOT IN (SELECT n FROM w)
  ORDER BY at DESC, n DESC LIMIT 1) val FROM p WHERE z IS NOT NULL;
DELETE FROM s WHERE val IS NULL;
CREATE TABLE t AS SELECT who, min(p) a, max(z) b, val FROM (
  SELECT *, sum(fresh) OVER (PARTITION BY who ORDER BY p) island FROM (
    SELECT *, NOT (ifnull(lag(z) OVER x, '') = p AND ifnull(lag(val) OVER x, '') = val) fresh FROM s
    WINDOW x AS (PARTITION BY who ORDER BY p)))
  GROUP BY who, island;
SQL
{
  echo 'question,@value@'
  sqlite3 -csv "$db" "SELECT question, ifnull((SELECT val FROM v WHERE v.who = q.\"@subject@\"
    AND a <= @moment_at@ AND b > @moment_at@
    AND at <= @known_at@ AND n NOT IN (SELECT n FROM w WHERE at <= @known_at@) ORDER BY at DESC, n DESC LIMIT 1), '-')
    FROM q ORDER BY q.rowid" | tr -d '\r'
} > @answers@
{
  echo '@subject@,@start@,@end@,@value@'
  sqlite3 -csv "$db" "SELECT who, a, CASE b WHEN '9999' THEN NULL ELSE b END, val FROM t ORDER BY who, a" | tr -d '\r'
} > @timeline@
sqlite3 "$db" "SELECT json_object('periods', (SELECT count(*) FROM t),
  'open', (SELECT count(*) FROM t WHERE b = '9999'),
  'gaps', (SELECT count(*) FROM
  (SELECT a, lag(b) OVER (PARTITION BY who ORDER BY a) z FROM t) WHERE z < a))" > @summary@
rm -f "$db"
"""


@dataclass(frozen=True)
class Line:
    """A line of the history, times as minutes since the epoch of the draw; `cancels` marks a withdrawal."""

    entry: int
    subject: str
    value: str
    start: int
    end: int | None
    recorded: int
    cancels: int | None = None


FAR = 10**9
EPOCH = datetime(2023, 1, 1)


def draw_lines(draw: Draw, place: World, subjects: int, per_subject: int, step: int) -> list[Line]:
    """The history; each trap stands at a fixed subject."""
    lines: list[Line] = []
    numbers = iter(draw.sample(range(100, 100 + subjects * per_subject * 6), subjects * (per_subject + 6)))
    names = [f"{place.prefix}{number}" for number in draw.sample(range(10, 99), subjects)]

    def add(subject: str, value: str, start: int, end: int | None, recorded: int, cancels: int | None = None) -> int:
        entry = next(numbers)
        lines.append(
            Line(entry, subject, value, start * step, None if end is None else end * step, recorded * step, cancels)
        )
        return entry

    for index, subject in enumerate(names):
        a, b, c, d, _ = draw.shuffled(place.values)
        match index % 6:
            case 0:  # a correction in the middle splits a long period
                add(subject, a, 20, 120, 10)
                add(subject, b, 50, 70, 60)
            case 1:  # the older line is written last in the file but recorded first; and touching periods of one value
                add(subject, a, 30, 60, 90)
                add(subject, b, 10, 45, 5)
                add(subject, a, 60, 80, 20)
            case 2:  # equal recording times: the entry number decides; an open end is cut by a later line
                first = add(subject, a, 10, None, 40)
                second = add(subject, b, 60, 90, 40)
                if first > second:
                    lines[-1], lines[-2] = (
                        Line(second, subject, a, 10 * step, None, 40 * step),
                        Line(first, subject, b, 60 * step, 90 * step, 40 * step),
                    )
            case 3:  # void lines and a gap
                add(subject, a, 20, 20, 30)
                add(subject, b, 40, 30, 31)
                add(subject, c, 10, 25, 12)
                add(subject, d, 100, 110, 13)
            case 4:  # an open line over everything, recorded early
                add(subject, c, 5, None, 3)
                add(subject, d, 5, 15, 50)
            case _:
                add(subject, b, 0, 30, 1)
                add(subject, b, 30, 60, 90)
        if step != 1440 and index % 3 == 0:  # withdrawals: of the latest line, and of one that hid another
            gone = add(subject, b, 15, 140, 100)
            add(subject, f"!{gone}", 15, None, 130, gone)
        for _ in range(draw.between(per_subject // 2, per_subject)):
            start = draw.between(0, 200)
            add(
                subject,
                draw.pick(place.values),
                start,
                None if draw.chance(8) else start + draw.between(1, 60),
                draw.between(0, 200),
            )
    return draw.shuffled(lines)


def holding(lines: list[Line], moment: int, known: int) -> str | None:
    """The value at a moment by the lines of one subject recorded up to `known`."""
    gone = {line.cancels for line in lines if line.cancels is not None and line.recorded <= known}
    best: Line | None = None
    for line in lines:
        if line.cancels is not None or line.entry in gone or line.recorded > known:
            continue
        covers = line.start <= moment < (FAR if line.end is None else line.end)
        if covers and (best is None or (line.recorded, line.entry) > (best.recorded, best.entry)):
            best = line
    return best.value if best else None


def periods_of(lines: list[Line]) -> list[tuple[int, int, str]]:
    """The repaired periods of one subject."""
    gone = {line.cancels for line in lines}
    states = [line for line in lines if line.cancels is None and line.entry not in gone]
    points = sorted({line.start for line in states} | {FAR if line.end is None else line.end for line in states})
    periods: list[tuple[int, int, str]] = []
    for start, end in itertools.pairwise(points):
        value = holding(states, start, FAR)
        if value is None:
            continue
        if periods and periods[-1][1] == start and periods[-1][2] == value:
            start = periods.pop()[0]
        periods.append((start, end, value))
    return periods


def draw_questions(draw: Draw, by_subject: dict[str, list[Line]], step: int, hard: bool) -> list[tuple[str, int, int]]:
    """Subject, moment and what is known: every boundary kind is asked for, and the times just after a withdrawal."""
    asked: list[tuple[str, int, int]] = []
    for subject, lines in by_subject.items():
        periods = periods_of(lines)
        for start, end, _ in draw.sample(periods, min(2, len(periods))):
            asked += [(subject, start, FAR), (subject, min(end, 400 * step), FAR)]
        last = max((period for period in periods if period[1] < FAR), default=None, key=lambda period: period[1])
        if last:
            asked.append((subject, last[1], FAR))
        cancels = [line for line in lines if line.cancels is not None]
        for line in cancels:
            asked += [(subject, 100 * step, line.recorded + shift) for shift in (-step, 0, step)]
    known = [
        FAR if not hard else moment_known if moment_known < FAR else draw.between(60, 260) * step
        for _, _, moment_known in asked
    ]
    return [(subject, moment, at) for (subject, moment, _), at in zip(asked, known, strict=True)]


def utc(minute: int, hard: bool) -> str:
    """A time as the results write it."""
    moment = EPOCH + timedelta(minutes=minute)
    return moment.isoformat() + "Z" if hard else moment.isoformat()[:10]


def local(draw: Draw, minute: int | None, hard: bool) -> str:
    """A time as the inputs write it, with any offset at the hard level."""
    if minute is None:
        return ""
    if not hard:
        return utc(minute, False)
    offset = draw.pick((0, 60, 120, -300, 330))
    moment = EPOCH + timedelta(minutes=minute + offset)
    return moment.isoformat() + f"{'-' if offset < 0 else '+'}{abs(offset) // 60:02d}:{abs(offset) % 60:02d}"


def laid_out(voice: Voice, lines: list[str]) -> str:
    """Sentences in the manner of a voice."""
    if voice in ("email", "chat"):
        return " ".join(lines[:2]) + "\n\n" + "\n".join(lines[2:])
    return "\n".join(
        f"{f'{n}.' if voice in ('specification', 'runbook') else '-'} {line}" for n, line in enumerate(lines, 1)
    )


def draft(draw: Draw) -> Draft:
    """One history and its questions."""
    place = draw.setting(SETTINGS)
    hard = draw.difficulty is Difficulty.HARD
    wording, step = (draw.serial + draw.serial // 3) % 3, 90 if hard else 1440
    subjects, per_subject = draw.by_difficulty(medium=(12, 5), hard=(14, 6))
    lines = draw_lines(draw, place, subjects, per_subject, step)
    by_subject: dict[str, list[Line]] = {}
    for line in lines:
        by_subject.setdefault(line.subject, []).append(line)
    words = dict(zip(COLUMNS, place.columns, strict=True))
    history = ",".join(place.columns) + "\n"
    for line in lines:
        times = (local(draw, line.start, hard), local(draw, line.end, hard), local(draw, line.recorded, hard))
        history += f"{line.entry},{line.subject},{line.value},{','.join(times)}\n"
    questions = f"question,{words['subject']},moment{',known' if hard else ''}\n"
    answers = [["question", words["value"]]]
    for number, (subject, moment, known) in enumerate(draw_questions(draw, by_subject, step, hard), 1):
        questions += (
            f"Q{number},{subject},{local(draw, moment, hard)}{',' + local(draw, known, hard) if hard else ''}\n"
        )
        answers.append([f"Q{number}", holding(by_subject[subject], moment, known if hard else FAR) or "-"])
    timeline = [[words["subject"], words["start"], words["end"], words["value"]]]
    gaps = opened = 0
    for subject in sorted(by_subject):
        periods = periods_of(by_subject[subject])
        timeline += [[subject, utc(a, hard), "" if b == FAR else utc(b, hard), value] for a, b, value in periods]
        gaps += sum(1 for left, right in itertools.pairwise(periods) if left[1] < right[0])
        opened += sum(1 for period in periods if period[1] == FAR)
    files = {name: f"{place.folder}/{getattr(place, name)}" for name in ("answers", "timeline", "summary")}
    inputs = {f"{place.folder}/{place.history}": history, f"{place.folder}/{place.questions}": questions}
    said = {
        name: texts[wording].format(
            **{**words, **files},
            questions=f"{place.folder}/{place.questions}",
            known=KNOWN[wording] if hard else "",
            all=ALL[wording] if hard else "",
        )
        for name, texts in SENTENCES.items()
        if hard or name not in ("zones", "withdraw")
    }
    instruction = place.text.format(
        firm=draw.pick(FIRMS),
        persona=place.persona,
        ticket=draw.between(100, 9999),
        history=f"{place.folder}/{place.history}",
        questions=f"{place.folder}/{place.questions}",
        rules=laid_out(place.voice, list(said.values())),
    )

    def script(source: str, *changes: tuple[str, str]) -> str:
        clock = "strftime('%Y-%m-%dT%H:%M:%SZ', {})" if hard else "{}"
        stamps = {f"{name}_at": clock.format(f'"{words[name]}"') for name in ("start", "end", "recorded")}
        stamps |= {"moment_at": clock.format("q.moment"), "known_at": clock.format("q.known") if hard else "q.known"}
        local_names = {
            name: getattr(place, name) for name in ("folder", "history", "questions", "answers", "timeline", "summary")
        }
        fill = {**stamps, **words, **local_names, "HARD": str(hard), "MEDIUM": "-- " if hard else ""}
        for old, new in [*changes, *((f"@{name}@", word) for name, word in fill.items())]:
            source = source.replace(old, new)
        return source

    goals = ["test_answers", "test_timeline", "test_summary"]
    misses = [
        Miss(
            "closed_end",
            "counts the end as part of the period",
            script(PYTHON, ("a <= m < b", "a <= m <= b")),
            goals[:1],
        ),
        Miss("file_order", "lets the later row of the file win", script(PYTHON, ("lines.sort()", "pass")), goals[:2]),
        Miss(
            "tail_lost",
            "drops what a beaten line had left after the overlap",
            script(PYTHON, ("if d > b:", "if d > b and c >= b:")),
            goals,
        ),
        Miss(
            "not_joined",
            "leaves touching periods apart",
            script(PYTHON, ("joined[-1][1] == a and", "False and")),
            goals[1:],
        ),
    ]
    if hard:
        misses.append(
            Miss("offsets_cut", "cuts the offsets off", script(PYTHON, ("astimezone(timezone.utc).", "")), goals[:2])
        )
        ever = ("gone.get(n, LAST) <= known", "n in gone")
        misses.append(
            Miss("always_withdrawn", "ignores when a withdrawal was recorded", script(PYTHON, ever), goals[:1])
        )
    return Draft(
        title=f"As-of questions: {place.scenario}",
        setting=place,
        instruction=instruction,
        files={place.history: history, place.questions: questions},
        dockerfile=f"COPY {place.history} {place.questions} {place.folder}/\nWORKDIR {place.folder}",
        truth={
            "files": files,
            "answers": json.dumps(answers),
            "timeline": json.dumps(timeline),
            "summary": {"periods": len(timeline) - 1, "gaps": gaps, "open": opened},
            "inputs": {path: hashlib.sha256(text.encode()).hexdigest() for path, text in inputs.items()},
        },
        discoverable=("files", "inputs"),
        tests=TESTS,
        weights={"test_answers": 0.5, "test_timeline": 0.35, "test_summary": 0.15},
        guards=["test_inputs_unchanged"],
        initial=INITIAL,
        solution=script(PYTHON),
        alternatives=[script(SQL)],
        misses=misses,
        requirements=[
            (text, ["test_inputs_unchanged"] if name == "keep" else [f"test_{name}"] if name in files else goals)
            for name, text in said.items()
        ],
        knobs={"lines": len(lines), "questions": len(answers) - 1, "bitemporal": hard, "wording": wording},
    )


FAMILY = Family(
    name="temporal_tables",
    domain="data_querying",
    verifier=Verifier.EXACT_TEXT,
    skills=("temporal data", "interval arithmetic", "sql", "time zones"),
    difficulties=(Difficulty.MEDIUM, Difficulty.HARD),
    capacity=40,
    draft=draft,
)
