"""Merge users and groups of two hosts: person or namesake, id collisions, reserved ranges, locks, file ownership."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from generators.families.system_administration._account_migration import NOBODY, Group, Host, Terms, User, merge
from generators.family import Draft, Draw, Family, Miss, Setting, load_settings, load_words, resource
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRST_NAMES, LAST_NAMES


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    folder: str
    stays: str  # the host that keeps its ids
    leaves: str  # the host that is folded into it
    out: str  # folder of the result
    table: str  # ownership table
    ranges: str  # file of reserved ranges
    suffix: str  # put behind a renamed account
    archive: str  # account that inherits
    groups: tuple[str, str, str, str]
    wording: int
    bullet: str  # how each rule is listed
    text: str


SETTINGS = load_settings(__file__, World)
RULES: Mapping[str, tuple[str, str, str]] = load_words(__file__, "wordings.yaml")
TESTS = resource(__file__, "tests.py")
INITIAL = resource(__file__, "initial.py")
SOLUTION = resource(__file__, "solution.sh")
ALTERNATIVE = resource(__file__, "alternative.sh")


def draw_hosts(draw: Draw, world: World, terms: Terms, people: int) -> tuple[Host, Host]:
    """Two hosts in which every rule has something to decide."""
    first, last = draw.shuffled(FIRST_NAMES), draw.shuffled(LAST_NAMES)
    persons = [f"{first[n % len(first)]} {last[(n * 7 + n // 26) % len(last)]}" for n in range(people * 2 + 20)]
    logins: list[str] = []
    for person in persons:
        base = (person[0] + person.split()[1]).lower()
        logins.append(base if base not in logins else f"{base}{len(logins)}")

    def secret(kind: str = "") -> str:
        return kind + "$6$" + "".join(draw.pick("abcdefghkmnpqrstuvwxyz23456789") for _ in range(16))

    def user(number: int, uid: int, gid: int, lock: str = "", expires: str = "", real: str = "") -> User:
        name = logins[number]
        full = (real or persons[number]) + draw.pick(("", ",,,", f",Room {draw.between(1, 40)},,"))
        return User(name, uid, gid, full, f"/home/{name}", draw.pick(("/bin/bash", "/bin/sh")), secret(lock), expires)

    system = (("root", 0), ("daemon", 1), ("www-data", 33), ("backup", 34))
    common = [User(name, uid, uid, name, f"/var/{name}", "/usr/sbin/nologin", "*") for name, uid in system]
    vault = User(world.archive, 901, 901, world.archive, "/var/keep", "/usr/sbin/nologin", "*")
    start, half = terms.start, people // 2
    mine = [user(n, 1001 + n, 1001 + n) for n in range(people)]
    mine.append(user(people, start, start))  # the first free number is already taken here
    mine[2] = replace(mine[2], secret=secret("!!"))
    theirs: list[User] = []
    for number in range(half):  # logins that exist on both hosts: persons, namesakes
        kind = number % 3
        real = persons[number].upper() if kind == 1 else persons[number + people + 3] if kind == 2 else ""
        lock = draw.pick(("", "!", "!!")) if number > 3 else ("!", "", "!!", "")[number]
        uid = 1001 + half - 1 - number if number % 2 else 1201 + number  # chains: its number means another person here
        theirs.append(user(number, uid, uid, lock, "18000" if number % 4 == 0 else "", real))
    for number in range(people + 1, people + 1 + half):  # logins that only the other host has
        kind = number - people - 1
        uid = (
            (start + 1, terms.ranges[0][0] + 1, 1001 + half + 1, 1500)[kind]
            if kind < 4
            else draw.pick((1001, 1301, 3001)) + 40 + kind
        )
        taken = {u.uid for u in theirs}
        uid = uid if uid not in taken else 4000 + kind
        expires = ("", "", "", "", "18500", str(terms.expiry))[kind % 6]
        theirs.append(user(number, uid, uid, draw.pick(("", "", "!", "*")) if kind > 1 else ("*", "!")[kind], expires))
    theirs = draw.shuffled(theirs)
    a, b, c, d = world.groups
    folk, folk2 = [u.name for u in mine], [u.name for u in theirs]
    group_a = [Group(n, g, ()) for n, g in system] + [Group("sudo", 27, (folk[0],)), Group(world.archive, 901, ())]
    group_a += [Group(u.name, u.gid, ()) for u in mine]
    group_a += [Group(a, 1900, tuple(folk[:4])), Group(b, 1901, tuple(folk[3:6])), Group(c, 1902, (folk[1],))]
    spread = draw.sample(folk2, min(len(folk2), 7))
    group_b = [Group(n, g, ()) for n, g in system] + [
        Group("sudo", 27, (spread[0],)),
        Group("scanner", 118, (spread[1],)),
    ]
    group_b += [Group(u.name, u.gid, ()) for u in theirs]
    shared = tuple(dict.fromkeys([*folk[:3], *spread[:4], theirs[0].name]))  # logins of both hosts, then others
    group_b += [
        Group(a, 1902, tuple(m for m in shared if m in folk2)),
        Group(b, 1910, tuple(spread[3:])),
        Group(d, 1901, tuple(spread[:5])),
    ]
    theirs[1] = replace(theirs[1], gid=1901)
    games = User("games", 5, 118, "games", "/usr/games", "/usr/sbin/nologin", "*")
    return Host([*common, vault, *mine], group_a), Host(
        [*common, games, *theirs], [group_b[0], *draw.shuffled(group_b[1:])]
    )


def draw_table(draw: Draw, host: Host, count: int) -> list[tuple[str, int, int]]:
    """Files of the other host: everybody owns something, and some numbers belong to nobody."""
    owners = [(user.uid, user.gid) for user in host.users] + [(0, group.gid) for group in host.groups]
    owners += [(1777, 1777), (host.users[-1].uid, 1888)]
    owners += [(draw.pick(host.users).uid, draw.pick(host.groups).gid) for _ in range(count)]
    words = ("report", "plan", "draft", "scan", "minutes", "list", "photo", "mix")
    return [(f"/data/{draw.pick(words)}/{n:03d}.dat", u, g) for n, (u, g) in enumerate(draw.shuffled(owners))]


def exported(host: Host) -> dict[str, list[str]]:
    """The three files as lines."""
    return {
        "passwd": [user.passwd() for user in host.users],
        "group": [group.line() for group in host.groups],
        "shadow": [user.shadow() for user in host.users],
    }


def joined(lines: Iterable[str]) -> str:
    """A text file."""
    return "".join(f"{line}\n" for line in lines)


def draft(draw: Draw) -> Draft:
    """One merge."""
    world = draw.setting(SETTINGS)
    hard = draw.difficulty is Difficulty.HARD
    people, start = draw.by_difficulty(medium=12, hard=30), draw.pick((2000, 2100, 2500, 3000))
    ranges = [(1495, 1520), (start + 2, start + draw.between(3, 6)), (start + 9, start + 9)]
    separate = [world.groups[1]] if hard else []
    terms = Terms(world.suffix, start, ranges, draw.between(19700, 19800) if hard else 0, world.archive, separate)
    stays, leaves = draw_hosts(draw, world, terms, people)
    merged, uids, gids = merge(stays, leaves, terms)
    table = draw_table(draw, leaves, draw.by_difficulty(medium=20, hard=60))
    files = {
        f"{name}/{key}": joined(value)
        for name, host in ((world.stays, stays), (world.leaves, leaves))
        for key, value in exported(host).items()
    }
    files[world.table] = joined(f"{path}\t{uid}\t{gid}" for path, uid, gid in table)
    files[world.ranges] = "# no new ids here\n" + joined(
        f"{low}-{high}" if low < high else str(low) for low, high in ranges
    )
    if hard:
        files["separate.txt"] = joined(separate)
    words = {
        "stays": world.stays,
        "leaves": world.leaves,
        "folder": world.folder,
        "table": world.table,
        "out": world.out,
    }
    rules = {
        key: texts[world.wording].format(
            ranges=world.ranges, suffix=world.suffix, start=start, expiry=terms.expiry, archive=world.archive, **words
        )
        for key, texts in RULES.items()
        if hard or key not in ("expired", "separate")
    }
    keep = rules.pop("keep")
    rules_text = "".join(world.bullet.format(rule=rule) for rule in rules.values())
    fill = {
        "@F@": world.folder,
        "@A@": world.stays,
        "@B@": world.leaves,
        "@O@": world.out,
        "@T@": world.table,
        "@R@": world.ranges,
        "@X@": world.suffix,
        "@S@": str(start),
        "@E@": str(terms.expiry),
        "@V@": world.archive,
    }
    goals = ["test_passwd", "test_group", "test_shadow", "test_ownership"]
    checked = {
        "system": goals[3:],
        "groups": goals[1:],
        "sysgroups": goals[1:],
        "locked": [goals[0], goals[2]],
        "table": goals[3:],
        "separate": goals[1:],
    }
    truth = {
        "folder": world.folder,
        "out": world.out,
        "table": world.table,
        **exported(merged),
        "owners": [f"{path}\t{uids.get(uid, NOBODY)}\t{gids.get(gid, NOBODY)}" for path, uid, gid in table],
        "sources": {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()},
    }
    return Draft(
        title=f"Merge accounts: {world.scenario}",
        setting=world,
        instruction=world.text.format(number=draw.between(100, 999), rules=rules_text, keep=keep, **words),
        files=files,
        dockerfile=f"COPY {' '.join(sorted({name.split('/')[0] for name in files if '/' not in name}))} "
        f"{world.folder}/\n"
        f"COPY {world.stays} {world.folder}/{world.stays}/\nCOPY {world.leaves} "
        f"{world.folder}/{world.leaves}/\nWORKDIR {world.folder}",
        truth=truth,
        discoverable=("folder", "out", "table", "passwd", "group", "shadow", "owners", "sources"),
        tests=TESTS,
        weights={"test_passwd": 0.3, "test_group": 0.25, "test_shadow": 0.2, "test_ownership": 0.25},
        guards=["test_sources_untouched"],
        initial=INITIAL,
        solution=filled(SOLUTION, fill),
        alternatives=[filled(ALTERNATIVE, fill)],
        misses=[
            Miss(name, why, filled(SOLUTION, {old: new, **fill}), caught)
            for name, why, old, new, caught in (
                ("name_is_person", "merges namesakes", "real(user_a[name]) == real(r)", "True", goals),
                ("case_matters", "compares real names exactly", "[0].lower()", "[0]", goals[:1]),
                (
                    "free_here_only",
                    "gives out numbers that the other host uses",
                    "set(a) | set(b)",
                    "set(a)",
                    [goals[0], goals[3]],
                ),
                (
                    "ranges_ignored",
                    "hands out reserved numbers",
                    "any(l <= n <= h for l, h in ranges)",
                    "False",
                    [goals[0]],
                ),
                (
                    "locks_lost",
                    "forgets who was locked",
                    'lock = entry[1][:1] in ("!", "*")',
                    "lock = False",
                    [goals[0], goals[2]],
                ),
                ("double_lock", "puts another ! in front", '.lstrip("!")', "", goals[2:3]),
                ("old_member_names", "lists members under old names", "final.get(m)", "m", goals[1:2]),
            )
        ],
        requirements=[
            *((text, checked.get(key, goals)) for key, text in rules.items()),
            (keep, ["test_sources_untouched"]),
        ],
        knobs={"people": people, "files": len(table), "ranges": len(ranges), "expired": hard, "separate": hard},
    )


def filled(script: str, values: Mapping[str, str]) -> str:
    """The script with each marker replaced."""
    for marker, value in values.items():
        script = script.replace(marker, value)
    return script


FAMILY = Family(
    name="account_migration",
    domain="system_administration",
    verifier=Verifier.EXACT_TEXT,
    skills=("user management", "id mapping", "merging records", "colon-separated files"),
    difficulties=(Difficulty.MEDIUM, Difficulty.HARD),
    capacity=32,
    draft=draft,
    command_complexity="code",
)
