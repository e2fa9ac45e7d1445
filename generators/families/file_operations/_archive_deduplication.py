"""The archives of archive_deduplication: files and links as drawn, and which copy the stated rules keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from generators.family import Draw, Setting
from generators.task import Difficulty
from generators.vocabulary import CITIES, HOST_WORDS, LAST_NAMES

Mode = Literal["link", "remove", "quarantine"]


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    root: str  # the archive
    out: str  # where the index and the summary go
    thing: str
    master: str  # the preferred top folder
    folders: str
    endings: str
    marker: str  # a file of this name puts its folder out of bounds
    mode: Mode
    index: str  # csv, tsv or jsonl
    keys: str  # names in the summary
    wording: int
    numbered: bool
    text: str


@dataclass
class Tree:
    """The archive as drawn: files as (content number, time), symbolic links, and the folder out of bounds."""

    contents: list[str]
    files: dict[str, tuple[int, int]]
    links: dict[str, str]
    closed: str


def looks_copied(path: str) -> bool:
    """The stated pattern, without a regular expression."""
    stem = path.rsplit("/", 1)[-1].rpartition(".")[0].lower()
    digits = stem[:-1].rpartition("(")[2] if stem.endswith(")") and "(" in stem else ""
    return stem.endswith(("-copy", " copy")) or digits.isdigit()


def draw_tree(draw: Draw, world: World, groups: int, singles: int) -> Tree:
    """Copies with every trap, near-equal files, empty files, files with equal names."""
    folders, endings = world.folders.split(), world.endings.split()
    hard, with_master = draw.difficulty == Difficulty.HARD, draw.difficulty != Difficulty.EASY
    tree = Tree([], {}, {}, f"{folders[-1]}/kept-{draw.pick(HOST_WORDS)}")
    serials = iter(draw.sample(range(1000, 9999), groups * 6 + singles * 3))
    start = 1_500_000_000 + draw.between(0, 9_000_000)

    def content() -> int:
        words = [draw.pick(LAST_NAMES), draw.pick(CITIES), *(draw.pick(HOST_WORDS) for _ in range(draw.between(5, 14)))]
        tree.contents.append(f"{world.thing} {next(serials)}\n{' '.join(words)}\nend {next(serials)}\n")
        return len(tree.contents) - 1

    def add(number: int, folder: str, when: int, tail: str = "", stem: str = "") -> str:
        name = stem or f"{draw.pick(('IMG', 'Scan', 'file', 'a', 'Zone'))}_{next(serials)}"
        path = f"{folder}/{name}{tail}.{draw.pick(endings)}"
        tree.files[path] = (number, when)
        return path

    tails = ("-copy", " copy", " (2)", "(1)", "-Copy", " (14)")
    for group in range(groups):
        number, when = content(), start + draw.between(0, 50_000_000)
        kind = group if group < 5 else draw.between(0, 4)
        if kind == 0:  # the oldest file has a copy's name
            add(number, draw.pick(folders), when - 86_400, draw.pick(tails))
            add(number, draw.pick(folders), when)
            add(number, draw.pick(folders), when + draw.between(1, 9000))
        elif kind == 1:  # equal times: bytes decide, and capitals sort first
            add(number, folders[0], when, stem=f"apple{next(serials)}")
            add(number, folders[0], when, stem=f"Zebra{next(serials)}")
        elif kind == 2 and with_master:  # the preferred folder has the newest one, under a copy's name
            add(number, draw.pick(folders), when)
            add(number, f"{world.master}/{draw.between(1, 3)}", when + 500_000, draw.pick(tails))
        elif kind == 3 and hard:  # one of three is out of bounds, and would have won
            add(number, tree.closed, when - 900_000)
            add(number, draw.pick(folders), when)
            add(number, draw.pick(folders), when + 60, draw.pick(tails))
        else:  # only copies' names, and misleading plain ones
            add(number, draw.pick(folders), when + draw.between(1, 9), draw.pick(tails))
            add(number, draw.pick(folders), when, draw.pick(tails))
            add(
                number, draw.pick(folders), when + 70, draw.pick(("-copyright", " copy 2-final", "(b)", "copy"))
            ) if group % 2 else None
    shared = f"{draw.pick(HOST_WORDS)}_{next(serials)}"
    for single in range(singles):
        number, when = content(), start + draw.between(0, 50_000_000)
        add(
            number,
            folders[single % len(folders)],
            when,
            draw.pick(("", "", "-copy")),
            shared if single < len(folders) else "",
        )
        if single < 4 or draw.chance(30):  # nearly the same: one byte of equally many, or a line end more
            text = tree.contents[number]
            tree.contents.append(text[:-2] + ("x" if single % 2 else "y") + "\n" if single % 3 else text + "\n")
            add(len(tree.contents) - 1, draw.pick(folders), when)
    tree.contents.append("")
    for _ in range(4):
        add(len(tree.contents) - 1, draw.pick(folders), start + draw.between(0, 99_999))
    if hard:
        tree.files[f"{tree.closed}/{world.marker}"] = (len(tree.contents) - 1, start)
    return tree


def kept_first(tree: Tree, world: World, with_master: bool) -> list[list[str]]:
    """The groups of two or more, each with its kept file first: the stated rules."""
    groups: dict[int, list[str]] = {}
    for path, (number, _) in tree.files.items():
        if tree.contents[number] and not path.startswith(tree.closed + "/"):
            groups.setdefault(number, []).append(path)

    def rank(path: str) -> tuple[bool, bool, int, bytes]:
        inside = with_master and path.startswith(world.master + "/")
        return (not inside, looks_copied(path), tree.files[path][1], path.encode())

    return [sorted(paths, key=rank) for paths in groups.values() if len(paths) > 1]


def add_links(draw: Draw, tree: Tree, groups: Sequence[Sequence[str]], folder: str, mode: Mode) -> dict[str, str]:
    """Symbolic links to files of either kind; gives where each has to lead at the end."""
    ends: dict[str, str] = {}
    for number, paths in enumerate(draw.sample(groups, 5)):
        target = paths[-1] if number < 3 else paths[0]
        link = f"{folder.split('/')[0]}/latest-{number + 1}"
        tree.links[link] = f"../{target}"
        ends[link] = target if mode == "link" else paths[0]
    return ends
