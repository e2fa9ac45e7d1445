"""Looking for lines, files and names."""

from __future__ import annotations

import posixpath
from fnmatch import fnmatchcase

from agent.actions import Glob, Grep, Ls
from agent.inside import BAD_PATTERN, Inside, refusal
from agent.patterns import literal, matcher, parts
from agent.prepared import ActionFailure
from containers.sandbox import ExecResult

MOST = 100  # matches shown
MOST_NAMES = 500
LISTED = 1 << 21  # bytes of names that are looked at
LINE_CHARS = 300
_FIELDS = 4  # per name of a folder


def grep(inside: Inside, action: Grep, _limit: int) -> str:
    """The first lines that match, sorted by path."""
    result = inside.ask("find_lines", inside.path(action.path), action.include or "", action.pattern, str(MOST + 1))
    if result.exit_code == BAD_PATTERN:
        raise ActionFailure(f"no valid extended regular expression: {result.tail().rpartition(': ')[2]}")
    _check(action.path, result)
    lines = result.stdout.decode(errors="replace").splitlines()
    if not lines:
        return "no line matches"
    return "\n".join([_short(line.removeprefix("./")) for line in lines[:MOST]] + _rest(len(lines) > MOST, "lines"))


def glob(inside: Inside, action: Glob, _limit: int) -> str:
    """The first files that match, sorted by path."""
    base, pattern = _split(action)
    try:
        fits = matcher(pattern)
    except ValueError as error:
        raise ActionFailure(f"{action.pattern}: {error}") from None
    depth = "" if "**" in pattern else str(len(parts(pattern)))
    result = inside.ask("find_files", inside.path(base), depth, str(LISTED))
    _check(base, result)
    names = result.stdout.decode(errors="replace").split("\0")[:-1]
    found = sorted(filter(fits, names))
    lines = [posixpath.normpath(posixpath.join(base, name)) for name in found[:MOST]] or ["no file matches"]
    lost = (
        ["[there are too many files to look at all of them: use a narrower path]"]
        if len(result.stdout) >= LISTED
        else []
    )
    return "\n".join(lines + _rest(len(found) > MOST, "files") + lost)


def ls(inside: Inside, action: Ls, _limit: int) -> str:
    """Names of a folder in order: folders end in a slash, files have their size, links their target."""
    result = inside.ask("list_folder", inside.path(action.path), str(LISTED))
    _check(action.path, result)
    fields = result.stdout.decode(errors="replace").split("\0")[:-1]
    whole = len(fields) // _FIELDS * _FIELDS  # the last record may be cut
    entries = sorted(zip(*(fields[place:whole:_FIELDS] for place in (2, 0, 1, 3)), strict=True))
    kept = [entry for entry in entries if not any(fnmatchcase(entry[0], pattern) for pattern in action.ignore)]
    lines = [_entry(*entry) for entry in kept[:MOST_NAMES]]
    lines += [f"[the first {MOST_NAMES} of {len(kept):,} names]"] if len(kept) > MOST_NAMES else []
    return "\n".join(lines) or f"{action.path}: nothing{' else' if entries else ''} is in it"


def _entry(name: str, kind: str, size: str, target: str) -> str:
    if kind == "d":
        return f"{name}/"
    if kind == "l":
        return f"{name} -> {target}"
    return f"{name}  {int(size):,} bytes" if kind == "f" else f"{name}  (special file)"


def _split(action: Glob) -> tuple[str, str]:
    """The folder to look in and the pattern below it: names at the pattern's begin that mean just themselves are folders."""
    base = action.path
    if action.pattern.startswith(("/", "~/")):
        base = action.pattern[: action.pattern.index("/") + 1]
    names = parts(action.pattern.removeprefix("~/"))
    while len(names) > 1 and literal(names[0]) and "{" not in "/".join(names):
        base = posixpath.join(base, names.pop(0))
    return base, "/".join(names)


def _check(path: str, result: ExecResult) -> None:
    if result.exit_code != 0:
        raise ActionFailure(refusal(path, result))


def _rest(more: bool, what: str) -> list[str]:
    return [f"[the first {MOST} {what}; there are more]"] if more else []


def _short(line: str) -> str:
    return line if len(line) <= LINE_CHARS else f"{line[:LINE_CHARS]} [...]"
