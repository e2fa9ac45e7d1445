"""Both adapters through the real libraries against a real server: answers, parameters, and every fault with its reason."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from generators.chat.model import Ask, ChatModel, Message, Reply
from generators.chat.models import Timeouts, open_model
from generators.chat.retry import Patience
from generators.errors import AnswerFault, ProviderFault, UsageError
from tests.provider import Answer, Asked, Fault, Kind, Line, Provider, Script

SPECS = ("openai:tiny", "anthropic:tiny")
ASK = Ask(
    messages=(Message(role="system", content="Be brief."), Message(role="user", content="How are you?")),
    max_tokens=4096,
    temperature=0.5,
)
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}
QUICK = Patience(tries=3, first=0.01)


@pytest.fixture(autouse=True, params=SPECS)
def spec(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return str(request.param)


def asked(spec: str, script: Script, *asks: Ask, **options: Any) -> tuple[list[Reply], list[Asked]]:
    """Ask one after another, of one model; also what the server saw."""

    async def main(model: ChatModel) -> list[Reply]:
        try:
            return [await model.ask(ask) for ask in asks or (ASK,)]
        finally:
            await model.close()

    with Provider(script) as provider:
        replies = asyncio.run(main(open_model(spec, base_url=provider.url, patience=QUICK, **options)))
    return replies, provider.asked


def fails(spec: str, line: Line, **options: Any) -> tuple[Exception, int]:
    """The error that an answer ends in, and how often it was asked for."""
    seen: list[Asked] = []

    def script(request: Asked) -> Answer:
        seen.append(request)
        return line.answer()

    with pytest.raises((AnswerFault, ProviderFault, UsageError)) as caught:
        asked(spec, script, **options)
    return caught.value, len(seen)


def test_an_answer_comes_with_what_the_provider_counted(spec: str) -> None:
    (reply,), (request,) = asked(
        spec, [Line(when=("Be brief.", "How are"), say="Fine: ∑ “ok” 😀\n" * 50, usage=(120, 30, 100))]
    )
    assert reply.text == "Fine: ∑ “ok” 😀\n" * 50
    assert (reply.model, reply.cached) == (spec, False)
    assert (reply.usage.input_tokens, reply.usage.cached_tokens, reply.usage.output_tokens) == (120, 100, 30)
    assert not reply.usage.estimated
    assert (request.body["temperature"], request.body["max_tokens"], request.body["stream"]) == (0.5, 4096, True)


@pytest.mark.parametrize(
    ("kind", "reason", "tries"),
    [
        ("drop_before", "connection_lost", 3),
        ("drop_amid", "connection_lost", 3),
        ("truncated", "truncated_stream", 3),
        ("error_event", "down", 3),
        ("bad_json", "invalid_response", 3),
        ("bad_utf8", "invalid_response", 3),
        ("empty", "empty", 1),
        ("refusal", "refused", 1),
        ("length", "cut_off", 1),
        ("huge", "too_long", 1),
        ("huge_line", "too_long", 1),
    ],
)
def test_each_fault_has_its_reason_and_only_what_may_pass_is_tried_again(
    spec: str, kind: Kind, reason: str, tries: int
) -> None:
    fault, count = fails(spec, Line(say="It is so. " * 40, fault=Fault(kind)))
    assert isinstance(fault, ProviderFault if tries > 1 else AnswerFault)
    assert (fault.reason, count) == (reason, tries)
    assert "\n" not in str(fault)


@pytest.mark.parametrize(
    ("status", "kind", "reason", "tries"),
    [
        (429, ProviderFault, "rate_limited", 3),
        (500, ProviderFault, "down", 3),
        (503, ProviderFault, "down", 3),
        (529, ProviderFault, "down", 3),
        (408, ProviderFault, "timeout", 3),
        (402, ProviderFault, "out_of_credit", 1),
        (413, AnswerFault, "context_overflow", 1),
        (401, UsageError, None, 1),
        (403, UsageError, None, 1),
        (404, UsageError, None, 1),
        (400, UsageError, None, 1),
    ],
)
def test_each_status_has_its_error(
    spec: str, status: int, kind: type[Exception], reason: str | None, tries: int
) -> None:
    fault, count = fails(spec, Line(fault=Fault("status", status)))
    assert (type(fault), getattr(fault, "reason", None), count) == (kind, reason, tries)


def test_an_overflowing_context_is_told_from_other_bad_requests(spec: str) -> None:
    message = "This model's maximum context length is 4096 tokens, however you requested 9000; reduce max_tokens"
    fault, count = fails(spec, Line(fault=Fault("status", 400, message=message)))
    assert isinstance(fault, AnswerFault) and (fault.reason, count) == ("context_overflow", 5)  # 4096, ..., 256 tokens


def test_nobody_there_is_a_lost_connection_that_names_the_variable(spec: str) -> None:
    with Provider([]) as provider:
        url = provider.url
    model = open_model(spec, base_url=url, patience=Patience(tries=2, first=0.01))
    with pytest.raises(ProviderFault, match=r"_BASE_URL\) \(after 2 tries\)") as caught:
        asyncio.run(model.ask(ASK))
    assert caught.value.reason == "connection_lost"


@pytest.mark.parametrize("timeouts", [Timeouts(read=1), Timeouts(total=1)])
def test_an_answer_that_does_not_come_times_out(spec: str, timeouts: Timeouts) -> None:
    fault, count = fails(spec, Line(say="late", fault=Fault(delay=5)), timeouts=timeouts)
    assert isinstance(fault, ProviderFault) and (fault.reason, count) == ("timeout", 3)


def test_missing_usage_is_estimated_and_marked(spec: str) -> None:
    (reply,), _ = asked(spec, [Line(say="x" * 400, fault=Fault("no_usage"))])
    assert reply.usage.estimated
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (3 + 3, 100)


def test_unusable_answers_carry_what_they_cost(spec: str) -> None:
    fault, _ = fails(spec, Line(say="half", fault=Fault("length"), usage=(50, 4096, 0)))
    assert isinstance(fault, AnswerFault) and fault.usage
    assert (fault.usage.input_tokens, fault.usage.output_tokens) == (50, 4096)


@pytest.mark.parametrize(
    "say", ["<think>Hm, {so}.</think>\n\nYes.", "Hm.</think>Yes.", "<thinking>a\nb</thinking> Yes."]
)
def test_reasoning_of_open_models_is_not_part_of_the_text(spec: str, say: str) -> None:
    (reply,), _ = asked(spec, [Line(say=say)])
    assert reply.text == "Yes." and reply.usage.reasoning_tokens > 0


def test_a_tag_inside_the_text_stays(spec: str) -> None:
    say = "Write `<think>` first.\n```\n<think>x</think>\n```\n"
    (reply,), _ = asked(spec, [Line(say=say)])
    assert reply.text == say


def test_only_reasoning_is_an_empty_answer(spec: str) -> None:
    fault, _ = fails(spec, Line(say="<think>I never came to an end"))
    assert isinstance(fault, AnswerFault) and fault.reason == "empty"


def test_reasoning_is_asked_for_and_counted(spec: str) -> None:
    (reply,), (request,) = asked(
        spec,
        [Line(say="Yes.", thinking="Let me see. " * 10, usage=(9, 200, 0))],
        ASK.model_copy(update={"reasoning": "high"}),
    )
    assert (reply.text, reply.usage.reasoning_tokens) == ("Yes.", 30)
    assert "temperature" not in request.body  # reasoning models take none
    if spec.startswith("openai"):
        assert (request.body["reasoning_effort"], request.body["max_completion_tokens"]) == ("high", 4096)
    else:
        assert request.body["thinking"] == {"type": "enabled", "budget_tokens": 2048}


def test_structured_output_is_asked_for(spec: str) -> None:
    (reply,), (request,) = asked(spec, [Line(say='{"n": 3}')], ASK.model_copy(update={"answer_schema": SCHEMA}))
    assert json.loads(reply.text) == {"n": 3}
    if spec.startswith("openai"):
        assert request.body["response_format"]["json_schema"] == {"name": "answer", "schema": SCHEMA, "strict": True}
    else:
        assert request.body["tools"][0]["input_schema"] == SCHEMA
        assert request.body["tool_choice"] == {"type": "tool", "name": "answer"}


def test_what_a_server_does_not_take_is_left_out_from_then_on(spec: str) -> None:
    lacking = Fault("lacks", parameters=("response_format", "tools", "temperature"))
    ask = ASK.model_copy(update={"answer_schema": SCHEMA})
    replies, requests = asked(spec, [Line(say='{"n": 3}', fault=lacking)], ask, ask.model_copy(update={"sample": 1}))
    assert [reply.text for reply in replies] == ['{"n": 3}', '{"n": 3}']
    assert len(requests) == 4  # two refusals and an answer, then an answer at once
    assert not {"response_format", "tools", "tool_choice", "temperature"} & set(requests[-1].body)


def test_reasoning_falls_back_to_what_the_server_takes(spec: str) -> None:
    lacking = ("reasoning_effort", "max_completion_tokens") if spec.startswith("openai") else ("thinking",)
    ask = ASK.model_copy(update={"reasoning": "low"})
    (reply,), requests = asked(spec, [Line(say="Yes.", fault=Fault("lacks", parameters=lacking))], ask)
    assert reply.text == "Yes." and requests[-1].body["max_tokens"] == 4096
    if spec.startswith("anthropic"):  # a fixed budget, then adaptive thinking by effort, then none
        thoughts = [request.body.get("thinking", {}).get("type") for request in requests]
        assert thoughts == ["enabled", "adaptive", None]
        assert requests[1].body["output_config"] == {"effort": "low"}


def test_a_key_is_sent_and_found_nowhere_else(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    variable = "OPENAI_API_KEY" if spec.startswith("openai") else "ANTHROPIC_API_KEY"
    monkeypatch.setenv(variable, "sk-very-secret")
    seen: list[Asked] = []

    def script(request: Asked) -> Answer:
        seen.append(request)
        return Answer(fault=Fault("status", 400, message="your key sk-very-secret is odd"))

    with pytest.raises(UsageError) as caught:
        asked(spec, script)
    assert any("sk-very-secret" in value for value in seen[0].headers.values())
    assert "sk-very-secret" not in f"{caught.value!r} {caught.value.__cause__!r} {vars(caught.value)}"
    model = open_model(spec, base_url="http://127.0.0.1:9/v1")
    layer: Any = model
    while "_inner" in vars(layer):
        layer = layer._inner
    assert "_place" in vars(layer) and "sk-very-secret" not in repr(model) + repr(vars(layer))
    asyncio.run(model.close())


def test_the_providers_own_address_needs_a_key_and_one_of_ones_own_does_not(spec: str) -> None:
    with pytest.raises(UsageError, match=r"_API_KEY, or .*--base-url or .*_BASE_URL"):
        open_model(spec)
    asyncio.run(open_model(spec, keyless=True).close())
    with pytest.raises(UsageError, match="no address"):
        open_model(spec, base_url="127.0.0.1:8000")


def test_the_address_may_come_from_the_environment(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Provider([Line(say="Here.")]) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL" if spec.startswith("openai") else "ANTHROPIC_BASE_URL", provider.url)
        assert asyncio.run(open_model(spec).ask(ASK)).text == "Here."


def test_connections_are_used_again(spec: str) -> None:
    with Provider([Line(say="Yes. " * 100)]) as provider:

        async def main() -> None:
            model = open_model(spec, base_url=provider.url)
            for number in range(5):
                await model.ask(ASK.model_copy(update={"sample": number}))
            await model.close()

        asyncio.run(main())
        assert (len(provider.asked), provider.connections) == (5, 1)
