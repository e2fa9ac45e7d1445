"""A key that a server says back: it is in no reply, no fault and no file of the cache."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from generators.chat.model import Ask, Message, Reply, Tool
from generators.chat.models import open_model
from generators.errors import AnswerFault
from tests.provider import Answer, Fault, Provider, Script

KEY = "sk-proj-Zx81kQ0vTn5Lw2Rb7Yc4Md9Hf6Jg3Sa1"
QUOTED = KEY[:23]
TOOL = Tool(name="bash", description="Run a command.", parameters={"type": "object", "properties": {}})
ASK = Ask(messages=(Message(role="user", content="Look."),), tools=(TOOL,))


@pytest.fixture(params=["openai", "anthropic"])
def spec(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(f"{request.param.upper()}_API_KEY", KEY)
    return f"{request.param}:echo"


def asked(spec: str, script: Script, cache: Path) -> Reply:
    async def once(url: str) -> Reply:
        model = open_model(spec, base_url=url, cache=cache)
        try:
            return await model.ask(ASK)
        finally:
            await model.close()

    with Provider(script) as provider:
        return asyncio.run(once(provider.url))


def pieces(text: str) -> list[str]:
    """What of the key's secret part is in a text."""
    return [KEY[at : at + 8] for at in range(8, len(KEY) - 7) if KEY[at : at + 8] in text]


def in_files(folder: Path) -> list[str]:
    texts = [path.read_text() for path in folder.rglob("*.json")]
    assert texts, "something is kept"
    return [piece for text in texts for piece in pieces(text)]


def test_a_reply_and_its_calls_are_kept_and_returned_without_the_key(spec: str, tmp_path: Path) -> None:
    said = Answer(f"You are {KEY}, or {QUOTED}.", calls=(("bash", f'{{"cmd": "curl -H {KEY}"}}'), (KEY, "{}")))
    reply = asked(spec, lambda _: said, tmp_path)
    assert not pieces(reply.canonical()) and not in_files(tmp_path)
    assert reply.text.startswith("You are [secret removed], or ") and reply.text.endswith("[secret removed].")
    assert [call.arguments for call in reply.calls] == ['{"cmd": "curl -H [secret removed]"}', "{}"]


def test_an_answer_that_was_cut_off_is_kept_without_the_key(spec: str, tmp_path: Path) -> None:
    with pytest.raises(AnswerFault) as caught:
        asked(spec, lambda _: Answer(f"The key is {KEY} and", Fault("length")), tmp_path)
    assert caught.value.text == "The key is [secret removed] and"
    assert not pieces(f"{caught.value!r}") and not in_files(tmp_path)


def test_how_everybodys_keys_begin_is_no_secret(spec: str, tmp_path: Path) -> None:
    assert asked(spec, lambda _: Answer("Look for sk-proj-."), tmp_path).text == "Look for sk-proj-."


@pytest.mark.parametrize("key", ["none", "EMPTY", "placeholder"])
def test_a_placeholder_is_no_secret(spec: str, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{spec.partition(':')[0].upper()}_API_KEY", key)
    assert asked(spec, lambda _: Answer(f"restart: {key}"), tmp_path).text == f"restart: {key}"
