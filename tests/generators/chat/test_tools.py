"""Tools: offered, called and answered, through both libraries against a real server."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from generators.chat.cache import key_of
from generators.chat.model import Ask, Message, Reply, Tool, ToolCall, ToolResult
from generators.chat.models import open_model
from generators.errors import UsageError
from tests.provider import Answer, Asked, Fault, Provider

SCHEMA = {"type": "object", "properties": {"cmd": {"type": "string"}}, "required": ["cmd"]}
TOOL = Tool(name="bash", description="Run a command.", parameters=SCHEMA)
ASK = Ask(messages=(Message(role="user", content="Look."),), tools=(TOOL,))


@pytest.fixture(autouse=True, params=["openai", "anthropic"])
def provider_name(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(f"{request.param.upper()}_API_KEY", "sk-test")
    return request.param


def ask(provider: Provider, name: str, what: Ask, cache: Path | None = None) -> Reply:
    async def once() -> Reply:
        model = open_model(f"{name}:scripted", base_url=provider.url, cache=cache)
        try:
            return await model.ask(what)
        finally:
            await model.close()

    return asyncio.run(once())


def test_calls_come_back_whole_and_in_order(provider_name: str, tmp_path: Path) -> None:
    calls = (("bash", '{"cmd": "ls"}'), ("bash", '{"cmd": "pw'))
    with Provider(lambda _: Answer("I look.", calls=calls)) as provider:
        reply = ask(provider, provider_name, ASK, tmp_path)
        assert (reply.text, [(call.name, call.arguments) for call in reply.calls]) == ("I look.", [*calls])
        assert len({call.id for call in reply.calls}) == 2
        assert ask(provider, provider_name, ASK, tmp_path) == reply.model_copy(update={"cached": True})
        (asked,) = provider.asked
    tool = asked.body["tools"][0]
    assert (tool["function"]["parameters"] if provider_name == "openai" else tool["input_schema"]) == SCHEMA


def test_a_reply_may_hold_calls_alone(provider_name: str) -> None:
    with Provider(lambda _: Answer(calls=(("bash", "{}"),))) as provider:
        assert [call.name for call in ask(provider, provider_name, ASK).calls] == ["bash"]


def test_results_go_back_to_their_calls(provider_name: str) -> None:
    history = (
        *ASK.messages,
        Message(role="assistant", content="", calls=(ToolCall(id="a1", name="bash", arguments='{"cmd": "ls"}'),)),
        Message(role="user", content="2 turns are left", results=(ToolResult(id="a1", content="notes.txt"),)),
    )

    def answer(asked: Asked) -> Answer:
        messages = asked.body["messages"][1:]
        if provider_name == "openai":
            call = messages[0]["tool_calls"][0]
            assert (call["id"], json.loads(call["function"]["arguments"])) == ("a1", {"cmd": "ls"})
            assert messages[1] == {"role": "tool", "tool_call_id": "a1", "content": "notes.txt"}
            assert messages[2]["content"] == "2 turns are left"
        else:
            assert messages[0]["content"] == [{"type": "tool_use", "id": "a1", "name": "bash", "input": {"cmd": "ls"}}]
            result, words = messages[1]["content"]
            assert result == {"type": "tool_result", "tool_use_id": "a1", "content": "notes.txt"}
            assert words["text"] == "2 turns are left"
        return Answer("Seen.")

    with Provider(answer) as provider:
        assert ask(provider, provider_name, ASK.model_copy(update={"messages": history})).text == "Seen."


def test_a_server_without_tools_is_said(provider_name: str) -> None:
    with Provider(lambda _: Answer("no", Fault("lacks", parameters=("tools",)))) as provider, pytest.raises(UsageError):
        ask(provider, provider_name, ASK)


def test_without_tools_keys_are_what_they_were() -> None:
    plain = Ask(messages=ASK.messages)
    assert not {"tools", "calls", "results"} & set(plain.model_dump(mode="json")) | {
        key for message in plain.model_dump(mode="json")["messages"] for key in message if key in ("calls", "results")
    }
    assert key_of("m", "u", plain) != key_of("m", "u", ASK)
