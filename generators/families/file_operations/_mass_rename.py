"""The names of mass_rename: their old and new forms, folders as drawn, and the stated rules."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import date

from generators.family import Draw, Setting
from generators.vocabulary import CITIES, HOST_WORDS, LAST_NAMES


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    root: str
    folders: str
    old: int  # number of the old form
    new: int  # number of the new form
    endings: str
    side: str  # ending of companion files
    listing: str  # name of the listings within the folders
    given: str  # the file of given names
    log: str
    kind: str  # tsv or jsonl
    wording: int  # different for each world: which of three wordings each sentence has
    text: str


OLD = (
    r"(?P<word>{w})_(?P<d>\d\d)(?P<m>\d\d)(?P<y>\d{4})_(?P<n>\d+)\.(?P<e>[A-Za-z0-9]+)",
    r"(?P<n>\d+) (?P<word>{w}) (?P<d>\d\d)\.(?P<m>\d\d)\.(?P<y>\d{4})\.(?P<e>[A-Za-z0-9]+)",
    r"(?P<y>\d{4})(?P<m>\d\d)(?P<d>\d\d)-(?P<word>{w}) \((?P<n>\d+)\)\.(?P<e>[A-Za-z0-9]+)",
)
NEW = (
    r"(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)_(?P<word>{w})_(?P<n>\d{3,})\.(?P<e>[a-z0-9]+)",
    r"(?P<word>{w})-(?P<y>\d{4})(?P<m>\d\d)(?P<d>\d\d)-(?P<n>\d{3,})\.(?P<e>[a-z0-9]+)",
    r"(?P<n>\d{3,})_(?P<word>{w})_(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)\.(?P<e>[a-z0-9]+)",
)
WORD = r"[^\W\d_]+(?:[ -][^\W\d_]+)*"
OLD_READ = tuple(re.compile(form.replace("{w}", WORD)) for form in OLD)
NEW_READ = tuple(re.compile(form.replace("{w}", WORD)) for form in NEW)
OLD_MADE = ("{word}_{d:02}{m:02}{y}_{n}.{e}", "{n} {word} {d:02}.{m:02}.{y}.{e}", "{y}{m:02}{d:02}-{word} ({n}).{e}")
NEW_MADE = (
    "{y}-{m:02}-{d:02}_{word}_{n:03}.{e}",
    "{word}-{y}{m:02}{d:02}-{n:03}.{e}",
    "{n:03}_{word}_{y}-{m:02}-{d:02}.{e}",
)


@dataclass
class Folder:
    """The names of one folder with their contents, and which are given or companions."""

    path: str
    names: dict[str, str]
    given: dict[str, str]
    sides: dict[str, str]


def parsed(pattern: re.Pattern[str], name: str) -> dict[str, str] | None:
    """The parts of a name of a form, if its date exists."""
    found = pattern.fullmatch(name)
    if found is None:
        return None
    try:
        date(int(found["y"]), int(found["m"]), int(found["d"]))
    except ValueError:
        return None
    return found.groupdict()


def renamed(folder: Folder, world: World, step: int, deep: bool, hard: bool) -> dict[str, str]:
    """The stated rules for one folder."""

    def nfc(name: str) -> str:
        return unicodedata.normalize("NFC", name) if hard else name

    def key(name: str) -> str:
        return nfc(name).casefold() if deep else name

    final: dict[str, str] = {}
    wishes: dict[str, str] = {}
    for name in folder.names:
        if name in folder.sides:
            continue
        old, new = parsed(OLD_READ[world.old], nfc(name)), parsed(NEW_READ[world.new], nfc(name))
        if new is not None and new["word"] != new["word"].lower():
            new = None
        parts = old or new
        if name in folder.given:
            final[name] = folder.given[name]
        elif parts is None:
            final[name] = nfc(name)
        else:
            wishes[name] = NEW_MADE[world.new].format(
                word=parts["word"].lower().replace(" ", "-"),
                n=int(parts["n"]) + (0 if old else step),
                e=parts["e"].lower(),
                y=parts["y"],
                m=int(parts["m"]),
                d=int(parts["d"]),
            )
    taken = {key(name) for name in final.values()}
    for name in sorted(wishes, key=str.encode):
        stem, _, ending = wishes[name].rpartition(".")
        tries = (wishes[name], *(f"{stem}-{number}.{ending}" for number in range(2, 99)))
        final[name] = next(one for one in tries if key(one) not in taken)
        taken.add(key(final[name]))
    return final | {name: final[owner] + world.side for name, owner in folder.sides.items()}


def draw_folder(draw: Draw, world: World, path: str, size: int, step: int, deep: bool, hard: bool) -> Folder:
    """Names with every trap of the level."""
    folder = Folder(path, {}, {}, {})
    endings = world.endings.split()
    words = ["São Tomé", "Zürich", "Île", "Åre"] if hard else ["San Marino", "Lower Town", "Oak-Hill", "Kiel"]

    def add(name: str) -> str:
        if name not in folder.names:
            folder.names[name] = f"{draw.pick(LAST_NAMES)} {draw.between(10**8, 10**9)}\n"
        return name

    def parts(word: str = "", number: int = 0, ending: str = "") -> dict[str, str | int]:
        return {
            "word": word or draw.pick((*words, *CITIES[:12])),
            "d": draw.between(1, 28),
            "m": draw.between(1, 12),
            "y": draw.between(2009, 2023),
            "n": number or draw.between(1, 60),
            "e": ending or draw.pick(endings),
        }

    def old(values: dict[str, str | int]) -> str:
        return add(OLD_MADE[world.old].format(**values))

    def new(values: dict[str, str | int]) -> str:
        word, ending = str(values["word"]).lower().replace(" ", "-"), str(values["e"]).lower()
        return NEW_MADE[world.new].format(**{**values, "word": word, "e": ending})

    # Two old names for one new one, an untouched name in the way, and the first way out taken too.
    one = parts(draw.pick(words[:1]), 7)
    old(one)
    old({**one, "word": str(one["word"]).upper()})
    old({**one, "word": str(one["word"]).replace(" ", "-")})
    stem, _, ending = new(one).rpartition(".")
    add(f"{stem}-2.{ending}")
    # A chain: each name of a run is wanted by the one before it.
    run = parts(draw.pick(CITIES))
    for number in range(draw.between(4, 6)):
        add(new({**run, "n": 1 + number * step}))
    old({**run, "n": 1 + step})
    old({**parts(), "d": 31, "m": draw.pick((2, 4, 6, 11))})
    old({**parts(), "d": 29, "m": 2, "y": 2023})
    old({**parts(), "n": 1000 + draw.between(0, 99)})
    add(OLD_MADE[world.old].format(**{**parts(), "n": f"00{draw.between(1, 9)}"}))
    add(f"{draw.pick(HOST_WORDS)}.txt")
    add("README")
    if deep:
        two = parts(draw.pick(CITIES))
        old(two)
        folder.names.setdefault(
            new(two).upper(), f"capitals {draw.between(10**8, 10**9)}\n"
        )  # another name only by case
        ring = [add(f"{draw.pick(HOST_WORDS)}-{draw.between(100, 999)}.{draw.pick(endings)}") for _ in range(5)]
        folder.given |= dict(zip(ring[:3], [*ring[1:3], ring[0]], strict=True))
        folder.given |= {ring[3]: ring[4], ring[4]: ring[3], "README": "ReadMe"}
        first = old(parts(draw.pick(CITIES)))
        folder.given[first] = f"Given {draw.between(100, 999)}.{draw.pick(endings)}"
    if hard:
        three = parts(words[1])
        old(three)
        old({**three, "word": unicodedata.normalize("NFD", words[1])})
        old(parts(unicodedata.normalize("NFD", words[2])))
        add(unicodedata.normalize("NFD", f"Übersicht {draw.between(10, 99)}.txt"))
        add(unicodedata.normalize("NFD", new({**parts(words[3]), "n": 900})))
    while len(folder.names) < size:
        old(parts())
    if hard:
        for name in [name for number, name in enumerate(folder.names) if number % 5 == 0]:
            folder.sides[add(name + world.side)] = name
        add("stray.jpg" + world.side)
        lines = ["# as of spring", *draw.sample(list(folder.names), 12), "no such file.jpg"]
        folder.names[world.listing] = "\n".join(lines) + "\n"
    return folder
