"""Reading, writing and editing files."""

from __future__ import annotations

import difflib
import posixpath
import re
from collections.abc import Sequence

from agent.actions import FileEdit, FileMetadata, FileMultiEdit, FileRead, FileWrite, Replacement
from agent.inside import MISSING, MOST_BYTES, Inside, refusal
from agent.observation import described
from agent.prepared import ActionFailure

LINE_CHARS = 2000  # shown of a line
_HEADER_CHARS = 500
_COMPARED, _COMPARED_CHARS = 1000, 120  # lines in which the closest is looked for, and how much of each
_PICTURES = {code: 0x2400 + code for code in range(32) if code != 9} | {127: 0x2421}
_FACTS = 6  # per file


def read(inside: Inside, action: FileRead, limit: int) -> str:
    """Numbered lines, as many as fit into `limit` characters."""
    data = _contents(inside, action.file_path)
    if b"\0" in data:
        return f"{action.file_path}: {described(data)}"
    lines = data.decode(errors="replace").split("\n")
    unended = lines.pop()
    lines += [unended] if unended else []
    if not lines:
        return f"{action.file_path}: empty"
    if action.offset > len(lines):
        raise ActionFailure(f"{action.file_path}: has {len(lines):,} lines, none at {action.offset:,}")
    wanted = lines[action.offset - 1 : action.offset - 1 + action.limit]
    numbered = _numbered(wanted, action.offset, limit - _HEADER_CHARS)
    last = action.offset + len(numbered) - 1
    said = [f"lines {action.offset:,}-{last:,} of {len(lines):,}"]
    said += ["line ends are CRLF"] if b"\r\n" in data else []
    said += ["no newline at the end"] if unended and last == len(lines) else []
    said += [f"go on with offset {last + 1}"] if len(numbered) < len(wanted) else []
    return "\n".join([f"{action.file_path}: {'; '.join(said)}", *numbered])


def write(inside: Inside, action: FileWrite, _limit: int) -> str:
    """A whole file."""
    data = action.content.encode()
    inside.write(action.file_path, data, overwrite=action.overwrite)
    return f"{action.file_path}: written, {len(data):,} bytes, {_line_count(action.content):,} lines"


def edit(inside: Inside, action: FileEdit, _limit: int) -> str:
    """One replacement."""
    one = Replacement(old_string=action.old_string, new_string=action.new_string, replace_all=action.replace_all)
    return _edit(inside, action.file_path, [one])


def multi_edit(inside: Inside, action: FileMultiEdit, _limit: int) -> str:
    """Several replacements, all or none."""
    return _edit(inside, action.file_path, action.edits)


def metadata(inside: Inside, action: FileMetadata, _limit: int) -> str:
    """A line per file."""
    result = inside.ask("file_facts", *map(inside.path, action.file_paths))
    fields = result.stdout.decode(errors="replace").split("\0")
    if len(fields) <= _FACTS * len(action.file_paths):
        raise ActionFailure("the sandbox gave no answer")
    facts = [fields[start : start + _FACTS] for start in range(0, _FACTS * len(action.file_paths), _FACTS)]
    text = "\n".join(_facts(path, *one) for path, one in zip(action.file_paths, facts, strict=True))
    if any(not one[0] for one in facts):
        raise ActionFailure(text)
    return text


def _facts(path: str, kind: str, size: str, mode: str, owner: str, target: str, lines: str) -> str:
    if not kind:
        return f"{path}: there is no such file or folder, or it may not be looked for"
    link = f" to {target}" if target else ""
    counted = f", {int(lines):,} lines" if lines else ""
    return f"{path}: {kind}{link}, {int(size):,} bytes, mode {mode:0>4}, owner {owner}{counted}"


def _contents(inside: Inside, path: str) -> bytes:
    """The bytes of a file that may be read."""
    where = inside.path(path)
    result = inside.ask("file_read", where, str(MOST_BYTES + 1))
    if result.exit_code == MISSING:
        raise ActionFailure(refusal(path, result) + _near(inside, where))
    if result.exit_code != 0:
        raise ActionFailure(refusal(path, result))
    if len(result.stdout) > MOST_BYTES:
        size = int(inside.ask("file_size", where).stdout or 0)
        raise ActionFailure(
            f"{path}: has {size:,} bytes, more than {MOST_BYTES:,}: use a command, such as sed -n '1,100p'"
        )
    return result.stdout


def _near(inside: Inside, where: str) -> str:
    """Names in the same folder that look like a missing one."""
    folder, name = posixpath.split(where.rstrip("/"))
    names = inside.ask("names", folder or "/").stdout.decode(errors="replace").splitlines()
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    return f"; near it: {', '.join(close)}" if close else ""


