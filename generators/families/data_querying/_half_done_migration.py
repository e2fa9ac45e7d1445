"""Databases whose migration stopped half way: how one is drawn, and how the plan completes it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date

from generators.family import Draw, Setting
from generators.vocabulary import FIRST_NAMES, LAST_NAMES


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling: names of the two tables, of a row of each, and of the columns."""

    folder: str
    database: str
    people: str
    person: str
    moves: str
    balance: str
    cents: str
    day: str
    kind: str
    kinds: tuple[str, ...]
    text: str


NewPerson = list[str | int | None]  # given, family, email, phone, active
NewMove = tuple[int, str, int, str | None]  # person, day, cents, kind
Cell = str | int | None


@dataclass
class State:
    """A database at some point of the migration."""

    old_people: dict[int, tuple[str, str | None, str | None]] = field(
        default_factory=dict[int, tuple[str, str | None, str | None]]
    )
    old_moves: dict[int, tuple[int | None, str, str, str | None]] = field(
        default_factory=dict[int, tuple[int | None, str, str, str | None]]
    )
    people: dict[int, NewPerson] = field(default_factory=dict[int, NewPerson])
    moves: dict[int, NewMove] = field(default_factory=dict[int, NewMove])
    quarantine: dict[tuple[str, int], str] = field(default_factory=dict[tuple[str, int], str])
    aliases: dict[int, int] = field(default_factory=dict[int, int])
    deleted: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    trigger: bool = True


def new_person(row: tuple[str, str | None, str | None]) -> NewPerson | None:
    """A legacy person in the new form, if the name allows it."""
    words = row[0].split()
    email, _, phone = (row[1] or "").partition(";")
    if len(words) < 2:
        return None
    return [
        " ".join(words[:-1]),
        words[-1],
        email.strip().lower() or None,
        phone.strip() or None,
        int(row[2] in ("Y", "y")),
    ]


def new_move(row: tuple[int | None, str, str, str | None], state: State, person: str) -> NewMove | str:
    """A legacy move in the new form, or the reason why not; the people have to be complete."""
    owner, day, amount, kind = row
    try:
        parts = [int(part) for part in day.split(".")]
        iso = date(parts[2], parts[1], parts[0]).isoformat()
    except (ValueError, IndexError):
        return "bad_day"
    if not re.fullmatch(r"-?\d+,\d\d", amount.replace(".", "")):
        return "bad_amount"
    owner = state.aliases.get(owner, owner) if owner else owner
    if owner not in state.people:
        return f"no_{person}"
    return owner, iso, int(amount.replace(".", "").replace(",", "")), (kind or "").strip().lower() or None


def merge_people(state: State) -> None:
    """One row for each e-mail address."""
    first: dict[str, int] = {}
    for key in sorted(state.people):
        row = state.people[key]
        if not isinstance(row[2], str):
            continue
        stays = first.setdefault(row[2], key)
        if stays == key:
            continue
        target = state.people[stays]
        target[3] = target[3] or row[3]
        target[4] = max(int(target[4] or 0), int(row[4] or 0))
        del state.people[key]
        state.aliases = {old: stays if new == key else new for old, new in state.aliases.items()}
        state.aliases[key] = stays
        state.moves = {k: (stays, *v[1:]) if v[0] == key else v for k, v in state.moves.items()}


def finish(state: State, place: World, extreme: bool) -> dict[str, list[list[Cell]]]:
    """Completes the state by the plan and gives the rows of the new tables."""
    sources = (f"legacy_{place.people}", f"legacy_{place.moves}")
    for key, row in sorted(state.old_people.items()):
        if key in state.people or key in state.aliases or (sources[0], key) in state.deleted:
            continue
        made = new_person(row)
        if made is None:
            state.quarantine[sources[0], key] = "bad_name"
        else:
            state.people[key] = made
    if extreme:
        merge_people(state)
    for key, move in sorted(state.old_moves.items()):
        if key in state.moves or (sources[1], key) in state.deleted:
            continue
        result = new_move(move, state, place.person)
        if isinstance(result, str):
            state.quarantine[sources[1], key] = result
        else:
            state.quarantine.pop((sources[1], key), None)
            state.moves[key] = result
    sums = dict.fromkeys(state.people, 0)
    for owner, _, cents, _ in state.moves.values():
        sums[owner] += cents
    return {
        "people": [[key, *row, sums[key]] for key, row in sorted(state.people.items())],
        "moves": [[key, *row] for key, row in sorted(state.moves.items())],
        "quarantine": [[source, key, reason] for (source, key), reason in sorted(state.quarantine.items())],
        "aliases": [[old, new] for old, new in sorted(state.aliases.items())],
    }


