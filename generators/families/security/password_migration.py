"""Upgrade the password hashes that known credentials verify, whatever old scheme they are in; every other line stays."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from dataclasses import dataclass

from generators.family import Draft, Draw, Family, Miss, Setting
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS, FIRST_NAMES, LAST_NAMES, login

TEXT = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"


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


SETTINGS = (
    World("forum", "community engineer", "forum accounts", "ticket", "/srv/forum/auth", "users.db", "logins.csv",
          "migration.json",
          ("name", "hash", "role", "mail"), ("pbkdf2_sha256$", "scrypt$"), ("upgraded", "wrong", "locked", "current",
          "unknown"), "admin"),
    World("imap", "mail administrator", "mailbox passwords", "email", "/var/mailauth", "passwd.txt", "seen.csv",
          "outcome.json",
          ("box", "quota", "hash", "class"), ("{PBKDF2}", "{SCRYPT}"), ("moved", "mismatch", "disabled", "fine",
          "no_such_box"), "root"),
    World("clinic", "clinic IT", "clinic staff logins", "note", "/opt/clinic/db", "staff.lst", "entered.csv",
          "result.json",
          ("login", "ward", "hash", "grade"), ("$p256$", "$scr$"), ("done", "bad", "blocked", "already",
          "stray"), "chief"),
    World("shopback", "shop platform team", "shop back office", "specification", "/data/backoffice", "operators",
          "captured.csv", "upgrade.json",
          ("operator", "hash", "shop", "level"), ("P2$", "SC$"), ("converted", "refused", "suspended", "up_to_date",
          "not_found"), "owner"),
    World("library", "library IT", "reader accounts", "chat", "/home/lib/readers", "readers.dat", "typed.csv",
          "readers.json",
          ("card", "hash", "kind", "branch"), ("pbkdf2-sha256$", "scrypt-1$"), ("new", "not_matching", "barred",
          "kept", "missing"), "staff"),
    World("plant", "plant IT", "plant operator logins", "runbook", "/srv/plant/hmi", "operators.tab", "panel.csv",
          "panel.json",
          ("op", "shift", "hash", "rights"), ("#2#", "#s#"), ("replaced", "failed", "frozen", "compliant", "nobody"),
          "super"),
    World("uni", "campus identity team", "campus accounts", "email", "/work/idm", "legacy.accounts", "proxied.csv",
          "idm.json",
          ("account", "faculty", "hash", "affiliation"), ("sha256-kdf$", "scrypt-kdf$"), ("ok", "nok", "off", "same",
          "none"), "dean"),
    World("casino", "gaming platform team", "dealer accounts", "ticket", "/opt/dealers", "dealers.cfg",
          "dealers.csv", "dealers.json",
          ("dealer", "hash", "table", "tier"), ("k1$", "k2$"), ("migrated", "denied", "held", "skipped", "ghosts"),
          "pit"),
)  # fmt: skip
VOICES = (
    "{firm}: {scenario} still use old hashes. {folder}/{accounts} is the account file, {folder}/schemes.txt explains "
    "the old formats, and {folder}/{known} has name and "
    "password of people who logged in lately. Upgrade what can be upgraded.\n\n{rules}\n\n{output}\n",
    "Dear colleague,\n\nwe are leaving the old hashes behind ({scenario}, {firm}). The login proxy recorded "
    "{folder}/{known}; what the hashes in {folder}/{accounts} "
    "mean is in {folder}/schemes.txt.\n\n{output}\n\n{rules}\n\n{persona}\n",
    "upgrade hashes in {folder}/{accounts} ({scenario}); old formats: {folder}/schemes.txt; credentials: "
    "{folder}/{known}\n{rules}\n{output}\n",
    "Hash migration, {scenario} of {firm}\nInput: {folder}/{known} (credentials), {folder}/schemes.txt (old "
    "formats)\nObject: {folder}/{accounts}\n{output}\n{rules}\n",
)
RULES = {
    "file": (
        "An account is a line of {count} fields separated by colons, {layout}, the first being its name, possibly "
        "followed by more fields; "
        "lines that start with # and empty ones are none.",
        "Each account line has the colon-separated fields {layout} (at least these {count}, and the first is the "
        "account's name); comment lines start "
        "with # and there are empty lines.",
        "Account lines consist of {layout}, colon-separated, {count} fields or more; accounts are named by the "
        "first. Skip # lines and empty lines.",
    ),
    "known": (
        "{known} is CSV with a header (name, password), quoted where needed, UTF-8; blanks are part of "
        "passwords, and a name may come several times with different passwords, "
        "one of which suffices.",
        "In {known}, a UTF-8 CSV file with the columns name and password, blanks at either end of a password belong "
        "to it. A name may have several rows; the account "
        "verifies if any of them fits.",
        "{known} (CSV, UTF-8, columns name and password) may list several passwords for a name, of which any may be "
        "the right one; nothing is to be trimmed from a password.",
    ),
    "verify": (
        "Upgrade exactly the accounts for which a listed password verifies against the present hash.",
        "Only where the present hash confirms a listed password, the hash is replaced.",
        "An account's hash is replaced if and only if a listed password fits it.",
    ),
    "locked": (
        "A hash that starts with ! is locked and stays, whatever the list says, and so does one that is already in "
        "the new format with the iterations required below or more.",
        "Leave locked accounts (hash beginning with !) alone, likewise hashes of the new format that have at least "
        "the iterations required below.",
        "Neither touch hashes that begin with !, they are locked, nor those in the new format that have no fewer "
        "iterations than required below.",
    ),
    "target": (
        "New hashes read {prefix}ITERATIONS$SALT$KEY: PBKDF2 with HMAC-SHA-256, {iterations} iterations, a random "
        "salt of at least 16 bytes for each account, a key of 32 bytes; salt and "
        "key in standard base64 with padding, the password in UTF-8.",
        "The new format is {prefix}ITERATIONS$SALT$KEY, made by PBKDF2-HMAC-SHA-256 from the UTF-8 password with "
        "{iterations} iterations and an own random salt (16 bytes or more) into 32 bytes. "
        "SALT and KEY are padded standard base64 of the bytes.",
        "Write {prefix}ITERATIONS$SALT$KEY with {iterations} as ITERATIONS and, in ordinary padded base64, a fresh "
        "random SALT of 16 or more bytes, never used twice, and the 32-byte KEY that PBKDF2 with HMAC-SHA-256 gives "
        "for "
        "the UTF-8 password.",
    ),
    "bytes": (
        "All other lines and all other fields stay byte for byte, including odd bytes, blanks and line ends, and so "
        "does the file's mode.",
        "Apart from these hashes {accounts} keeps every byte (encodings, blanks, line ends, end of file) and its "
        "permissions.",
        "Nothing else in {accounts} changes by a single byte, be it other lines, fields, line ends or the missing or "
        "present last one; its mode stays too.",
    ),
    "gone": (
        "Delete {known} when you are done, passwords must not lie about.",
        "When all is done {known} must be deleted.",
        "Finally remove {known}; nobody should keep plain passwords.",
    ),
}  # fmt: skip
SCRYPT = (
    "Accounts whose {role} is {admin} get {scrypt}N$R$P$SALT$KEY instead: scrypt with N=1024, r=8, p=1, and salt and "
    "key as above; theirs is current only if it is in that form.",
    "For the {role} {admin} the form is {scrypt}N$R$P$SALT$KEY, i.e. scrypt (N=1024, r=8, p=1) with the same demands "
    "on salt and key, and only hashes in that form count as new there.",
    "Where {role} is {admin}, use scrypt with N=1024, r=8 and p=1, written as {scrypt}N$R$P$SALT$KEY (salt and key "
    "as before); there, hashes not in this form are old.",
)
OUTPUT = (
    "Report to {folder}/{report}: a JSON object of five ascending lists of the names in {known}, each name once: "
    "{upgraded} (hash replaced), {wrong} (no password fits), {locked} (locked), "
    "{current} (already new), {unknown} (no such account).",
    "Write {folder}/{report}, JSON, with the lists {unknown} (names without account), {locked} (locked accounts), "
    "{current} (those that were new already), {upgraded} (replaced) and {wrong} (nothing "
    "fits). Every name of {known} is in exactly one; sort them.",
    "{folder}/{report} is a JSON object; every name that {known} contains goes into one of its sorted lists "
    "{upgraded}, {wrong}, {locked}, {current} and {unknown}: replaced, no fitting password, locked, new before, no "
    "account.",
)  # fmt: skip

TESTS = """
import base64
import hashlib
from pathlib import Path

