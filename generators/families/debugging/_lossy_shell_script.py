"""Trees of files with awkward names, links and conflicts, and what a correct move makes of them."""

from __future__ import annotations

from collections.abc import Sequence

from generators.family import Draw
from generators.vocabulary import HOST_WORDS

Entry = list[str | int]  # path (latin-1 for raw bytes), data, mode or "link"/"dir", mtime
# By kind; a task has one of each.
ODD = (
    ("two words", "a  b"),
    (" lead",),
    ("trail ",),
    ("star*", "que?ry", "[abc]"),
    ("-rf", "--help", "-n"),
    ("new\nline",),
    ("\nfirst",),
    ("last\n",),
    ("tab\there",),
    ("back\\slash", "end\\"),
    ("dollar$HOME", "$(id)", "`x`"),
    ("'single'", '"double"'),
    (";rm", "&amp", "#hash", "~tilde", "!bang", "%s"),
    (".hidden",),
    ("caf\xc3\xa9",),
    ("bad\xff\xfebytes",),
)


def draw_cases(draw: Draw, manifest: str, hard: bool) -> list[dict[str, object]]:
    """Two trees with a name of every kind between them, then two with conflicts."""
    odd, half = draw.shuffled([draw.pick(kind) for kind in ODD]), len(ODD) // 2
    cases = [draw_case(draw, manifest, number, hard, part) for number, part in enumerate((odd[:half], odd[half:]))]
    return cases + [draw_case(draw, manifest, number, hard) for number in range(2)]


def draw_case(
    draw: Draw, manifest: str, number: int, hard: bool, names: Sequence[str] | None = None
) -> dict[str, object]:
    """A source tree, what is already in the destination, and by the stated rules what both hold afterwards."""
    words = draw.sample(HOST_WORDS, 12)
    files: list[Entry] = []
    there: list[Entry] = []
    left: dict[str, Entry] = {}
    arrived: dict[str, Entry] = {}

    def stamp() -> tuple[int, int]:
        return draw.pick((0o600, 0o644, 0o640, 0o755, 0o444)), draw.between(900_000_000, 1_600_000_000)

    def add(path: str, clash: str = "") -> None:
        """A source file; `clash` says what occupies its place."""
        text = f"{draw.pick(words)} {draw.between(0, 10**6)}\n" * draw.between(0, 3)
        here: Entry = [text, *stamp()]
        files.append([path, *here])
        if clash in ("other", "equal"):
            old: Entry = [text if clash == "equal" else f"older {draw.between(0, 999)}\n" + text, *stamp()]
            there.append([path, *old])
            arrived[path] = old
        elif clash == "folder":
            there.append([path, "", "dir", 0])
        elif clash == "parent":
            blocker: Entry = [f"in the way {draw.between(0, 999)}", *stamp()]
            there.append([path.split("/")[0], *blocker])
            arrived[path.split("/")[0]] = blocker
        if clash in ("other", "folder", "parent", "reserved"):
            left[path] = here
        elif clash != "equal":
            arrived[path] = here

    def link(path: str, clash: str = "") -> None:
        entry: Entry = [draw.pick(("no such\nplace", "/etc/hostname", "../" + words[0], "two words")), "link", 0]
        files.append([path, *entry])
        if clash:
            old: Entry = [entry[0] if clash == "equal" else "elsewhere", "link", 0]
            there.append([path, *old])
            arrived[path] = old
        if clash == "other":
            left[path] = entry
        elif not clash:
            arrived[path] = entry

    if names:
        for place, name in enumerate(names):
            add(name if place % 2 else f"{names[place - 1]}dir/{name}")
        add("new\nline and -blank")
        add(f"{words[0]}/{manifest}")
        if hard:
            link(f"{words[1]}/-link\nname")
            link(f"{words[2]} dangling")
    else:
        clashes = ["other", "equal", "folder", "parent", "other", ""]
        for place, clash in enumerate(clashes):
            name = draw.pick(draw.pick(ODD)) if number and place != 5 else f"{words[place]}.dat"
            add(f"{words[place]}_{place}/{name}" if clash in ("parent", "equal") else f"{place}{name}", clash)
        if number != 1:
            add(manifest, "reserved")
        there.append(["old/" + words[7], *(old := [f"stays {draw.between(0, 999)}\n", *stamp()])])
        arrived["old/" + words[7]] = old
        if hard:
            link(words[8] + " l", "equal")
            link(words[9] + " l", "other")
    src, dest = f"{words[10]} in", f"{words[11]}/out put"
    relative = number % 2 == 1
    if relative:
        src, dest = "-" + src, "-" + dest
    kept, kind = len(left), "names" if names else "conflict"
    return {
        "label": f"{kind} {number}",
        "kind": kind,
        "src": src,
        "dest": dest,
        "relative": relative,
        "files": files,
        "there": there,
        "left": left,
        "arrived": arrived,
        "counts": [len(files) - kept, kept],
        "code": 1 if kept else 0,
    }
