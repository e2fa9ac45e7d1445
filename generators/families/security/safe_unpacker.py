"""Write a program that unpacks hostile tar archives: all or nothing, inside the destination, within limits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from generators.family import Draft, Draw, Family, Miss, Setting
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS

MemberSpec = dict[str, str | int]


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling: program, the two sides, exit codes (refused, unreadable, occupied) and six reasons."""

    program: str
    old: str
    sender: str
    codes: tuple[int, int, int]
    reasons: tuple[str, str, str, str, str, str]  # type, name, link, clash, size, count


SETTINGS = (
    World("homework", "teaching assistant", "homework upload", "email", "/opt/handin/bin/unpack",
          "/opt/handin/old/unpack.sh", "students", (3, 4, 5),
          ("kind", "path", "target", "collision", "bytes", "members")),
    World("themes", "marketplace engineer", "theme marketplace", "ticket", "/srv/themes/intake",
          "/srv/themes/intake.old", "designers", (10, 20, 30), ("TYPE", "NAME", "LINK", "CLASH", "SIZE", "COUNT")),
    World("customs", "customs broker", "customs declarations", "specification", "/usr/local/bin/decl-open",
          "/usr/local/lib/decl/open.sh", "carriers", (65, 66, 73),
          ("E-TYPE", "E-NAME", "E-LINK", "E-TWICE", "E-SIZE", "E-MANY")),
    World("pictures", "picture editor", "photo agency drop", "chat", "/home/desk/tools/untarsafe",
          "/home/desk/tools/legacy.sh", "agencies", (7, 8, 9),
          ("odd-entry", "bad-name", "bad-link", "overlap", "too-big", "too-many")),
    World("firmware", "release engineer", "device firmware intake", "runbook", "/opt/fw/sbin/explode",
          "/opt/fw/sbin/explode.orig", "vendors", (40, 41, 42),
          ("entry", "location", "reference", "conflict", "volume", "number")),
    World("lab", "bioinformatician", "sequencing results", "note", "/data/lab/unpack_run", "/data/lab/unpack_run.sh",
          "partner labs", (11, 12, 13), ("t", "n", "l", "c", "s", "m")),
    World("restore", "backup operator", "customer restores", "ticket", "/usr/local/sbin/restore-set",
          "/usr/local/share/restore/v1.sh", "customers", (21, 22, 29),
          ("forbidden-type", "unsafe-name", "unsafe-link", "duplicate", "quota", "file-count")),
    World("plugins", "forum administrator", "forum plug-ins", "email", "/var/forum/bin/plugin-open",
          "/var/forum/bin/plugin-open.bak", "plug-in authors", (50, 51, 52),
          ("species", "naming", "linking", "repeat", "weight", "crowd")),
)  # fmt: skip

VOICES = (
    "{firm}: archives from {sender} are unpacked by {old} today, and last week one of them overwrote a file outside "
    "its folder. "
    "Please write a replacement at {program}.\n\n{rules}\n\n{guard}\n",
    "Task: {program}\n\n{rules}\n\nContext: {scenario} at {firm}; the {sender} are not trusted. {guard}\n",
    "Interface and behaviour of {program} ({firm}, {scenario})\n\n{numbered}\n\n{guard}\n",
    "we got bitten by a tar file. new tool for what the {sender} of {firm} send, lives at {program}, old one is "
    "{old}\n\n{numbered}\n\n{guard}\n",
)

