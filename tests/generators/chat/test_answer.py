"""What is made of the text of an answer."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from generators.chat.answer import Collected, finish, without_thinking
from generators.chat.model import Ask, Message, clean
from generators.errors import AnswerFault, ProviderFault

ASK = Ask(messages=(Message(role="user", content="x"),))
HALVES = st.text(st.characters(), max_size=20) | st.text(st.sampled_from("\ud83d\ude00\udc80a"), max_size=20)


@given(HALVES)
def test_any_text_can_be_written_afterwards_and_good_text_stays(text: str) -> None:
    cleaned = clean(text)
    assert cleaned.encode().decode() == cleaned
    joined = json.loads(json.dumps(text))  # pairs of halves become one character
    if not any("\ud800" <= letter <= "\udfff" for letter in joined):
        assert cleaned == joined


@given(HALVES)
def test_any_text_can_be_asked(text: str) -> None:
    ask = Ask(messages=(Message(role="user", content=text),))
    assert Ask.model_validate_json(ask.canonical()) == ask
    assert ask.worst_input_tokens() > len(ask.messages[0].content.encode()) / 2


@given(
    st.lists(st.text(st.characters(codec="utf-8"), min_size=1), max_size=5),
    st.sampled_from([None, "done", "cut_off", "refused"]),
)
def test_pieces_are_a_reply_or_a_fault(pieces: list[str], stop: object) -> None:
    got = Collected()
    for piece in pieces:
        got.add(piece)
    got.stop = stop  # type: ignore[assignment]
    text, _ = without_thinking("".join(pieces))
    try:
        reply = finish(ASK, got, "openai:m", 1.0)
    except ProviderFault as fault:
        assert (stop, fault.reason) == (None, "truncated_stream")
    except AnswerFault as fault:
        assert fault.text == (text if stop == "cut_off" else "")
        assert fault.reason == stop or (stop == "done" and fault.reason == "empty" and not text.strip())
    else:
        assert stop == "done" and reply.text == text


@given(st.text(), st.text(st.characters(exclude_characters="<")))
def test_reasoning_at_the_start_is_taken_off_and_no_more(text: str, thought: str) -> None:
    assert without_thinking(f"<think>{thought}</think>{text}") == (text.lstrip(), thought)
