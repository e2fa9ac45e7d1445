"""What is made of a stream: its pieces are collected, and at the end they are a reply or an answer's fault."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from generators.chat.model import Ask, Reply, ToolCall, Usage, clean, estimate_tokens, estimate_usage
from generators.errors import AnswerFault, AnswerReason, ProviderFault, RefusedError

LONGEST_TEXT = 4_000_000  # characters; more is never an answer to what is asked here
Stop = Literal["done", "cut_off", "refused", "context_overflow"]

_THOUGHT = re.compile(r"\s*<think(?:ing)?>(.*?)(?:</think(?:ing)?>\s*|\Z)", re.DOTALL)
_THOUGHT_END = re.compile(r"</think(?:ing)?>\s*")
_WORDS: dict[AnswerReason, str] = {
    "refused": "declined to answer",
    "empty": "gave an empty answer",
    "cut_off": "reached the limit of output tokens before the answer was complete",
    "too_long": f"gave more than {LONGEST_TEXT // 1_000_000} MB of text",
    "context_overflow": "ran out of context",
}


class TooLong(Exception):
    """More text came than is read."""


@dataclass
class Called:
    """A tool call so far."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list[str])


@dataclass
class Collected:
    """The pieces so far. `stop` is None until the provider says why it ended; `usage` is what it counted."""

    text: list[str] = field(default_factory=list[str])
    thinking: list[str] = field(default_factory=list[str])
    stop: Stop | None = None
    usage: Usage | None = None
    size: int = 0
    calls: dict[int, Called] = field(default_factory=dict[int, Called])  # by their place

    def call(self, place: int, name: str | None, arguments: str | None, call_id: str | None) -> None:
        """A piece of a tool call."""
        self._grow((name or "") + (arguments or ""))
        known = self.calls.setdefault(place, Called())
        known.id = call_id or known.id
        known.name += name or ""
        known.arguments.append(arguments or "")

    def add(self, text: str) -> None:
        """A piece of the answer."""
        self._grow(text)
        self.text.append(text)

    def think(self, text: str) -> None:
        """A piece of reasoning."""
        self._grow(text)
        self.thinking.append(text)

    def _grow(self, text: str) -> None:
        self.size += len(text)
        if self.size > LONGEST_TEXT:
            raise TooLong

    def counted(self, ask: Ask) -> Usage:
        """The provider's count, or ours."""
        called = "".join(piece for call in self.calls.values() for piece in (call.name, *call.arguments))
        return self.usage or estimate_usage(ask, "".join(self.text) + called, "".join(self.thinking))


def finish(ask: Ask, got: Collected, name: str, seconds: float) -> Reply:
    """The reply.

    Raises:
        ProviderFault: the stream ended without saying why.
        AnswerFault: it is refused, cut off, empty or does not fit.
    """
    if got.stop is None:
        raise ProviderFault(f"{name}: the stream ended before the answer did", "truncated_stream")
    text, thought = without_thinking(clean("".join(got.text)))
    usage = _with_reasoning(got.counted(ask), thought + "".join(got.thinking))
    if got.stop != "done":
        raise answer_fault(name, got.stop, usage, text if got.stop == "cut_off" else "")
    calls = tuple(_call(place, call) for place, call in sorted(got.calls.items()))
    if not text.strip() and not calls:
        raise answer_fault(name, "empty", usage)
    return Reply(text=text, usage=usage, model=name, seconds=round(seconds, 3), calls=calls)


def _call(place: int, call: Called) -> ToolCall:
    """A whole call; some servers give none an id."""
    return ToolCall(id=call.id or f"call_{place}", name=call.name, arguments="".join(call.arguments) or "{}")


def answer_fault(name: str, reason: AnswerReason, usage: Usage | None, text: str = "") -> AnswerFault:
    """The fault with this reason, in words."""
    message = f"{name} {_WORDS[reason]}"
    return RefusedError(message, usage) if reason == "refused" else AnswerFault(message, reason, usage, text)


def without_thinking(text: str) -> tuple[str, str]:
    """An open model's text without its reasoning, and the reasoning.

    Only reasoning at the very beginning counts; the opening tag may be missing, since some templates write it.
    """
    if match := _THOUGHT.match(text):
        return text[match.end() :], match[1]
    end = _THOUGHT_END.search(text)
    if end and "<think" not in text[: end.start()]:
        return text[end.end() :], text[: end.start()]
    return text, ""


def _with_reasoning(usage: Usage, thought: str) -> Usage:
    if not thought or usage.reasoning_tokens:
        return usage
    return usage.model_copy(update={"reasoning_tokens": min(usage.output_tokens, estimate_tokens(thought))})