RULES: dict[str, tuple[str, str, str]] = {
    "call": (
        "It is an executable called as {program} ARCHIVE DEST, with two paths, and unpacks a tar archive{gz} (ustar, "
        "GNU or pax format) into DEST.",
        "Calling {program} ARCHIVE DEST (the file must be executable itself) unpacks ARCHIVE, a tar{gz} in ustar, "
        "GNU or pax format, into the directory DEST.",
        "Make it executable: {program} ARCHIVE DEST takes a tar file{gz}, whether ustar, GNU or pax, and puts its "
        "content into DEST.",
    ),
    "atomic": (
        "All members are judged before anything is written; if the archive is not accepted, DEST and everything else "
        "stay as they were, and a "
        "DEST that did not exist still does not.",
        "Either everything is unpacked or nothing: an archive that is not accepted leaves no trace, neither in DEST "
        "(which is not even created) nor elsewhere.",
        "Judge first, write afterwards. After any exit code but 0 the file system is as before the call, without a "
        "new DEST.",
    ),
    "codes": (
        "Exit code 0 means unpacked, {refused} refused, {unreadable} that ARCHIVE is missing, no tar or cut off in "
        "the middle of a member's data, {occupied} that DEST "
        "is already there and is anything but an empty directory (checked first of all).",
        "It exits with 0 after unpacking, with {occupied} if DEST exists and is not an empty directory (looked at "
        "before the archive), with {unreadable} "
        "when ARCHIVE does not exist, is not a tar or ends inside a member's data, and with {refused} for a refused "
        "archive.",
        "Exit codes: {occupied} when DEST exists as something else than an empty directory, which is tested before "
        "all else; {unreadable} if ARCHIVE is absent, not a "
        "tar at all or truncated within a member's data; {refused} if it is refused; otherwise 0.",
    ),
    "line": (
        "On refusal standard output is exactly one line, the number of the first offending member counted from 1, a "
        "blank, and the reason; otherwise it is empty.",
        "A refusal prints one line to standard output: position of the first bad member (the first member is 1), one "
        "space, reason. Nothing is printed in other cases.",
        "Standard output stays empty except for a refusal, which writes one line made of the 1-based position of the "
        "first member at fault, a space and the reason.",
    ),
    "order": (
        "Each member is checked against those before it, in this order of reasons: {count}, {type}, {name}, {link}, "
        "{clash}, {size}.",
        "Take the members in archive order; for one member the checks come in the order {count}, {type}, {name}, "
        "{link}, {clash}, {size}, and only earlier members matter.",
        "The reasons, tested in this order for member after member, looking at earlier members only: {count}, "
        "{type}, {name}, {link}, {clash}, {size}.",
    ),
    "count": (
        "{count}: it is member number {members_next} (at most {members} are allowed).",
        "{count}: more than {members} members.",
        "{count}: the archive has passed {members} members with this one.",
    ),
    "type": (
        "{type}: it is none of regular file, directory, symbolic link{hard_too}.",
        "{type}: only regular files, directories, symbolic links{hard_and} are welcome, this is something else.",
        "{type}: any member other than a regular file, a directory, a symbolic link{hard_or}.",
    ),
    "name": (
        "{name}: the name starts with a slash, has a component that is '..', has no component at all (a directory "
        "such as ./ is fine and means DEST itself){control}, "
        "or has more than {depth} components. Empty components and '.' are dropped before counting.",
        "{name}: absolute; or a '..' among the components; or no component left (except a directory, which then is "
        "DEST and is accepted){control}; or deeper than "
        "{depth} components. Components that are empty or '.' do not count and are removed.",
        "{name}: after removing empty and '.' components there are more than {depth}, or none (only a directory may, "
        "it stands for DEST), or one is '..'{control}; "
        "or the name begins with '/'.",
    ),
    "link": (
        "{link}: a symbolic link's target must be relative and not empty, may have '..' only at its beginning, and "
        "must not climb above DEST from the link's own "
        "directory; whether it exists does not matter{hard_rule}.",
        "{link}: the target of a symbolic link is empty, absolute, has a '..' after another kind of component ('.' "
        "and empty ones not counted), or its '..' lead out "
        "of DEST seen from where the link lies. Dangling is allowed{hard_rule}.",
        "{link}: for symbolic links, a target that is empty or starts with '/', or whose leading '..' reach above "
        "DEST from the directory of the link, or that "
        "has '..' anywhere but in front; it need not exist{hard_rule}.",
    ),
    "clash": (
        "{clash}: an earlier member has the same path, or a parent of it is an earlier member that is no directory. "
        "A directory may come again, also where "
        "an earlier member's path already implied it; anything else at the path of an explicit or implied directory "
        "clashes.",
        "{clash}: the path is taken, or leads through an earlier file or link. Only a directory may repeat a "
        "directory, be that one a member or merely implied by a "
        "member below it.",
        "{clash}: something is already at that path (implied parent directories included), except that a directory "
        "on a directory is no clash; or some parent of the path "
        "is an earlier member other than a directory.",
    ),
    "size": (
        "{size}: the regular files up to and including this one hold more than {bytes} bytes.",
        "{size}: with this regular file the sum of file sizes exceeds {bytes} bytes.",
        "{size}: the running total of regular file bytes goes over {bytes}.",
    ),
    "result": (
        "What is written: files with their content and with the archive's permission bits without set-uid, set-gid, "
        "sticky and any write for group or others, "
        "plus read and write for the owner; directories, implied ones too, with mode 755; links with their target "
        "text as it is. Everything belongs to the caller "
        "whatever the archive says, and the umask has no influence.",
        "Unpacked directories (also those only implied) get mode 755. A file's mode is the archive's AND 755, OR "
        "600. Link targets are kept literally. "
        "Owner is the user who runs the program, never the archive's, and the modes do not depend on the umask.",
        "Modes, independent of the umask: 755 for every directory, DEST's implied ones included; for files the "
        "recorded bits, of which only those in 755 survive and "
        "600 is always set. Links keep the recorded target. The calling user owns all of it.",
    ),
}  # fmt: skip
GUARDS = (
    "The old script {old} stays as it is, it is needed for comparison.",
    "Do not touch {old}.",
    "{old} must remain unchanged.",
)
OLD = '#!/bin/sh\n# unpacks whatever {sender} send\nmkdir -p "$2" && tar -xpPf "$1" -C "$2"\n'

