"""Old hashes, odd passwords, and the list of credentials."""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass

from generators.family import Draw

TEXT = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"


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


def role_index(fields: tuple[str, ...]) -> int:
    """Where the role is."""
    return next(
        number
        for number, field in enumerate(fields)
        if field in ("role", "class", "grade", "level", "kind", "rights", "affiliation", "tier")
    )


def field_text(draw: Draw, field: str) -> str:
    """Something for a field that does not matter; latin-1 on purpose."""
    return (
        draw.pick(("north", "Caf\xe9", "7", "b 2", "", "M\xfcller", "x@example.org")) + str(draw.between(1, 99))
        if field
        else ""
    )
