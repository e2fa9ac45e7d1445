"""Analyse an A/B test by its pre-registered note: crossed units, bots, a novelty window, sample-ratio mismatch."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from math import sqrt

from generators.family import Draft, Draw, Family, Miss, Setting
from generators.task import Difficulty, Verifier
from generators.vocabulary import CITIES, FIRMS, HOST_WORDS


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    folder: str
    unit: str
    arms: tuple[str, str]  # control, treatment
    goal: str  # the event that converts
    undo: str  # the event that takes money back
    noise: tuple[str, str]
    group: str  # column of the segment
    groups: tuple[str, str, str]
    files: tuple[str, str, str]  # note, assignments, events
    wording: int
    text: str


@dataclass(frozen=True)
class Method:
    """The numbers of the note."""

    bot: int
    novelty: int  # hours
    days: int
    cap: int  # cents
    share: int  # planned per cent of the treatment
    limit: float  # of the ratio statistic
    critical: float
    deep: bool  # HARD: segments, refunds, prior values


@dataclass(frozen=True)
class Event:
    """One line of the events file."""

    key: str
    unit: str
    at: int  # seconds since the start
    kind: str
    cents: int


@dataclass(eq=False)
class Unit:
    """One randomised unit: its assignments as (seconds, arm)."""

    name: str
    group: str
    assigned: list[tuple[int, int]]
    prior: int


TEXTS = (
    """Hi,

"{test}" at {firm} has ended and {persona}s want the read-out today. {task} {material}

{output}
{untouched}

Thank you
""",
    """[EXP-{ticket}] Read-out of {test} ({firm})

{material}
{task}

{output}

{untouched}
""",
    """{test} is over, read-out please.
{task}
{material}
{output}
{untouched}
""",
    """Analysis order {ticket}, client {firm}, experiment {test}

Section 1, material. {material}
Section 2, method. {task}
Section 3, report. {output}
Section 4. {untouched}
""",
)
SETTINGS = (
    World("web_shop", "growth analyst", "checkout experiment", "email", "/srv/exp/checkout", "visitor", ("old", "new"),
          "order", "refund", ("view", "search"), "platform", ("ios", "android", "web"),
          ("method.md", "assignments.csv", "events.csv"), 0, TEXTS[0]),
    World("streaming", "data scientist", "player experiment", "ticket", "/data/player", "account", ("grid", "carousel"),
          "rental", "credit", ("play", "browse"), "device", ("tv", "phone", "laptop"),
          ("preregistered.md", "enrolment.csv", "activity.csv"), 1, TEXTS[1]),
    World("clinic_reminders", "trial statistician", "reminder trial", "specification", "/opt/trial/reminders",
          "patient", ("letter", "text"), "booking", "cancellation", ("call", "visit"), "site",
          ("north", "harbour", "hill"),
          ("protocol.md", "randomisation.csv", "contacts.csv"), 2, TEXTS[3]),
    World("game", "game economist", "starter pack test", "chat", "/home/econ/packs", "player", ("small", "big"),
          "pack", "chargeback", ("match", "login"), "region", ("emea", "apac", "latam"),
          ("note.md", "arms.csv", "telemetry.csv"), 0, TEXTS[2]),
    World("donations", "fundraising officer", "appeal test", "note", "/work/appeal", "donor", ("plain", "story"),
          "gift", "reversal", ("open", "click"), "channel", ("mail", "street", "web"),
          ("method.txt", "groups.csv", "responses.csv"), 1, TEXTS[2]),
    World("tariffs", "pricing lead", "tariff experiment", "runbook", "/var/lib/tariff", "household",
          ("flat", "dynamic"), "upgrade", "rollback", ("bill", "reading"), "grid", ("gridA", "gridB", "gridC"),
          ("design.md", "allocation.csv", "log.csv"), 2, TEXTS[1]),
    World("courses", "learning researcher", "course page experiment", "specification", "/srv/study/course", "learner",
          ("video", "quiz"), "certificate", "withdrawal", ("lesson", "forum"), "school", ("law", "arts", "science"),
          ("plan.md", "allocations.csv", "trace.csv"), 1, TEXTS[3]),
    World("grocery", "loyalty manager", "coupon experiment", "email", "/opt/loyalty/coupon", "member",
          ("none", "coupon"), "basket", "return", ("scan", "kiosk"), "store", ("central", "station", "mall"),
          ("agreed.md", "draw.csv", "tills.csv"), 0, TEXTS[0]),
)  # fmt: skip
TASKS = (
    "Please analyse it exactly by the method that was registered before the start, {folder}/{note}.",
    "The analysis follows the pre-registered text {folder}/{note} to the letter.",
    "Compute everything as {folder}/{note} laid it down in advance, without deviations of your own.",
)
MATERIALS = (
    "{assigned} beside it holds who was put where, {events} what the {unit}s did{prior}.",
    "In the same folder are {assigned} (assignment of each {unit}), {events} (everything recorded){prior}.",
    "Data, all in that folder: {assigned} with the assignments, {events} with the events of every {unit}{prior}.",
)
PRIORS = (
    ", prior.csv what they spent before",
    " and prior.csv (spending before the test)",
    ", prior.csv with earlier spending",
)
OUTPUTS = (
    "Put the result into {folder}/readout.json, an object with: excluded (object with the numbers of {unit}s "
    "left out, keys "
    "crossed and bots{group_key}), arms (object from {control} and {treatment} to objects with units, converted "
    "and mean, the "
    "mean capped revenue), ratio ({ratio}), lift (conversion rate of {treatment} minus that of {control}), "
    "z{adjusted} and "
    "decision. Fractional numbers need six decimals.",
    "Result file: {folder}/readout.json, one object. Keys: excluded with counts crossed, bots{group_key}; arms "
    "with an object "
    "(units, converted, mean = average capped revenue) for each of {control} and {treatment}; ratio: {ratio}; "
    "lift = rate of "
    "{treatment} less rate of {control}; z{adjusted}; decision. Give numbers that are not whole to six decimals.",
    "Report as JSON in {folder}/readout.json: excluded gives how many {unit}s were dropped under the keys "
    "crossed and "
    "bots{group_key}, arms maps {control} and {treatment} to units, converted and mean (the average of the "
    "capped revenue), ratio "
    "is {ratio}, lift is the difference of the conversion rates, {treatment} minus {control}, then z{adjusted} "
    "and the decision. "
    "Numbers with a fraction are rounded to six decimals.",
)
RATIOS = (
    "an object with statistic and mismatch, true or false",
    "an object from every {group} to an object with statistic and mismatch, true or false",
)
UNTOUCHED = (
    "The note and the data stay as they are.",
    "No file that is there already may be altered.",
    "Leave note and data unchanged.",
)
NOTES = (
    """# {test}: method, registered {registered}

