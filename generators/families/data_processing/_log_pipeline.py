"""Logs in five layouts: how their lines are drawn, broken ones included, and what the report has to say of them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from generators.family import Draw, Setting


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling: the names of the five kinds of log, the key and prefix of request ids, and output names."""

    folder: str
    kinds: tuple[str, ...]
    key: str
    prefix: str
    unit: str
    report: str
    summary: str
    text: str


MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()  # noqa: SIM905
REASONS = ("format", "time", "id", "number")

Event = tuple[str, int, int, str]  # id, UTC second since the epoch of the draw, number, word


@dataclass
class Log:
    """The lines of one kind of log and what is in them."""

    lines: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    events: list[Event] = field(default_factory=list[Event])
    broken: dict[str, int] = field(default_factory=lambda: dict.fromkeys(REASONS, 0))


@dataclass(frozen=True)
class Writer:
    """Writes events as lines; `wrong` names the reason for which the line shall be broken."""

    draw: Draw
    place: World
    epoch: datetime
    hosts: dict[str, int]  # seconds that the clock of a host differs from UTC

    def line(self, kind: int, event: Event, wrong: str) -> str:
        """A line of the kind."""
        key, second, number, word = event
        key = self.draw.pick(("-", f"{key}x", key[1:])) if wrong == "id" else key
        value = self.draw.pick(("-1", "1e3", "n/a")) if wrong == "number" else str(number)
        match kind:
            case 0:
                return self.access(key, second, value, wrong)
            case 1:
                return self.entry(key, second, value, word, wrong)
            case 2:
                return self.pairs(key, second, value, word, wrong)
            case 3:
                return self.syslog(key, second, word, wrong)
            case _:
                return self.queue(key, second, value, word, wrong)

    def access(self, key: str, second: int, value: str, wrong: str) -> str:
        minutes = self.draw.pick((0, 60, 120, -300, 330))
        t = self.epoch + timedelta(seconds=second + minutes * 60)
        offset = f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}{abs(minutes) % 60:02d}"
        day, month = ("31", "Feb") if wrong == "time" else (f"{t.day:02d}", MONTHS[t.month - 1])
        what = self.draw.pick(("GET / HTTP/1.1", "GET /a b?c=[d] HTTP/1.1", "POST /new HTTP/2", "-"))
        stamp = f"[{day}/{month}/{t.year}:{t:%H:%M:%S} {offset}]"
        text = f'10.0.{second % 9}.{second % 251} - {self.draw.pick(("-", "ann", "bob"))} {stamp} "{what}" {value} {second % 4000} {key}'
        return text.split('"')[0] + '"GET' if wrong == "format" else text

    def entry(self, key: str, second: int, value: str, word: str, wrong: str) -> str:
        minutes = self.draw.pick((0, 0, 60, -240))
        t = self.epoch + timedelta(seconds=second + minutes * 60)
        zone = "Z" if minutes == 0 else f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:00"
        stamp = t.isoformat() + self.draw.pick(("", ".125", ".750000")) + zone
        stamp = stamp.replace(stamp[5:10], "02-30") if wrong == "time" else stamp
        ms: int | str = int(value) if value.isdigit() else value
        row = {"time": stamp, self.place.key: key, "user": word, "ms": ms, "note": "a, b"}
        text = json.dumps(
            {name: row[name] for name in self.draw.shuffled(list(row))},
            separators=self.draw.pick(((",", ":"), (", ", ": "))),
        )
        return self.draw.pick((text[:-4], text.replace('"user"', '"usr"'))) if wrong == "format" else text

    def pairs(self, key: str, second: int, value: str, word: str, wrong: str) -> str:
        stamp = (
            "yesterday" if wrong == "time" else str(int((self.epoch - datetime(1970, 1, 1)).total_seconds()) + second)
        )
        parts = [
            f"time={stamp}",
            f"{self.place.key}={key}",
            f"outcome={word}",
            f"{self.place.unit}={value}",
            'memo="paid id=9 late"',
        ]
        if wrong == "format":
            del parts[self.draw.between(0, 3)]
        return " ".join(self.draw.shuffled(parts))

    def syslog(self, key: str, second: int, word: str, wrong: str) -> str:
        host = self.draw.pick(sorted(self.hosts))
        t = self.epoch + timedelta(seconds=second + self.hosts[host])
        host = "nowhere" if wrong == "time" else host
        pid = "self" if wrong == "number" else str(second % 9000)
        text = f"{MONTHS[t.month - 1]} {t.day:2d} {t:%H:%M:%S} {host} {self.place.kinds[3]}[{pid}]: {key} {word}: step {second % 7} of 7"
        return text.split("[")[0] if wrong == "format" else text

    def queue(self, key: str, second: int, value: str, word: str, wrong: str) -> str:
        minutes = self.draw.pick((0, 120, -180))
        t = self.epoch + timedelta(seconds=second + minutes * 60)
        stamp = f"{t.day:02d}.13.{t.year} {t:%H:%M:%S}" if wrong == "time" else f"{t:%d.%m.%Y %H:%M:%S}"
        text = f'{stamp},{minutes:+d},{key},"{word}, ""as usual""",{value}'
        return text.rsplit(",", 1)[0] if wrong == "format" else text


