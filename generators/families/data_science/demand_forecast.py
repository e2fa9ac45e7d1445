"""Forecast a held-out horizon: a new season begins, levels shifted, special days and offers are known."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from generators.bases import Base
from generators.family import Draft, Draw, Family, Miss, Setting, load_settings, load_words, resource
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


SETTINGS = load_settings(__file__, World)
WORDS = load_words(__file__, "wordings.yaml")
TESTS = resource(__file__, "tests.py")
INITIAL = resource(__file__, "initial.py")
READ = resource(__file__, "read.py")
SOLUTION = resource(__file__, "solution.sh")
ALTERNATIVE = resource(__file__, "alternative.sh")


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
    data, task = WORDS["data"][kind].format(**words), WORDS["tasks"][kind].format(**words)
    more = WORDS["more"][kind].format(**words) if hard else ""
    quality = WORDS["quality"][kind].format(**words)
    instruction = world.text.format(
        firm=draw.pick(FIRMS),
        persona=world.persona,
        ticket=f"{draw.pick(CITIES)}-{draw.between(10, 99)}",
        task=task,
        horizon=horizon,
        what=world.what,
        data=f"{data} {more}" if hard else data,
        quality=quality,
        keep=WORDS["keep"][kind],
    )
    names_in_scripts = {
        "READ": READ,
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
            *([(more, both)] if hard else []),
            (task, ["test_days_and_columns"]),
            (quality, both),
            (WORDS["keep"][kind], ["test_given_files_unchanged"]),
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
