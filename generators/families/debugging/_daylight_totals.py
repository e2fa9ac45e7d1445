"""Clocks that are put forward and back, and rows of local times around the changes."""

from __future__ import annotations

from dataclasses import dataclass, field

from generators.family import Draw

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