Start {start}. Units are {unit}s, control is `{control}`, treatment is `{treatment}`.

1. One line of {events} with an id seen before is a repetition of the same event and is ignored.
2. A {unit} assigned to both arms is *crossed* and excluded. A {unit} assigned several times to one arm counts from
   the earliest of these assignments.
3. Of the others, a {unit} with more than {bot} events in one clock hour (UTC, e.g. 14:00:00 to 14:59:59) on any day
   is a bot and excluded; all events count for this, whenever they were.
4. For each {unit} only events from {novelty} hours after its assignment (included) to {days} days after its
   assignment (not included) count: the first hours show novelty, not behaviour.
5. A {unit} is converted if it has a `{goal}` among these events. Its revenue is the sum of its `{goal}` amounts{undo},
   and is capped at {cap}.
6. Sample ratio: {scope}, chi-square statistic of the units left against the planned {plan}
   ({control} : {treatment}), i.e. the sum over both arms of (observed - expected)^2 / expected. Mismatch if it
   exceeds {limit}.{consequence}
7. z is (p2 - p1) / sqrt(p (1 - p) (1/n1 + 1/n2)), with p1, n1 of control, p2, n2 of treatment, p the pooled
   rate.{cuped}
8. Decision: {invalid}`ship` if z is at least {critical}, `stop` if z is at most -{critical}, else `inconclusive`.
{amendments}""",
    """Pre-registration ({registered}) of {test}. Begins {start}. Control: {control}. Treatment: {treatment}.
Unit: {unit}.

Cleaning
- Event ids are unique; {events} may hold an event twice, then it happened once.
- Crossed: any {unit} that appears in both arms. Out.
- Otherwise its first assignment in time is the one that counts.
- Bots: a {unit}, not crossed, for which some UTC clock hour has more than {bot} events of any kind. Out. The window
  below does not matter here.

Outcome
- Window per {unit}: opens {novelty} hours after the assignment, that instant included; closes {days} days after the
  assignment, that instant excluded.
- Converted: at least one {goal} inside the window.
- Revenue: {goal} amounts inside the window added up{undo}; then at most {cap}.

Checks and tests
- Sample ratio, {scope}: chi-square (sum of (observed - expected)^2 / expected over the two arms) of the remaining
  {unit}s
  for the planned {plan} ({control} : {treatment}); above {limit} it is a mismatch.{consequence}
- z = (p2 - p1) / sqrt(p (1 - p) (1/n1 + 1/n2)); index 1 control, 2 treatment; p = all converted / all units.{cuped}
- Decision: {invalid}ship when z >= {critical}; stop when z <= -{critical}; inconclusive in between.
{amendments}""",
    """PROTOCOL {test}
