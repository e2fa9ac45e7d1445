"""What an agent gets to see of an action: text without control sequences, cut in the middle where it is long."""

from __future__ import annotations

import re

from generators.task import Record

LIMIT = 10_000  # characters
SMALLEST = 300  # below this a limit leaves no room for anything but the note
_SLACK = 0.1  # of a half: so far from the cut a line end is looked for
_MOSTLY = (
    0.3  # so many NULs and undecodable places make bytes binary: more than any text in another encoding of Latin script
)
_HEAD_BYTES = 16

_CLUE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_SEQUENCES = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*+[ -/]*+[@-~]"  # CSI: colours, cursor
    "|(?:\x1b[\\]P^_X]|[\x9d\x90\x9e\x9f\x98])[^\x07\x1b\x9c\n]*+(?:\x07|\x1b\\\\|\x9c)"  # OSC, DCS, PM, APC, SOS: titles, links
    "|\x1b[ -/]*+[0-~]"  # character sets, modes
)
_LINE_END = re.compile("(?<!\r)\r+(?=\n|\\Z)")
_OVERWRITTEN = re.compile("^[^\n]*\r", re.MULTILINE)
_BACKSPACED = re.compile("^[^\n]*\x08[^\n]*", re.MULTILINE)
_CONTROL = re.compile("[\x01-\x08\x0b-\x1f\x7f-\x9f]")
_SURROGATE = re.compile("[\ud800-\udfff]")


class Observation(Record):
    """The result of one action, as shown. `chars` is the length before it was cut."""

    tag: str
    text: str
    failed: bool = False
    exit_code: int | None = None  # of a command; None too where it ran out of time
    timed_out: bool = False
    chars: int = 0
    seconds: float = 0.0


def shown(said: str | bytes, limit: int = LIMIT, *, more: bool = False) -> tuple[str, int]:
    """What is shown of a text of at most `limit` characters (never fewer than SMALLEST), and the length it had before it was cut.

    With `more`, its middle was lost before, and the length is a lower bound.
    """
    text = clean(said)
    return cut(text, limit, more=more), len(text)


def binary(data: bytes) -> bool:
    """Whether bytes are no text: a good part of them is NUL or no UTF-8."""
    if not data:
        return False
    wrong = data.count(0) + data.decode(errors="replace").count("\ufffd") - data.count("\ufffd".encode())
    return wrong > _MOSTLY * len(data)


def described(data: bytes) -> str:
    """Words for bytes that are no text."""
    more = " ..." if len(data) > _HEAD_BYTES else ""
    return f"[binary, {len(data):,} bytes: {data[:_HEAD_BYTES].hex(' ')}{more}]"


def clean(said: str | bytes) -> str:
    """The text that a terminal would be left with: no escape sequences, the last state of a line that was written over and over,
    backspaces applied, NUL as a space, and of other control characters only newline and tab."""
    if isinstance(said, bytes):
        if binary(said):
            return described(said)
        said = said.decode(errors="replace")
    if not _CLUE.search(said):
        return said
    text = _LINE_END.sub("", _SEQUENCES.sub("", said))
    text = _BACKSPACED.sub(_rubbed_out, _OVERWRITTEN.sub("", text))
    return _SURROGATE.sub("\ufffd", _CONTROL.sub("", text.replace("\0", " ")))


def _rubbed_out(line: re.Match[str]) -> str:
    """A line after its backspaces."""
    kept: list[str] = []
    for char in line.group():
        if char != "\b":
            kept.append(char)
        elif kept:
            kept.pop()
    return "".join(kept)


def cut(text: str, limit: int = LIMIT, *, more: bool = False) -> str:
    """Head and tail of a long text, at line ends where there are some near, and between them a line that says what is missing."""
    limit = max(limit, SMALLEST)
    if len(text) <= limit:
        return text
    half = (limit - len(_note(len(text), len(text), more)) - 2) // 2
    slack = int(half * _SLACK)
    end = text.rfind("\n", half - slack, half) + 1 or half
    begin = len(text) - half
    begin = text.find("\n", begin, begin + slack) + 1 or begin
    head, tail = text[:end], text[begin:]
    return f"{head}{'' if head.endswith(chr(10)) else chr(10)}{_note(begin - end, len(text), more)}\n{tail}"


def _note(left_out: int, length: int, more: bool) -> str:
    least = "at least " if more else ""
    return f"[... {least}{left_out:,} characters left out of {least}{length:,} ...]"
