"""Forecast a held-out horizon: a new season begins, levels shifted, special days and offers are known."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from generators.bases import Base
from generators.family import Draft, Draw, Family, Miss, Setting
from generators.task import Difficulty, Verifier
from generators.vocabulary import CITIES, FIRMS


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    folder: str
    history: str
    what: str
    series: tuple[str, str, str, str]
    seasons: tuple[str, str, str, str]
    days: tuple[str, str]  # kinds of special days: busy, quiet
    offers: tuple[str, str]  # kinds of promotions
    short: str  # what spoils a day's figure
    wording: int
    text: str


TEXTS = (
    """Good morning,

{persona}s at {firm} plan from our numbers and need the next {horizon} days of {what}. {data}

{task} {quality}

{keep}

Many thanks
""",
    """[PLAN-{ticket}] {horizon}-day forecast of {what}, {firm}

Data. {data}
Result. {task}
Acceptance. {quality}
{keep}
""",
    """Need a forecast for {what}, {horizon} days. {quality}
{data}
{task}
{keep}
""",
    """Forecast order {ticket} of {firm}
Subject: {what}

(1) {task}
(2) {quality}
(3) {data}
(4) {keep}
""",
)
SETTINGS = (
    World("bakery", "shift planner", "bakery demand", "email", "/srv/bakery", "sold.csv", "loaves and cakes sold",
          ("rye", "wheat", "tart", "bun"), ("spring", "summer", "autumn", "winter"), ("fair", "closure"),
          ("flyer", "bundle"), "sold out early", 0, TEXTS[0]),
    World("emergency", "ward manager", "emergency visits", "ticket", "/data/visits", "arrivals.csv",
          "arrivals per clinic", ("east", "west", "dock", "park"), ("pollen", "heat", "mild", "flu"),
          ("festival", "strike"),
          ("vaccination", "checkup"), "admission was stopped", 1, TEXTS[1]),
    World("bikes", "fleet dispatcher", "bike rentals", "chat", "/home/fleet/rentals", "rides.csv",
          "rides from our stations", ("quay", "museum", "campus", "arena"), ("warm", "hot", "cool", "cold"),
          ("marathon", "storm_drill"),
          ("free_hour", "half_price"), "station was empty", 2, TEXTS[2]),
    World("energy", "load analyst", "district heat", "specification", "/opt/heat", "load.csv",
          "heat drawn by district (MWh)", ("north", "mill", "old_town", "harbour"),
          ("heating", "between", "idle", "cold"), ("fair", "holiday"),
          ("night_tariff", "boost"), "meter failed", 1, TEXTS[3]),
    World("canteen", "head cook", "canteen meals", "note", "/work/canteen", "meals.csv", "meals served per counter",
          ("soup", "grill", "vegan", "pasta"), ("term1", "term2", "exams", "break"), ("open_day", "excursion"),
          ("tasting", "two_for_one"), "counter closed early", 0, TEXTS[2]),
    World("parcels", "depot manager", "parcel volumes", "runbook", "/var/lib/depot", "parcels.csv", "parcels per depot",
          ("hub", "airport", "border", "city"), ("calm", "sale", "normal", "gifts"), ("payday", "bank_holiday"),
          ("free_shipping", "coupon"), "scanner was down", 2, TEXTS[1]),
    World("museum", "visitor services lead", "museum visits", "specification", "/opt/museum/visits", "tickets.csv",
          "tickets sold per house", ("art", "ships", "science", "toys"), ("opening", "tourist", "school", "quiet"),
          ("long_night", "parade"), ("family_day", "city_pass"), "till was offline", 0, TEXTS[3]),
    World("laundry", "operations manager", "laundry orders", "email", "/srv/laundry", "orders.csv", "orders per branch",
          ("station", "market", "castle", "lake"), ("wet", "dry", "dusty", "frost"), ("wedding_day", "fasting_day"),
          ("voucher", "express"), "machines broke down", 2, TEXTS[0]),
)  # fmt: skip
DATA = (
    "{folder}/{history} has one line per day and one column per series, up to yesterday. Beside it seasons.csv "
    "says when "
    "which season begins (it lasts to the next), specials.csv lists the special days with their kind, and "
    "changes.csv the "
    "days from which something changed for good for a series; seasons and special days reach over the whole "
    "forecast.",
    "Daily figures are in {folder}/{history}, a column per series. The same folder has seasons.csv (first day of "
    "every "
    "season, past and coming), specials.csv (days of a special kind, past and coming) and changes.csv (first day "
    "of lasting "
    "changes per series, without their size).",
    "You find in {folder}: {history} (history, date and then a column for each series), seasons.csv with the "
    "start of each "
    "season, specials.csv with the kind of every day that is not ordinary (both known in advance for the days "
    "asked), "
    "changes.csv with dates since when a series runs on another level.",
)
MORE = (
    " In addition offers.csv holds the promotions per series, first to last day, also the planned ones, and "
    "spoilt.csv the "
    "days on which a figure is too low because {short}; seasons also change the shape of the week, and some "
    "entries of "
    "changes.csv had no effect at all.",
    " Also there: offers.csv, promotions of single series from the first to the last day inclusive, partly still "
    "to come; "
    "spoilt.csv, days whose figure says little as {short}. Mind that the weekly pattern is not the same in every "
    "season and "
    "that not every entry of changes.csv had an effect.",
    " Further files are offers.csv (promotions by series, both end days included, future ones too) and "
    "spoilt.csv (figures "
    "that are too small: {short}). The week looks different from season to season; changes.csv was filled in by "
    "hand and "
    "contains harmless entries.",
)
TASKS = (
    "Please write {folder}/forecast.csv with the same header as {history} and one line for every day from "
    "{first} to {last}, "
    "ascending, numbers only.",
    "Deliver {folder}/forecast.csv: header as in {history}, one row per day, {first} through {last} in order, a "
    "number in "
    "every cell.",
    "The forecast goes to {folder}/forecast.csv, columns exactly as in {history}, days {first} up to and "
    "including {last} in "
    "this order, each cell a plain number.",
)
QUALITY = (
    "For every series the sum of absolute errors over these days must be below {overall} % of the sum of the "
    "true values, "
    "and below {special} % counting only the days in {listed}.",
    "It is accepted if, for each series, absolute errors add up to less than {overall} % of what really happens "
    "in the whole "
    "period, and to less than {special} % when only the days in {listed} are looked at.",
    "Required accuracy per series: total absolute error under {overall} % of the actual total over all days, and "
    "under "
    "{special} % over the days in {listed} alone.",
)
KEEP = (
    "The existing files must not be changed.",
    "Leave all files that are there as they are.",
    "None of the given files may be modified.",
)

TESTS = """
import csv
import hashlib
from pathlib import Path

