"""An experiment drawn and analysed: the units, their events with every trap, and the read-out by the note."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

from generators.family import Draw, Setting


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
