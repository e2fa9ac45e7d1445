"""Unit files of a service manager: the start order, breaking ordering cycles by a stated rule, timers as cron lines."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from generators.families.system_administration._unit_order import Unit, break_cycles, start_order, started
from generators.family import Draft, Draw, Family, Miss, Setting, load_settings, load_words, resource
from generators.task import Difficulty, Verifier


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    folder: str
    target: str
    rank: str  # key that says how important a unit is
    order: str  # result files
    cron: str
    words: tuple[str, ...]
    wording: int
    bullet: str  # how each rule is listed
    text: str


SETTINGS = load_settings(__file__, World)
RULES: Mapping[str, tuple[str, str, str]] = load_words(__file__, "wordings.yaml")
TESTS = resource(__file__, "tests.py")
INITIAL = resource(__file__, "initial.py")
SOLUTION = resource(__file__, "solution.sh")
ALTERNATIVE = resource(__file__, "alternative.sh")


def draw_units(draw: Draw, world: World, count: int, level: int) -> dict[str, Unit]:
    """An acyclic set of units, then what makes it interesting."""
    target = f"{world.target}.target"
    names = [
        f"{word}{number or ''}.service"
        for number in range(count // len(world.words) + 1)
        for word in draw.shuffled(world.words)
    ][:count]
    units = {name: Unit(name, draw.between(1, 9) * 10 if draw.chance(70) else None) for name in [target, *names]}
    for number, name in enumerate(names):
        parent = draw.pick([target, *names[:number]][-6:]) if number > 2 else target
        units[parent].add(draw.pick(("Wants", "Requires")), name)
        for other in draw.sample(
            names[:number], min(number, draw.between(1, 2))
        ):  # earlier in the list means earlier in time
            if draw.chance(60):
                units[name].add("After", other)
            else:
                units[other].add("Before", name)
        if draw.chance(60):
            units[target].add("After", name)
    units[target].add("Wants", "absent.service")
    a, b, c, d = names[0], names[1], names[2], names[3]
    units["spare.service"] = Unit(
        "spare.service", 1, {"Before": [a], "After": [names[-1]]}
    )  # not started: would close a cycle
    if level:  # a two-unit cycle whose lowest rank is tied, and a longer one
        units[a].rank = units[b].rank = 5
        units[b].add("After", a)
        units[a].add("After", b)
        units[c].add("After", b)
        units[d].add("After", c)
        units[b].add("After", d)
        units[d].rank, units[c].rank = 7, 9
    if level == 2:
        units[c].add("Before", d, in_extra=True)  # says the same as d does: both entries may have to go
        units[c].rank = 6
        units[names[5]].add("After", names[9])  # cleared by the drop-in
        units[names[5]].reset = ("After",)
        units[names[5]].extra["After"] = [names[4]]
        units[names[-1]].wanted_by = target
        for unit in units.values():
            for key in ("Wants", "Requires"):
                if names[-1] in unit.lists.get(key, []):
                    unit.lists[key].remove(names[-1])
        for first, second in ((6, 10), (7, 12)):
            units[names[second]].add("After", names[first])
            units[names[first]].add("After", names[second], in_extra=True)
        units[target].add("Wants", "silent.service")  # masked
    return units


TIMES = (
    ("daily", "0 0 * * *"),
    ("weekly", "0 0 * * 1"),
    ("monthly", "0 0 1 * *"),
    ("hourly", "0 * * * *"),
    ("Mon..Fri *-*-* {h:02d}:{m:02d}:00", "{m} {h} * * 1-5"),
    ("*-*-* {h:02d}:{m:02d}:00", "{m} {h} * * *"),
    ("*:0/{s}", "*/{s} * * * *"),
    ("Sat,Sun *-*-* {h:02d}:{m:02d}", "{m} {h} * * 6,0"),
    ("*-*-{d:02d} {h:02d}:{m:02d}:00", "{m} {h} {d} * *"),
    ("*-01,07-{d:02d} {h:02d}:00:00", "0 {h} {d} 1,7 *"),
    ("*-*-* 08..17:{m:02d}:00", "{m} 8-17 * * *"),
)


def draw_timers(draw: Draw, world: World, count: int, level: int) -> tuple[dict[str, str], dict[str, str], list[str]]:
    """Unit files of timers, of the services they trigger, and the cron lines."""
    timers: dict[str, str] = {}
    services: dict[str, str] = {}
    lines: list[str] = []
    for number in range(count):
        service = f"job-{draw.pick(world.words)}{number}"
        command = f"/usr/local/bin/{service} --keep {draw.between(2, 30)}"
        services[f"{service}.service"] = (
            f"[Unit]\nDescription={service}\n\n[Service]\nType=oneshot\nExecStart={command}\n"
        )
        other = number % 3 == 1
        timer = f"run-{number}" if other else service
        text = f"[Unit]\nDescription=timer {number}\n\n[Timer]\n" + (f"Unit={service}.service\n" if other else "")
        for _ in range(2 if level == 2 and number % 4 == 2 else 1):
            form, cron = TIMES[number * 2 % len(TIMES)] if number < 6 else draw.pick(TIMES)
            values = {
                "h": draw.between(0, 23),
                "m": draw.between(1, 59),
                "s": draw.pick((5, 10, 15, 20)),
                "d": draw.between(2, 28),
            }
            text += f"OnCalendar={form.format(**values)}\n"
            lines.append(f"{cron.format(**values)} {command}")
        timers[f"{timer}.timer"] = text + "Persistent=true\n"
    return timers, services, lines


def unit_text(unit: Unit, world: World) -> str:
    """The unit file."""
    text = f"[Unit]\nDescription={unit.name.split('.')[0]} of {world.scenario}\n"
    text += "" if unit.rank is None else f"{world.rank}={unit.rank}\n"
    text += "".join(f"{key}={' '.join(entries)}\n" for key, entries in unit.lists.items() if entries)
    if unit.name.endswith(".service"):
        text += f"\n[Service]\nExecStart=/usr/local/bin/{unit.name[:-8]} -f\n"
    return text + (f"\n[Install]\nWantedBy={unit.wanted_by}\n" if unit.wanted_by else "")


def other_settings(files: Mapping[str, str]) -> str:
    """A digest of all settings but After and Before, in the form the guard computes."""
    rest: dict[str, list[str]] = {}
    for path in sorted(files):
        name, section = path.split("/")[0].removesuffix(".d"), ""
        for line in files[path].splitlines():
            if line.startswith("["):
                section = line[1:-1]
            elif "=" in line and not line.startswith(("After", "Before")):
                key, value = line.split("=", 1)
                entries = value.split() if key in ("Wants", "Requires") else [value]
                rest.setdefault(f"{name} {section} {key}", []).extend(entries)
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def draft(draw: Draw) -> Draft:
    """One boot."""
    world = draw.setting(SETTINGS)
    level = draw.by_difficulty(easy=0, medium=1, hard=2)
    units = draw_units(draw, world, draw.by_difficulty(easy=8, medium=14, hard=30), level)
    timers, services, cron = draw_timers(draw, world, draw.by_difficulty(easy=4, medium=7, hard=12), level)
    target = f"{world.target}.target"
    names = started(units, target)
    every = [(u.name, key, other) for u in units.values() for key in ("After", "Before") for other in u.entries(key)]
    live = {s for s in every if s[0] in names and s[2] in names}
    removed = break_cycles(units, live)
    files = {unit.name: unit_text(unit, world) for unit in units.values()} | timers | services
    for unit in units.values():
        if unit.extra:
            lines = [f"{key}=" for key in unit.reset] + [
                f"{key}={' '.join(entries)}" for key, entries in unit.extra.items()
            ]
            files[f"{unit.name}.d/10-local.conf"] = "\n".join(["[Unit]", *lines]) + "\n"
    where = {
        "folder": world.folder,
        "target": world.target,
        "rank": world.rank,
        "order": world.order,
        "cron": world.cron,
    }
    absent = {"cycle"} if not level else set[str]()
    absent |= {"install", "dropin", "masked"} if level < 2 else set[str]()
    rules = {key: texts[world.wording].format(**where) for key, texts in RULES.items() if key not in absent}
    keep = rules.pop("keep")
    instruction = world.text.format(
        number=draw.between(100, 999),
        rules="".join(world.bullet.format(rule=rule) for rule in rules.values()),
        keep=keep,
        **where,
    )
    fill = {"@F@": world.folder, "@T@": world.target, "@K@": world.rank, "@O@": world.order, "@C@": world.cron}
    weights = (
        {"test_order": 0.5, "test_entries": 0.25, "test_timers": 0.25}
        if level
        else {"test_order": 0.6, "test_timers": 0.4}
    )
    cited = {"cron": ["test_timers"], "cycle": ["test_order", "test_entries"]}
    variants: list[tuple[str, str, str, str, Sequence[str]]] = [
        (
            "all_units",
            "orders units that are not started",
            'todo = set(), ["@T@.target"]',
            "todo = set(), list(names)",
            ["test_order"],
        ),
        ("sunday_first", "writes the week from 1 for Sunday", '"Sun", "Mon"', '"None", "Sun", "Mon"', ["test_timers"]),
    ]
    if level:
        variants += [
            (
                "highest_goes",
                "deletes the entry of the highest rank",
                "min(bad, key=rank)",
                "max(bad, key=rank)",
                ["test_order", "test_entries"],
            ),
            (
                "files_left",
                "repairs in memory only",
                'path.write_text("\\n".join(lines) + "\\n")',
                "pass",
                ["test_entries"],
            ),
        ]
    mask = f"RUN ln -s /dev/null {world.folder}/units/silent.service\n" if level == 2 else ""
    return Draft(
        title=f"Boot order: {world.scenario}",
        setting=world,
        instruction=instruction,
        files={f"units/{name}": text for name, text in files.items()},
        dockerfile=f"COPY units {world.folder}/units/\n{mask}WORKDIR {world.folder}",
        truth={
            "folder": world.folder,
            "order_file": world.order,
            "cron_file": world.cron,
            "order": start_order(names, live - set(removed)),
            "entries": sorted(list(s) for s in set(every) - set(removed)),
            "cron": cron,
            "rest": other_settings(files),
        },
        discoverable=("folder", "order_file", "cron_file", "order", "entries"),
        tests=TESTS,
        weights=weights,
        guards=["test_other_settings_kept"] if level else ["test_other_settings_kept", "test_entries"],
        initial=INITIAL,
        solution=filled(SOLUTION, fill),
        alternatives=[filled(ALTERNATIVE, fill)],
        misses=[
            Miss(name, why, filled(SOLUTION, {old: new, **fill}), caught) for name, why, old, new, caught in variants
        ],
        requirements=[
            *((text, cited.get(key, ["test_order"])) for key, text in rules.items()),
            (keep, ["test_other_settings_kept", "test_entries"]),
        ],
        knobs={"units": len(units), "timers": len(timers), "cycles_broken": len(removed), "drop_ins": level == 2},
    )


def filled(script: str, values: Mapping[str, str]) -> str:
    """The script with each marker replaced."""
    for marker, value in values.items():
        script = script.replace(marker, value)
    return script


FAMILY = Family(
    name="unit_order",
    domain="system_administration",
    verifier=Verifier.EXACT_TEXT,
    skills=("service units", "topological order", "cycle breaking", "cron"),
    difficulties=(Difficulty.EASY, Difficulty.MEDIUM, Difficulty.HARD),
    capacity=48,
    draft=draft,
    command_complexity="code",
)