fixed on {registered}, first assignment {start}

I. Every {unit} is assigned to {control} (control) or {treatment} (treatment). Whoever was assigned to both is
   crossed and
   leaves the analysis. Repeated assignment to the same arm happens; the earliest one is valid.
II. {events} can contain copies of an event under the same id, which are disregarded before anything else.
III. Among {unit}s not crossed, those having over {bot} events in a single hour of the UTC clock are bots and leave
   as well.
   This looks at all events, also outside the period of IV.
IV. Relevant are events not earlier than {novelty} hours after assignment and earlier than {days} days after assignment.
V. Conversion is one relevant {goal} or more. Revenue is the total of the relevant {goal} amounts{undo}, cut to {cap}.
VI. {scope}, the ratio of the arms among the {unit}s that are left is compared with the plan {plan} ({control} :
   {treatment}) by
   chi-square = sum of (observed - expected)^2 / expected; more than {limit} means mismatch.{consequence}
VII. z = (p2 - p1) / sqrt(p (1 - p) (1/n1 + 1/n2)), 1 for control and 2 for treatment, p pooled.{cuped}
VIII. {invalid}z of {critical} or more: ship. z of -{critical} or less: stop. Otherwise: inconclusive.
{amendments}""",
)
CUPED = (
    "\n   `adjusted` is the difference of the arm means (treatment minus control) of y - theta (x - mean of x): "
    "y the capped "
    "revenue, x the spending\n   in prior.csv (0 if not listed), theta = cov(x, y) / var(x), all over both arms "
    "together."
)
AMENDMENTS = """
Amendments
(Only amendments dated before the start are part of this method.)
- {before}: the first {novelty} hours are left out instead of {old_novelty}; the cap is {cap} instead of {old_cap}.
- {after}: the limit for bots is {late_bot} events instead of {bot}, and repeated ids count as separate events.
"""

TESTS = """
import hashlib
from pathlib import Path

FOLDER = Path(TRUTH["folder"])


def readout():
    return json.loads((FOLDER / "readout.json").read_text())


def close(got, wanted):
    return isinstance(got, (int, float)) and not isinstance(got, bool) and abs(got - wanted) < 2e-5


def test_exclusions():
    assert readout()["excluded"] == TRUTH["excluded"]


def test_arms():
    got = readout()["arms"]
    assert set(got) == set(TRUTH["arms"])
    for arm, wanted in TRUTH["arms"].items():
        assert got[arm]["units"] == wanted["units"] and got[arm]["converted"] == wanted["converted"], arm
        assert close(got[arm]["mean"], wanted["mean"]), arm


def test_statistics():
    got = readout()
    for key, wanted in TRUTH["numbers"].items():
        assert close(got[key], wanted), key
    assert got["decision"] == TRUTH["decision"], "decision"


def test_ratio():
    got = readout()["ratio"]
    if "statistic" in TRUTH["ratio"]:
        got, wanted = {"": got}, {"": TRUTH["ratio"]}
    else:
        wanted = TRUTH["ratio"]
    assert set(got) == set(wanted)
    for name in wanted:
        assert close(got[name]["statistic"], wanted[name]["statistic"]), name
        assert got[name]["mismatch"] is wanted[name]["mismatch"], name


def test_material_unchanged():
    for name, digest in TRUTH["inputs"].items():
        assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == digest, name
"""
INITIAL = """
from pathlib import Path


def test_material_is_there():
    folder = Path(TRUTH["folder"])
    assert all((folder / name).is_file() for name in TRUTH["inputs"])
    assert not (folder / "readout.json").exists()