FOLDER = Path(TRUTH["folder"])


def forecast():
    with open(FOLDER / "forecast.csv", newline="") as file:
        rows = [[cell.strip() for cell in row] for row in csv.reader(file) if row]
    return rows[0], {row[0]: [float(cell) for cell in row[1:]] for row in rows[1:]}, [row[0] for row in rows[1:]]


def share(column, days):
    _, values, _ = forecast()
    index = TRUTH["series"].index(column)
    actual = TRUTH["actual"][column]
    errors = sum(abs(values[TRUTH["days"][day]][index] - actual[day]) for day in days)
    return errors / sum(actual[day] for day in days)


def test_days_and_columns():
    header, values, days = forecast()
    assert header == ["date"] + TRUTH["series"]
    assert days == TRUTH["days"]
    assert all(len(row) == len(TRUTH["series"]) for row in values.values())


def test_accuracy():
    for column in TRUTH["series"]:
        assert share(column, range(len(TRUTH["days"]))) < TRUTH["overall"] / 100, column


def test_accuracy_on_special_days():
    for column in TRUTH["series"]:
        assert share(column, TRUTH["special_days"][column]) < TRUTH["special"] / 100, column


def test_given_files_unchanged():
    for name, digest in TRUTH["inputs"].items():
        assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == digest, name
"""
INITIAL = """
from pathlib import Path


def test_no_forecast_yet():
    folder = Path(TRUTH["folder"])
    assert all((folder / name).is_file() for name in TRUTH["inputs"])
    assert not (folder / "forecast.csv").exists()
"""

READ = """import csv, os
from datetime import date, timedelta
def read(name):
    return list(csv.DictReader(open(name))) if os.path.exists(name) else []
