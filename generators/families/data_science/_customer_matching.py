"""People in two registers: households, look-alikes, and how the second register spells them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from generators.family import Draw, load_words
from generators.vocabulary import CITIES

NAMES = load_words(str(Path(__file__).with_name("customer_matching.py")), "names.yaml")
# By origin: Latin form, own script or "", and for first names the short form.
FIRST: tuple[list[list[str]], ...] = tuple(NAMES["first"].values())
LAST: tuple[list[list[str]], ...] = tuple(NAMES["last"].values())


@dataclass(frozen=True)
class Person:
    """One human being. `first` and `last` point into the tables of `origin`."""

    origin: int
    first: int
    last: int
    born: tuple[int, int, int]
    home: tuple[str, int, str]  # street, zip, city
    phone: str
    email: str


def draw_person(draw: Draw, number: int) -> Person:
    """A person of a new household. Every third is of Cyrillic or Greek origin."""
    origin = (0, 1, 0, 0, 2, 1)[number % 6]
    phone = f"{draw.between(20, 79)}{draw.between(100000, 999999)}"
    return Person(
        origin,
        draw.rng.randrange(len(FIRST[origin])),
        draw.rng.randrange(len(LAST[origin])),
        (draw.between(1941, 1979), draw.between(1, 12), draw.between(1, 28)),
        (f"{draw.pick(NAMES['streets'])} {draw.between(1, 190)}", draw.between(10000, 99999), draw.pick(CITIES)),
        phone,
        f"{draw.pick('abcdefghjkmnprst')}{draw.pick('aeiou')}{draw.between(100, 9999)}@mail.example",
    )


def relative(draw: Draw, person: Person, kind: str) -> Person:
    """Somebody else who is easily taken for the person."""
    other = (person.first + draw.between(1, len(FIRST[person.origin]) - 1)) % len(FIRST[person.origin])
    year, month, day = person.born
    later = (year + draw.between(22, 28), (month + draw.between(1, 10)) % 12 + 1, (day + draw.between(3, 20)) % 28 + 1)
    if kind == "child":  # same name, same home
        return replace(person, born=later)
    if kind == "twin":
        return replace(person, first=other)
    if kind == "partner":
        return replace(person, first=other, born=(year + 1, later[1], later[2]))
    stranger = draw_person(draw, 0)  # a namesake
    return replace(stranger, origin=person.origin, first=person.first, last=person.last)


def misspelt(draw: Draw, name: str) -> str:
    """One typing error inside a name of at least five letters."""
    place = draw.between(1, len(name) - 3)
    kind = draw.between(0, 2)
    if kind == 0:
        return name[:place] + name[place + 1 :]
    if kind == 1:
        return name[:place] + name[place] + name[place:]
    return name[:place] + draw.pick("aeinrst") + name[place + 1 :]


def right_line(draw: Draw, person: Person, faults: set[str]) -> str:
    """The person as the second register has it, without the id."""
    first, own_first, short = FIRST[person.origin][person.first]
    last, own_last = LAST[person.origin][person.last]
    year, month, day = person.born
    if "script" in faults:
        first, last = own_first, own_last
    elif "short" in faults:
        first = short
    if "typo" in faults:
        last = misspelt(draw, last)
    if "married" in faults:
        last = LAST[0][(person.last + draw.between(3, 9)) % len(LAST[0])][0]
    birth = f"{day:02d}.{month:02d}.{year}"
    if "swap" in faults and day <= 12:
        birth = f"{month:02d}.{day:02d}.{year}"
    elif "digit" in faults:
        birth = birth[:9] + str((int(birth[9]) + draw.between(1, 9)) % 10)
    elif "undated" in faults:
        birth = ""
    street, code, city = person.home
    if "moved" in faults:
        street, code = f"{draw.pick(NAMES['streets'])} {draw.between(200, 300)}", draw.between(10000, 99999)
    phone = person.phone
    contact = draw.pick((f"+46 {phone[:2]} {phone[2:5]} {phone[5:]}", f"0{phone[:2]}-{phone[2:]}", f"0046{phone}"))
    if "email" in faults:
        contact = person.email.upper() if draw.chance(30) else person.email
    if "number" in faults:
        contact = f"0{draw.between(20, 79)}-{draw.between(100000, 999999)}"
    order = draw.between(0, 2)
    name = (f"{first} {last}", f"{last} {first}", f"{last.upper()}, {first}")[order]
    return f'"{name}",{birth},"{street}, {code} {city}",{contact}'


def draw_faults(draw: Draw, person: Person, number: int, many: bool) -> set[str]:
    """What went wrong for one line; the number makes sure that everything occurs."""
    choices = [
        {"script"},
        {"short"},
        {"typo", "number"},
        {"swap", "moved"},
        {"digit", "email"},
        {"married"},
        {"undated"},
    ]
    faults = set(choices[number % 7])
    if person.origin and number % 2:
        faults |= {"script"}
    if many:
        faults |= draw.pick((set[str](), {"moved"}, {"email"}, {"typo"}, {"short"}, {"swap"}))
    if person.origin == 0:
        faults.discard("script")
    elif "script" in faults:
        faults -= {"typo", "short"}
    if "married" in faults:  # what is left must identify
        faults -= {"digit", "number", "undated", "script", "short", "typo"}
    if "undated" in faults:
        faults -= {"number", "moved"}
    return faults