"""

SOLUTION = """cd @FOLDER@ && python3 - <<'PY'
import csv, json, os
from collections import Counter, defaultdict
from datetime import datetime, timezone
from decimal import Decimal
from math import sqrt
def instant(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
DEEP = @DEEP@
first, arms, group = {}, defaultdict(set), {}
for r in csv.DictReader(open("@ASSIGNED@")):
    u, t = r["@UNIT@"], instant(r["assigned_at"])
    arms[u].add(r["arm"])
    group[u] = r["@GROUP@"]
    first[u] = min(first.get(u, t), t)
events, seen, hours = defaultdict(list), set(), Counter()
for r in csv.DictReader(open("@EVENTS@")):
    if r["id"] in seen:
        continue
    seen.add(r["id"])
    t = instant(r["at"])
    hours[r["@UNIT@"], t // 3600] += 1
    events[r["@UNIT@"]].append((t, r["event"], Decimal(r["amount"] or 0)))
crossed = {u for u in arms if len(arms[u]) > 1}
bots = {u for (u, h), n in hours.items() if n > @BOT@ and u in arms} - crossed
left = sorted(set(arms) - crossed - bots)
arm = {u: min(arms[u]) for u in arms}
def ratio(units):
    n = [sum(arm[u] == a for u in units) for a in ("@CONTROL@", "@TREATMENT@")]
    e = [sum(n) * (100 - @SHARE@) / 100, sum(n) * @SHARE@ / 100]
    x = sum((a - b) ** 2 / b for a, b in zip(n, e))
    return {"statistic": round(x, 6), "mismatch": x > @LIMIT@}
excluded = {"crossed": len(crossed), "bots": len(bots)}
if DEEP:
    check = {g: ratio([u for u in left if group[u] == g]) for g in sorted(set(group.values()))}
    keep = [u for u in left if not check[group[u]]["mismatch"]]
    excluded["@GROUP@"] = len(left) - len(keep)
    left = keep
else:
    check = ratio(left)
out, yes, y = {}, {}, {}
for u in left:
    mine = [e for e in events[u] if first[u] + 3600 * @NOVELTY@ <= e[0] < first[u] + 86400 * @DAYS@]
    yes[u] = any(e[1] == "@GOAL@" for e in mine)
    total = sum(e[2] for e in mine if e[1] == "@GOAL@")
    if DEEP:
        total = max(0, total - sum(e[2] for e in mine if e[1] == "@UNDO@"))
    y[u] = float(min(total, Decimal("@CAP@")))
for a in ("@CONTROL@", "@TREATMENT@"):
    us = [u for u in left if arm[u] == a]
    out[a] = {"units": len(us), "converted": sum(yes[u] for u in us), "mean": round(sum(y[u] for u in us) / len(us), 6)}
(n1, c1), (n2, c2) = [(o["units"], o["converted"]) for o in out.values()]
p = (c1 + c2) / (n1 + n2)
z = (c2 / n2 - c1 / n1) / sqrt(p * (1 - p) * (1 / n1 + 1 / n2))
result = {"excluded": excluded, "arms": out, "ratio": check, "lift": round(c2 / n2 - c1 / n1, 6), "z": round(z, 6)}
if DEEP:
    x = dict.fromkeys(left, 0.0)
    for r in csv.DictReader(open("prior.csv")):
        if r["@UNIT@"] in x:
            x[r["@UNIT@"]] = float(r["spent"])
    mx, my = sum(x.values()) / len(x), sum(y.values()) / len(y)
    theta = sum((x[u] - mx) * (y[u] - my) for u in left) / sum((x[u] - mx) ** 2 for u in left)
    m = []
    for a in out:
        v = [y[u] - theta * (x[u] - mx) for u in left if arm[u] == a]
        m.append(sum(v) / len(v))
    result["adjusted"] = round(m[1] - m[0], 6)
decision = "ship" if z >= @CRITICAL@ else "stop" if z <= -@CRITICAL@ else "inconclusive"
if not DEEP and check["mismatch"]:
    decision = "invalid"
result["decision"] = decision
json.dump(result, open("readout.json", "w"), indent=1)
PY
"""
ALTERNATIVE = """cd @FOLDER@
db=$(mktemp)
q() { sqlite3 "$db" "$@"; }
if [ -f prior.csv ]; then cp prior.csv /tmp/prior.csv; else echo '@UNIT@,spent' > /tmp/prior.csv; fi
q ".mode csv" ".import @ASSIGNED@ a" ".import @EVENTS@ e0" ".import /tmp/prior.csv p"
q <<'SQL'
create table e as select "@UNIT@" u, unixepoch(at) t, event k, cast(round(100*amount) as integer) c
  from e0 group by id;
create table un as select "@UNIT@" u, min(unixepoch(assigned_at)) t, min(arm) arm, count(distinct arm) n,
  min("@GROUP@") g from a group by 1;
create table bot as select distinct u from (select u from e group by u, t/3600 having count(*) > @BOT@)
  where u in (select u from un where n = 1);
create table l as select * from un where n = 1 and u not in bot;
create table r as select g, s, s > @LIMIT@ m from (select g, (x-e)*(x-e)/e + (e-x)*(e-x)/(n-e) s from
  (select g, x, n, n*(1-@SHARE@/100.0) e from
  (select case when @DEEP@ then g end g, sum(arm='@CONTROL@') x, count(*) n from l group by 1)));
create table k as select * from l where not (@DEEP@ and g in (select g from r where m));
create table y as select k.u, k.arm, coalesce(sum(e.k='@GOAL@'),0) > 0 yes,
  min(@CAP@, max(0, coalesce(sum(case when e.k='@GOAL@' then c when @DEEP@ and e.k='@UNDO@' then -c end),0)/100.0)) y,
  coalesce((select cast(spent as real) from p where "@UNIT@"=k.u),0) x
  from k left join e on e.u=k.u and e.t >= k.t+3600*@NOVELTY@ and e.t < k.t+86400*@DAYS@ group by k.u;
create table s as select arm, count(*) n, sum(yes) c, avg(y) y, avg(x) x from y group by arm;
create table f as select n1, n2, 1.0*c1/n1 p1, 1.0*c2/n2 p2, 1.0*(c1+c2)/(n1+n2) p, y2-y1 dy, x2-x1 dx from
  (select n n1, c c1, y y1, x x1 from s where arm='@CONTROL@'),
  (select n n2, c c2, y y2, x x2 from s where arm='@TREATMENT@');
create table z as select p2-p1 lift, (p2-p1)/sqrt(p*(1-p)*(1.0/n1+1.0/n2)) z,
  dy - dx*(select avg((x-mx)*(y-my))/nullif(avg((x-mx)*(x-mx)),0) from y,
  (select avg(x) mx, avg(y) my from y)) adj from f;
SQL
q "select json_patch(json_object(
 'excluded', json_patch(
    json_object('crossed',(select count(*) from un where n>1),'bots',(select count(*) from bot)),
    case when @DEEP@ then json_object('@GROUP@',(select count(*) from l)-(select count(*) from k)) else '{}' end),
 'arms', (select json_group_object(arm,json_object('units',n,'converted',c,'mean',y)) from s),
 'ratio', json((select case when @DEEP@ then json_group_object(g,json(o)) else o end from
    (select g, json_object('statistic',s,'mismatch',json(iif(m,'true','false'))) o from r))),
 'lift', lift, 'z', z, 'decision', case when not @DEEP@ and (select max(m) from r) then 'invalid'
    when z>=@CRITICAL@ then 'ship' when z<=-@CRITICAL@ then 'stop' else 'inconclusive' end),
 case when @DEEP@ then json_object('adjusted',adj) else '{}' end) from z" > readout.json
