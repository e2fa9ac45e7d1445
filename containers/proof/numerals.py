"""How numbers are written in a file: their spellings, their order, and which lines of it are rows of a table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

ROWS = 5  # so many lines of one form are a table
FIELD_WORDS = 5  # a line with more words between its delimiters is prose

_LEFT = rb"(?<![0-9A-Za-z])(?<![0-9]\.)"
_RIGHT = rb"(?![0-9A-Za-z]*[0-9]|[A-Za-z]{4}|\.[0-9])"  # a unit of three letters may follow; addresses are no numbers
_PLAIN = rb"[0-9]++(?:\.[0-9]++)?+(?:[eE][-+]?[0-9]{1,3})?+"
_SPACED = rb"[0-9]{1,3}(?:(?:[,_'. ]|\xc2\xa0|\xe2\x80\xaf)[0-9]{3})+(?:[.,][0-9]+)?(?![0-9])|[0-9]++,[0-9]++"
READING = re.compile(_LEFT + _PLAIN + _RIGHT)
SPACED_READING = re.compile(_LEFT + rb"(?:" + _SPACED + rb"|" + _PLAIN + rb")" + _RIGHT)
_IS_SPACED = re.compile(rb"[0-9](?:[,_' ]|\.[0-9]+[.,]|\xc2\xa0|\xe2\x80\xaf)[0-9]")
_SEPARATORS = b".,_' \xc2\xa0\xe2\x80\xaf"
_LINES = re.compile(rb"\n|(?<=\})")
_DELIMITER = re.compile(rb"[,;|\t:=]")


class Number(NamedTuple):
    """A number of a file: its significant digits, for how many numbers it may stand, and where it begins."""

    digits: bytes
    weight: int
    start: int


def significant(written: bytes) -> bytes:
    """A number's digits without the zeros at both ends, separators, point and power of ten."""
    return all_digits(written).rstrip(b"0")


def all_digits(written: bytes) -> bytes:
    """A number's digits without separators, point, power of ten and the zeros before them."""
    return written.lower().partition(b"e")[0].translate(None, _SEPARATORS).lstrip(b"0")


def numbers_in(text: bytes) -> set[bytes]:
    """The numbers of a text, in both readings: a separator stands within numbers, or between them."""
    return {*READING.findall(text), *SPACED_READING.findall(text)}


def readings(content: bytes) -> Iterator[re.Pattern[bytes]]:
    """The readings of a file: numbers as they are, and with separators within them where there are any."""
    yield READING
    if _IS_SPACED.search(content):
        yield SPACED_READING


def without_rows(content: bytes) -> bytes:
    """A file without the lines (or JSON objects) of which it has many of the same form."""
    lines = [(line, _line_form(line)) for line in _LINES.split(content)]
    often = Counter(form for _, form in lines)
    return b"\n".join(line for line, form in lines if often[form] < ROWS)


def _line_form(line: bytes) -> bytes:
    """What lines of one table share: the key of a pair, the delimiters of short fields, or what the columns hold."""
    delimiters = b"".join(_DELIMITER.findall(line))
    if delimiters.rstrip(b",") in (b":", b"="):
        return re.split(rb"[:=]", line)[0].strip()
    if any(len(field.split()) > FIELD_WORDS for field in _DELIMITER.split(line)) and delimiters:
        return line
    return delimiters or b" ".join(b"9" if re.search(rb"[0-9]", field) else b"a" for field in line.split())


def in_order(form: re.Pattern[bytes], content: bytes) -> Iterator[Number]:
    """The numbers of a file, first to last."""
    for match in form.finditer(content):
        yield Number(significant(match[0]), 1 + match[0].count(b" "), match.start())
