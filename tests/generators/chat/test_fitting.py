"""Servers with little room: shorter answers are asked for, in the words of every server, and only where that can help."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from generators.chat.model import Ask, Message, Reply
from generators.chat.models import open_model
from generators.errors import AnswerFault
from tests.provider import Answer, Asked, Fault, Provider

ROOM = 8192
WORDS = {
    "vllm": "max_tokens={asked} cannot be greater than max_model_len=max_total_tokens=8192. Please request fewer output tokens.",
    "vllm_sum": "This model's maximum context length is 8192 tokens. However, you requested {asked} output tokens",
    "openai": "max_tokens is too large: {asked}. This model supports at most 4096 completion tokens.",
    "sglang": "Requested token count exceeds the model's maximum context length: {asked} tokens for the completion.",
    "tgi": "`inputs` tokens + `max_new_tokens` must be <= 8192. Given: 9 `inputs` tokens and {asked} `max_new_tokens`",
    "anthropic": "input length and `max_tokens` exceed context limit: 900 + {asked} > 8192",
    "anthropic_most": "max_tokens: {asked} > 4096, which is the maximum allowed number of output tokens",
}
ASK = Ask(messages=(Message(role="user", content="Write an environment."),), max_tokens=16_000)


@pytest.fixture(params=["openai", "anthropic"])
def spec(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(f"{request.param.upper()}_API_KEY", "sk-test")
    return f"{request.param}:small"


def limit_of(asked: Asked) -> int:
    return asked.body.get("max_completion_tokens") or asked.body["max_tokens"]


def asked_of(
    spec: str, words: str, room: int, said: list[str], **options: Any
) -> tuple[Reply | AnswerFault, list[int]]:
    """What comes of asking a server with so much room, and the limits that it was asked for."""

    def script(asked: Asked) -> Answer:
        limit = limit_of(asked)
        refusal = Fault("status", 400, message=words.format(asked=limit))
        return Answer("Done.") if limit < room else Answer(fault=refusal)

    async def ask() -> Reply | AnswerFault:
        model = open_model(spec, base_url=provider.url, say=said.append, **options)
        try:
            return await model.ask(ASK)
        except AnswerFault as fault:
            return fault
        finally:
            await model.close()

    with Provider(script) as provider:
        return asyncio.run(ask()), [limit_of(asked) for asked in provider.asked]


@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS)
def test_a_shorter_answer_is_asked_for(spec: str, words: str) -> None:
    said: list[str] = []
    answer, limits = asked_of(spec, words, ROOM // 2, said)
    assert isinstance(answer, Reply) and answer.text == "Done." and limits == [16_000, 8_000, 4_000]
    assert len(said) == 1 and spec in said[0] and "16000" in said[0]


def test_it_ends_where_there_is_no_room_at_all(spec: str) -> None:
    answer, limits = asked_of(spec, WORDS["vllm_sum"], 0, [])
    assert isinstance(answer, AnswerFault) and answer.reason == "context_overflow"
    assert limits == [16_000, 8_000, 4_000, 2_000, 1_000, 500, 256]


def test_a_prompt_that_does_not_fit_is_asked_once(spec: str) -> None:
    answer, limits = asked_of(spec, "prompt is too long: 210000 tokens > 200000 maximum", 0, [])
    assert isinstance(answer, AnswerFault) and answer.reason == "context_overflow" and limits == [16_000]


def test_what_was_refused_is_asked_again_of_a_server_with_more_room(spec: str, tmp_path: Path) -> None:
    """And what was answered at last is the answer to what was asked first."""
    refused, _ = asked_of(spec, WORDS["vllm"], 0, [], cache=tmp_path)
    assert isinstance(refused, AnswerFault) and not list(tmp_path.rglob("*.json"))
    answer, _ = asked_of(spec, WORDS["vllm"], ROOM, [], cache=tmp_path)
    assert isinstance(answer, Reply) and len(list(tmp_path.rglob("*.json"))) == 1