rm -f "$db"
"""


def sha(text: str) -> str:
    """Hex sha256."""
    return hashlib.sha256(text.encode()).hexdigest()


def filled(script: str, words: Mapping[str, str]) -> str:
    """A script with its @NAMES@ replaced."""
    for name, value in words.items():
        script = script.replace(f"@{name}@", value)
    return script


def wrong(script: str, old: str, new: str) -> str:
    """A solution with one mistake."""
    if old not in script:
        raise ValueError(f"the solution does not contain {old!r}")
    return script.replace(old, new)


def draw_units(draw: Draw, world: World, method: Method, mismatch: bool) -> list[Unit]:
    """The units with their assignments; every group keeps the plan except, where asked, the last one."""
    size = draw.by_difficulty(medium=54, hard=72)
    names = iter(draw.rng.sample(range(10_000, 99_999), size * 3 + 8))
    letter = world.unit[0].upper()
    units: list[Unit] = []
    for group in world.groups:
        treated = size * method.share // 100 + draw.between(-1, 1)
        if mismatch and (group == world.groups[-1] or not method.deep):
            treated -= size // 3
        for number in range(size):
            arm = 1 if number < treated else 0
            prior = draw.between(0, 4000) if draw.chance(70) else -1
            units.append(Unit(f"{letter}{next(names)}", group, [(draw.between(0, 5 * 86_400), arm)], prior))
    for number in range(6):
        unit = units[number * 19 + 5]
        arm = unit.assigned[0][1]
        unit.assigned.append((unit.assigned[0][0] + draw.between(4_000, 200_000), 1 - arm if number % 2 else arm))
    return draw.shuffled(units)


def draw_events(draw: Draw, world: World, method: Method, units: list[Unit], effect: int) -> list[Event]:
    """Events of all units; the first single-arm units get the traps."""
    hour, day = 3600, 86_400
    events: list[Event] = []
    keys = iter(draw.rng.sample(range(100_000, 999_999), len(units) * 14 + 300))

    def add(unit: Unit, at: int, kind: str, cents: int = 0) -> None:
        events.append(Event(f"e{next(keys)}", unit.name, at, kind, cents))

    plain = [unit for unit in units if len(unit.assigned) == 1]
    for number, unit in enumerate(plain[:28]):
        start = unit.assigned[0][0]
        opens, closes = start + method.novelty * hour, start + method.days * day
        base = (start // hour + 50 + number) * hour
        crowd = method.bot + 1 if number < 5 else method.bot if number < 9 else 0
        for _ in range(crowd):
            add(unit, base + draw.between(0, hour - 1), draw.pick(world.noise))
        if 7 <= number < 9:  # a repetition makes no bot
            events.append(events[-1])
        if number < 5:
            add(unit, opens + 30 * hour, world.goal, draw.between(400, 900))
        if 9 <= number < 13:  # too early, and too early by an hour of the summer offset
            add(unit, opens - draw.pick((1, 1800, 3600)), world.goal, draw.between(500, 3000))
        if 13 <= number < 16:
            add(unit, opens, world.goal, draw.between(500, 3000))
        if 16 <= number < 19:
            add(unit, closes, world.goal, draw.between(500, 3000))
        if 19 <= number < 22:
            add(unit, closes - 1, world.goal, method.cap + draw.between(5_000, 9_000))
        if 22 <= number < 28:
            paid = draw.between(1500, 3000)
            add(unit, opens + hour * 9, world.goal, paid)
            events.append(events[-1])
            if method.deep:
                add(unit, opens + hour * 20, world.undo, paid // 2 if number % 2 else paid + 100)
    trapped = {unit.name for unit in plain[:28]}
    for unit in units:
        start, arm = min(unit.assigned)
        for _ in range(draw.between(0, 2)):
            add(unit, start + draw.between(1, 20 * day), draw.pick(world.noise))
        if unit.name in trapped:
            continue
        if draw.chance(30 + (effect if arm else 0)):
            cents = draw.between(300, 3500) + max(unit.prior, 0) // 3
            add(unit, start + draw.between(method.novelty * hour, method.days * day - 1), world.goal, cents)
        elif draw.chance(20):
            add(unit, start + draw.between(0, method.novelty * hour - 1), world.goal, draw.between(300, 3000))
    for unit in (unit for unit in units if len(unit.assigned) > 1):
        add(unit, min(unit.assigned)[0] + method.days * day - 60, world.goal, draw.between(300, 3000))
        add(unit, max(unit.assigned)[0] + method.days * day - 60, world.goal, draw.between(300, 3000))
    return draw.shuffled(events)


def analyse(world: World, method: Method, units: list[Unit], events: list[Event]) -> dict[str, object]:
    """The note, step by step."""
    own: dict[str, list[Event]] = {unit.name: [] for unit in units}
    for event in {event.key: event for event in events}.values():
        own[event.unit].append(event)
    crossed = [unit for unit in units if len({arm for _, arm in unit.assigned}) > 1]
    single = [unit for unit in units if len({arm for _, arm in unit.assigned}) == 1]
    busy = {u.name: max(Counter(e.at // 3600 for e in own[u.name]).values(), default=0) for u in single}
    left = [unit for unit in single if busy[unit.name] <= method.bot]
    excluded = {"crossed": len(crossed), "bots": len(single) - len(left)}

    def ratio(some: list[Unit]) -> dict[str, object]:
        seen = [sum(unit.assigned[0][1] == arm for unit in some) for arm in (0, 1)]
        plan = [len(some) * (100 - method.share) / 100, len(some) * method.share / 100]
        statistic = sum((have - want) ** 2 / want for have, want in zip(seen, plan, strict=True))
        return {"statistic": round(statistic, 6), "mismatch": statistic > method.limit}

    check: Mapping[str, object] = ratio(left)
    invalid = not method.deep and bool(check["mismatch"])
    if method.deep:
        by_group = {group: ratio([unit for unit in left if unit.group == group]) for group in world.groups}
        kept = [unit for unit in left if not by_group[unit.group]["mismatch"]]
        excluded[world.group] = len(left) - len(kept)
        left, check = kept, by_group
    rows: list[tuple[int, bool, float, float]] = []
    for unit in left:
        start = min(at for at, _ in unit.assigned)
        inside = [e for e in own[unit.name] if method.novelty * 3600 <= e.at - start < method.days * 86_400]
        paid = [event.cents for event in inside if event.kind == world.goal]
        back = sum(event.cents for event in inside if event.kind == world.undo)
        revenue = min(method.cap, max(0, sum(paid) - back)) / 100
        rows.append((unit.assigned[0][1], bool(paid), revenue, max(unit.prior, 0) / 100))
    sides = [[row for row in rows if row[0] == arm] for arm in (0, 1)]
    rates = [sum(row[1] for row in side) / len(side) for side in sides]
    means = [sum(row[2] for row in side) / len(side) for side in sides]
    priors = [sum(row[3] for row in side) / len(side) for side in sides]
    pooled = sum(row[1] for row in rows) / len(rows)
    z = (rates[1] - rates[0]) / sqrt(pooled * (1 - pooled) * (1 / len(sides[0]) + 1 / len(sides[1])))
    numbers = {"lift": round(rates[1] - rates[0], 6), "z": round(z, 6)}
    if method.deep:
        mean_x, mean_y = (sum(row[column] for row in rows) / len(rows) for column in (3, 2))
        spread = sum((row[3] - mean_x) ** 2 for row in rows)
        theta = sum((row[3] - mean_x) * (row[2] - mean_y) for row in rows) / spread
        numbers["adjusted"] = round(means[1] - means[0] - theta * (priors[1] - priors[0]), 6)
    decision = "ship" if z >= method.critical else "stop" if z <= -method.critical else "inconclusive"
    arms = {
        world.arms[arm]: {
            "units": len(sides[arm]),
            "converted": sum(row[1] for row in sides[arm]),
            "mean": round(means[arm], 6),
        }
        for arm in (0, 1)
    }
    return {
        "excluded": excluded,
        "arms": arms,
        "ratio": check,
        "numbers": numbers,
        "decision": "invalid" if invalid else decision,
    }


def note_text(draw: Draw, world: World, method: Method, start: datetime, old: tuple[int, int], test: str) -> str:
    """The registered note."""
    deep, group = method.deep, world.group
    amended = (start - timedelta(days=draw.between(2, 9)), start + timedelta(days=draw.between(3, 8)))
    words = {
        "test": test,
        "unit": world.unit,
        "events": world.files[2],
        "goal": world.goal,
        "group": group,
        "control": world.arms[0],
        "treatment": world.arms[1],
        "bot": method.bot,
        "days": method.days,
        "start": f"{start:%Y-%m-%d %H:%M} UTC",
        "registered": f"{start - timedelta(days=draw.between(12, 30)):%Y-%m-%d}",
        "novelty": old[0],
        "cap": f"{old[1] / 100:.2f}",
        "limit": method.limit,
        "critical": method.critical,
        "plan": f"{100 - method.share} : {method.share}",
        "undo": f" minus those of its `{world.undo}` events there, not below 0" if deep else "",
        "scope": f"For each {group}" if deep else "Over all",
        "consequence": f" All {world.unit}s of a {group} with a mismatch leave the analysis." if deep else "",
        "cuped": CUPED if deep else "",
        "invalid": "" if deep else "In case of a mismatch: `invalid`, whatever z is. If there is none: ",
        "amendments": "",
    }
    if deep:
        words["amendments"] = AMENDMENTS.format(
            before=f"{amended[0]:%Y-%m-%d}",
            after=f"{amended[1]:%Y-%m-%d}",
            novelty=method.novelty,
            old_novelty=old[0],
            cap=f"{method.cap / 100:.2f}",
            old_cap=f"{old[1] / 100:.2f}",
            late_bot=method.bot + 4,
            bot=method.bot,
        )
    return NOTES[world.wording].format(**words)


def draft(draw: Draw) -> Draft:
    """One read-out."""
    world = draw.setting(SETTINGS)
    deep = draw.difficulty is Difficulty.HARD
    method = Method(
        bot=draw.between(9, 14),
        novelty=draw.pick((24, 36, 48)),
        days=draw.between(9, 14),
        cap=draw.between(35, 55) * 100,
        share=draw.pick((50, 50, 60, 40)),
        limit=draw.pick((6.635, 10.828)),
        critical=draw.pick((1.645, 1.96, 2.326)),
        deep=deep,
    )
    old = (method.novelty + 12, method.cap + 4000) if deep else (method.novelty, method.cap)
    mismatch = deep or draw.chance(40)
    units = draw_units(draw, world, method, mismatch)
    events = draw_events(draw, world, method, units, effect=draw.pick((-14, 2, 18, 25)))
    start = datetime(2024, draw.between(1, 11), draw.between(1, 28), draw.between(6, 11), tzinfo=UTC)
    zone = timezone(timedelta(hours=draw.pick((-5, 2, 3, 8)))) if deep else UTC
    test = f"{draw.pick(HOST_WORDS)}-{draw.pick(CITIES).lower()}"

    note = note_text(draw, world, method, start, old, test)
    moments = [
        f"{unit.name},{(start + timedelta(seconds=at)).astimezone(zone).isoformat()},{world.arms[arm]},{unit.group}\n"
        for unit in units
        for at, arm in unit.assigned
    ]
    files = {
        world.files[0]: note,
        world.files[1]: f"{world.unit},assigned_at,arm,{world.group}\n" + "".join(draw.shuffled(moments)),
        world.files[2]: f"id,{world.unit},at,event,amount\n"
        + "".join(
            f"{e.key},{e.unit},{(start + timedelta(seconds=e.at)).isoformat()[:19]}Z,{e.kind},"
            + (f"{e.cents / 100:.2f}\n" if e.cents else "\n")
            for e in events
        ),
    }
    if deep:
        prior = [f"{unit.name},{unit.prior / 100:.2f}\n" for unit in units if unit.prior >= 0]
        files["prior.csv"] = f"{world.unit},spent\n" + "".join(prior)
    kind = world.wording
    words = {
        "folder": world.folder,
        "note": world.files[0],
        "assigned": world.files[1],
        "events": world.files[2],
        "unit": world.unit,
        "prior": PRIORS[kind] if deep else "",
        "control": world.arms[0],
        "treatment": world.arms[1],
        "group_key": f" and {world.group} (those who leave with their {world.group})" if deep else "",
        "ratio": RATIOS[deep].format(group=world.group),
        "adjusted": ", adjusted" if deep else "",
    }
    task, material = TASKS[kind].format(**words), MATERIALS[kind].format(**words)
    output = OUTPUTS[kind].format(**words)
    instruction = world.text.format(
        test=test,
        firm=draw.pick(FIRMS),
        persona=world.persona,
        ticket=draw.between(100, 9999),
        task=task,
        material=material,
        output=output,
        untouched=UNTOUCHED[kind],
    )
    names = {
        "FOLDER": world.folder,
        "ASSIGNED": world.files[1],
        "EVENTS": world.files[2],
        "UNIT": world.unit,
        "GROUP": world.group,
        "BOT": str(method.bot),
        "NOVELTY": str(method.novelty),
        "DAYS": str(method.days),
        "CAP": f"{method.cap / 100:.2f}",
        "GOAL": world.goal,
        "UNDO": world.undo,
        "CONTROL": world.arms[0],
        "TREATMENT": world.arms[1],
        "SHARE": str(method.share),
        "LIMIT": str(method.limit),
        "CRITICAL": str(method.critical),
        "DEEP": "1" if deep else "0",
    }
    solution = filled(SOLUTION, names)
    goals = ["test_exclusions", "test_arms", "test_statistics", "test_ratio"]
    crossed_stay = wrong(solution, "if len(arms[u]) > 1", "if len(arms[u]) > 2")
    misses = [
        Miss(
            "no_novelty", "counts from the assignment", wrong(solution, f"3600 * {method.novelty}", "0"), ["test_arms"]
        ),
        Miss("repeated_ids", "counts repeated events", wrong(solution, 'if r["id"] in seen:', "if False:"), goals[:3]),
        Miss(
            "bot_limit",
            "takes the limit itself for a bot",
            wrong(solution, f"n > {method.bot}", f"n >= {method.bot}"),
            goals[:3],
        ),
        Miss("crossed_stay", "keeps crossed units in one arm", crossed_stay, goals),
        Miss(
            "no_cap",
            "does not cap revenue",
            wrong(solution, "float(min(total, ", "float(max(total, 0 * "),
            ["test_arms"],
        ),
    ]
    if deep:
        late = wrong(solution, f"n > {method.bot}", f"n > {method.bot + 4}")
        misses += [
            Miss("late_amendment", "follows an amendment made after the start", late, goals),
            Miss(
                "first_text",
                "overlooks the valid amendment",
                wrong(solution, f"3600 * {method.novelty}", f"3600 * {old[0]}"),
                ["test_arms"],
            ),
            Miss(
                "drops_no_group",
                "keeps groups with a mismatch",
                wrong(solution, 'if not check[group[u]]["mismatch"]', ""),
                goals[:3],
            ),
            Miss(
                "no_refunds",
                "ignores money taken back",
                wrong(solution, f'e[1] == "{world.undo}"', "False"),
                ["test_arms"],
            ),
        ]
    return Draft(
        title=f"Read out the {world.scenario}",
        setting=world,
        instruction=instruction,
        files=files,
        dockerfile=f"COPY {' '.join(sorted(files))} {world.folder}/\nWORKDIR {world.folder}",
        truth={
            "folder": world.folder,
            **analyse(world, method, units, events),
            "inputs": {name: sha(text) for name, text in files.items()},
        },
        discoverable=("folder", "decision"),
        tests=TESTS,
        weights={"test_exclusions": 0.2, "test_arms": 0.3, "test_statistics": 0.3, "test_ratio": 0.2},
        guards=["test_material_unchanged"],
        initial=INITIAL,
        solution=solution,
        alternatives=[filled(ALTERNATIVE, names)],
        misses=misses,
        requirements=[
            (task, goals),
            (material, goals),
            (output, goals),
            (UNTOUCHED[kind], ["test_material_unchanged"]),
        ],
        knobs={"units": len(units), "events": len(events), "mismatch": mismatch, "deep": deep, "share": method.share},
    )


FAMILY = Family(
    name="experiment_analysis",
    domain="data_science",
    verifier=Verifier.EXACT_TEXT,
    skills=("a/b testing", "sample ratio mismatch", "event data", "variance reduction"),
    difficulties=(Difficulty.MEDIUM, Difficulty.HARD),
    capacity=24,
    draft=draft,
)
