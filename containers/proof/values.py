"""Numbers and short codes of a truth, found as people write them: alone, or most of an answer close together.

A number is compared by its significant digits, so that 184260, 184,260, 1_842.60 and 1.8426e5 are one and a rounded float is
still it. What tells much stands for itself: a number of five digits, a code of letters and digits. What tells little counts
together: numbers of three digits and more, if they are most of one answer. What a requirement of the instruction states openly is
no secret; a single value in a row of a table, or that a file of many numbers may well hold by chance, is data.

Not found: plain words, codes in a list (answers that name things), a few numbers of one or two digits, years, numbers in words,
what is split or enciphered.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from containers.proof.numerals import (
    READING,
    Number,
    all_digits,
    in_order,
    numbers_in,
    readings,
    significant,
    without_rows,
)
from generators.task import Task

SINGLE_DIGITS = 5  # a number written with so many digits stands for itself,
SINGLE_TELLING = 4  # if so many of them are significant
CHANCE = 2  # powers of ten: with more numbers in a file than a hundredth of those that there are of a length, one is there by chance
GROUP_DIGITS = 6  # several numbers stand for their answer if they have so many significant digits together,
GROUP_EACH = 3  # not counting those with fewer each; rounded floats have so many, too (alone: SINGLE_DIGITS)
GROUP_SHARE = 2 / 3  # and are so much of it
MAX_FOREIGN = 1 / 2  # other numbers between them, for each of them; none in a table
MAX_BETWEEN = 60  # bytes from the first to the last, for each of them
MIN_CODE, MAX_CODE = 5, 11  # characters; longer texts are looked for as they are
MIN_TABLE = 5  # numbers of an answer that make up a table of it
MAX_PHRASE = 40  # a text of up to so many characters is taken for its numbers, too

_WORD = re.compile(rb"[0-9A-Za-z\x80-\xff]+")
_ESCAPED = re.compile(rb"\\[nrt]")
_STATED = re.compile(rb"[^\s\"'`()=,;]*[^\s\"'`()=,;.:]")
_YEAR = re.compile(rb"(19|20)[0-9][0-9]")
_CODE = re.compile(r"(?=.*[A-Za-z])(?=.*[0-9])|.*[a-z].*[A-Z]")


@dataclass(frozen=True)
class Group:
    """The numbers of one answer: the spellings (significant digits) of each, by its place among them."""

    name: str
    size: int
    spelled: Mapping[bytes, int]
    beside: frozenset[bytes]  # other numbers of that answer: its keys, small ones, parts of its texts

    def tells(self, seen: Iterable[bytes], many: int = 0) -> bool:
        """Whether these are most of the answer's numbers, and tell enough for a file of so many numbers in all."""
        known = {self.spelled[digits]: len(digits) for digits in sorted(self.spelled.keys() & seen, key=len)}
        return len(known) >= self._most and sum(known.values()) >= max(GROUP_DIGITS, GROUP_DIGITS - 2 + len(str(many)))

    @property
    def _most(self) -> float:
        return max(2, self.size * GROUP_SHARE)

    def together(self, numbers: Sequence[Number], between: float) -> bool:
        """Whether most of them stand in one place, with at most so many others between them for each."""
        own: list[tuple[Number, int]] = []  # each with how many foreign numbers are before it
        near: Counter[bytes] = Counter()
        foreign = 0
        first = 0
        for number in numbers:
            if number.digits not in self.spelled:
                foreign += 0 if number.digits in self.beside else number.weight
                continue
            own.append((number, foreign))
            near[number.digits] += 1
            while not _close(own[first], own[-1], len(own) - first, between):
                _take(near, own[first][0].digits)
                first += 1
            if len(near) >= self._most and self.tells(near, len(numbers)):
                return True
        return False


@dataclass(frozen=True)
class Values:
    """What of a truth is looked for as values, with the names that messages call them by."""

    numbers: Mapping[bytes, str]  # by significant digits
    codes: Mapping[bytes, Mapping[bytes, str]]  # by their first run of letters and digits
    groups: tuple[Group, ...]

    def find(self, content: bytes) -> str | None:
        """The name of a value that is in a file."""
        content = _ESCAPED.sub(b"  ", content) if b"\\" in content else content
        if self._alone(content) or self._grouped(content, MAX_FOREIGN):
            prose = without_rows(content)
            return self._alone(prose) or self._grouped(prose, MAX_FOREIGN) or self._grouped(content, 0, MIN_TABLE)
        return None

    def _alone(self, content: bytes) -> str | None:
        """What stands for itself."""
        found = (self._number_in(content, form) for form in readings(content))
        return self._code_in(content) or next((name for name in found if name), None)

    def _grouped(self, content: bytes, between: float, fewest: int = 2) -> str | None:
        """An answer of at least so many numbers that is there for the most part."""
        groups = [group for group in self.groups if group.size >= fewest]
        found = (_group_in(groups, content, form, between) for form in readings(content))
        return next((name for name in found if name), None) if groups else None

    def _code_in(self, content: bytes) -> str | None:
        words = set(_WORD.findall(content)) if self.codes else set[bytes]()
        for word in sorted(words & self.codes.keys()):
            for code, name in self.codes[word].items():
                if re.search(rb"(?<![0-9A-Za-z])" + re.escape(code) + rb"(?![0-9A-Za-z])", content):
                    return name
        return None

    def _number_in(self, content: bytes, form: re.Pattern[bytes]) -> str | None:
        written = {number: significant(number) for number in set(form.findall(content))} if self.numbers else {}
        seen = set(written.values())
        long = {
            digits
            for number, digits in written.items()
            if digits in self.numbers and len(all_digits(number)) >= SINGLE_DIGITS
        }
        for digits in sorted(long):
            if sum(len(other) >= len(digits) for other in seen) <= 10 ** (len(digits) - CHANCE):
                return self.numbers[digits]
        return None


