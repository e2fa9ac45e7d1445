"""Members of hostile and of harmless archives, and what the stated rules make of them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from generators.family import Draw

MemberSpec = dict[str, str | int]


@dataclass(frozen=True)
class Policy:
    """The limits of one task; `hard` allows hard links and gzip and forbids control characters."""

    members: int
    size: int
    depth: int
    hard: bool


def member(
    name: str, kind: str = "file", text: str = "", times: int = 1, link: str = "", mode: int = 0o644
) -> MemberSpec:
    """One member of an archive to be built."""
    return {"name": name, "kind": kind, "text": text, "times": times, "link": link, "mode": mode}


def parts(name: str) -> list[str]:
    """Components that count."""
    return [part for part in name.split("/") if part not in ("", ".")]


def judge(members: Sequence[MemberSpec], policy: Policy) -> tuple[int, int]:
    """Position and number of the reason of the first offending member, or (0, 0)."""
    taken: dict[tuple[str, ...], str] = {}
    total = 0
    for number, spec in enumerate(members, 1):
        name, kind, link = str(spec["name"]), str(spec["kind"]), str(spec["link"])
        path = tuple(parts(name))
        if number > policy.members:
            return number, 5
        if kind not in ("file", "dir", "sym") and not (kind == "hard" and policy.hard):
            return number, 0
        control = policy.hard and any(ord(letter) < 32 or ord(letter) == 127 for letter in name)
        if name.startswith("/") or ".." in path or control or len(path) > policy.depth or (not path and kind != "dir"):
            return number, 1
        if kind == "sym":
            target = parts(link)
            climbs = next((i for i, part in enumerate(target) if part != ".."), len(target))
            if not link or link.startswith("/") or ".." in target[climbs:] or climbs >= len(path):
                return number, 2
        if kind == "hard" and (link.startswith("/") or ".." in parts(link) or taken.get(tuple(parts(link))) != "file"):
            return number, 2
        above = [path[:length] for length in range(1, len(path))]
        if any(taken.get(parent, "dir") != "dir" for parent in above):
            return number, 3
        if path in taken and not (kind == "dir" and taken[path] == "dir"):
            return number, 3
        for parent in above:
            taken[parent] = "dir"
        if path:
            taken[path] = "file" if kind == "hard" else kind
        total += len(str(spec["text"]).encode()) * int(spec["times"]) if kind == "file" else 0
        if total > policy.size:
            return number, 4
    return 0, 0


def unpacked(members: Sequence[MemberSpec]) -> dict[str, list[str | int]]:
    """The tree that a good archive gives."""
    tree: dict[str, list[str | int]] = {}
    for spec in members:
        path = parts(str(spec["name"]))
        for length in range(1, len(path)):
            tree["/".join(path[:length])] = ["dir", "", 0o755]
        name, kind = "/".join(path), str(spec["kind"])
        if kind == "dir" and path:
            tree[name] = ["dir", "", 0o755]
        elif kind == "sym":
            tree[name] = ["sym", str(spec["link"]), 0]
        elif kind == "hard":
            tree[name] = tree["/".join(parts(str(spec["link"])))]
        elif kind == "file":
            tree[name] = ["file", digest(str(spec["text"]) * int(spec["times"])), (int(spec["mode"]) & 0o755) | 0o600]
    return tree


def harmless(draw: Draw, count: int) -> list[MemberSpec]:
    """Some ordinary members that clash with nothing else."""
    found: list[MemberSpec] = []
    for number in range(count):
        folder = draw.pick(("docs", "src/main", "img", "src"))
        text = draw.pick(("alpha", "beta\n", "gamma", "")) * draw.between(1, 4)
        found.append(
            member(
                f"{folder}/item{number}-{draw.between(10, 99)}.txt", text=text, mode=draw.pick((0o644, 0o600, 0o755))
            )
        )
    return found


def odd_but_good(draw: Draw, policy: Policy) -> list[MemberSpec]:
    """Members that look dangerous and are not."""
    word = draw.pick(("notes", "data", "pack", "body"))
    found = [
        member("./", "dir", mode=0o700),
        member(f"./{word}/", "dir", mode=0o1777),
        member(f"{word}/..hidden", text="dots", mode=0o666),
        member(f"{word}//deep/./file", text="x", mode=0o4755),
        member(f"{word}/deep/", "dir", mode=0o500),
        member(f"{word}/deep/up", "sym", link="../..hidden"),
        member(f"{word}/deep/root", "sym", link="../.."),
        member(f"{word}/deep/dangling", "sym", link="./../missing/..x"),
        member("...", text="three dots", mode=0o000),
        member(f"{word}/a..b", text="ok", mode=0o2644),
        member(word + "/" + "n" * draw.between(105, 140) + ".txt", text="long name"),
        member("back\\slash", text="fine"),
        member("back\\..\\slash", text="fine too"),
        member("caf\u00e9/\u0434\u0430.txt", text="\u00fcber"),
        member(word + "/link", "sym", link="l" * draw.between(101, 130)),
    ]
    if policy.hard:
        found.append(member(f"{word}/twin", "hard", link=f"./{word}//..hidden"))
        found.append(member(f"{word}/triplet", "hard", link=f"{word}/twin"))
    return found


def bad_members(draw: Draw, policy: Policy) -> dict[str, list[MemberSpec]]:
    """One archive part for each attack."""
    deep = "/".join(f"d{number}" for number in range(policy.depth))
    attacks: dict[str, list[MemberSpec]] = {
        "parent": [member(draw.pick(("../evil", "a/../../evil", "docs/../docs/x", "..", "a/..")), text="evil")],
        "absolute": [member(draw.pick(("/tmp/zz-evil", "//tmp/zz-evil")), text="evil")],
        "sibling": [member("../dest-other/evil", text="evil")],
        "no name": [member(draw.pick((".", "./.", ".//.")), text="evil")],
        "absolute link": [member("etc", "sym", link="/etc")],
        "link out": [member("a/out", "sym", link="../../outside")],
        "link out and back": [member("a/back", "sym", link="../../dest/a")],
        "climb after name": [member("a/b/l", "sym", link="c/../../d")],
        "sibling link": [member("s", "sym", link="../dest-other")],
        "empty link": [member("empty", "sym", link="")],
        "through link": [member("w", "sym", link="docs"), member("w/file", text="evil")],
        "over link": [member("q", "sym", link="target"), member("q", text="evil")],
        "through file": [member("plain", text="x"), member("plain/below", text="evil")],
        "twice": [member("same", text="one"), member("./same", text="two")],
        "file on implied": [member("imp/x", text="1"), member(draw.pick(("imp", "./imp/")), "sym", link="y")],
        "dir on file": [member("flat", text="1"), member("flat", "dir")],
        "device": [member("dev/null", draw.pick(("char", "block")))],
        "fifo": [member("pipe", "fifo")],
        "too deep": [member(f"{deep}/x", text="evil")],
    }
    if policy.hard:
        attacks |= {
            "hard out": [member("h", "hard", link=draw.pick(("/etc/passwd", "../keep.txt")))],
            "hard later": [member("early", "hard", link="late"), member("late", text="x")],
            "hard to link": [member("sl", "sym", link="docs"), member("hl", "hard", link="sl")],
            "hard via parent": [member("hv", text="x"), member("hw", "hard", link="z/../hv")],
            "hard to dir": [member("hd", "dir"), member("hx", "hard", link="hd")],
            "over hard": [member("p", text="x"), member("r", "hard", link="p"), member("r", text="evil")],
            "control": [member(draw.pick(("bell\x07", "new\nline", "del\x7f")), text="evil")],
        }
    else:
        attacks["hard link"] = [member("p", text="x"), member("r", "hard", link="p")]
    return attacks


# The attacks that every task has; the others are drawn.
ALWAYS = ("parent", "absolute", "link out", "sibling link", "through link", "climb after name", "twice", "device")


def digest(text: str) -> str:
    """Hex sha256."""
    return hashlib.sha256(text.encode()).hexdigest()
