"""Damage changes every value and no shape, and is the same each time."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import JsonValue

from containers.proof.damage import altered, damages
from generators.seeds import stream

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False, width=32) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def kinds(data: bytes, path: str, executable: bool = False) -> list[str]:
    return [damage.how.split()[0] for damage in damages(data, path, executable, stream("kinds"))]


def same_shape(left: JsonValue, right: JsonValue) -> bool:
    match left, right:
        case (dict(), dict()):
            return list(left) == list(right) and all(same_shape(left[key], right[key]) for key in left)
        case (list(), list()):
            return len(left) == len(right) and all(map(same_shape, left, right))
        case (str(), str()):
            return left != right or not any(letter.isalnum() for letter in left)
        case _:
            return left is right is None or (type(left) is type(right) and left != right)


@given(VALUES)
def test_json_keeps_its_shape_and_no_value(value: JsonValue) -> None:
    text = json.dumps(value)
    other = altered(text, "/a.json", stream("json"))
    assert same_shape(value, json.loads(other))
    assert other == altered(text, "/a.json", stream("json"))


@given(st.text())
@example("Infinity")
@example('{"a": NaN}')
@example("[1e999]\n-Infinity\n")
def test_any_text_can_be_altered(text: str) -> None:
    other = altered(text, "/a.txt", stream("text"))
    assert isinstance(other, str) and other == altered(text, "/a.txt", stream("text"))


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("ship,toll\nWren,70\nTern,12\n", ["ship,toll\n", ",", "\n"]),
        ("total: 70\nname = Wren\n", ["total: ", "name = "]),
        ("[harbour]\n# tolls of May\npence = 70\n", ["[harbour]\n# tolls of May\npence = "]),
        ("<toll ship='Wren'>70</toll>", ["<toll", "</toll>"]),
        ('{"a": 1}\n{"a": 2}\n', ['{"a": ']),
    ],
)
def test_what_stands_around_values_stays(text: str, kept: list[str]) -> None:
    other = altered(text, "/a", stream("shape"))
    assert len(other) == len(text) and all(piece in other for piece in kept)
    assert "70" not in other and "Wren" not in other


def test_the_same_word_stays_the_same_word() -> None:
    first, second, third = altered("Wren Tern Wren", "/a", stream("words")).split()
    assert first == third != second and len(second) == 4


@pytest.mark.parametrize(
    ("data", "path", "executable"),
    [
        (b"#!/bin/sh\necho 7\n", "/srv/run", False),
        (b"echo 7\n", "/srv/run", True),
        (b"print(7)\n", "/srv/run.py", False),
        (b"all:\n\techo 7\n", "/srv/Makefile", False),
        (b"served 7 requests\n", "/srv/served.log", False),
        (b"7 \0", "/srv/data", False),
        (b"7 \xff", "/srv/data", False),
        (b"7 " * (1 << 20), "/srv/data", False),
        (b"---\n", "/srv/data", False),
    ],
)
def test_what_holds_no_values_is_only_removed_or_emptied(data: bytes, path: str, executable: bool) -> None:
    assert kinds(data, path, executable) == ["removed", "emptied"]


def test_what_is_empty_is_only_removed() -> None:
    assert kinds(b"", "/srv/done") == ["removed"] and kinds(b"7\n", "/srv/sum") == ["removed", "emptied", "given"]
