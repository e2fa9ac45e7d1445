"""The trees of tree_restore: entries as drawn, overrides and what they mean, and how the lists write paths and times."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from urllib.parse import quote

from generators.family import Draw
from generators.vocabulary import CITIES, HOST_WORDS, LAST_NAMES


@dataclass
class Entry:
    """One entry of the tree: its type, body (content or link target) and attributes."""

    kind: str
    body: str
    mode: int
    uid: int
    gid: int
    when: int

    def attributes(self) -> list[str | int]:
        """What the tests compare."""
        return [self.kind, self.mode, self.uid, self.gid, self.when]


@dataclass(frozen=True)
class Override:
    """A line of the overrides; `key` is the index among mode, owner, group, time."""

    scope: str
    kind: str
    key: int
    value: str
    path: str


ODD_NAMES = (
    "-rf",
    "two  spaces",
    "trailing ",
    'quote\'d "name"',
    "ünïcode",
    "back\\slash",
    "star*",
    "new\nline",
    "50%41",
    "#hash",
    "a=b",
)


def draw_tree(draw: Draw, root: str, tops: Sequence[str], count: int) -> dict[str, Entry]:
    """The tree as it should be, before overrides; parents come first."""
    tree: dict[str, Entry] = {}
    uids = draw.sample(range(1000, 29000), 6)

    def add(path: str, kind: str, mode: int, body: str = "") -> None:
        tree[path] = Entry(
            kind, body, mode, draw.pick(uids), draw.pick(uids), 1_400_000_000 + draw.between(0, 300_000_000)
        )

    def text() -> str:
        return f"{draw.pick(LAST_NAMES)} {draw.pick(CITIES)} {draw.between(1000, 9999)}\n"

    add(".", "d", 0o755)
    folders: list[str] = []
    for top in tops:
        add(top, "d", draw.pick((0o755, 0o750, 0o2775, 0o711)))
        folders.append(top)
        for _ in range(1 + count // 30):
            inner = f"{top}/{draw.pick(HOST_WORDS)}{draw.between(1, 99)}"
            if inner not in tree:
                add(inner, "d", draw.pick((0o700, 0o755, 0o1777, 0o3770)))
                folders.append(inner)
    odd = draw.shuffled(ODD_NAMES)
    for number in range(count):
        stem = odd[number] if number < len(odd) else f"{draw.pick(HOST_WORDS)}-{draw.between(100, 999)}"
        path = f"{draw.pick(folders)}/{stem}{draw.pick(('', '.dat', '.sh'))}"
        mode = (
            (0o4755, 0o2755, 0o6711)[number]
            if number < 3
            else draw.pick((0o644, 0o600, 0o640, 0o755, 0o444, 0o4750, 0o604))
        )
        if path not in tree:
            add(path, "f", mode, text())
    files = [path for path, entry in tree.items() if entry.kind == "f"]
    for number, target in enumerate(draw.sample(files, max(3, count // 9))):
        end = f"{root}/{target}" if number else "/etc/hostname.example"
        add(f"{draw.pick(folders)}/link{number}", "l", 0, end)
    return tree


def draw_overrides(draw: Draw, tree: dict[str, Entry], tops: Sequence[str], avoid: Sequence[str]) -> list[Override]:
    """Later rules, among them pairs of which the second has to win."""
    files = [path for path, entry in tree.items() if entry.kind == "f"]
    one, two = draw.sample(tops, 2)
    inside = [path for path in files if path.startswith(f"{one}/") and not any(path.startswith(top) for top in avoid)]
    inner = draw.pick(inside) if inside else one
    return [
        Override("under", "*", 1, str(draw.between(30000, 31000)), one),
        Override("under", "*", 1, str(draw.between(32000, 33000)), inner),
        Override("under", "f", 0, "-0022", "."),
        Override("under", "d", 0, "+2010", two),
        Override("only", "*", 3, iso(draw, 1_300_000_000 + draw.between(0, 9_000_000)), two),
        *(Override("only", "f", 0, draw.pick(("0664", "4711", "+0002")), path) for path in draw.sample(files, 3)),
        Override("under", "l", 2, str(draw.between(34000, 35000)), "."),
        Override("under", "*", 0, "-0001", draw.pick(tops)),
        Override("only", "d", 3, iso(draw, 1_200_000_000 + draw.between(0, 9_000_000)), two),
    ]


def apply_overrides(tree: dict[str, Entry], overrides: Sequence[Override], times: dict[str, int]) -> None:
    """The stated meaning of the overrides."""
    for rule in overrides:
        for path, entry in tree.items():
            hit = path == rule.path or (
                rule.scope == "under" and (rule.path == "." or path.startswith(rule.path + "/"))
            )
            if not hit or rule.kind not in ("*", entry.kind):
                continue
            if rule.key == 0 and entry.kind != "l":
                bits = int(rule.value.lstrip("+-"), 8)
                entry.mode = {"+": entry.mode | bits, "-": entry.mode & ~bits}.get(rule.value[0], bits)
            elif rule.key == 1:
                entry.uid = int(rule.value)
            elif rule.key == 2:
                entry.gid = int(rule.value)
            elif rule.key == 3:
                entry.when = times[rule.value]


def iso(draw: Draw, when: int) -> str:
    """A time with a random offset from UTC."""
    minutes = draw.pick((0, 0, 120, -300, 330, 60))
    text = datetime.fromtimestamp(when, timezone(timedelta(minutes=minutes))).isoformat()
    return text.replace("+00:00", "Z")


def encoded(path: str, kind: str) -> str:
    """A path as the lists write it."""
    if kind == "tab":
        return quote(path, safe="/.-_")
    plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-"
    return "".join(chr(byte) if chr(byte) in plain else f"\\{byte:03o}" for byte in path.encode())


def list_line(values: Sequence[str], names: Sequence[str], kind: str) -> str:
    """A line of a list; the path is the last value."""
    if kind == "jsonl":
        return json.dumps(dict(zip(names, values, strict=True))) + "\n"
    shown = [*values[:-1], encoded(values[-1], kind)]
    if kind == "tab":
        return "\t".join(shown) + "\n"
    return " ".join(f"{name}={value}" for name, value in zip(names, shown, strict=True)) + "\n"
