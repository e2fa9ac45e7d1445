"""The scripted conversations fit any order: what they bring along, and to whom they are dealt."""

from __future__ import annotations

import pytest

from generators.fixtures.spec import KINDS, read_fixture
from generators.written.answers import parse
from generators.written.problems import AnswerError
from generators.written.records import FurnishedEnvironment
from tests.conversations import Conversations, load
from tests.conversations.furniture import FURNITURE, furnished
from tests.provider_wire import Asked


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_an_answer_in_either_form_gets_a_fixture_of_the_kind(kind: str) -> None:
    assert read_fixture(FURNITURE[kind]).kind == kind
    tags = "<dockerfile>WORKDIR /srv</dockerfile>\n<initial_tests>\ndef test_a():\n    assert 1 < 2\n</initial_tests>"
    json = 'Here it is: {"dockerfile": "WORKDIR /srv", "initial_tests": "def test_a(): assert 1 < 2"}'
    for answer in (tags, json):
        with pytest.raises(AnswerError):
            parse(FurnishedEnvironment, answer)
        assert [spec.kind for spec in parse(FurnishedEnvironment, furnished(answer, kind)).fixtures] == [kind]


def test_a_conversation_goes_to_an_order_for_its_fixture_and_the_others_to_any() -> None:
    talk = Conversations(load(["toll_ledger", "picture_sign", "unmapped_test"]))
    for number, kind in enumerate(("audio", "image", "text_only", "text_only")):
        text = f"Stage: the task itself.\n- Context: {number}. An image of it.\n- Material: {kind}. So it is."
        talk(Asked("/chat/completions", {}, {"messages": [{"role": "user", "content": text}]}, 0.0))
    assert [item.name for item in talk.begun] == ["toll_ledger", "picture_sign", "unmapped_test", "toll_ledger"]
