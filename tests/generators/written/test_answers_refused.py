"""Answers that cannot be used: each gives a reason that names the field, and no junk gives anything else, however long."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generators.task import Record
from generators.written.answers import MAX_CHARACTERS, parse
from generators.written.problems import AnswerError
from generators.written.records import (
    Completion,
    Description,
    FurnishedEnvironment,
    Judgement,
    Misses,
    Solution,
)
from tests.generators.written.scripted import KINDS


@pytest.mark.parametrize(
    ("kind", "text", "reason", "says"),
    [
        (Solution, " \n", "empty", "empty"),
        (Solution, "<think>Hm.</think>\n", "empty", "empty"),
        (Solution, "x" * (MAX_CHARACTERS + 1), "too_long", "1000001 characters"),
        (Judgement, "I accept.", "no_answer", "<verdict>, <stage>, <reasons>"),
        (Solution, "<script>echo 1", "unclosed_tag", "<script> is not closed"),
        (Misses, "<misses><item><name>a</name></misses>", "unclosed_tag", "<item> is not closed"),
        (Solution, '{"script": "echo', "invalid_json", "not valid"),
        (Description, '<truth>{"a": }</truth>', "invalid_json", "<truth>"),
        (Completion, "<source>x</source><guards>[test_a]</guards>", "invalid_json", "<guards>"),
        (Description, "<title>short</title>", "malformed", "title: String should have at least 8"),
        (Solution, '{"script": "x", "more": 1}', "malformed", "more: Extra inputs"),
        (Completion, "<weights><item><test>a</test><weight>2</weight></item></weights>", "malformed", "weights.0.test"),
        (FurnishedEnvironment, '<fixtures>[{"kind": "tape"}]</fixtures>', "malformed", "fixtures.0"),
    ],
)
def test_reasons_name_the_field(kind: type[Record], text: str, reason: str, says: str) -> None:
    with pytest.raises(AnswerError) as caught:
        parse(kind, text)
    assert caught.value.reason == reason and says in caught.value.detail and len(caught.value.detail) < 2000


def filled(piece: str, characters: int = 900_000) -> str:
    return piece * (characters // len(piece))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Solution, filled("<script>")),
        (Solution, filled("</script>")),
        (Solution, filled("[")),
        (Solution, filled("{")),
        (Solution, filled('{"a":')),
        (Solution, filled("```\n")),
        (Solution, filled("<think>")),
        (Solution, "<think>" + filled("</think")),
        (Misses, f"<misses>{filled('[')}</misses>"),
        (Misses, f"<misses>{filled('<item>')}</misses>"),
        (Completion, f"<source>x</source><guards>{filled('[')}</guards>"),
        (Description, f'<truth>{{"a": {"9" * 100_000}}}</truth>'),
        (Description, f'<truth>{{"a": {"[" * 900}{"]" * 900}}}</truth>'),
        (Solution, filled("<script></script>")),
        (Description, filled("<title></title>")),
        (Misses, f"<misses>{filled('<item></item>')}</misses>"),
        (Solution, filled("```json\n{")),
    ],
    ids=lambda value: value[:24] + "..." if isinstance(value, str) else None,
)
def test_a_megabyte_of_junk_is_refused(kind: type[Record], text: str) -> None:
    try:
        found = parse(kind, text)
    except AnswerError:
        return
    assert found == Solution(script="")


TAGS = [
    "<script>",
    "</script>",
    "<misses>",
    "<item>",
    "</item>",
    "<truth>{",
    "</truth>",
    "<title>",
    "</title>",
    "<think>",
]
SYNTAX = [
    "```",
    "```json\n{",
    "```\n",
    "{",
    "}",
    "[[",
    ']"}',
    '"',
    "\\",
    "\n",
    " ",
    "\0",
    "\ud800",
    "\\ud800",
    "NaN",
    "1e999",
]
PIECES = st.sampled_from(TAGS + SYNTAX)


@given(st.sampled_from(KINDS), st.lists(PIECES | st.text(max_size=6), max_size=20).map("".join))
@settings(max_examples=300, deadline=None)
def test_no_junk_raises_anything_else(kind: type[Record], text: str) -> None:
    for answer in (
        text,
        f"<think>{text}",
        f"<{next(iter(kind.model_fields))}>{text}</{next(iter(kind.model_fields))}>",
    ):
        try:
            assert isinstance(parse(kind, answer), kind)
        except AnswerError as error:
            assert error.reason in {"empty", "too_long", "no_answer", "unclosed_tag", "invalid_json", "malformed"}


@pytest.mark.parametrize("value", ["NaN", "1e999", '"\\ud800"', '{"\\udfff": 1}'])
def test_truth_that_no_record_can_hold_is_refused(value: str) -> None:
    fields = {"title": "A short heading", "instruction": "the " * 40}
    text = "".join(f"<{name}>{json.dumps(said)}</{name}>" for name, said in fields.items())
    with pytest.raises(AnswerError, match=r"truth|JSON|text"):
        parse(Description, f'{text}<truth>{{"a": {value}}}</truth>')
