"""Repair totals over local time: doubled and missing hours, offsets given as a table, splits at local midnight and
bands."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from generators.families.debugging._daylight_totals import Rows, Zone, make_case, make_zone, tables_of
from generators.family import Draft, Draw, Family, Miss, Setting, load_settings, load_words, resource
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


SETTINGS = load_settings(__file__, World)
RULES: dict[str, tuple[str, ...]] = load_words(__file__, "rules.yaml")
WORDS: dict[str, tuple[str, ...]] = load_words(__file__, "wordings.yaml")
PROGRAM = resource(__file__, "program.py")
FIXED = resource(__file__, "solution.py")
OTHER = resource(__file__, "alternative.py")
TESTS = resource(__file__, "tests.py")
INITIAL = resource(__file__, "initial.py")

# mode -> how the program counts and prints
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
FIXED_COUNTS = {
    "totals": "totals[site] = totals.get(site, 0) + (stop - start) // MINUTE",
    "days": "for local, minutes in pieces(zone, start, stop):\n            key = (site, str(local)[:10])\n"
    "            totals[key] = totals.get(key, 0) + minutes",
    "bands": "for local, minutes in pieces(zone, start, stop):\n            pair = totals.setdefault((site, str(local)[:10]), [0, 0])\n"
    "            pair[not {opens} <= local.hour < {shuts}] += minutes",
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
    sentences = {key: fill(draw.pick(RULES[key])) for key in keys}
    job, keep = fill(draw.pick(WORDS["jobs"])), fill(draw.pick(WORDS["keeps"]))
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
