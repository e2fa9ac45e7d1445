"""The archives of damaged_archives: what they hold, how each is damaged, and what can still be recovered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from generators.family import Draw
from generators.vocabulary import CITIES, HOST_WORDS, LAST_NAMES

BLOCK = 256


@dataclass
class Archive:
    """One archive to pack: members are (path, number of a text or another archive)."""

    path: str
    kind: str
    members: list[tuple[str, int | Archive]]
    damage: str = ""
    cut: int | None = None
    header: int | None = None
    stored: list[int] = field(default_factory=list[int])
    spoilt: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    crc: list[int] = field(default_factory=list[int])

    def spec(self) -> dict[str, object]:
        """As the build script reads it."""
        inner = [(name, text.spec() if isinstance(text, Archive) else text) for name, text in self.members]
        return {**self.__dict__, "members": inner}


@dataclass
class Plan:
    """Texts by number (old versions included), the listed files, the archives, and the pieces that are lost."""

    texts: list[str]
    files: dict[str, int]
    archives: list[Archive]
    lost: dict[str, list[int]]


def draw_text(draw: Draw, low: int, high: int) -> str:
    """A text of whole lines, unlike any other piece by piece."""
    size, lines = draw.between(low, high), list[str]()
    while sum(map(len, lines)) < size:
        lines.append(
            f"{draw.between(10000, 99999)} {draw.pick(LAST_NAMES)} {draw.pick(CITIES)} {draw.pick(HOST_WORDS)} "
            f"{draw.between(1, 999)}\n"
        )
    return "".join(lines)


def draw_plan(draw: Draw, root: str, folders: Sequence[str], ending: str, hard: bool) -> Plan:
    """Every kind of damage has a file that only patience with that kind recovers."""
    plan = Plan([], {}, [], {})
    per = 2 if hard else 1
    low, high = (900, 1700) if hard else (700, 1300)

    def new(count: int) -> list[str]:
        made: list[str] = []
        for _ in range(count):
            path = f"{draw.pick(folders)}/{draw.pick(HOST_WORDS)}-{draw.between(100, 999)}{ending}"
            while path in plan.files:
                path = path.replace("-", "-7", 1)
            plan.texts.append(draw_text(draw, low, high))
            plan.files[path] = len(plan.texts) - 1
            made.append(path)
        return made

    def now(paths: Sequence[str]) -> list[tuple[str, int | Archive]]:
        return [(path, plan.files[path]) for path in paths]

    def old(paths: Sequence[str]) -> list[tuple[str, int | Archive]]:
        stale: list[tuple[str, int | Archive]] = []
        for path in paths:
            plan.texts.append(draw_text(draw, low, high))
            stale.append((path, len(plan.texts) - 1))
        return stale

    in_tar, in_tgz, in_zip, trailer, loose, plain = (
        new(1 + per),
        new(1 + per),
        new(2 + per),
        new(per),
        new(1),
        new(1 + per),
    )
    cut_tar, cut_tgz = new(1), new(1)  # cut through, but intact elsewhere
    never, spoilt = new(1), new(1)  # behind the cuts only; overwritten in every copy
    pieces = {path: -(-len(plan.texts[plan.files[path]]) // BLOCK) for path in (*never, *spoilt)}
    plan.lost = {never[0]: list(range(pieces[never[0]])), spoilt[0]: [1]}
    day = draw.between(1, 20)
    here = f"{root}/{draw.pick(('set', 'vol', 'disk'))}"
    plan.archives += [
        Archive(f"{here}{day}/a.tar", "tar", now([*in_tar, *cut_tar, *never]), cut=len(in_tar)),
        Archive(
            f"{here}{day + 1}/b.{draw.pick(('tgz', 'tar.gz'))}",
            "tgz",
            now([*in_tgz, *cut_tgz, *never]),
            cut=len(in_tgz),
        ),
        Archive(
            f"{here}{day + 1}/c.zip",
            "zip",
            now([*in_zip, *spoilt]),
            "directory",
            stored=[0, len(in_zip)],
            spoilt=[(len(in_zip), 1)],
        ),
        Archive(
            f"{here}{day + 2}/d.tar",
            "tar",
            [*old([in_tar[0], in_zip[0], never[0]]), *now([*plain, *cut_tar, *cut_tgz, *spoilt])],
            spoilt=[(3 + len(plain) + 2, 1)],
        ),
        *(Archive(f"{root}/loose/{path}.gz", "gz", now([path]), "trailer") for path in trailer),
        *(Archive(f"{root}/loose/{path}.gz", "gz", old([path])) for path in (in_tgz[0], plain[0])),
        *(Archive(f"{root}/loose/{path}.gz", "gz", now([path])) for path in loose),
    ]
    if hard:
        behind, inside, split, both = new(2), new(2), new(2), new(1)
        plan.lost[both[0]] = [2]
        nested = Archive("", "zip", now(inside), crc=[0])
        split_one, split_two = [(0, 0), (1, 1), (2, 2)], [(0, 2), (1, 0), (2, 2), (2, 1)]
        plan.archives += [
            Archive(f"{here}{day + 3}/e.tar", "tar", now([*plain[:1], *cut_tgz, *behind]), header=1),
            Archive(
                f"{here}{day + 3}/f.tar", "tar", [(f"inner/{draw.pick(HOST_WORDS)}.zip", nested), *old(behind[:1])]
            ),
            Archive(f"{here}{day + 4}/g.tar", "tar", now([*split, *both]), spoilt=split_one),
            Archive(f"{here}{day + 5}/h.zip", "zip", now([*split, *both]), stored=[0, 1, 2], spoilt=split_two),
        ]
    return plan
