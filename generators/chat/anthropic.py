"""Anthropic's messages, streamed: Anthropic itself and servers that are compatible with it.

Structured output is a tool that the model is made to use; with reasoning, where no tool can be forced, it is the format
of the output. What a server says it does not take is left out from then on, for the life of the object.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, cast

import anthropic
from anthropic import AsyncAnthropic, AsyncAPIResponse
from pydantic import BaseModel

from generators.chat.answer import Collected, Stop, finish
from generators.chat.connection import Errors, Provider, error_message, explained, http_client
from generators.chat.faults import refused_parameter
from generators.chat.limits import Timeouts
from generators.chat.model import UNTAGGED, Ask, Effort, Message, Reply, Tag, Tool, ToolCall, Usage
from generators.chat.stream import Failure, events, parse

PROVIDER = Provider("Anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")
_ERRORS = Errors(
    status=anthropic.APIStatusError,
    timeout=anthropic.APITimeoutError,
    connection=anthropic.APIConnectionError,
    validation=anthropic.APIResponseValidationError,
    all=anthropic.AnthropicError,
)
_STOPS: Mapping[str, Stop] = {
    "max_tokens": "cut_off",
    "pause_turn": "cut_off",
    "refusal": "refused",
    "model_context_window_exceeded": "context_overflow",
}
_BUDGETS: Mapping[Effort, int] = {"low": 2048, "medium": 8192, "high": 24576}  # tokens of thinking
_LEAST_BUDGET = 1024
_TOOL = "answer"
_FIXED_BUDGET = "a fixed budget of thinking"  # what newer models lack: they choose by effort


class AnthropicModel:
    """A model behind Anthropic's protocol. One try per request; the key is in the client alone."""

    def __init__(
        self, model: str, base_url: str | None, connections: int, timeouts: Timeouts, keyless: bool = False
    ) -> None:
        self.name = f"anthropic:{model}"
        self._place, url = PROVIDER.place(model, base_url, keyless)
        self._total = timeouts.total
        self._client = AsyncAnthropic(
            api_key=self._place.key or "none",
            base_url=url.removesuffix("/v1"),  # the library adds it
            max_retries=0,
            http_client=http_client(connections, timeouts),
        )
        self._lacks: set[str] = set()

    @property
    def url(self) -> str:
        """The provider's address, without what is secret in it."""
        return self._place.url

    def scrub(self, text: str) -> str:
        """A text without the key."""
        return self._place.scrub(text)

    async def ask(self, ask: Ask, tag: Tag = UNTAGGED) -> Reply:
        """Ask once."""
        started, got = time.monotonic(), Collected()
        try:
            await self._read(ask, got)
        except Exception as error:
            raise explained(error, self._place, _ERRORS, got.counted(ask)) from None  # a cause may hold the key
        return finish(ask, got, self.name, time.monotonic() - started)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _read(self, ask: Ask, got: Collected) -> None:
        async with asyncio.timeout(self._total), self._opened(ask) as response:
            async for data in events(response.iter_bytes()):
                _collect(parse(_Event, data), got)

    @asynccontextmanager
    async def _opened(self, ask: Ask) -> AsyncGenerator[AsyncAPIResponse[Any]]:
        """The response, its body still to come; again without a parameter that the server refuses."""
        create = self._client.messages.with_streaming_response.create
        async with AsyncExitStack() as stack:
            while True:
                options = self._options(ask)
                body = {"messages": _messages(ask), **options}  # not as an argument: the library would walk through it
                asking = create(
                    model=self._place.model, max_tokens=ask.max_tokens, messages=(), stream=True, extra_body=body
                )
                try:
                    response = await stack.enter_async_context(asking)
                    break
                except (anthropic.BadRequestError, anthropic.UnprocessableEntityError) as error:
                    self._leave_out(error, options)
            yield response

    def _leave_out(self, error: anthropic.APIStatusError, options: Mapping[str, Any]) -> None:
        """Remember what the server refuses; raise the error if it is about something else."""
        sent = [name for name in ("thinking", "tools", "output_config", "temperature") if name in options]
        refused = refused_parameter(error_message(error), None, sent)
        own = refused == "tools" and "tool_choice" not in options  # without its tools a request says something else
        if refused is None or refused in self._lacks or own:
            raise error
        fixed = refused == "thinking" and _FIXED_BUDGET not in self._lacks
        self._lacks.add(_FIXED_BUDGET if fixed else refused)

    def _options(self, ask: Ask) -> dict[str, Any]:
        thinking = self._thinking(ask)
        wanted: dict[str, Any] = {
            "system": "\n\n".join(message.content for message in ask.messages if message.role == "system") or None,
            "temperature": None if thinking or "temperature" in self._lacks else ask.temperature,
            "thinking": thinking,
            "output_config": self._output(ask, thinking) or None,
        }
        options = {name: value for name, value in wanted.items() if value is not None}
        if ask.answer_schema is not None and not thinking and "tools" not in self._lacks:
            options["tools"] = [{"name": _TOOL, "description": "Give the answer.", "input_schema": ask.answer_schema}]
            options["tool_choice"] = {"type": "tool", "name": _TOOL}
        elif ask.tools:
            options["tools"] = [_tool(tool) for tool in ask.tools]
        return options

    def _thinking(self, ask: Ask) -> dict[str, Any] | None:
        """Thinking takes its share of max_tokens, at most half of it; with fewer than 2,048 there is none, and none between calls
        of tools, where the provider would want its signed thoughts back."""
        if ask.reasoning is None or ask.tools or "thinking" in self._lacks:
            return None
        if _FIXED_BUDGET in self._lacks:
            return {"type": "adaptive"}
        budget = min(_BUDGETS[ask.reasoning], ask.max_tokens // 2)
        return {"type": "enabled", "budget_tokens": budget} if budget >= _LEAST_BUDGET else None

    def _output(self, ask: Ask, thinking: dict[str, Any] | None) -> dict[str, Any]:
        if not thinking or "output_config" in self._lacks:
            return {}
        effort = {"effort": ask.reasoning} if thinking["type"] == "adaptive" else {}
        form = {"format": {"type": "json_schema", "schema": ask.answer_schema}} if ask.answer_schema else {}
        return effort | form


def _messages(ask: Ask) -> list[dict[str, Any]]:
    return [{"role": part.role, "content": _content(part)} for part in ask.messages if part.role != "system"]


def _content(message: Message) -> str | list[dict[str, Any]]:
    """Plain text, or blocks where there are calls or results."""
    if not message.calls and not message.results:
        return message.content
    blocks: list[dict[str, Any]] = [
        {"type": "tool_result", "tool_use_id": result.id, "content": result.content} for result in message.results
    ]
    blocks += [{"type": "text", "text": message.content}] if message.content.strip() else []
    return blocks + [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": _input(call)} for call in message.calls
    ]


def _input(call: ToolCall) -> dict[str, Any]:
    """A call's arguments as an object, which is all that this protocol takes."""
    try:
        value = json.loads(call.arguments)
    except ValueError:
        value = None
    return cast(dict[str, Any], value) if isinstance(value, dict) else {"malformed": call.arguments}


def _tool(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}


class _Delta(BaseModel):
    text: str | None = None
    partial_json: str | None = None
    thinking: str | None = None
    stop_reason: str | None = None


class _Details(BaseModel):
    thinking_tokens: int | None = None


class _Usage(BaseModel):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    output_tokens_details: _Details | None = None


class _Block(BaseModel):
    type: str
    id: str | None = None
    name: str | None = None


class _Message(BaseModel):
    usage: _Usage | None = None


class _Event(BaseModel):
    type: str
    message: _Message | None = None
    delta: _Delta | None = None
    usage: _Usage | None = None
    error: dict[str, Any] | None = None
    index: int | None = None
    content_block: _Block | None = None


def _collect(event: _Event, got: Collected) -> None:
    if event.type == "error":
        raise Failure(event.error or {})
    if usage := event.usage or (event.message and event.message.usage):
        _count(usage, got)
    block, place = event.content_block, event.index or 0
    if block and block.type == "tool_use" and block.name != _TOOL:
        got.call(place, block.name, None, block.id)
    if event.delta:
        if place in got.calls and event.delta.partial_json:
            got.call(place, None, event.delta.partial_json, None)
        else:
            _collect_delta(event.delta, got)


def _collect_delta(delta: _Delta, got: Collected) -> None:
    if text := delta.text or delta.partial_json:
        got.add(text)
    if delta.thinking:
        got.think(delta.thinking)
    if delta.stop_reason:
        got.stop = _STOPS.get(delta.stop_reason, "done")


def _count(usage: _Usage, got: Collected) -> None:
    """Usage comes twice: the input's at the start, the output's at the end. Input here includes what was cached."""
    before = got.usage or Usage(input_tokens=0, output_tokens=0)
    read = usage.cache_read_input_tokens or 0
    given = (usage.input_tokens or 0) + read + (usage.cache_creation_input_tokens or 0)
    details = usage.output_tokens_details or _Details()
    got.usage = Usage(
        input_tokens=given or before.input_tokens,
        cached_tokens=read or before.cached_tokens,
        output_tokens=max(usage.output_tokens or 0, before.output_tokens),
        reasoning_tokens=details.thinking_tokens or before.reasoning_tokens,
    )