D = date.fromisoformat
history = read("@HISTORY@")
series = list(history[0])[1:]
seasons = sorted((D(r["from"]), r["season"]) for r in read("seasons.csv"))
special = {D(r["date"]): r["kind"] for r in read("specials.csv")}
changes = {s: sorted(D(r["date"]) for r in read("changes.csv") if r["series"] == s) for s in series}
spoilt = {(r["series"], D(r["date"])) for r in read("spoilt.csv")}
offers = {}
for r in read("offers.csv"):
    day = D(r["from"])
    while day <= D(r["to"]):
        offers[r["series"], day] = r["kind"]
        day += timedelta(days=1)
first, last = D("@FIRST@"), D("@LAST@")
future = [first + timedelta(days=i) for i in range((last - first).days + 1)]
def features(s, day):
    season = [name for start, name in seasons if start <= day][-1]
    return [("level", sum(c <= day for c in changes[s])), ("week", season, day.weekday()), ("day", special.get(day)),
            ("offer", offers.get((s, day)))]
"""
SOLUTION = f"""cd @FOLDER@ && python3 - <<'PY'
{READ}
columns = []
for s in series:
    rows = [(features(s, D(r["date"])), float(r[s])) for r in history if (s, D(r["date"])) not in spoilt]
    factor = {{f: 1.0 for fs, _ in rows for f in fs}}
    for _ in range(14):
        for k in range(4):
            have, want = {{}}, {{}}
            for fs, y in rows:
                p = 1.0
                for j in range(4):
                    if j != k:
                        p *= factor[fs[j]]
                have[fs[k]] = have.get(fs[k], 0) + y
                want[fs[k]] = want.get(fs[k], 0) + p
            for f in have:
                factor[f] = have[f] / want[f]
    column = []
    for day in future:
        p = 1.0
        for f in features(s, day):
            p *= factor[f]
        column.append(round(p, 2))
    columns.append(column)
with open("forecast.csv", "w") as out:
    print("date", *series, sep=",", file=out)
    for day, *values in zip(future, *columns):
        print(day, *values, sep=",", file=out)
PY
"""
ALTERNATIVE = f"""cd @FOLDER@ && python3 - <<'PY'
{READ}
import numpy as np
table = {{}}
for s in series:
    rows = [(features(s, D(r["date"])), float(r[s])) for r in history if (s, D(r["date"])) not in spoilt]
    names = sorted({{f for fs, _ in rows for f in fs}}, key=str)
    place = {{f: i for i, f in enumerate(names)}}
    def matrix(list_of_features):
        m = np.zeros((len(list_of_features), len(names)))
        for i, fs in enumerate(list_of_features):
            m[i, [place[f] for f in fs]] = 1
        return m
    a, y = matrix([fs for fs, _ in rows]), np.log(np.maximum([y for _, y in rows], 0.5))
    beta = np.linalg.solve(a.T @ a + 1e-6 * np.eye(len(names)), a.T @ y)
    table[s] = np.exp(matrix([features(s, day) for day in future]) @ beta)
with open("forecast.csv", "w") as out:
    out.write(",".join(["date", *series]) + "\\n")
    for i, day in enumerate(future):
        out.write(",".join([day.isoformat(), *("%.1f" % table[s][i] for s in series)]) + "\\n")
