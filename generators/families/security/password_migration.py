"""Upgrade the password hashes that known credentials verify, whatever old scheme they are in; every other line stays."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass

from generators.families.security._password_migration import (
    Account,
    Old,
    draw_password,
    field_text,
    known_list,
    role_index,
)
from generators.family import Draft, Draw, Family, Miss, Setting, load_settings, load_words, resource
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS, FIRST_NAMES, LAST_NAMES, login


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling. `fields` is the layout of an account; `keys` are the report's five lists."""

    folder: str
    accounts: str
    known: str
    report: str
    fields: tuple[str, ...]
    prefixes: tuple[str, str]  # new PBKDF2 and scrypt formats
    keys: tuple[str, str, str, str, str]  # upgraded, wrong, locked, current, unknown
    admins: str


SETTINGS = load_settings(__file__, World)
WORDS = load_words(__file__, "wordings.yaml")
VOICES = WORDS["voices"]
RULES: dict[str, list[str]] = WORDS["rules"]
SCRYPT = WORDS["scrypt"]
OUTPUT = WORDS["output"]
TESTS = resource(__file__, "tests.py")
INITIAL = resource(__file__, "initial.py")
SCHEMES = resource(__file__, "schemes.txt")
PEPPER = resource(__file__, "pepper.txt")
COMMON = resource(__file__, "solution.sh")
BY_HASHLIB = resource(__file__, "by_hashlib.py").rstrip("\n")
BY_OPENSSL = resource(__file__, "by_openssl.py").rstrip("\n")


def draw_accounts(draw: Draw, world: World, old: Old, iterations: int) -> list[Account]:
    """Accounts of every scheme and fate."""
    hard = draw.difficulty is Difficulty.HARD
    schemes = ["md5", "sha1", "ssha", "it256", "low", *(["hm"] if hard else [])]
    people = {
        login(f"{first} {last}"): None
        for first, last in zip(draw.shuffled(FIRST_NAMES), draw.shuffled(LAST_NAMES * 2), strict=False)
    }
    names = list(people)
    roles = ("user", "guest", "temp", world.admins)
    found: list[Account] = []
    fates = ["upgraded"] * (16 if hard else 10) + ["wrong"] * 4 + ["locked"] * 2 + ["silent"] * (10 if hard else 5)
    for number, fate in enumerate(fates):
        name, password = names[number], draw_password(draw, number)
        text = old.make(draw, schemes[number % len(schemes)], name, password)
        found.append(Account(name, roles[number % 4], "!" + text if fate == "locked" else text, fate, password))
    fake = [base64.b64encode(bytes(draw.rng.choices(range(256), k=size))).decode() for size in (16, 32)]
    start = len(fates)
    new = f"{old.prefix}{iterations + draw.between(0, 1) * 500}${fake[0]}${fake[1]}"
    found.append(Account(names[start], "user", new, "current", draw_password(draw, 0)))
    if hard:
        found.append(
            Account(names[start + 1], world.admins, f"{world.prefixes[1]}1024$8$1${fake[1]}${fake[0]}", "current", "x")
        )
    return draw.shuffled(found)