TESTS = """
import gzip
import hashlib
import io
import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

CASES = json.loads(TRUTH["cases"])
KINDS = {"file": tarfile.REGTYPE, "dir": tarfile.DIRTYPE, "sym": tarfile.SYMTYPE, "hard": tarfile.LNKTYPE,
         "char": tarfile.CHRTYPE, "block": tarfile.BLKTYPE, "fifo": tarfile.FIFOTYPE}


def archive(case):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=case["format"]) as tar:
        for member in case["members"]:
            info = tarfile.TarInfo(member["name"])
            info.type = KINDS[member["kind"]]
            info.mode = member["mode"]
            info.linkname = member["link"]
            info.uid = info.gid = 1234
            data = (member["text"] * (member["times"])).encode()
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    data = buffer.getvalue()[: case["cut"] or None]
    return gzip.compress(data, 1) if case["gz"] else data


def tree(root):
    seen = {}
    for path in sorted(root.rglob("*")):
        name, info = str(path.relative_to(root)), path.lstat()
        assert info.st_uid == os.getuid(), name
        if path.is_symlink():
            seen[name] = ["sym", os.readlink(path), 0]
        elif path.is_dir():
            seen[name] = ["dir", "", info.st_mode & 0o7777]
        else:
            seen[name] = ["file", hashlib.sha256(path.read_bytes()).hexdigest(), info.st_mode & 0o7777]
    return seen


def try_case(case):
    work = Path(tempfile.mkdtemp())
    try:
        base = work / "in" / "ner"
        base.mkdir(parents=True)
        (base / "dest-other").mkdir()
        (work / "keep.txt").write_text("kept")
        (base / "x.tar").write_bytes(case["raw"].encode() if case["raw"] else archive(case))
        if case["missing"]:
            (base / "x.tar").unlink()
        dest = base / "dest"
        if case["dest"] != "absent":
            dest.mkdir()
        if case["dest"] == "full":
            (dest / "here").write_text("kept")
        before = tree(work)
        call = [TRUTH["program"], str(base / "x.tar"), str(dest)]
        run = subprocess.run(call, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20,
                             cwd="/", umask=0o027)
        assert run.returncode == case["code"], (case["label"], run.returncode)
        assert run.stdout == case["line"], (case["label"], run.stdout[:200])
        after = tree(work)
        if case["code"] == 0:
            inside = tree(dest)
            assert inside == case["tree"], case["label"]
            after = {name: entry for name, entry in after.items() if not name.startswith("in/ner/dest/")}
            before.pop("in/ner/dest", None)
            after.pop("in/ner/dest", None)
        assert after == before, case["label"]
    finally:
        shutil.rmtree(work, ignore_errors=True)


def try_group(group):
    chosen = [case for case in CASES if case["group"] == group]
    assert chosen
    for case in chosen:
        try_case(case)


def test_good_archives_are_unpacked():
    try_group("good")


def test_unsafe_archives_are_refused():
    try_group("unsafe")


def test_limits_hold():
    try_group("limit")


def test_broken_input_and_occupied_destination():
    try_group("broken")


def test_old_script_unchanged():
    assert hashlib.sha256(Path(TRUTH["old"]).read_bytes()).hexdigest() == TRUTH["old_digest"]
"""
INITIAL = """
from pathlib import Path


def test_only_the_old_script_is_there():
    assert Path(TRUTH["old"]).is_file()
    assert not Path(TRUTH["program"]).exists()
"""


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