FOLDER = Path(TRUTH["folder"])
PLAN = json.loads(TRUTH["plan"])


def lines():
    return (FOLDER / TRUTH["accounts"]).read_bytes().split(b"\\n")


def test_hashes_are_upgraded():
    got, salts = lines(), set()
    for number, position, password, scrypt, head, tail in PLAN:
        left, right = b":".join(got[number].split(b":")[:position]), bytes.fromhex(tail)
        assert hashlib.sha256(left).hexdigest() == head, number
        rest = got[number][len(left) + 1 :]
        assert rest.endswith(right), number
        text = rest[: len(rest) - len(right)].decode()
        prefix = TRUTH["prefixes"][1 if scrypt else 0]
        assert text.startswith(prefix), number
        *cost, salt, key = text[len(prefix) :].split("$")
        raw = base64.b64decode(salt, validate=True)
        assert len(raw) >= 16 and raw not in salts, "salt"
        salts.add(raw)
        if scrypt:
            assert cost == ["1024", "8", "1"]
            wanted = hashlib.scrypt(password.encode(), salt=raw, n=1024, r=8, p=1, dklen=32)
        else:
            assert cost == [str(TRUTH["iterations"])]
            wanted = hashlib.pbkdf2_hmac("sha256", password.encode(), raw, TRUTH["iterations"], 32)
        assert base64.b64decode(key, validate=True) == wanted, number


