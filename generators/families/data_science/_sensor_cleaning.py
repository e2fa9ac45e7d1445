"""Sensor series: the readings of a device with every trap, and the stated rules applied to them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from generators.family import Draw, Setting


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling. `standard` = (`other` - shift) * factor."""

    folder: str
    source: str  # name of the readings file
    columns: tuple[str, str, str]  # device, time, value
    standard: str
    other: str
    formula: str
    factor: float
    shift: float
    wording: int
    text: str


@dataclass(frozen=True)
class Plan:
    """What the rules say in this task."""

    step: int  # minutes between slots
    slots: int
    stuck: int
    gap: int
    low: float
    high: float
    jump: float  # 0: no spike rule
    table: bool  # unit changes are listed in a file of their own
    clocks: bool


@dataclass(frozen=True)
class Row:
    """A line of the readings file, before it is printed."""

    device: str
    slot: int
    value: int  # hundredths, as sent
    unit: str


def draw_device(
    draw: Draw, device: str, plan: Plan, world: World, switched: bool
) -> tuple[list[Row], list[tuple[int, str]]]:
    """The rows of one device in file order, with every trap at a place of its own, and its unit changes."""
    count = plan.slots
    level, wave = draw.between(1600, 2200), [0]
    for _ in range(count):
        wave.append(max(-500, min(500, wave[-1] + draw.pick((-31, -23, -17, -9, 7, 12, 19, 26, 33)))))
    values: dict[int, int] = {slot: level + wave[slot] for slot in range(count)}
    places = iter(range(9, count, (count - 16) // 9))  # traps do not touch each other

    changes: list[tuple[int, str]] = []
    if switched:
        start = draw.between(count // 4, count // 2)
        changes = [(start, world.other), (start + draw.between(count // 5, count // 3), world.standard)]

    def unit(slot: int) -> str:
        return next((name for start, name in reversed(changes) if start <= slot), world.standard)

    if plan.jump:
        for sign in (1, -1):
            values[next(places)] += sign * round(plan.jump * 200)
        step_at = next(places)  # a lasting step is no spike
        for slot in range(step_at, count):
            values[slot] -= round(plan.jump * 120)
    values[next(places)] = round(plan.high * 100) + draw.between(150, 900)
    sent = {
        slot: round(value / world.factor + world.shift * 100) if unit(slot) == world.other else value
        for slot, value in values.items()
    }
    for length in (plan.stuck, plan.stuck - 1):  # stuck, and just not
        start = next(places)
        for slot in range(start, start + length):
            sent[slot] = sent[start]
        sent[start + length] = sent[start] + 11
    twice = {start: sent[start]}  # the same line again does not make the short run longer
    for length in (plan.gap, plan.gap + 1):
        start = next(places)
        for slot in range(start, start + length):
            sent.pop(slot, None)
    for slot in range(draw.between(1, 2)):
        sent.pop(slot)
    corrected = next(places)
    free = [slot for slot in sorted(sent) if 2 < slot < 8]
    twice |= {corrected: sent[corrected] + 90, free[0]: sent[free[0]] - 60}
    sent_last = dict(sent)
    if plan.table:
        twice[free[2]] = sent[free[2]]
        sent_last[free[2]] = -99900
    rows: list[Row] = []
    late: list[Row] = []
    for slot in sorted(sent):
        if slot in twice:
            rows.append(Row(device, slot, twice[slot], unit(slot)))
            late.append(Row(device, slot, sent_last[slot], unit(slot)))
        else:
            rows.append(Row(device, slot, sent_last[slot], unit(slot)))
    return rows + draw.shuffled(late), changes


def clean(rows: list[Row], plan: Plan, world: World) -> tuple[list[float | None], str, dict[str, float]]:
    """The stated rules for one device: values, a status letter per slot, and the counts."""
    sent: list[Row | None] = [None] * plan.slots
    for row in rows:
        sent[row.slot] = row
    resent = len(rows) - sum(row is not None for row in sent)
    sent = [None if row is None or row.value == -99900 else row for row in sent]
    runs: list[list[int]] = []
    for slot, row in enumerate(sent):
        before = sent[slot - 1] if slot else None
        if row and before and row.value == before.value:
            runs[-1].append(slot)
        elif row:
            runs.append([slot])
    stuck = {slot for run in runs if len(run) >= plan.stuck for slot in run}
    values: list[float | None] = [None] * plan.slots
    outside = 0
    for slot, row in enumerate(sent):
        if row is None or slot in stuck:
            continue
        value = (row.value / 100 - world.shift) * world.factor if row.unit == world.other else row.value / 100
        if plan.low <= value <= plan.high:
            values[slot] = value
        else:
            outside += 1
    spikes: list[int] = []
    for slot in range(1, plan.slots - 1):
        left, here, right = values[slot - 1 : slot + 2]
        if plan.jump and left is not None and here is not None and right is not None:
            rise = sorted((here - left, here - right))
            if rise[0] > plan.jump or rise[1] < -plan.jump:
                spikes.append(slot)
    for slot in spikes:
        values[slot] = None
    status = ["e" if value is None else "o" for value in values]
    known = [(slot, value) for slot, value in enumerate(values) if value is not None]
    for (start, left), (end, right) in pairwise(known):
        if 1 < end - start <= plan.gap + 1:
            for slot in range(start + 1, end):
                values[slot] = left + (right - left) * (slot - start) / (end - start)
                status[slot] = "f"
    final = [value for value in values if value is not None]
    counts: dict[str, float] = {"resent": resent, "stuck": len(stuck)}
    if plan.table:
        counts["range"] = outside
    if plan.jump:
        counts["spike"] = len(spikes)
    counts |= {"filled": status.count("f"), "empty": status.count("e"), "mean": round(sum(final) / len(final), 4)}
    return values, "".join(status), counts
