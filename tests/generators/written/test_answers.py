"""Answers as records: what is rendered is parsed back, whatever stands around it, and junk gives reasons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import create_model

from generators.bases import Base
from generators.fixtures.spec import read_fixture
from generators.task import Record
from generators.written.answers import form, parse, render
from generators.written.problems import AnswerError
from generators.written.records import (
    Completion,
    Description,
    Environment,
    File,
    FurnishedEnvironment,
    Judgement,
    Mapped,
    Miss,
    Misses,
    Solution,
    Weight,
)
from tests.generators.written.scripted import KINDS

# Closing tags in content are told from the answer's own by what follows them, so here something does.
OWN_TAGS = (
    "<script>",
    "</script>;",
    "<item>",
    "</item>.",
    "<path>",
    "</content>x",
    "</misses>-",
    "<title>",
    "</truth>,",
)
SYNTAX = (
    "```",
    "```json\n",
    "```\n",
    "{",
    "}",
    "[",
    '"',
    "\\",
    "\n",
    "\n\n",
    "\r\n",
    " ",
    "\0",
    "&lt;",
    "<think>",
    "$",
)
CHARACTERS = st.characters(exclude_categories=["Cs"])
CONTENT = st.lists(st.sampled_from(OWN_TAGS + SYNTAX) | st.text(CHARACTERS, max_size=12), max_size=8).map("".join)
CHATTER = st.text("abc .,:\n", max_size=30)
NAMES = st.from_regex(r"\Atest_[a-z0-9_]{1,12}\Z")
SIGN = read_fixture(
    {
        "kind": "image",
        "path": "/srv/sign.png",
        "width": 96,
        "height": 32,
        "items": [{"draw": "text", "text": "PIER", "x": 4, "y": 4}],
    }
)


def is_one_fence(text: str) -> bool:
    return text.strip().startswith("```") and text.strip().endswith("```")


def content(least: int = 0) -> st.SearchStrategy[str]:
    """Text that is taken as it stands: one fence around the whole of it would be dropped."""
    padded = CONTENT.map(lambda text: text if len(text) >= least else text + "x" * least)
    return padded.filter(lambda text: not is_one_fence(text))


def line(least: int = 0) -> st.SearchStrategy[str]:
    """A field whose blank space around it does not count."""
    return content(least).map(str.strip).map(lambda text: (text + "y" * least)[:100].strip() or "y")


def values() -> st.SearchStrategy[Any]:
    plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | CONTENT
    return st.recursive(plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(CONTENT, inner, max_size=3))


def some(items: st.SearchStrategy[Any], least: int = 0, most: int = 3) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(items, min_size=least, max_size=most).map(tuple)


FILES = st.builds(File, path=line(1), content=content(), mode=st.sampled_from(["0644", "755", "0755"]))
ENVIRONMENT: dict[str, st.SearchStrategy[Any]] = {
    "base": st.sampled_from(Base),
    "packages": some(st.sampled_from(["g++", "lua5.4", "tcl"])),
    "dockerfile": content(),
    "files": some(FILES),
    "initial_tests": content(1),
}
WRITTEN: st.SearchStrategy[Record] = st.one_of(
    st.builds(
        Description,
        title=line(8),
        instruction=content(120),
        truth=st.dictionaries(CONTENT, values(), min_size=1, max_size=3),
        discoverable=some(CONTENT),
    ),
    st.builds(Environment, **ENVIRONMENT),
    st.builds(FurnishedEnvironment, **ENVIRONMENT, fixtures=some(st.just(SIGN), 1)),
    st.builds(
        Completion,
        source=content(1),
        weights=some(st.builds(Weight, test=NAMES, weight=st.floats(0.001, 1)), 1),
        guards=some(NAMES),
        requirements=some(st.builds(Mapped, sentence=content(1), tests=some(NAMES, 1)), 1),
    ),
    st.builds(Solution, script=content(1)),
    st.builds(
        Misses,
        misses=some(
            st.builds(
                Miss,
                name=st.from_regex(r"\A[a-z][a-z0-9_]{0,9}\Z"),
                why=content(1),
                script=content(1),
                caught_by=some(NAMES, 1),
            ),
            2,
        ),
    ),
    st.builds(
        Judgement,
        verdict=st.sampled_from(["accept", "revise"]),
        stage=st.sampled_from(["describe", "environment", "tests"]),
        reasons=content(),
    ),
)


def in_order(record: Record, names: Sequence[str]) -> str:
    """A record as tagged text, its fields in another order."""
    known = type(record).model_fields
    fields: dict[str, Any] = {name: (known[name].annotation, known[name]) for name in names}
    shuffled = create_model("Shuffled", __base__=Record, **fields)
    return render(shuffled.model_construct(**{name: getattr(record, name) for name in names}))


@given(WRITTEN, st.data())
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_tagged_answer_gives_the_record_back(record: Record, data: st.DataObject) -> None:
    text = in_order(record, data.draw(st.permutations(list(type(record).model_fields))))
    before, after = data.draw(CHATTER), data.draw(CHATTER)
    thought = data.draw(st.sampled_from(["", "<think>first <script>no</script></think>", "\n<thinking>{</thinking>\n"]))
    assert parse(type(record), f"{thought}{before}\n{text}\n{after}") == record


@given(WRITTEN, CHATTER)
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_json_answer_gives_the_record_back(record: Record, chatter: str) -> None:
    text = record.model_dump_json(indent=1)
    assert parse(type(record), f"<think>{chatter}</think>\n{text}\n") == record
    if "<" not in text and "```" not in text:
        assert parse(type(record), f"{chatter}\n```json\n{text}\n```\n{chatter}") == record


@pytest.mark.parametrize(
    "script",
    [
        "cat > /srv/p.html <<'END'\n<script>1</script>\nEND\n",
        "echo '<script></script>' > /srv/p.html\necho '</script></body>'\n",
        "```\n<script>1</script> is HTML\n```\necho done\n",
        "cat > /srv/p.md <<'END'\n```html\n<script>1</script>\n```\nEND\n",
    ],
)
def test_own_tags_in_code_stay(script: str) -> None:
    assert parse(Solution, f"First:\n<script>\n{script}</script>\nThat was it.") == Solution(script=script)


def test_own_tags_in_fenced_json_stay() -> None:
    record = Solution(script="echo '<script>alert(1)</script>' > /srv/p.html\n")
    assert parse(Solution, f"```json\n{record.model_dump_json()}\n```") == record


def test_no_item_is_lost_where_words_stand_between() -> None:
    record = Environment(
        base=Base.PYTHON,
        packages=(),
        dockerfile="COPY a b /srv/\n",
        files=(File(path="a", content="1\n", mode="0644"), File(path="b", content="2\n", mode="0644")),
        initial_tests="x\n",
    )
    text = render(record).replace("</item>\n<item>", "</item>\nThe second one:\n<item>")
    assert parse(Environment, text) == record


def test_forms_models_use_are_read() -> None:
    fenced = "```xml\n<script>\n```bash\necho 1\n```\n</script>\n```"
    assert parse(Solution, fenced) == Solution(script="echo 1\n")
    assert parse(Solution, '{"script": "echo 1\n"}\nThat is all.') == Solution(script="echo 1\n")
    assert parse(Judgement, "<verdict>accept</verdict><verdict>revise</verdict>").verdict == "accept"
    judged = "<verdict>revise</verdict><stage> tests </stage><reasons>\nNo.\n</reasons>"
    assert parse(Judgement, judged) == Judgement(verdict="revise", stage="tests", reasons="No.\n")
    listed = '<misses>```json\n[{"name": "a", "why": "b", "script": "c", "caught_by": ["test_a"]}]\n```</misses>'
    with pytest.raises(AnswerError, match=r"misses: .*at least 2"):
        parse(Misses, listed)


@pytest.mark.parametrize("kind", KINDS)
def test_form_names_every_field_and_what_it_is(kind: type[Record]) -> None:
    text = form(kind)
    assert text.count("(may be left out") >= sum(not info.is_required() for info in kind.model_fields.values())
    for name, info in kind.model_fields.items():
        assert f"<{name}>" in text and f"</{name}>" in text and (info.description or "") in text