PY
"""


@dataclass(frozen=True)
class Series:
    """One series: its figures over all days and the days on which its offers run or its figures are spoilt."""

    name: str
    values: list[int]
    changes: list[int]
    offers: list[tuple[int, int, str]]
    spoilt: list[int]


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


def draw_seasons(draw: Draw) -> list[int]:
    """First days of ten seasons, the tenth in the horizon. Their lengths differ, so last year is no guide."""
    starts = [0]
    for _ in range(10):
        starts.append(starts[-1] + 84 + draw.between(-9, 9))
    return starts


def draw_specials(draw: Draw, past: int, horizon: int, kinds: tuple[str, str]) -> dict[int, str]:
    """Special days: about two a month, and three of each kind in the horizon."""
    found = {day + draw.between(0, 9): kinds[number % 2] for number, day in enumerate(range(5, past - 12, 15))}
    for number, day in enumerate(draw.sample(range(past + 1, past + horizon - 1), 6)):
        found[day] = kinds[number % 2]
    return found


def draw_series(
    draw: Draw, world: World, name: str, past: int, horizon: int, starts: list[int], specials: Mapping[int, str]
) -> Series:
    """A multiplicative series in whole numbers: level, season and weekday, special day, offer, noise."""
    hard, total = draw.difficulty is Difficulty.HARD, past + horizon
    base = draw.between(350, 900)
    jump = draw.pick((draw.between(140, 165), draw.between(62, 71)))  # the coming season against the present one
    seasons = [100, jump, draw.between(80, 120), draw.between(80, 120)]
    week = [draw.between(70, 135) for _ in range(7)]
    weeks = [[max(50, share + draw.between(-25, 25)) for share in week] if hard else week for _ in range(4)]
    special = {world.days[0]: draw.between(180, 220), world.days[1]: draw.between(35, 50)}
    gain = {world.offers[0]: draw.between(140, 150), world.offers[1]: draw.between(165, 185)}
    shifts = [past - draw.between(48, 70)] + ([draw.between(330, 480)] if hard else [])
    levels = {day: draw.pick((draw.between(132, 150), draw.between(64, 74))) for day in shifts}
    harmless = [draw.between(100, 300)] if hard else []
    offers: list[tuple[int, int, str]] = []
    spoilt: list[int] = []
    if hard:
        for number, day in enumerate([*range(20, past - 20, 45), past + 3, past + 17]):
            start = day + draw.between(0, 9)
            offers.append((start, start + draw.between(3, 5), world.offers[number % 2]))
        spoilt = sorted(draw.sample(range(past - 44, past), 13) + draw.sample(range(30, past - 80), 15))
    offered = {day: kind for start, end, kind in offers for day in range(start, end + 1)}
    lost = set(spoilt)
    values: list[int] = []
    season, level = 0, 100_000
    for day in range(total):
        while season + 1 < len(starts) and starts[season + 1] <= day:
            season += 1
        level = level * levels.get(day, 100) // 100
        value = base * level * seasons[season % 4] * weeks[season % 4][day % 7]
        value = value * special.get(specials.get(day, ""), 100) * gain.get(offered.get(day, ""), 100)
        value = value * draw.rng.randrange(960, 1041) // 10**16
        values.append(value * draw.between(4, 15) // 100 if day in lost else value)
    return Series(name, values, sorted([*shifts, *harmless]), offers, spoilt)


def draft(draw: Draw) -> Draft:
    """One forecast."""
    world = draw.setting(SETTINGS)
    hard = draw.difficulty is Difficulty.HARD
    horizon = draw.between(35, 45)
    starts = draw_seasons(draw)
    past = starts[9] - draw.between(1, 4)
    origin = date(draw.between(2019, 2022), draw.between(1, 12), draw.between(1, 28))
    day_text = [(origin + timedelta(days=day)).isoformat() for day in range(past + horizon + 1)]
    specials = draw_specials(draw, past, horizon, world.days)
    names = draw.sample(world.series, draw.by_difficulty(medium=3, hard=4))
    many = [draw_series(draw, world, name, past, horizon, starts, specials) for name in names]

    changes = draw.shuffled([f"{day_text[day]},{one.name}\n" for one in many for day in one.changes])
    files = {
        world.history: ",".join(["date", *names])
        + "\n"
        + "".join(f"{day_text[day]},{','.join(str(one.values[day]) for one in many)}\n" for day in range(past)),
        "seasons.csv": "from,season\n"
        + "".join(f"{day_text[start]},{world.seasons[n % 4]}\n" for n, start in enumerate(starts[:10])),
        "specials.csv": "date,kind\n" + "".join(f"{day_text[day]},{specials[day]}\n" for day in sorted(specials)),
        "changes.csv": "date,series\n" + "".join(changes),
    }
    if hard:
        offers = [f"{one.name},{day_text[a]},{day_text[b]},{kind}\n" for one in many for a, b, kind in one.offers]
        files["offers.csv"] = "series,from,to,kind\n" + "".join(offers)
        spoilt = [f"{one.name},{day_text[day]}\n" for one in many for day in one.spoilt]
        files["spoilt.csv"] = "series,date\n" + "".join(spoilt)
    special_days = {
        one.name: sorted(
            {day - past for day in specials if day >= past}
            | {day - past for a, b, _ in one.offers for day in range(a, b + 1) if past <= day < past + horizon}
        )
        for one in many
    }
    kind = world.wording
    overall, special = draw.by_difficulty(medium=7, hard=8), draw.by_difficulty(medium=9, hard=10)
    listed = "specials.csv or, for that series, offers.csv" if hard else "specials.csv"
    words = {
        "folder": world.folder,
        "history": world.history,
        "first": day_text[past],
        "last": day_text[past + horizon - 1],
        "overall": overall,
        "special": special,
        "listed": listed,
        "short": world.short,
    }
    data, task = DATA[kind].format(**words), TASKS[kind].format(**words)
    more = MORE[kind].format(**words) if hard else ""
    quality = QUALITY[kind].format(**words)
    instruction = world.text.format(
        firm=draw.pick(FIRMS),
        persona=world.persona,
        ticket=f"{draw.pick(CITIES)}-{draw.between(10, 99)}",
        task=task,
        horizon=horizon,
        what=world.what,
        data=data + more,
        quality=quality,
        keep=KEEP[kind],
    )
    names_in_scripts = {
        "FOLDER": world.folder,
        "HISTORY": world.history,
        "FIRST": day_text[past],
        "LAST": day_text[past + horizon - 1],
    }
    solution = filled(SOLUTION, names_in_scripts)
    both = ["test_accuracy", "test_accuracy_on_special_days"]
    misses = [
        Miss(
            "one_level",
            "averages over the whole history",
            wrong(solution, "sum(c <= day for c in changes[s])", "0"),
            both,
        ),
        Miss(
            "no_season",
            "knows weekdays only",
            wrong(solution, '("week", season, day.weekday())', '("week", day.weekday())'),
            ["test_accuracy"],
        ),
        Miss("no_specials", "treats special days as ordinary", wrong(solution, "special.get(day)", "None"), both[1:]),
        Miss(
            "a_day_late",
            "begins a day after the first",
            wrong(solution, "timedelta(days=i) for i", "timedelta(days=i + 1) for i"),
            ["test_days_and_columns", "test_accuracy"],
        ),
    ]
    if hard:
        misses += [
            Miss("no_offers", "leaves promotions out", wrong(solution, "offers.get((s, day))", "None"), both[1:]),
            Miss("spoilt_count", "believes spoilt figures", wrong(solution, "not in spoilt", "not in {}"), both),
        ]
    return Draft(
        title=f"Forecast {world.scenario}",
        setting=world,
        instruction=instruction,
        files=files,
        dockerfile=f"COPY {' '.join(sorted(files))} {world.folder}/\nWORKDIR {world.folder}",
        truth={
            "folder": world.folder,
            "series": names,
            "days": day_text[past : past + horizon],
            "actual": {one.name: one.values[past : past + horizon] for one in many},
            "special_days": special_days,
            "overall": overall,
            "special": special,
            "inputs": {name: sha(text) for name, text in files.items()},
        },
        discoverable=("folder", "series", "days"),
        tests=TESTS,
        weights={"test_days_and_columns": 0.1, "test_accuracy": 0.55, "test_accuracy_on_special_days": 0.35},
        guards=["test_given_files_unchanged"],
        initial=INITIAL,
        solution=solution,
        alternatives=[filled(ALTERNATIVE, names_in_scripts)],
        misses=misses,
        requirements=[
            (data, both),
            *([(more.strip(), both)] if hard else []),
            (task, ["test_days_and_columns"]),
            (quality, both),
            (KEEP[kind], ["test_given_files_unchanged"]),
        ],
        knobs={"series": len(names), "horizon": horizon, "days": past, "offers": hard, "spoilt": hard},
    )


FAMILY = Family(
    name="demand_forecast",
    domain="data_science",
    verifier=Verifier.METRIC_THRESHOLD,
    skills=("forecasting", "time series", "seasonality", "calendar effects"),
    difficulties=(Difficulty.MEDIUM, Difficulty.HARD),
    capacity=24,
    draft=draft,
    base=Base.SCIENCE,
)