def draw_cases(draw: Draw, world: World, policy: Policy) -> list[dict[str, object]]:
    """All archives with what has to happen."""
    cases: list[dict[str, object]] = []

    def add(group: str, label: str, members: list[MemberSpec], more: Mapping[str, object] | None = None) -> None:
        position, reason = judge(members, policy)
        good = not position
        case: dict[str, object] = {
            "group": group,
            "label": label,
            "members": members,
            "dest": draw.pick(("absent", "empty")),
            "format": draw.between(0, 2),
            "cut": 0,
            "raw": "",
            "gz": policy.hard and draw.chance(40),
            "missing": False,
            "code": 0 if good else world.codes[0],
            "line": "" if good else f"{position} {world.reasons[reason]}\n",
            "tree": unpacked(members) if good else {},
        }
        if any(len(str(spec["name"])) > 99 or len(str(spec["link"])) > 99 for spec in members):
            case["format"] = draw.between(1, 2)  # ustar cannot hold them
        cases.append(case | dict(more or {}))

    add("good", "odd names", odd_but_good(draw, policy))
    add("good", "odd names, shuffled", [*harmless(draw, 3), *odd_but_good(draw, policy)])
    for number in range(2):
        add("good", f"plain {number}", harmless(draw, draw.between(2, 6)))
    add("good", "no members", [])
    attacks = bad_members(draw, policy)
    extra = draw.sample([label for label in attacks if label not in ALWAYS], 8 if policy.hard else 6)
    for label, members in attacks.items():
        if label not in ALWAYS and label not in extra:
            continue
        around = harmless(draw, draw.between(1, 3))
        cut = draw.between(0, len(around))
        add("unsafe", label, [*around[:cut], *members, *around[cut:]])
    full = [member(f"f/{number}", text="b", times=policy.size // 4) for number in range(4)]
    rest = policy.size - 4 * (policy.size // 4)
    add("limit", "exactly full", [*full, member("rest", text="r", times=rest)])
    add("limit", "one byte over", [*full, member("rest", text="r", times=rest + 1), member("../x", text="evil")])
    many = [member(f"m{number}", "dir") for number in range(policy.members)]
    add("limit", "all members", many)
    add("limit", "one member over", [*many, member("/over", "fifo")])
    bomb = [member("small", text="s"), member("bomb", text="0" * 64, times=40_000)]
    add("limit", "bomb", bomb, {"gz": policy.hard})
    add("limit", "deepest", [member("/".join("abcdefghijklmnop"[: policy.depth]), text="x")])
    unreadable: dict[str, object] = {"code": world.codes[1], "line": "", "tree": {}}
    add("broken", "not a tar", [], unreadable | {"raw": "this is not an archive, " * draw.between(30, 60)})
    add("broken", "missing", [], unreadable | {"missing": True})
    cut = [*harmless(draw, 2), member("cut", text="c", times=3000)]
    add("broken", "cut off", cut, unreadable | {"cut": 512 * 6, "gz": False, "format": 0})
    occupied: dict[str, object] = {"code": world.codes[2], "line": "", "tree": {}, "dest": "full"}
    add("broken", "occupied", harmless(draw, 2), occupied)
    add("broken", "occupied and bad", [member("../evil", text="evil")], occupied)
    return cases


def draft(draw: Draw) -> Draft:
    """One program to be written."""
    world = draw.setting(SETTINGS)
    hard = draw.difficulty is Difficulty.HARD
    policy = Policy(draw.between(24, 30), draw.between(9, 40) * 1000 + draw.between(1, 999), draw.between(6, 9), hard)
    words: dict[str, str | int] = dict(
        zip(("type", "name", "link", "clash", "size", "count"), world.reasons, strict=True)
    )
    words |= dict(zip(("refused", "unreadable", "occupied"), world.codes, strict=True))
    words |= {
        "program": world.program,
        "members": policy.members,
        "members_next": policy.members + 1,
        "bytes": policy.size,
        "depth": policy.depth,
        "gz": ", plain or gzip-compressed (told apart by content, not by name)" if hard else "",
        "hard_too": " or hard link" if hard else "",
        "hard_and": " and hard links" if hard else "",
        "hard_or": " or a hard link" if hard else "",
        "hard_rule": "; a hard link's target must be, by the same naming rules, an earlier regular file or hard link"
        if hard
        else "",
        "control": ", contains a control character (below 32, or 127)" if hard else "",
    }
    turns = (draw.serial, draw.serial // 3)
    rules = {name: texts[turns[number % 2] % 3].format(**words) for number, (name, texts) in enumerate(RULES.items())}
    guard = GUARDS[draw.serial // 2 % 3].format(old=world.old)
    instruction = VOICES[draw.serial % 4].format(
        firm=draw.pick(FIRMS),
        sender=world.sender,
        old=world.old,
        program=world.program,
        scenario=world.scenario,
        guard=guard,
        rules="\n".join(rules.values()),
        numbered="\n".join(f"{n}. {text}" for n, text in enumerate(rules.values(), 1)),
    )
    cases = draw_cases(draw, world, policy)
    goals = [
        "test_good_archives_are_unpacked",
        "test_unsafe_archives_are_refused",
        "test_limits_hold",
        "test_broken_input_and_occupied_destination",
    ]
    good, unsafe, limit, broken = goals
    old = OLD.format(sender=world.sender)
    program = Script(world, policy)
    reference = program.install(WITH_TARFILE)
    checks = {"call": goals, "atomic": goals[1:], "codes": goals, "line": [unsafe, limit], "order": [unsafe, limit]}
    checks |= {"count": [limit], "size": [limit], "result": [good], "name": [good, unsafe], "link": [good, unsafe]}
    return Draft(
        title=f"A safe unpacker for {world.scenario}",
        setting=world,
        instruction=instruction,
        files={"old": (old, 0o755)},
        dockerfile=f"COPY old {world.old}\nRUN mkdir -p {world.program.rsplit('/', 1)[0]}\nWORKDIR /root",
        truth={"program": world.program, "old": world.old, "old_digest": digest(old), "cases": json.dumps(cases)},
        discoverable=("program", "old"),
        tests=TESTS,
        weights={good: 0.25, unsafe: 0.45, limit: 0.2, broken: 0.1},
        guards=["test_old_script_unchanged"],
        initial=INITIAL,
        solution=reference,
        alternatives=[program.install(BY_BLOCKS)],
        misses=[
            Miss(
                "old_behaviour",
                "unpacks with tar and lets it decide",
                program.install('#!/bin/sh\nmkdir -p "$2" && tar -xf "$1" -C "$2" || exit @REFUSED@\n'),
                goals,
            ),
            Miss(
                "links_by_prefix",
                "compares paths as strings, so a sibling folder passes",
                reference.replace("climbs >= len(path)", "climbs > len(path)"),
                [unsafe],
            ),
            Miss(
                "reads_links_as_files",
                "does not look for links in the parents",
                reference.replace("GONE = 0", "GONE = 9"),
                [unsafe],
            ),
            Miss(
                "strips_names",
                "takes a leading slash off instead of refusing",
                reference.replace('name.startswith("/")', "False"),
                [unsafe],
            ),
            Miss(
                "limits_off_by_one",
                "lets one byte and one member too many pass",
                reference.replace("total > SIZE", "total > SIZE + 1").replace(
                    "number > MEMBERS", "number > MEMBERS + 1"
                ),
                [limit],
            ),
            Miss(
                "modes_from_umask", "leaves modes to the library", reference.replace("os.chmod(place, ", "str("), [good]
            ),
        ],
        requirements=[
            *((text, checks.get(name, [unsafe])) for name, text in rules.items()),
            (guard, ["test_old_script_unchanged"]),
        ],
        knobs={"cases": len(cases), "hard_links": hard, "gzip": hard},
    )


def digest(text: str) -> str:
    """Hex sha256."""
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Script:
    """Fills a program's blanks and wraps it into the script that installs it."""

    world: World
    policy: Policy

    def install(self, source: str) -> str:
        """Bash that writes the program."""
        blanks = {
            "@REFUSED@": self.world.codes[0],
            "@UNREADABLE@": self.world.codes[1],
            "@OCCUPIED@": self.world.codes[2],
            "@MEMBERS@": self.policy.members,
            "@SIZE@": self.policy.size,
            "@DEPTH@": self.policy.depth,
            "@HARD@": self.policy.hard,
            "@REASONS@": list(self.world.reasons),
        }
        for blank, value in blanks.items():
            source = source.replace(blank, str(value))
        return f"cat > {self.world.program} <<'PROGRAM'\n{source}PROGRAM\nchmod 755 {self.world.program}\n"


HEAD = r"""#!/usr/bin/python3
import gzip, io, os, re, shutil, sys, tarfile, tempfile
MEMBERS, SIZE, DEPTH, HARD = @MEMBERS@, @SIZE@, @DEPTH@, @HARD@
TYPE, NAME, LINK, CLASH, BYTES, COUNT = @REASONS@
GONE = 0
archive, dest = sys.argv[1:]
if os.path.lexists(dest) and (os.path.islink(dest) or not os.path.isdir(dest) or os.listdir(dest)):
    sys.exit(@OCCUPIED@)
def parts(name):
    return tuple(p for p in name.split("/") if p not in ("", "."))
def refuse(number, reason):
    print(number, reason)
    sys.exit(@REFUSED@)
"""
WITH_TARFILE = (
    HEAD
    + r"""
try:
    tar = tarfile.open(archive, "r:*" if HARD else "r:")
    members = tar.getmembers()
except (OSError, EOFError, tarfile.TarError):
    sys.exit(@UNREADABLE@)
taken, total = {}, 0
for number, m in enumerate(members, 1):
    name, path = m.name, parts(m.name)
    if number > MEMBERS:
        refuse(number, COUNT)
    if not (m.isreg() or m.isdir() or m.issym() or (HARD and m.islnk())):
        refuse(number, TYPE)
    if name.startswith("/") or ".." in path or len(path) > DEPTH or (not path and not m.isdir()):
        refuse(number, NAME)
    if HARD and re.search(r"[\x00-\x1f\x7f]", name):
        refuse(number, NAME)
    if m.issym():
        target = parts(m.linkname)
        climbs = 0
        while climbs < len(target) and target[climbs] == "..":
            climbs += 1
        if not m.linkname or m.linkname[0] == "/" or ".." in target[climbs:] or climbs >= len(path):
            refuse(number, LINK)
    if m.islnk() and (m.linkname[:1] == "/" or taken.get(parts(m.linkname)) != "f"):
        refuse(number, LINK)
    for n in range(1, len(path) - GONE):
        if taken.setdefault(path[:n], "d") != "d":
            refuse(number, CLASH)
    if path in taken and not (m.isdir() and taken[path] == "d"):
        refuse(number, CLASH)
    if path:
        taken[path] = "d" if m.isdir() else "l" if m.issym() else "f"
    if m.isreg():
        total += m.size
        if total > SIZE:
            refuse(number, BYTES)
os.umask(0o022)
os.makedirs(dest, exist_ok=True)
for m in members:
    path = parts(m.name)
    place = os.path.join(dest, *path)
    os.makedirs(place if m.isdir() else os.path.dirname(place), exist_ok=True)
    if m.issym():
        os.symlink(m.linkname, place)
    elif m.islnk():
        os.link(os.path.join(dest, *parts(m.linkname)), place)
    elif m.isreg():
        with open(place, "xb") as out:
            shutil.copyfileobj(tar.extractfile(m), out)
        os.chmod(place, m.mode & 0o755 | 0o600)
"""
)
BY_BLOCKS = (
    HEAD
    + r"""
# Reads the 512-byte blocks itself and builds the tree beside DEST, then renames it.
def entries(data):
    at, long_name, long_link, pax, ended = 0, None, None, {}, False
    while at + 512 <= len(data):
        block = data[at:at + 512]
        if not any(block):
            return
        octal = lambda a, b: int(block[a:b].split(b"\0")[0].strip() or b"0", 8)
        try:
            if sum(block[:148]) + 256 + sum(block[156:]) != octal(148, 156):
                raise ValueError
        except ValueError:
            sys.exit(@UNREADABLE@)
        text = lambda a, b: block[a:b].split(b"\0")[0].decode("utf-8", "surrogateescape")
        name, kind, size, link = text(0, 100), chr(block[156]), octal(124, 136), text(157, 257)
        if block[257:263] == b"ustar\0" and text(345, 500):
            name = text(345, 500) + "/" + name
        if kind in "123456":
            size = 0
        body = data[at + 512:at + 512 + size]
        if len(body) < size:
            sys.exit(@UNREADABLE@)
        at += 512 + (size + 511) // 512 * 512
        if kind == "L":
            long_name = body.rstrip(b"\0").decode("utf-8", "surrogateescape")
        elif kind == "K":
            long_link = body.rstrip(b"\0").decode("utf-8", "surrogateescape")
        elif kind == "x":
            while body:
                length = int(body.split(b" ", 1)[0])
                key, value = body[:length - 1].split(b" ", 1)[1].split(b"=", 1)
                pax[key.decode()] = value.decode("utf-8", "surrogateescape")
                body = body[length:]
        else:
            name, link = pax.get("path", long_name or name), pax.get("linkpath", long_link or link)
            yield name, ("5" if kind in "0\0" and name.endswith("/") else kind), link, octal(100, 108), body
            long_name, long_link, pax = None, None, {}
try:
    data = open(archive, "rb").read()
    if HARD and data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
except (OSError, EOFError):
    sys.exit(@UNREADABLE@)
if len(data) < 512:
    sys.exit(@UNREADABLE@)
plan, directories, others, total, bad = [], {()}, {}, 0, None
for number, (name, kind, link, mode, body) in enumerate(entries(data), 1):
    if bad:
        continue
    kind = "0" if kind == "\0" else kind
    path, target = parts(name), parts(link)
    lead = re.match(r"(\.\./)*", "/".join(target) + "/").end() // 3
    parents = {path[:n] for n in range(len(path))}
    total += len(body) if kind == "0" else 0
    if number > MEMBERS:
        bad = number, COUNT
    elif kind not in ("0125" if HARD else "025"):
        bad = number, TYPE
    elif name[0] == "/" or ".." in path or len(path) > DEPTH or (not path and kind != "5") or (
            HARD and any(c < " " or c == "\x7f" for c in name)):
        bad = number, NAME
    elif kind == "2" and (link == "" or link[0] == "/" or ".." in target[lead:] or lead > len(path) - 1):
        bad = number, LINK
    elif kind == "1" and (link.startswith("/") or others.get(target) not in ("0", "1")):
        bad = number, LINK
    elif parents & set(others) or path in others or (path in directories and kind != "5"):
        bad = number, CLASH
    elif total > SIZE:
        bad = number, BYTES
    directories |= parents
    if kind == "5":
        directories.add(path)
    else:
        others[path] = kind
    plan.append((path, kind, link, mode, body))
if bad:
    refuse(*bad)
stage = tempfile.mkdtemp(dir=os.path.dirname(os.path.abspath(dest)))
for path in sorted(directories, key=len):
    os.makedirs(os.path.join(stage, *path), exist_ok=True)
    os.chmod(os.path.join(stage, *path), 0o755)
for path, kind, link, mode, body in plan:
    place = os.path.join(stage, *path)
    if kind == "2":
        os.symlink(link, place)
    elif kind == "1":
        os.link(os.path.join(stage, *parts(link)), place)
    elif kind == "0":
        with open(place, "wb") as out:
            out.write(body)
        os.chmod(place, (mode | 0o600) & 0o755)
os.rename(stage, dest)
"""
)

FAMILY = Family(
    name="safe_unpacker",
    domain="security",
    verifier=Verifier.ADVERSARIAL_CORPUS,
    skills=("tar format", "path traversal", "symbolic links", "atomic writes", "input validation"),
    difficulties=(Difficulty.MEDIUM, Difficulty.HARD),
    capacity=48,
    draft=draft,
    command_complexity="code",
)
