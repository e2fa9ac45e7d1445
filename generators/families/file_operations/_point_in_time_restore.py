"""The past of point_in_time_restore: changes and backup sets as drawn, and which set the stated rules choose."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

from generators.family import Draw
from generators.vocabulary import CITIES, HOST_WORDS, LAST_NAMES


@dataclass
class Set:
    """A backup set: what it says, and the state of the tree it was taken of."""

    name: str
    full: bool
    parent: str
    at: datetime
    ended: datetime
    tree: dict[str, str]
    defect: str = ""  # state, content, absent


@dataclass(frozen=True)
class Event:
    """A change of the live tree."""

    number: int
    at: datetime
    path: str
    text: str | None  # None removes the file, or with a final slash the folder


@dataclass
class Story:
    """Everything that happened."""

    sets: dict[str, Set]
    events: list[Event]
    moment: datetime
    change: datetime
    vanished: str  # a set that something builds on, but that is gone


def apply(tree: dict[str, str], path: str, text: str | None) -> None:
    """Carry out one change."""
    if text is not None:
        tree[path] = text
        return
    for name in [name for name in tree if name == path or (path.endswith("/") and name.startswith(path))]:
        del tree[name]


TOPS = ("admin", "north/a", "north/b", "south/archive", "south/open", "two words")


def random_event(draw: Draw, tree: Mapping[str, str], number: int, at: datetime) -> Event:
    """A new file, a change, a removal, or now and then the removal of a folder."""
    kind, text = draw.between(0, 11), f"{draw.pick(LAST_NAMES)} {draw.pick(CITIES)} {draw.between(10000, 99999)}\n"
    old = draw.pick(list(tree)) if tree else "x/y"
    if kind < 5 or len(tree) < 9:
        return Event(number, at, f"{draw.pick(TOPS)}/{draw.pick(HOST_WORDS)}{draw.between(1, 30)}.txt", text)
    if kind < 8:
        return Event(number, at, old, text)
    return Event(number, at, old if kind < 11 else old.rpartition("/")[0] + "/", None)


def draw_story(draw: Draw, early: int, events_per_gap: int) -> Story:
    """A plain past, then before the moment a good set followed by sets that fail in every way."""
    year, day = draw.pick(((2022, 27), (2023, 26), (2024, 31), (2025, 30)))
    change = datetime(year, 3, day, 1, tzinfo=UTC)
    now = change - timedelta(days=5, hours=draw.between(0, 20), minutes=draw.between(0, 59))
    names = iter(f"{draw.pick('KMRST')}{number}" for number in draw.sample(range(100, 999), 40))
    story = Story({}, [], now, change, "")
    tree: dict[str, str] = {}

    def live(minutes: int) -> None:
        """Let time pass, with changes on the way."""
        nonlocal now
        for _ in range(events_per_gap):
            event = random_event(
                draw,
                tree,
                len(story.events) + 1,
                now + timedelta(minutes=draw.between(0, minutes - 1), seconds=draw.between(1, 59)),
            )
            story.events.append(event)
        story.events[-events_per_gap:] = sorted(
            story.events[-events_per_gap:], key=lambda event: (event.at, event.number)
        )
        for event in story.events[-events_per_gap:]:
            apply(tree, event.path, event.text)
        now += timedelta(minutes=minutes)

    def happen(path: str, text: str | None) -> None:
        """A change at this very instant, which a set taken now has in it."""
        story.events.append(Event(len(story.events) + 1, now, path, text))
        apply(tree, path, text)

    def save(parent: str, defect: str = "") -> str:
        name = next(names)
        ended = now + timedelta(minutes=draw.between(4, 30))
        story.sets[name] = Set(name, parent == "", parent, now, ended, dict(tree), defect)
        return name

    for number in range(14):
        apply(
            tree,
            f"{TOPS[number % len(TOPS)]}/{draw.pick(HOST_WORDS)}{number}.txt",
            f"first {draw.pick(LAST_NAMES)} {draw.between(10000, 99999)}\n",
        )
    live(60)
    past = [save("")]
    for number in range(early):
        live(draw.between(200, 5 * 24 * 60 // (early + 3)) if early < 9 else draw.between(200, 420))
        parent = "" if number in (early // 2,) else draw.pick(past[-3:])
        past.append(save(parent, draw.pick(("state", "content")) if number == early // 2 - 1 else ""))
    now = max(now, change - timedelta(hours=30))
    live(draw.between(300, 500))
    happen(f"brief/{draw.pick(HOST_WORDS)}.txt", "only for a while\n")
    one = save("")
    live(draw.between(90, 200))
    happen(story.events[-events_per_gap - 1].path, None)
    two = save(one)
    live(draw.between(90, 200))
    lost = save(two)
    live(draw.between(60, 120))
    now = max(now, change - timedelta(hours=2))
    good = save(two)
    live(draw.between(20, 45))
    save(good, "state")
    live(draw.between(20, 45))
    save(lost)
    live(draw.between(20, 45))
    damaged = save(good, draw.pick(("content", "absent")))
    live(draw.between(20, 45))
    save(damaged)
    live(draw.between(20, 45))
    story.moment = now
    story.sets[good].ended = now + timedelta(minutes=draw.between(3, 40))
    live(draw.between(6, 20))
    after = save(good)
    live(draw.between(60, 200))
    save(after, "content")
    save("")
    story.vanished = lost
    return story


def stamp(draw: Draw, at: datetime, story: Story, local: bool, minutes: int | None = None) -> str:
    """A time as written: UTC, some offset, or the site's local time without one."""
    if local and minutes is None and draw.chance(40):
        ahead = timedelta(hours=1 if at < story.change else 2)
        return (at + ahead).replace(tzinfo=None).isoformat()
    offset = draw.pick((0, 0, 60, 120, -300, 540)) if minutes is None else minutes
    return at.astimezone(timezone(timedelta(minutes=offset))).isoformat().replace("+00:00", "Z")


def sha(text: str) -> str:
    """Hex sha256."""
    return hashlib.sha256(text.encode()).hexdigest()


def chain_of(sets: Mapping[str, Set], name: str) -> list[str]:
    """From the full set to this one."""
    names: list[str] = []
    while name:
        names.insert(0, name)
        name = sets[name].parent
    return names


def answers(story: Story, days: int) -> tuple[str, list[str], list[str], list[str]]:
    """The set to use, its chain, the unusable sets and those that could go: the stated rules."""
    sets = story.sets
    bad = {name for name, one in sets.items() if one.defect or name == story.vanished}
    usable = [name for name in sets if not bad & set(chain_of(sets, name))]
    present = [name for name in sets if name != story.vanished]
    early = sorted((name for name in usable if sets[name].at <= story.moment), key=lambda name: sets[name].at)
    last = {sets[name].at.date(): name for name in early}
    kept = {name for date in sorted(last)[-days:] for name in chain_of(sets, last[date])}
    spare = sorted(name for name in present if sets[name].at <= story.moment and name not in kept)
    return early[-1], chain_of(sets, early[-1]), sorted(set(present) - set(usable)), spare