def draw_events(
    draw: Draw, place: World, kind: int, requests: list[Event], numbers: list[int], window: int
) -> list[Event]:
    """The events of a kind other than the first: for some requests, again for some of those, and for unknown ids."""
    events: list[Event] = []
    for index, (key, second, _, _) in enumerate(requests):
        if index % 10 == kind or draw.chance((0, 10, 55, 55, 60)[kind]):
            continue
        base = second + draw.between(1, window)
        for turn in range(2 if index % 7 == 0 else 1):
            at = base + (0, -31, 41, 0, -17)[kind] * turn
            match kind:
                case 1:
                    event = (key, at, draw.between(5, 3000), f"user{draw.between(1, 25)}")
                case 2:
                    event = (key, at, draw.between(50, 9000), draw.pick(("ok", "ok", "refused")))
                case 3:
                    shift = (window, window + 1, 0, -1, draw.between(0, window))[index % 5]
                    event = (key, second + shift - 50 * turn, 0, draw.pick(("failed", "failed", "done")))
                case _:
                    event = (key, at, draw.between(1, 9), "moved")
            events.append(event)
    for number in draw.sample(numbers, 3):
        events.append(
            (f"{place.prefix}{number}", draw.between(0, 30_000), 7, ("", "user1", "ok", "failed", "moved")[kind])
        )
    return events


def evaluate(
    logs: list[Log], epoch: datetime, window: int, header: list[str]
) -> tuple[list[list[str]], dict[str, int]]:
    """The stated rules on the events as they were drawn."""
    found: list[dict[str, Event]] = []
    for kind, log in enumerate(logs):
        best: dict[str, Event] = {}
        for event in log.events:
            old = best.get(event[0])
            if old is None or (event[1] < old[1] if kind == 0 else event[1] > old[1]):
                best[event[0]] = event
        found.append(best)
    requests, app, pay, work, queue = [*found, {}, {}, {}][:5]
    hours: dict[int, list[Event]] = {}
    for event in requests.values():
        hours.setdefault(event[1] // 3600, []).append(event)
    rows = [header]
    for hour in sorted(hours):
        keys = [event[0] for event in hours[hour]]
        known = [app[key] for key in keys if key in app]
        errors = 0
        for key, second, status, _ in hours[hour]:
            failure = work.get(key)
            late = failure is not None and failure[3] == "failed" and 0 <= failure[1] - second <= window
            errors += status >= 500 or late
        values = [len(keys), len({event[3] for event in known}), max((event[2] for event in known), default=0), errors]
        values.append(sum(pay[key][2] for key in keys if key in pay and pay[key][3] == "ok"))
        values.append(sum(queue[key][2] for key in keys if key in queue))
        stamp = (epoch + timedelta(hours=hour)).isoformat()[:13] + ":00Z"
        rows.append([stamp, *map(str, values)][: len(header)])
    others = {key for best in found[1:] for key in best}
    return rows, {"unmatched": len(set(requests) - set(app)), "orphans": len(others - set(requests))}


def draw_logs(draw: Draw, place: World, count: int, writer: Writer, sizes: tuple[int, int], window: int) -> list[Log]:
    """All logs, each with every reason for a broken line at least once."""
    total, span = sizes
    numbers = draw.sample(range(1000, 9999), total + 40)
    requests: list[Event] = []
    for number in numbers[:total]:
        second = (
            draw.pick((0, 1799, 3599)) + 3600 * draw.between(2, span)
            if draw.chance(15)
            else draw.between(7200, span * 3600)
        )
        requests.append((f"{place.prefix}{number}", second, draw.pick((200, 200, 204, 302, 404, 500, 503)), ""))
    logs: list[Log] = []
    for kind in range(count):
        events = requests if kind == 0 else draw_events(draw, place, kind, requests, numbers[total:], window)
        if kind == 0 and count > 2:
            events = [
                *requests,
                *((key, second + draw.between(60, 4000), 503, "") for key, second, _, _ in requests[::6]),
            ]
        log = Log(events=events)
        log.lines = [(event[1], writer.line(kind, event, "")) for event in events]
        for reason in REASONS:
            for _ in range(draw.between(1, 4)):
                event = (
                    f"{place.prefix}{draw.pick(numbers)}",
                    draw.between(7200, span * 3600),
                    503,
                    "failed" if kind == 3 else "ok",
                )
                log.lines.append((event[1], writer.line(kind, event, reason)))
                log.broken[reason] += 1
        log.lines = draw.shuffled(log.lines) if kind else sorted(log.lines)
        logs.append(log)
    return logs