def _group_in(groups: list[Group], content: bytes, form: re.Pattern[bytes], between: float) -> str | None:
    seen = {significant(number) for number in set(form.findall(content))}
    likely = [group for group in groups if group.tells(seen)]
    numbers = list(in_order(form, content)) if likely else []
    return next((group.name for group in likely if group.together(numbers, between)), None)


def values(task: Task) -> Values:
    """The values of a task's truth that must not be found: those of keys not declared discoverable, and not stated openly."""
    hidden = {f"truth.{key}": value for key, value in task.truth.items() if key not in task.discoverable}
    open_numbers, open_words = _stated(task)
    numbers: dict[bytes, str] = {}
    codes: dict[bytes, dict[bytes, str]] = {}
    for name, leaf in ((name, leaf) for name, value in hidden.items() for leaf in leaves(value)):
        numbers |= dict.fromkeys(_singles(leaf) - open_numbers, name)
    for name, leaf in ((name, leaf) for name, value in hidden.items() for leaf in leaves(value, lists=False)):
        for code in _codes(leaf, open_numbers, open_words):
            codes.setdefault(_WORD.findall(code)[0], {})[code] = name
    answers = [pair for name, value in hidden.items() for pair in _compounds(name, value)]
    found = [_group(name, value, open_numbers) for name, value in [*answers, ("truth", list(hidden.values()))]]
    return Values(numbers, codes, tuple(group for group in found if group.tells(group.spelled)))


def leaves(value: JsonValue, *, lists: bool = True) -> Iterator[str | int | float]:
    """The texts and numbers of a value, in order; on request without what is in lists."""
    if isinstance(value, dict):
        for item in value.values():
            yield from leaves(item, lists=lists)
    elif isinstance(value, list):
        for item in value if lists else ():
            yield from leaves(item)
    elif isinstance(value, str) or (value is not None and not isinstance(value, bool) and math.isfinite(value)):
        yield value


def _stated(task: Task) -> tuple[set[bytes], set[bytes]]:
    """Numbers (significant digits) and words that a requirement states and that a solution or the image works with."""
    scripts = (task.solution or "", *task.alternatives, task.image.dockerfile)
    used = b"\n".join([*(script.encode() for script in scripts), *(file.data() for file in task.image.files)])
    said = "\n".join(requirement.sentence for requirement in task.requirements).encode()
    return (
        {significant(number) for number in numbers_in(said) if number in used or all_digits(number) in used},
        {word for word in _STATED.findall(said) if word in used},
    )


def _spellings(number: float, fewest: int) -> Iterator[bytes]:
    """A number's significant digits, and those of a float rounded to fewer."""
    yield (whole := significant(str(abs(number)).encode()))
    if isinstance(number, float):
        for digits in range(fewest, len(whole)):
            yield significant(f"{abs(number):.{digits}g}".encode())


def _singles(leaf: str | float) -> set[bytes]:
    """The spellings of a leaf's numbers that tell enough to stand for themselves."""
    if isinstance(leaf, str):
        written = numbers_in(leaf.encode()) if len(leaf) <= MAX_PHRASE else set[bytes]()
        found = {significant(number) for number in written if len(all_digits(number)) >= SINGLE_DIGITS}
    else:
        enough = len(all_digits(str(abs(leaf)).encode())) >= SINGLE_DIGITS
        found = set(_spellings(leaf, SINGLE_DIGITS)) if enough else set[bytes]()
    return {digits for digits in found if len(digits) >= SINGLE_TELLING}


def _codes(leaf: str | float, open_numbers: set[bytes], open_words: set[bytes]) -> Iterator[bytes]:
    """A leaf that is a code, and how it or a number that stands for itself reads as base64 and hex, with a line's end or without."""
    text = leaf.strip() if isinstance(leaf, str) else str(leaf)
    plain, is_code = text.encode(), MIN_CODE <= len(text) <= MAX_CODE and _CODE.match(text) is not None
    if is_code and plain not in open_words:
        yield plain
    if (is_code and plain not in open_words) or _singles(leaf) - open_numbers:
        for data in (plain, plain + b"\n"):
            yield from (base64.b64encode(data).rstrip(b"="), data.hex().encode())


def _compounds(name: str, value: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    if isinstance(value, dict | list):
        yield name, value
        for item in value.values() if isinstance(value, dict) else value:
            yield from _compounds(name, item)


def _group(name: str, value: JsonValue, stated: set[bytes]) -> Group:
    written = {leaf for leaf in leaves(value) if not isinstance(leaf, str) and not _YEAR.fullmatch(str(leaf).encode())}
    spelled = {digits: place for place, leaf in enumerate(sorted(written)) for digits in _spellings(leaf, GROUP_EACH)}
    spelled = {digits: place for digits, place in spelled.items() if len(digits) >= GROUP_EACH and digits not in stated}
    beside = (
        {significant(number) for number in READING.findall(json.dumps(value).encode())} if spelled else set[bytes]()
    )
    return Group(name, len(set(spelled.values())), spelled, frozenset(beside))


def _take(near: Counter[bytes], digits: bytes) -> None:
    near[digits] -= 1
    if not near[digits]:
        del near[digits]


def _close(first: tuple[Number, int], last: tuple[Number, int], own: int, between: float) -> bool:
    """Whether little stands between the first and the last of so many."""
    return last[1] - first[1] <= own * between and last[0].start - first[0].start <= own * MAX_BETWEEN
