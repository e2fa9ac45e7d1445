"""The policy as a model: tokens in, tokens out; masks, truncation and faults. The tokenizer here has a token a character."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators.chat.model import Ask, Message
from generators.errors import AnswerFault, ProviderFault
from trainer.verl.tokens import Budget, Conversation, DriftError, TokenModel

END = "\x03"


class Characters:
    """A tokenizer with a token a character and a ChatML-like template: `<role>text END newline`."""

    eos_token_id = ord(END)

    def decode(self, token_ids: Sequence[int], skip_special_tokens: bool = False) -> str:
        text = "".join(map(chr, token_ids))
        return text.replace(END, "") if skip_special_tokens else text

    def encode(self, text: str, add_special_tokens: bool = False) -> list[int]:
        return list(map(ord, text))

    def apply_chat_template(self, conversation: Any, tokenize: bool = True, add_generation_prompt: bool = False) -> Any:
        text = "".join(f"<{one['role']}>{one['content']}{END}\n" for one in conversation)
        text += "<assistant>" if add_generation_prompt else ""
        return self.encode(text) if tokenize else text


class Appending:
    """What verl's default builder does: it appends what the template adds for new messages."""

    def __init__(self, tokenizer: Characters) -> None:
        self.tokenizer = tokenizer

    def build_initial_tokens(self, messages: Any) -> list[int]:
        return self.tokenizer.apply_chat_template(messages, add_generation_prompt=True)

    def merge_context_tokens(self, previous: Any, updated: Any, runtime_token_ids: list[int]) -> Any:
        before = self.tokenizer.apply_chat_template(previous, tokenize=False)
        after = self.tokenizer.apply_chat_template(updated, tokenize=False, add_generation_prompt=True)
        added = self.tokenizer.encode(after.removeprefix(before))
        return SimpleNamespace(token_ids=[*runtime_token_ids, *added], count=len(added))

    def align_response_metadata(self, merge_result: Any, response_mask: list[int], response_logprobs: Any) -> Any:
        return [*response_mask, *[0] * merge_result.count], [*response_logprobs, *[0.0] * merge_result.count]


@dataclass
class Policy:
    """Says what it is given, one reply after the other, and remembers what it was asked."""

    replies: list[str]
    prompts: list[list[int]] = field(default_factory=list[list[int]])
    error: Exception | None = None

    async def generate(self, request_id: str, *, prompt_ids: list[int], sampling_params: dict[str, Any]) -> Any:
        self.prompts.append(list(prompt_ids))
        if self.error:
            raise self.error
        ids = list(map(ord, self.replies[len(self.prompts) - 1]))[: sampling_params["max_tokens"]]
        steps = {"min_global_steps": 3, "max_global_steps": 3 + len(self.prompts)}
        return SimpleNamespace(token_ids=ids, log_probs=[-0.5] * len(ids), extra_fields=steps)


def model(policy: Policy, response: int = 1000, context: int = 2000, smallest: int = 1) -> TokenModel:
    tokenizer = Characters()
    conversation = Conversation(Appending(tokenizer), tokenizer)
    return TokenModel(policy, conversation, Budget(response, context, smallest), {"temperature": 1.0}, "r")


def play(model: TokenModel, shown: Sequence[str], max_tokens: int = 100) -> list[str]:
    """Ask once for each message that is shown, as an episode does."""
    messages, said = [Message(role="system", content="rules")], list[str]()
    for text in shown:
        messages.append(Message(role="user", content=text))
        reply = asyncio.run(model.ask(Ask(messages=tuple(messages), max_tokens=max_tokens)))
        said.append(reply.text)
        messages.append(Message(role="assistant", content=reply.text))
    return said


texts = st.text("ab \n", min_size=1, max_size=12).filter(str.strip)


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=5))
def test_what_is_trained_on_is_what_was_generated_and_reads_as_the_template_writes_it(
    turns: list[tuple[str, str]],
) -> None:
    policy = Policy([reply + END for _, reply in turns])
    played = model(policy)
    assert play(played, [shown for shown, _ in turns]) == [reply for _, reply in turns]
    conversation = played.conversation
    conversation.check()
    assert conversation.written == [ord(char) for _, reply in turns for char in reply + END]
    assert len(conversation.logprobs) == len(conversation.mask) == len(conversation.response)
    assert all(
        before == after[: len(before)] for before, after in zip(policy.prompts, policy.prompts[1:], strict=False)
    )
    told: list[dict[str, str]] = [{"role": "system", "content": "rules"}]
    for shown, reply in turns:
        told += [{"role": "user", "content": shown}, {"role": "assistant", "content": reply}]
    assert conversation.tokenizer.decode(conversation.ids) + "\n" == Characters().apply_chat_template(
        told, tokenize=False
    )


def test_a_reply_that_was_cut_off_is_said_so_and_its_end_is_not_the_policys() -> None:
    played = model(Policy(["abcdefgh", "ok" + END]))
    first = [Message(role="system", content="rules"), Message(role="user", content="go")]
    with pytest.raises(AnswerFault) as caught:
        asyncio.run(played.ask(Ask(messages=tuple(first), max_tokens=4)))
    assert (caught.value.reason, caught.value.text) == ("cut_off", "abcd")
    more = [*first, Message(role="assistant", content="abcd"), Message(role="user", content="on")]
    asyncio.run(played.ask(Ask(messages=tuple(more), max_tokens=4)))
    played.conversation.check()
    text = played.conversation.tokenizer.decode(played.conversation.response)
    assert text == f"abcd{END}\n<user>on{END}\n<assistant>ok{END}"
    assert played.conversation.mask[:5] == [1, 1, 1, 1, 0]


def test_no_room_ends_the_context_and_leaves_the_tokens_as_they_were() -> None:
    played = model(Policy(["ab" + END, "never"]), response=20)
    play(played, ["go"])
    before = list(played.conversation.ids)
    longer = [
        Message(role=role, content=text) for role, text in (("system", "rules"), ("user", "go"), ("assistant", "ab"))
    ]
    with pytest.raises(AnswerFault) as caught:
        asyncio.run(played.ask(Ask(messages=(*longer, Message(role="user", content="x" * 40)), max_tokens=10)))
    assert caught.value.reason == "context_overflow" and played.conversation.ids == before


def test_versions_of_the_weights_are_those_of_the_first_and_the_last_token() -> None:
    played = model(Policy(["a" + END, "b" + END]))
    play(played, ["one", "two"])
    assert played.extra == {"min_global_steps": 3, "max_global_steps": 5}


def test_an_engine_that_fails_is_a_fault_and_an_empty_reply_is_none() -> None:
    with pytest.raises(ProviderFault, match="RuntimeError: out of memory"):
        play(model(Policy([""], error=RuntimeError("out of memory"))), ["go"])
    with pytest.raises(AnswerFault) as caught:
        play(model(Policy([END])), ["go"])
    assert caught.value.reason == "empty"


def test_tokens_that_were_changed_are_found() -> None:
    played = model(Policy(["ab" + END]))
    play(played, ["go"])
    played.conversation.ids[-2] += 1
    with pytest.raises(DriftError, match="not those that the policy wrote"):
        played.conversation.check()