def test_report():
    assert json.loads((FOLDER / TRUTH["report"]).read_text()) == TRUTH["result"]


def test_list_is_gone():
    assert not (FOLDER / TRUTH["known"]).exists()
    assert (FOLDER / TRUTH["report"]).is_file()


def test_everything_else_is_kept():
    path = FOLDER / TRUTH["accounts"]
    got = lines()
    assert len(got) == TRUTH["count"]
    for number, digest in TRUTH["kept"]:
        assert hashlib.sha256(got[number]).hexdigest() == digest, number
    assert path.stat().st_mode & 0o7777 == 0o640
    assert hashlib.sha256((FOLDER / "schemes.txt").read_bytes()).hexdigest() == TRUTH["schemes"]
"""
INITIAL = """
from pathlib import Path


def test_inputs_are_there():
    folder = Path(TRUTH["folder"])
    assert (folder / TRUTH["accounts"]).is_file() and (folder / TRUTH["known"]).is_file()
    assert not (folder / TRUTH["report"]).exists()
"""
SCHEMES = """Hash formats found in this file
===============================
In all of them the password is its UTF-8 bytes, SALT is the text as it stands, and hex digits may be of either case.

md5$SALT$HEX          MD5 of {md5}
sha1$SALT$HEX         SHA-1 of {sha1}
{{SSHA}}BASE64          base64 of SHA-1 of the password followed by salt bytes, and then those salt bytes (any number)
it256$N$SALT$HEX      start with SHA-256 of the salt followed by the password; then N times SHA-256 of the
                      32 bytes so far followed by the password
{prefix}...           the new format, perhaps with too few iterations
{pepper}"""
PEPPER = """hm$ID$HEX             HMAC-SHA-256 with the bytes of the pepper ID (peppers.ini, hex) as key, over name, ':' and password
"""


@dataclass(frozen=True)
class Old:
    """How this installation made its old hashes."""

    salt_first: bool
    separator: str
    peppers: dict[str, str]
    prefix: str

    def make(self, draw: Draw, scheme: str, name: str, password: str) -> str:
        """A hash in an old scheme."""
        data, salt = password.encode(), "".join(draw.rng.choices(TEXT, k=draw.between(4, 10)))
        if scheme == "md5":
            text = hashlib.md5(salt.encode() + data if self.salt_first else data + salt.encode()).hexdigest()
            return f"md5${salt}${text}"
        if scheme == "sha1":
            text = hashlib.sha1(salt.encode() + self.separator.encode() + data).hexdigest()
            return f"sha1${salt}${text.upper() if draw.chance(30) else text}"
        if scheme == "ssha":
            raw = salt.encode() + bytes([draw.between(128, 255)])
            return "{SSHA}" + base64.b64encode(hashlib.sha1(data + raw).digest() + raw).decode()
        if scheme == "it256":
            rounds, state = draw.between(5, 60), hashlib.sha256(salt.encode() + data).digest()
            for _ in range(rounds):
                state = hashlib.sha256(state + data).digest()
            return f"it256${rounds}${salt}${state.hex()}"
        if scheme == "hm":
            key = draw.pick(sorted(self.peppers))
            return f"hm${key}${hmac.new(bytes.fromhex(self.peppers[key]), f'{name}:{password}'.encode(), 'sha256').hexdigest()}"
        rounds = draw.between(20, 90)
        key = hashlib.pbkdf2_hmac("sha256", data, salt.encode(), rounds, 32)
        return f"{self.prefix}{rounds}${base64.b64encode(salt.encode()).decode()}${base64.b64encode(key).decode()}"


def draw_password(draw: Draw, number: int) -> str:
    """A password; every odd sort occurs."""
    core = "".join(draw.rng.choices(TEXT, k=draw.between(6, 10)))
    return (
        core,
        core + " ",
        f"{core[:3]}:{core[3:]}",
        f'{core[:2]}"{core[2:]}',
        f"{core},{core[:2]}",
        f"{core}\u00e9\u4e2d",
        " " + core,
        f"${core}$",
    )[number % 8]


@dataclass
class Account:
    """A line to be: fields in the world's order but the hash, and what shall happen to it."""

    name: str
    role: str
    hash: str
    fate: str  # upgraded, wrong, locked, current, silent
    password: str


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