def draft(draw: Draw) -> Draft:
    """One migration."""
    world = draw.setting(SETTINGS)
    hard = draw.difficulty is Difficulty.HARD
    iterations = draw.between(12, 30) * 100
    peppers = {key: f"{draw.rng.getrandbits(128):032x}" for key in ("a1", "b2")}
    old = Old(draw.chance(50), draw.pick(("", "--", "|")), peppers, world.prefixes[0])
    accounts = draw_accounts(draw, world, old, iterations)
    strangers = sorted(
        {f"{draw.pick(FIRST_NAMES).lower()}{draw.between(10, 99)}" for _ in range(3)} | {accounts[0].name.upper()}
    )
    position = world.fields.index("hash")
    lines: list[bytes] = [b"# accounts, do not edit by hand  ", b""]
    plan: list[tuple[int, int, str, bool, str, str]] = []
    for account in accounts:
        row = [field_text(draw, field) for field in world.fields]
        row[0], row[position], row[role_index(world.fields)] = account.name, account.hash, account.role
        encoded = [text.encode("latin-1") for text in row]
        extra = draw.pick((b"", b"", b":", b":note \xff\xfe", b":  ", b":\r", b":x:\t"))
        tail = b"".join(b":" + text for text in encoded[position + 1 :]) + extra
        if account.fate == "upgraded":
            head = hashlib.sha256(b":".join(encoded[:position])).hexdigest()
            plan.append(
                (len(lines), position, account.password, hard and account.role == world.admins, head, tail.hex())
            )
        lines.append(b":".join(encoded[: position + 1]) + tail)
        if draw.chance(15):
            lines.append(draw.pick((b"", b"# checked\t", b"#" + account.name.encode() + b":old", b"# caf\xe9 \r")))
    if draw.chance(50):
        lines.append(b"")
    known = known_list(draw, accounts, strangers)
    schemes = SCHEMES.format(
        md5="the salt followed by the password" if old.salt_first else "the password followed by the salt",
        sha1=f"the salt, then {old.separator}, then the password"
        if old.separator
        else "the salt followed by the password",
        prefix=world.prefixes[0],
    ) + (PEPPER if hard else "")
    fates = ("upgraded", "wrong", "locked", "current", "unknown")
    listed = {fate: sorted(account.name for account in accounts if account.fate == fate) for fate in fates[:4]} | {
        "unknown": strangers
    }
    words = dict(zip(fates, world.keys, strict=True))
    words |= {
        "folder": world.folder,
        "accounts": world.accounts,
        "known": world.known,
        "report": world.report,
        "prefix": world.prefixes[0],
        "scrypt": world.prefixes[1],
        "iterations": str(iterations),
        "role": world.fields[role_index(world.fields)],
        "admin": world.admins,
    }
    blanks = words | {
        "position": str(position),
        "rolepos": str(role_index(world.fields)),
        "hard": "1" if hard else "",
        "salt_first": "1" if old.salt_first else "",
        "separator": old.separator,
    }
    words |= {"count": str(len(world.fields)), "layout": ", ".join(world.fields)}
    table = dict(RULES)
    if hard:
        table = {
            **{k: RULES[k] for k in ("file", "known", "verify", "locked", "target")},
            "scrypt": SCRYPT,
            "bytes": RULES["bytes"],
            "gone": RULES["gone"],
        }
    turns = (draw.serial, draw.serial // 3)
    rules = {name: options[turns[n % 2] % 3].format(**words) for n, (name, options) in enumerate(table.items())}
    output = OUTPUT[draw.serial // 2 % 3].format(**words)
    instruction = VOICES[draw.serial % 4].format(
        firm=draw.pick(FIRMS),
        scenario=world.scenario,
        persona=world.persona,
        output=output,
        rules=" ".join(rules.values()) if draw.serial % 2 else "\n".join(f"- {text}" for text in rules.values()),
        **{k: words[k] for k in ("folder", "accounts", "known")},
    )
    hashes, report, gone, kept = (
        "test_hashes_are_upgraded",
        "test_report",
        "test_list_is_gone",
        "test_everything_else_is_kept",
    )
    solution = COMMON.replace("@SPEC@", json.dumps(blanks)).replace("@NEW@", BY_HASHLIB)
    changed = {number for number, *_ in plan}
    context: dict[str, bytes | str] = {"accounts": b"\n".join(lines), "known": known, "schemes.txt": schemes}
    if hard:
        context["peppers.ini"] = "[peppers]\n" + "".join(f"{key} = {text}\n" for key, text in peppers.items())
    return Draft(
        title=f"Migrate the hashes of {world.scenario}",
        setting=world,
        instruction=instruction,
        files=context,
        dockerfile=f"COPY accounts {world.folder}/{world.accounts}\nCOPY known {world.folder}/{world.known}\n"
        f"COPY schemes.txt {'peppers.ini ' if hard else ''}{world.folder}/\n"
        f"RUN chmod 640 {world.folder}/{world.accounts} && chmod 600 {world.folder}/{world.known}\nWORKDIR "
        f"{world.folder}",
        truth={
            "folder": world.folder,
            "accounts": world.accounts,
            "known": world.known,
            "report": world.report,
            "prefixes": list(world.prefixes),
            "iterations": iterations,
            "plan": json.dumps(plan),
            "count": len(lines),
            "kept": [
                [number, hashlib.sha256(line).hexdigest()] for number, line in enumerate(lines) if number not in changed
            ],
            "schemes": hashlib.sha256(schemes.encode()).hexdigest(),
            "result": {words[fate]: names for fate, names in listed.items()},
        },
        discoverable=("folder", "accounts", "known", "report", "prefixes", "result"),
        tests=TESTS,
        weights={hashes: 0.6, report: 0.3, gone: 0.1},
        guards=[kept],
        initial=INITIAL,
        solution=solution,
        alternatives=[COMMON.replace("@SPEC@", json.dumps(blanks)).replace("@NEW@", BY_OPENSSL)],
        misses=[
            Miss(
                "believes_the_list",
                "upgrades without verifying",
                solution.replace("if fits(name, old, p)", "if True"),
                [report, kept],
            ),
            Miss(
                "one_salt", "uses one salt for all", solution.replace("os.urandom(16)", 'b"sixteen bytes ok"'), [hashes]
            ),
            Miss(
                "trims",
                "strips passwords",
                solution.replace('r["password"]', 'r["password"].strip()'),
                [hashes, report],
            ),
            Miss(
                "rewrites_lines",
                "normalises line ends and blanks",
                solution.replace('b"\\n".join(lines)', 'b"\\n".join(l.rstrip() for l in lines) + b"\\n"'),
                [kept],
            ),
            Miss("list_left", "leaves the passwords on the disk", solution.replace("os.remove(", "str("), [gone]),
            Miss(
                "last_row_wins",
                "keeps one password for a name",
                solution.replace("known.setdefault(name, []).append(p)", "known[name] = [p]"),
                [hashes, report],
            ),
        ],
        requirements=[
            *(
                (text, {"gone": [gone], "bytes": [kept], "locked": [report, kept]}.get(name, [hashes, report]))
                for name, text in rules.items()
            ),
            (output, [report]),
        ],
        knobs={"accounts": len(accounts), "schemes": 6 if hard else 5, "scrypt": hard, "iterations": iterations},
    )


FAMILY = Family(
    name="password_migration",
    domain="security",
    verifier=Verifier.EXACT_TEXT,
    skills=("password hashing", "key derivation", "byte-exact editing", "csv parsing", "json output"),
    difficulties=(Difficulty.MEDIUM, Difficulty.HARD),
    capacity=48,
    draft=draft,
    command_complexity="code",
)
