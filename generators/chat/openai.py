"""OpenAI's chat completions, streamed: OpenAI itself and every server that is compatible with it.

What a server says it does not take (structured output, reasoning effort, a temperature, one of the two names for the
limit of tokens) is left out from then on, for the life of the object.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, cast

import openai
from openai import AsyncAPIResponse, AsyncOpenAI
from pydantic import BaseModel

from generators.chat.answer import Collected, Stop, finish
from generators.chat.connection import Errors, Provider, error_fields, error_message, explained, http_client
from generators.chat.faults import refused_parameter
from generators.chat.limits import Timeouts
from generators.chat.model import UNTAGGED, Ask, Message, Reply, Tag, Tool, Usage
from generators.chat.stream import Failure, events, parse

PROVIDER = Provider("OpenAI", "https://api.openai.com/v1", "OPENAI_API_KEY", "OPENAI_BASE_URL")
_ERRORS = Errors(
    status=openai.APIStatusError,
    timeout=openai.APITimeoutError,
    connection=openai.APIConnectionError,
    validation=openai.APIResponseValidationError,
    all=openai.OpenAIError,
)
_STOPS: Mapping[str, Stop] = {"length": "cut_off", "content_filter": "refused"}


class OpenAIModel:
    """A model behind OpenAI's protocol. One try per request; the key is in the client alone."""

    def __init__(
        self, model: str, base_url: str | None, connections: int, timeouts: Timeouts, keyless: bool = False
    ) -> None:
        self.name = f"openai:{model}"
        self._place, url = PROVIDER.place(model, base_url, keyless)
        self._total = timeouts.total
        self._http = http_client(connections, timeouts)
        self._client = AsyncOpenAI(
            api_key=self._place.key or "none", base_url=url, max_retries=0, http_client=self._http
        )
        self._own = url != PROVIDER.home
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
                _collect(parse(_Chunk, data), got)

    @asynccontextmanager
    async def _opened(self, ask: Ask) -> AsyncGenerator[AsyncAPIResponse[Any]]:
        """The response, its body still to come; again without a parameter that the server refuses."""
        create = self._client.chat.completions.with_streaming_response.create
        async with AsyncExitStack() as stack:
            while True:
                options = self._options(ask)
                body = {"messages": _messages(ask), **options}  # not as an argument: the library would walk through it
                asking = create(model=self._place.model, messages=(), stream=True, extra_body=body)
                try:
                    response = await stack.enter_async_context(asking)
                    break
                except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                    self._leave_out(error, options)
            yield response

    def _leave_out(self, error: openai.APIStatusError, options: Mapping[str, Any]) -> None:
        """Remember what the server refuses; raise the error if it is about something else."""
        refused = refused_parameter(error_message(error), error_fields(error).get("param"), tuple(options))
        if (
            refused is None or refused in self._lacks or refused == "tools"
        ):  # without its tools a request says something else
            raise error
        self._lacks.add(refused)

    def _options(self, ask: Ask) -> dict[str, Any]:
        wanted: dict[str, Any] = {
            "response_format": _format(ask),
            "reasoning_effort": ask.reasoning,
            "temperature": None if ask.reasoning else ask.temperature,
            "stream_options": {"include_usage": True},
            "tools": [_tool(tool) for tool in ask.tools] or None,
        }
        options = {name: value for name, value in wanted.items() if value is not None and name not in self._lacks}
        return options | {self._limit(ask): ask.max_tokens}

    def _limit(self, ask: Ask) -> str:
        """The name of the limit of tokens: reasoning models and OpenAI take the new one, other servers the old one."""
        old, new = "max_tokens", "max_completion_tokens"
        first, second = (old, new) if self._own and ask.reasoning is None else (new, old)
        return second if first in self._lacks and second not in self._lacks else first


def _messages(ask: Ask) -> list[dict[str, Any]]:
    return [part for message in ask.messages for part in _parts(message)]


def _parts(message: Message) -> list[dict[str, Any]]:
    """A message in this protocol: the results of calls are messages of their own."""
    results = [{"role": "tool", "tool_call_id": result.id, "content": result.content} for result in message.results]
    if message.calls:
        calls = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.calls
        ]
        return [{"role": message.role, "content": message.content or None, "tool_calls": calls}]
    said = [{"role": message.role, "content": message.content}] if message.content or not results else []
    return results + said


def _tool(tool: Tool) -> dict[str, Any]:
    return {"type": "function", "function": tool.model_dump(mode="json")}


def _format(ask: Ask) -> dict[str, Any] | None:
    if ask.answer_schema is None:
        return None
    strict = is_strict(ask.answer_schema)
    return {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": ask.answer_schema, "strict": strict},
    }


def is_strict(schema: object) -> bool:
    """Whether a schema allows what OpenAI's strict mode asks for: each object names all it has, and needs all of it."""
    if isinstance(schema, list):
        return all(is_strict(part) for part in cast("list[object]", schema))
    if not isinstance(schema, dict):
        return True
    parts = cast("dict[str, object]", schema)
    properties = parts.get("properties")
    if parts.get("type") == "object" or properties is not None:
        named = set(cast("dict[str, object]", properties or {}))
        if parts.get("additionalProperties") is not False or set(cast("list[str]", parts.get("required", []))) != named:
            return False
    return all(is_strict(part) for part in parts.values())


class _Function(BaseModel):
    name: str | None = None
    arguments: str | None = None


class _Call(BaseModel):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Delta(BaseModel):
    content: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None  # vLLM, SGLang, DeepSeek
    reasoning: str | None = None  # OpenRouter, newer vLLM
    tool_calls: list[_Call] | None = None


class _Choice(BaseModel):
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Given(BaseModel):
    cached_tokens: int | None = None


class _Made(BaseModel):
    reasoning_tokens: int | None = None


class _Usage(BaseModel):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Given | None = None
    completion_tokens_details: _Made | None = None


class _Chunk(BaseModel):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    error: dict[str, Any] | str | None = None


def _collect(chunk: _Chunk, got: Collected) -> None:
    if chunk.error:
        raise Failure(chunk.error if isinstance(chunk.error, dict) else {"message": chunk.error})
    if chunk.usage:
        got.usage = _counted(chunk.usage)
    for choice in chunk.choices or ():
        if choice.delta:
            _collect_delta(choice.delta, got)
        if choice.finish_reason:
            got.stop = "refused" if got.stop == "refused" else _STOPS.get(choice.finish_reason, "done")


def _collect_delta(delta: _Delta, got: Collected) -> None:
    if delta.content:
        got.add(delta.content)
    if thought := delta.reasoning_content or delta.reasoning:
        got.think(thought)
    for place, call in enumerate(delta.tool_calls or ()):
        function = call.function or _Function()
        got.call(place if call.index is None else call.index, function.name, function.arguments, call.id)
    if delta.refusal:
        got.stop = "refused"


def _counted(usage: _Usage) -> Usage:
    given, made = usage.prompt_tokens_details or _Given(), usage.completion_tokens_details or _Made()
    return Usage(
        input_tokens=usage.prompt_tokens or 0,
        output_tokens=usage.completion_tokens or 0,
        cached_tokens=given.cached_tokens or 0,
        reasoning_tokens=made.reasoning_tokens or 0,
    )
