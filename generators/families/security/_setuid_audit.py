"""An image with every trap of privileged modes, and the modes that its manifest demands."""

from __future__ import annotations

import re
from dataclasses import dataclass

from generators.family import Draw
from generators.task import Difficulty

TODAY = "2025-07-01"
# Halves of names.
FIRST = ("net", "usb", "log", "gfx", "mnt", "pkg", "dev", "aud")
SECOND = (
    "ctl", "-run", "tool", "x", "-aid", "d", "stat", "-top", "view", "set", "scan", "pipe", "man",
    "env", "key", "box", "sum", "map", "dump", "port", "walk", "lock", "sync", "cat", "mix", "hub",
)  # fmt: skip


@dataclass
class Entry:
    """A file, directory or link of the image."""

    kind: str  # f, d or l
    mode: int
    target: str = ""


@dataclass(frozen=True)
class Line:
    """An allow line."""

    mode: int
    path: str
    until: str = ""


@dataclass
class Image:
    """The tree and its manifest."""

    entries: dict[str, Entry]
    scopes: list[tuple[bool, str]]
    lines: list[Line]

    def is_managed(self, path: str) -> bool:
        """The deepest covering line decides."""
        covering = [(len(top), managed) for managed, top in self.scopes if path == top or path.startswith(top + "/")]
        return max(covering)[1] if covering else False

    def wanted(self, path: str) -> int:
        """The mode that an entry of the managed part must have."""
        entry = self.entries[path]
        found = None
        for line in self.lines:
            if not line.until or line.until >= TODAY:
                star = "*" in line.path and re.fullmatch(re.escape(line.path).replace(r"\*", "[^/]*"), path)
                found = line.mode if star or line.path == path else found
        if found is not None:
            return found
        return entry.mode & ~(0o7002 if entry.kind == "f" else 0o5002)

    def missing(self) -> list[str]:
        """Demanded but not there."""
        return sorted(
            line.path
            for line in self.lines
            if (not line.until or line.until >= TODAY)
            and "*" not in line.path
            and line.path not in self.entries
            and self.is_managed(line.path)
        )


def draw_image(draw: Draw) -> Image:
    """An image with every trap at least once."""
    hard, easy = draw.difficulty is Difficulty.HARD, draw.difficulty is Difficulty.EASY
    names = iter(draw.sample([first + second for first in FIRST for second in SECOND], 208))
    vendor, spool = draw.pick(("/usr/lib/vendor", "/usr/lib/oem")), draw.pick(("/var/spool", "/var/lib"))
    entries: dict[str, Entry] = {}
    lines: list[Line] = []

    def put(folder: str, mode: int, kind: str = "f", target: str = "") -> str:
        path = f"{folder}/{next(names)}"
        entries[path] = Entry(kind, mode, target)
        return path

    scopes = [(True, "/usr"), (True, "/var"), (False, vendor)]
    for folder in ("/usr", "/usr/bin", "/usr/sbin", "/usr/lib", "/var", spool, vendor, "/usr-old", "/opt", "/opt/app"):
        entries[folder] = Entry("d", 0o755)
    for _ in range(draw.by_difficulty(easy=1, medium=2, hard=3)):
        # Unlisted special bits, then listed ones that are right, lost, too wide; and what must stay.
        for bits in (0o4755, 0o2755, 0o1755, 0o6711, 0o666, 0o4777, 0o757):
            put(draw.pick(("/usr/bin", "/usr/sbin", "/usr/lib")), bits)
        for bits in (0o1777, 0o777, 0o2775, 0o2777, 0o4755, 0o1755):
            put(draw.pick((spool, "/usr/lib")), bits, "d")
        for wanted, now in ((0o4755, 0o4755), (0o4755, 0o755), (0o2755, 0o6755), (0o4711, 0o4777), (0o2711, 0o2755)):
            lines.append(Line(wanted, put(draw.pick(("/usr/bin", "/usr/sbin")), now)))
        for wanted, now in ((0o1777, 0o777), (0o1777, 0o1777), (0o3770, 0o2770)):
            lines.append(Line(wanted, put(spool, now, "d")))
        lines.append(Line(0o4755, f"/usr/bin/{next(names)}"))  # is not there
        lines.append(Line(0o4755, f"/opt/app/{next(names)}"))  # is not there and not ours
        lines.append(Line(0o755, put(vendor, 0o4755)))  # named, but not ours
        for folder in (vendor, "/usr-old", "/opt/app"):
            put(folder, 0o4755)
            put(folder, 0o777, "d")
        put("/usr/bin", 0, "l", f"../..{put('/opt/app', 0o6755)}")
        put("/usr/lib", 0, "l", "../../opt/app")
        for _ in range(3):
            put(draw.pick(("/usr/bin", spool, "/opt/app")), draw.pick((0o755, 0o644, 0o700, 0o640)))
    if not easy:
        inner = f"{vendor}/{next(names)}"
        entries[inner] = Entry("d", 0o1777)
        scopes.append((True, inner))
        lines.append(Line(0o4750, put(inner, 0o750)))
        put(inner, 0o4755)
        deepest = f"{inner}/{next(names)}"
        entries[deepest] = Entry("d", 0o2777)
        scopes.append((False, deepest))
        put(deepest, 0o4755)
    if hard:
        plug = f"/usr/lib/{next(names)}"
        lines.insert(0, Line(0o4750, f"{plug}/*/run*"))
        lines.append(Line(0o755, f"{plug}/core/run-*"))
        lines.append(Line(0o2755, f"{plug}/*x"))
        for path, bits in (("core", 0o755), ("extra", 0o755), ("extra/deep", 0o2755)):
            entries[f"{plug}/{path}"] = Entry("d", bits)
        entries[plug] = Entry("d", 0o755)
        for path, bits in (
            ("core/run-a", 0o4755),
            ("core/run", 0o755),
            ("extra/run.9", 0o4777),
            ("extra/deep/run", 0o4750),
        ):
            entries[f"{plug}/{path}"] = Entry("f", bits)
        for path, bits in (("x", 0o755), ("ax", 0o755), ("core/x", 0o2755)):
            entries[f"{plug}/{path}"] = Entry("f", bits)
        for until, bits in (("2025-06-30", 0o4755), (TODAY, 0o755), ("2026-01-31", 0o4777), ("2024-12-31", 0o2755)):
            lines.append(Line(0o4755, put("/usr/sbin", bits), until))
        lines.append(Line(0o4755, f"/usr/sbin/{next(names)}", "2025-06-30"))  # void, so not missing
    return Image(entries, lines=lines, scopes=draw.shuffled(scopes))
