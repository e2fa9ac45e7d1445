"""What is asked of a language model and what comes back: the records, and the protocol that all layers share.

    model = open_model("openai:gpt-5-mini", cache=Path("replies"))
    reply = await model.ask(Ask(messages=(Message(role="user", content="Say yes."),)), Tag("task-7", "draft"))

A ChatModel is an adapter to a provider, or a layer around another ChatModel. It belongs to one event loop.
Importing this module imports no provider's library.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol

from pydantic import AfterValidator, Field, JsonValue, SerializerFunctionWrapHandler, model_serializer

from generators.task import Record

Effort = Literal["low", "medium", "high"]
Tokens = Annotated[int, Field(ge=0)]
CHARS_PER_TOKEN = 4
_MESSAGE_OVERHEAD = 16  # tokens that a chat template puts around a message, at most


def clean(text: str) -> str:
    """Text that can be written as UTF-8: halves of a character, which JSON escapes let through, are joined or replaced."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace") if not text.isascii() else text


CleanText = Annotated[str, AfterValidator(clean)]


class _Sparse(Record):
    """A record that leaves out what concerns tools where it has none: keys of caches stay what they were without tools."""

    @model_serializer(mode="wrap")
    def _without_empty(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {key: value for key, value in write(self).items() if value or key not in ("tools", "calls", "results")}


class Tool(Record):
    """Something that a model may call; `parameters` is a JSON Schema of an object."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
    description: str
    parameters: dict[str, JsonValue]


class ToolCall(Record):
    """A call as the model made it: `arguments` is its JSON, not looked at yet."""

    id: str
    name: CleanText
    arguments: CleanText


class ToolResult(Record):
    """What a call led to."""

    id: str
    content: CleanText


class Message(_Sparse):
    """One message of a conversation. An assistant's may hold calls, the user's that follows their results, before its own words."""

    role: Literal["system", "user", "assistant"]
    content: CleanText
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of UTF-8 of all its text."""
        texts = [self.content, *(call.name + call.arguments for call in self.calls)]
        return sum(len(text.encode()) for text in [*texts, *(result.content for result in self.results)])


class Ask(_Sparse):
    """One request. Its canonical JSON, the model's name and the address make the key of the cache."""

    messages: Annotated[tuple[Message, ...], Field(min_length=1)]
    max_tokens: Annotated[int, Field(gt=0)] = 8192  # of output, reasoning included
    temperature: float | None = None  # None: the provider's own; reasoning models take none
    reasoning: Effort | None = None
    answer_schema: dict[str, JsonValue] | None = None  # a JSON Schema; asks for JSON where the provider can hold to one
    tools: tuple[Tool, ...] = ()
    sample: Annotated[int, Field(ge=0)] = 0  # tells requests apart that are the same otherwise

    def worst_input_tokens(self) -> int:
        """More tokens than the request is likely to have in any language: one for two bytes of UTF-8."""
        tools = sum(len(tool.canonical()) for tool in self.tools)
        return sum(_MESSAGE_OVERHEAD + math.ceil(message.size / 2) for message in self.messages) + math.ceil(tools / 2)


class Usage(Record):
    """Tokens of one exchange. Input includes the cached ones, output those of reasoning."""

    input_tokens: Tokens
    output_tokens: Tokens
    cached_tokens: Tokens = 0
    reasoning_tokens: Tokens = 0
    estimated: bool = False  # counted by us, since the provider did not


class Reply(_Sparse):
    """A usable answer: text, or calls of tools, or both. `seconds` is how long the provider took, also for one from the cache."""

    text: str
    usage: Usage
    model: str
    seconds: float
    cached: bool = False
    calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True)
class Tag:
    """What the ledger books a request on."""

    task: str = ""
    stage: str = ""
    round: int = 0


UNTAGGED = Tag()


class ChatModel(Protocol):
    """Something that answers."""

    @property
    def name(self) -> str:
        """`provider:model`, as the user named it."""
        ...

    async def ask(self, ask: Ask, tag: Tag = UNTAGGED) -> Reply:
        """Get an answer.

        Raises:
            AnswerFault: a reply came and is of no use.
            ProviderFault: none could be had.
            BudgetError: it might cost too much.
            UsageError: key, model, address or request are wrong.
        """
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


def estimate_tokens(text: str) -> int:
    """Tokens of a text by the rule of thumb, four characters each."""
    return math.ceil(len(text) / CHARS_PER_TOKEN)


def estimate_usage(ask: Ask, output: str, reasoning: str = "") -> Usage:
    """Usage by the rule of thumb, marked as such."""
    return Usage(
        input_tokens=sum(math.ceil(message.size / CHARS_PER_TOKEN) for message in ask.messages),
        output_tokens=estimate_tokens(output) + estimate_tokens(reasoning),
        reasoning_tokens=estimate_tokens(reasoning),
        estimated=True,
    )
