"""Server-sent events: any cut of the bytes gives the same events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from generators.chat.stream import events, parse

LINES = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), min_size=1, max_size=20)


class Piece(BaseModel):
    text: str


def read(data: bytes, cuts: list[int]) -> list[bytes]:
    async def parts() -> AsyncIterator[bytes]:
        edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
        for start, end in pairwise(edges):
            yield data[start:end]

    async def main() -> list[bytes]:
        return [event async for event in events(parts())]

    return asyncio.run(main())


@given(st.lists(LINES, max_size=5), st.lists(st.integers(0, 500), max_size=8), st.sampled_from(["\n", "\r\n"]))
def test_events_do_not_depend_on_how_the_bytes_are_cut(said: list[str], cuts: list[int], end: str) -> None:
    stream = "".join(f": note{end}event: x{end}data: {json.dumps({'text': text})}{end}{end}" for text in said)
    found = read((stream + f"data: [DONE]{end}{end}data: late{end}{end}").encode(), cuts)
    assert [parse(Piece, data).text for data in found] == said


def test_lines_of_one_event_are_joined_and_an_unfinished_event_is_dropped() -> None:
    assert read(b'data: {"text":\ndata:"a"}\n\ndata: {"te', []) == [b'{"text":\n"a"}']


def test_half_a_character_is_let_through_and_other_faults_are_value_errors() -> None:
    assert parse(Piece, b'{"text": "\\ud83d"}').text == "\ud83d"
    for bad in (b'{"text": 3}', b'{"text": "a"', b'"a"', b'{"text": "\xff"}', b""):
        with pytest.raises(ValueError):
            parse(Piece, bad)
