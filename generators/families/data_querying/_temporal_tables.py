"""A history with overlaps, what it says at a moment, and the moments worth asking for."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from generators.family import Draw


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


def draw_lines(
    draw: Draw, prefix: str, values: tuple[str, ...], subjects: int, per_subject: int, step: int
) -> list[Line]:
    """The history; each trap stands at a fixed subject."""
    lines: list[Line] = []
    numbers = iter(draw.sample(range(100, 100 + subjects * per_subject * 6), subjects * (per_subject + 6)))
    names = [f"{prefix}{number}" for number in draw.sample(range(10, 99), subjects)]

    def add(subject: str, value: str, start: int, end: int | None, recorded: int, cancels: int | None = None) -> int:
        entry = next(numbers)
        lines.append(
            Line(entry, subject, value, start * step, None if end is None else end * step, recorded * step, cancels)
        )
        return entry

    for index, subject in enumerate(names):
        a, b, c, d, _ = draw.shuffled(values)
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
                draw.pick(values),
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
