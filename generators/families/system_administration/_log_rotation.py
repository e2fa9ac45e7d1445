"""Log rotation by the rules of log_rotation: the settings of a log, whether it is due, and its files afterwards."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date


@dataclass
class Log:
    """A log as drawn. `copies` maps a suffix such as `.2` or `-20240102` to (content, compressed)."""

    path: str
    owner: str
    last: date
    content: str
    mode: int
    copies: dict[str, tuple[str, bool]] = field(default_factory=dict[str, tuple[str, bool]])
    place: str = ""  # archive folder of the copies


@dataclass(frozen=True)
class Section:
    """A section of the policy: kind `path` or `owner`, pattern and keys."""

    kind: str
    pattern: str
    keys: Mapping[str, str]


def matches(pattern: str, text: str) -> bool:
    """A * does not cross a slash."""
    parts, wanted = text.split("/"), pattern.split("/")
    return len(parts) == len(wanted) and all(fnmatch.fnmatchcase(a, b) for a, b in zip(parts, wanted, strict=True))


def effective(log: Log, base: Mapping[str, str], sections: Sequence[Section]) -> dict[str, str]:
    """The settings of a log: defaults, then owners, then paths."""
    keys = dict(base)
    for kind, text in (("owner", log.owner), ("path", log.path)):
        for section in sections:
            if section.kind == kind and matches(section.pattern, text):
                keys |= section.keys
    return keys


def is_due(log: Log, keys: Mapping[str, str], today: date) -> bool:
    """Too large or too old, and not empty."""
    limit = int(keys["size"].rstrip("k")) * (1024 if keys["size"].endswith("k") else 1)
    return bool(log.content) and (len(log.content) > limit or (today - log.last).days >= int(keys["days"]))


def turned(log: Log, keys: Mapping[str, str], today: date) -> dict[str, tuple[str, bool, int]]:
    """The files of a due log after its rotation: path -> (content, compressed, mode)."""
    keep, kind = int(keys["keep"]), "-" if keys.get("names") == "dated" else "."
    mine = {suffix: copy for suffix, copy in log.copies.items() if suffix[0] == kind}
    after: dict[str, tuple[str, bool]] = {}
    fresh = "-" + today.strftime("%Y%m%d") if kind == "-" else ".1"
    if kind == "-":
        after = {suffix: mine[suffix] for suffix in sorted(mine, reverse=True)[: keep - 1]}
    else:
        after = {f".{int(s[1:]) + 1}": copy for s, copy in mine.items() if int(s[1:]) < keep}
    if keys["compress"] != "never":
        after = {suffix: (text, True) for suffix, (text, _) in after.items()}
    after[fresh] = (log.content, keys["compress"] == "now")
    after |= {suffix: copy for suffix, copy in log.copies.items() if suffix[0] != kind}
    result = {path: (text, packed, log.mode) for path, (text, packed) in copy_paths(log, after).items()}
    result[log.path] = ("", False, int(keys["mode"], 8))
    return result


def copy_paths(log: Log, copies: Mapping[str, tuple[str, bool]]) -> dict[str, tuple[str, bool]]:
    """Copies by their path below logs/."""
    folder, name = log.path.rsplit("/", 1)
    folder += f"/{log.place}" if log.place else ""
    return {f"{folder}/{name}{suffix}{'.gz' if copy[1] else ''}": copy for suffix, copy in copies.items()}