def _numbered(lines: Sequence[str], first: int, room: int) -> list[str]:
    """Lines with numbers, as many as there is room for, at least one."""
    numbered: list[str] = []
    for number, line in enumerate(lines, first):
        line = line.removesuffix("\r").translate(_PICTURES)
        cut = f" [... {len(line):,} characters]" if len(line) > LINE_CHARS else ""
        numbered.append(f"{number:6}\t{line[:LINE_CHARS]}{cut}")
        room -= len(numbered[-1]) + 1
        if room < 0 and len(numbered) > 1:
            return numbered[:-1]
    return numbered


def _edit(inside: Inside, path: str, edits: Sequence[Replacement]) -> str:
    data = _contents(inside, path)
    if b"\0" in data:
        raise ActionFailure(f"{path}: is binary and cannot be edited as text")
    text = data.decode(errors="surrogateescape")
    places: list[str] = []
    for number, one in enumerate(edits, 1):
        try:
            text, place = _replaced(text, one)
        except ActionFailure as failure:
            which = f"edit {number} of {len(edits)}: " if len(edits) > 1 else ""
            raise ActionFailure(f"{path}: nothing changed; {which}{failure}") from None
        places.append(place)
    _put_back_unless_written(inside, path, data, text.encode(errors="surrogateescape"))
    return f"{path}: replaced at {'; '.join(places)}"


def _put_back_unless_written(inside: Inside, path: str, before: bytes, after: bytes) -> None:
    """Write a file anew; if that fails half way (a full disk), what it held before."""
    try:
        inside.write(path, after, overwrite=True)
    except ActionFailure:
        if _contents(inside, path) != before:
            inside.write(path, before, overwrite=True)
        raise


def _replaced(text: str, one: Replacement) -> tuple[str, str]:
    """The text after a replacement, and where that was.

    Raises:
        ActionFailure: the old text does not occur, or too often.
    """
    old, new = one.old_string, one.new_string
    if "\r\n" in text and not re.search(r"(?<!\r)\n", text):
        old, new = (re.sub(r"\r?\n", "\r\n", words) for words in (old, new))
    if old == new:
        raise ActionFailure("old_string and new_string are the same")
    count = text.count(old)
    if not count:
        raise ActionFailure(f"old_string does not occur{_closest(text, old)}")
    lines = _lines_of(text, old)
    if count > 1 and not one.replace_all:
        raise ActionFailure(
            f"old_string occurs {count:,} times, at {lines}: give more of its surroundings, or set replace_all"
        )
    if len(text) + count * (len(new) - len(old)) > MOST_BYTES:
        raise ActionFailure(f"the file would have more than {MOST_BYTES:,} bytes")
    return text.replace(old, new), lines


def _lines_of(text: str, old: str, most: int = 10) -> str:
    """The lines at which a text occurs."""
    found: list[int] = []
    at, line = 0, 1
    while len(found) <= most and (place := text.find(old, at)) >= 0:
        line += text.count("\n", at, place)
        found.append(line)
        line += old.count("\n")
        at = place + len(old)
    more = ", ..." if len(found) > most else ""
    return f"line{'s' if len(found) > 1 else ''} {', '.join(map(str, found[:most]))}{more}"


def _closest(text: str, old: str) -> str:
    """Where something much like the old text stands."""
    lines, wanted = text.split("\n"), old.splitlines()
    first = next((line for line in wanted if line.strip()), "")
    bare = [line.strip() for line in lines]
    block = [line.strip() for line in wanted]
    for number in range(len(bare) - len(block) + 1):
        if first and bare[number] == block[0] and bare[number : number + len(block)] == block:
            return f"; but for white space it stands at line {number + 1}:\n" + _quoted(
                lines, range(number, number + len(block))
            )
    short = [line[:_COMPARED_CHARS] for line in lines[:_COMPARED]]
    close = difflib.get_close_matches(first[:_COMPARED_CHARS], dict.fromkeys(short), n=3, cutoff=0.6)
    if not close:
        return " and no line is like it: read the file first"
    return "; the closest lines are:\n" + _quoted(lines, [short.index(line) for line in close])


def _quoted(lines: Sequence[str], numbers: Sequence[int]) -> str:
    return "\n".join(_numbered([lines[number]], number + 1, 0)[0] for number in numbers[:10])


def _line_count(text: str) -> int:
    return text.count("\n") + bool(text and not text.endswith("\n"))