def known_list(draw: Draw, accounts: list[Account], strangers: list[str]) -> str:
    """The CSV of credentials: right ones, near ones, several for a name."""
    rows: list[tuple[str, str]] = [(name, draw_password(draw, number)) for number, name in enumerate(strangers)]
    for number, account in enumerate(accounts):
        if account.fate == "silent":
            continue
        near = (
            account.password + "x",
            account.password.strip() + "  ",
            account.password.swapcase() + "!",
            account.password[:-1] + "?",
        )[number % 4]
        if account.fate != "wrong":
            rows.append((account.name, account.password))
        if account.fate == "wrong" or number % 3 == 0:
            rows.append((account.name, near))
    double = next(account for account in accounts if account.fate == "upgraded")
    rows = [*draw.shuffled(rows), (double.name, "the last one does not fit")]
    return "name,password\n" + "".join(
        f"{name}," + ('"' + text.replace('"', '""') + '"' if set(text) & set(' ",') else text) + "\n"
        for name, text in rows
    )


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
        row[0], row[position], row[role_index(world)] = account.name, account.hash, account.role
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
        pepper=PEPPER if hard else "",
    )
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
        "role": world.fields[role_index(world)],
        "admin": world.admins,
    }
    blanks = words | {
        "position": str(position),
        "rolepos": str(role_index(world)),
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


def role_index(world: World) -> int:
    """Where the role is."""
    return next(
        number
        for number, field in enumerate(world.fields)
        if field in ("role", "class", "grade", "level", "kind", "rights", "affiliation", "tier")
    )


def field_text(draw: Draw, field: str) -> str:
    """Something for a field that does not matter; latin-1 on purpose."""
    return (
        draw.pick(("north", "Caf\xe9", "7", "b 2", "", "M\xfcller", "x@example.org")) + str(draw.between(1, 99))
        if field
        else ""
    )


COMMON = r"""python3 - <<'PY'
import base64, configparser, csv, hashlib, hmac, json, os, subprocess
K = json.loads('''@SPEC@''')
os.chdir(K["folder"])
H, ROLE = int(K["position"]), int(K["rolepos"])
known = {}
for r in csv.DictReader(open(K["known"], newline="", encoding="utf-8")):
    name, p = r["name"], r["password"]
    known.setdefault(name, []).append(p)
peppers = configparser.ConfigParser()
peppers.read("peppers.ini")
def same(raw, text):
    return raw.hex() == text.lower()
def fits(name, old, p):
    w, parts = p.encode(), old.split("$")
    if old.startswith("{SSHA}"):
        raw = base64.b64decode(old[6:])
        return hashlib.sha1(w + raw[20:]).digest() == raw[:20]
    if parts[0] == "md5":
        s = parts[1].encode()
        return same(hashlib.md5(s + w if K["salt_first"] else w + s).digest(), parts[2])
    if parts[0] == "sha1":
        return same(hashlib.sha1(parts[1].encode() + K["separator"].encode() + w).digest(), parts[2])
    if parts[0] == "it256":
        h = hashlib.sha256(parts[2].encode() + w).digest()
        for _ in range(int(parts[1])):
            h = hashlib.sha256(h + w).digest()
        return same(h, parts[3])
    if parts[0] == "hm":
        key = bytes.fromhex(peppers["peppers"][parts[1]])
        return same(hmac.new(key, name.encode() + b":" + w, "sha256").digest(), parts[2])
    if old.startswith(K["prefix"]):
        n, s, k = old[len(K["prefix"]):].split("$")
        return hashlib.pbkdf2_hmac("sha256", w, base64.b64decode(s), int(n), 32) == base64.b64decode(k)
    return False
def b64(raw):
    return base64.b64encode(raw).decode()
@NEW@
def new(p, strong):
    salt = os.urandom(16)
    if strong:
        return "%s1024$8$1$%s$%s" % (K["scrypt"], b64(salt), b64(scrypt(p.encode(), salt)))
    return "%s%s$%s$%s" % (K["prefix"], K["iterations"], b64(salt), b64(pbkdf2(p.encode(), salt)))
lines = open(K["accounts"], "rb").read().split(b"\n")
lists = {x: set() for x in ("upgraded", "wrong", "locked", "current", "unknown")}
seen = set()
for i, line in enumerate(lines):
    if line.startswith(b"#") or not line.strip():
        continue
    f = line.split(b":")
    name, old, role = f[0].decode(), f[H].decode("latin-1"), f[ROLE].decode("latin-1")
    seen.add(name)
    if name not in known:
        continue
    strong = bool(K["hard"]) and role == K["admin"]
    if old.startswith("!"):
        lists["locked"].add(name)
    elif strong and old.startswith(K["scrypt"]) or not strong and old.startswith(K["prefix"]) and int(
            old[len(K["prefix"]):].split("$")[0]) >= int(K["iterations"]):
        lists["current"].add(name)
    else:
        good = [p for p in known[name] if fits(name, old, p)]
        if good:
            f[H] = new(good[0], strong).encode()
            lines[i] = b":".join(f)
        lists["upgraded" if good else "wrong"].add(name)
lists["unknown"] = set(known) - seen
with open(K["accounts"], "r+b") as out:
    out.write(b"\n".join(lines))
    out.truncate()
json.dump({K[x]: sorted(y) for x, y in lists.items()}, open(K["report"], "w"))
os.remove(K["known"])
PY
"""
BY_HASHLIB = r"""def pbkdf2(w, salt):
    return hashlib.pbkdf2_hmac("sha256", w, salt, int(K["iterations"]), 32)
def scrypt(w, salt):
    return hashlib.scrypt(w, salt=salt, n=1024, r=8, p=1, dklen=32)"""
BY_OPENSSL = r"""def kdf(w, salt, *options):
    *pairs, name = options
    call = ["openssl", "kdf", "-keylen", "32", "-binary", "-kdfopt", "hexpass:" + w.hex(), "-kdfopt", "hexsalt:" + salt.hex()]
    for pair in pairs:
        call += ["-kdfopt", pair]
    return subprocess.run([*call, name], check=True, capture_output=True).stdout
def pbkdf2(w, salt):
    return kdf(w, salt, "digest:SHA256", "iter:" + K["iterations"], "PBKDF2")
def scrypt(w, salt):
    return kdf(w, salt, "n:1024", "r:8", "p:1", "SCRYPT")"""

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