def draw_state(draw: Draw, place: World, people: int, moves: int, extreme: bool) -> State:
    """A migration stopped somewhere; every trap of the plan is in it."""
    state = State(trigger=draw.chance(60))
    ids = sorted(draw.sample(range(10, 90 * people), people))
    for number, key in enumerate(ids):
        name = f"{draw.pick(FIRST_NAMES)} {draw.pick(LAST_NAMES)}"
        contact: str | None = (
            f"{name.split()[0]}.{key}@Mail.example; +{draw.between(30, 49)} {draw.between(1000, 9999)} "
        )
        active: str | None = draw.pick(("Y", "N", "y", "n"))
        match number:
            case 1:
                name = f" {name.split()[0]}  {draw.pick(FIRST_NAMES)} {name.split()[1]}"
            case 2 | 3:
                name = name.split()[number - 2]
            case 4:
                contact, active = None, None
            case 5:
                contact = f" X{key}@Mail.example"
            case 6:
                contact = f";{draw.between(1000, 9999)}"
            case _:
                pass
        state.old_people[key] = (name, contact, active)
    if extreme:
        share_addresses(draw, state, ids)
    move_ids = sorted(draw.sample(range(10, 40 * moves), moves))
    for number, key in enumerate(move_ids):
        owner: int | None = draw.pick(ids)
        day = f"{draw.between(1, 28):02d}.{draw.between(1, 12):02d}.{draw.between(2019, 2023)}"
        cents = draw.between(100, 300_000) * (-1 if draw.chance(20) else 1)
        amount = f"{'-' if cents < 0 else ''}{abs(cents) // 100:,}".replace(",", ".") + f",{abs(cents) % 100:02d}"
        kind: str | None = draw.pick([*place.kinds, place.kinds[0].upper(), f" {place.kinds[1].title()}", None, ""])
        match number:
            case 0:
                owner = 99_999
            case 1:
                owner = None
            case 2:
                day = "30.02.2021"
            case 3:
                amount = draw.pick(("12.50", "free", "7,5"))
            case 4:
                day, amount, owner = "soon", "", 99_998
            case 5:
                owner, amount = 99_997, "x"
            case 6:
                owner = ids[2]  # whose name is bad
            case 7 | 8:
                owner = 100_001  # a person only the application knows
            case _:
                pass
        state.old_moves[key] = (owner, day, amount, kind)
    advance(draw, state, place, ids, move_ids, extreme)
    return state


def share_addresses(draw: Draw, state: State, ids: list[int]) -> None:
    """Addresses that several people have; the first of a group lacks the phone."""
    for first, others in ((7, (8, 9)), (10, (11,)), (12, (13, 14))):
        for number in (first, *others):
            name, _, _ = state.old_people[ids[number]]
            spelled = draw.pick((f"Home{first}@mail.example", f"home{first}@Mail.Example"))
            state.old_people[ids[number]] = (
                name,
                f"{spelled};{'' if number == first else draw.between(1000, 9999)}",
                draw.pick("YN"),
            )


def advance(draw: Draw, state: State, place: World, ids: list[int], move_ids: list[int], extreme: bool) -> None:
    """What the first run and the application did: rows copied with gaps, edited, created, quarantined, deleted."""
    copied = [key for number, key in enumerate(ids) if number in (0, 4, 8, 9) or (number > 14 and draw.chance(55))]
    for number, key in enumerate(copied):
        made = new_person(state.old_people[key])
        if made is not None:
            state.people[key] = made
            if number == 1 or draw.chance(15):  # the application has edited it
                made[0], made[4] = draw.pick(FIRST_NAMES), 1 - int(made[4] or 0)
    for key in range(100_001, 100_004):
        state.people[key] = [draw.pick(FIRST_NAMES), draw.pick(LAST_NAMES), f"app{key}@mail.example", None, 1]
    if (
        extreme
    ):  # 9 was merged into 8 already, but 7 comes before both; and the application knows 10 under another number
        state.people.pop(ids[9], None)
        state.aliases[ids[9]] = ids[8]
        state.people[100_003][2] = "home10@mail.example"
        state.people.pop(ids[0], None)
        state.deleted.append((f"legacy_{place.people}", ids[0]))
    for number, key in enumerate(move_ids):
        if 9 <= number < 12 or (number > 12 and draw.chance(50)):
            result = new_move(state.old_moves[key], state, place.person)
            if not isinstance(result, str):
                state.moves[key] = (result[0], result[1], result[2] + 5, result[3]) if draw.chance(20) else result
        elif number in (0, 2):
            state.quarantine[f"legacy_{place.moves}", key] = f"no_{place.person}" if number == 0 else "bad_day"
    for key in range(500_001, 500_005):
        state.moves[key] = (
            draw.pick(sorted(state.people)),
            "2024-03-01",
            draw.between(100, 90_000),
            draw.pick(place.kinds),
        )
    if extreme:
        state.quarantine[f"legacy_{place.moves}", move_ids[7]] = f"no_{place.person}"  # the person exists by now
        state.moves.pop(move_ids[12], None)
        state.deleted.append((f"legacy_{place.moves}", move_ids[12]))
