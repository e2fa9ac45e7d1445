"""What a provider puts on the wire: the same answer in the two protocols, whole or as a stream of events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal[
    "none",
    "status",  # answer with `status`, `headers` and `message`
    "lacks",  # 400 that names the first of `parameters` which the request has; else the answer
    "drop_before",  # close the connection without a byte
    "drop_amid",  # close it in the middle of the answer
    "truncated",  # a stream that ends well-formed, but before its last events
    "error_event",  # an error in the middle of a stream
    "empty",
    "refusal",
    "length",  # cut off by max_tokens
    "bad_json",
    "bad_utf8",
    "huge",  # 10 MB of text
    "huge_line",  # 10 MB without a line break
    "no_usage",
]
HUGE = 10_000_000


@dataclass(frozen=True)
class Fault:
    """What goes wrong with an answer. `delay` is in seconds and goes with any kind."""

    kind: Kind = "none"
    status: int = 500
    headers: dict[str, str] = field(default_factory=dict)
    message: str = "something went wrong"
    code: str = ""
    parameters: tuple[str, ...] = ()
    delay: float = 0.0


NO_FAULT = Fault()


@dataclass(frozen=True)
class Answer:
    """What is said, and what goes wrong on the way. `usage` is (input, output, cached) tokens; else text over four."""

    say: str = ""
    fault: Fault = NO_FAULT
    thinking: str = ""
    usage: tuple[int, int, int] | None = None
    calls: tuple[tuple[str, str], ...] = ()  # of tools: name and arguments (JSON)


@dataclass(frozen=True)
class Asked:
    """A request as it came."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    at: float  # seconds, monotonic

    @property
    def text(self) -> str:
        """The text of all its messages, the system's included."""
        contents = [message.get("content", "") for message in self.body.get("messages", [])]
        if system := self.body.get("system"):
            contents.insert(0, system)
        return "\n".join(map(_text, contents))

    @property
    def anthropic(self) -> bool:
        """Whether it speaks Anthropic's protocol."""
        return self.path.endswith("/messages")


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text") or part.get("content") or "") for part in content or ())


def error_body(message: str, code: str = "", parameter: str | None = None) -> dict[str, Any]:
    """An error that both SDKs understand."""
    return {
        "type": "error",
        "error": {
            "type": code or "invalid_request_error",
            "message": message,
            "code": code or None,
            "param": parameter,
        },
    }


def spoken(answer: Answer) -> str:
    """The text that is sent."""
    if answer.fault.kind in ("huge", "huge_line"):
        return "ten million letters " * (HUGE // 20)
    return "" if answer.fault.kind in ("empty", "refusal") else answer.say


def whole(asked: Asked, answer: Answer) -> dict[str, Any]:
    """The answer as one JSON body."""
    return _anthropic_whole(asked, answer) if asked.anthropic else _openai_whole(asked, answer)


def events(asked: Asked, answer: Answer) -> Iterator[bytes]:
    """The answer as server-sent events."""
    yield from _anthropic_events(asked, answer) if asked.anthropic else _openai_events(asked, answer)


def _usage(asked: Asked, answer: Answer) -> tuple[int, int, int]:
    return answer.usage or (-(-len(asked.text) // 4), -(-len(spoken(answer)) // 4), 0)


def _pieces(answer: Answer) -> list[str]:
    text = spoken(answer)
    size = len(text) or 1 if answer.fault.kind == "huge_line" else max(64, len(text) // 100)
    return [text[start : start + size] for start in range(0, len(text), size)]


# --- OpenAI -----------------------------------------------------------------------------------------------------------


def _openai_finish(answer: Answer) -> str:
    usual = "tool_calls" if answer.calls else "stop"
    return {"length": "length", "refusal": "content_filter"}.get(answer.fault.kind, usual)


def _openai_usage(asked: Asked, answer: Answer) -> dict[str, Any]:
    given, made, cached = _usage(asked, answer)
    thought = -(-len(answer.thinking) // 4)
    return {
        "prompt_tokens": given,
        "completion_tokens": made,
        "total_tokens": given + made,
        "prompt_tokens_details": {"cached_tokens": cached},
        "completion_tokens_details": {"reasoning_tokens": thought},
    }


def _openai_whole(asked: Asked, answer: Answer) -> dict[str, Any]:
    message = {"role": "assistant", "content": spoken(answer), "reasoning_content": answer.thinking or None}
    body: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": asked.body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": _openai_finish(answer)}],
    }
    return body if answer.fault.kind == "no_usage" else body | {"usage": _openai_usage(asked, answer)}


def _openai_events(asked: Asked, answer: Answer) -> Iterator[bytes]:
    def chunk(delta: dict[str, Any] | None, finish: str | None = None, **more: Any) -> bytes:
        choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
        value = {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": asked.body["model"],
            "choices": choices,
        }
        return _event(None, value | more)

    yield chunk({"role": "assistant", "content": ""})
    if answer.thinking:
        yield chunk({"reasoning_content": answer.thinking})
    for piece in _pieces(answer):
        yield chunk({"content": piece})
    for index, (name, arguments) in enumerate(answer.calls):
        call = {"index": index, "id": f"call_{index}", "type": "function", "function": {"name": name, "arguments": ""}}
        yield chunk({"tool_calls": [call]})
        for piece in _halves(arguments):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    if answer.fault.kind == "error_event":
        yield _event(None, error_body("the engine stopped", "server_error"))
        return
    if answer.fault.kind == "truncated":
        return
    yield chunk({}, _openai_finish(answer))
    if asked.body.get("stream_options", {}).get("include_usage") and answer.fault.kind != "no_usage":
        yield chunk(None, usage=_openai_usage(asked, answer))
    yield b"data: [DONE]\n\n"


# --- Anthropic --------------------------------------------------------------------------------------------------------


def _anthropic_stop(asked: Asked, answer: Answer) -> str:
    usual = "tool_use" if _tool(asked) or answer.calls else "end_turn"
    return {"length": "max_tokens", "refusal": "refusal"}.get(answer.fault.kind, usual)


def _tool(asked: Asked) -> str | None:
    return asked.body.get("tool_choice", {}).get("name")


def _anthropic_usage(asked: Asked, answer: Answer) -> dict[str, Any]:
    given, made, cached = _usage(asked, answer)
    return {"input_tokens": given - cached, "cache_read_input_tokens": cached, "output_tokens": made}


def _anthropic_head(asked: Asked) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": asked.body["model"],
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def _anthropic_whole(asked: Asked, answer: Answer) -> dict[str, Any]:
    text, content = spoken(answer), []
    if answer.thinking:
        content.append({"type": "thinking", "thinking": answer.thinking, "signature": "s"})
    if text and (tool := _tool(asked)):
        content.append({"type": "tool_use", "id": "toolu_1", "name": tool, "input": json.loads(text)})
    elif text:
        content.append({"type": "text", "text": text})
    body = _anthropic_head(asked) | {"content": content, "stop_reason": _anthropic_stop(asked, answer)}
    return body if answer.fault.kind == "no_usage" else body | {"usage": _anthropic_usage(asked, answer)}


def _anthropic_events(asked: Asked, answer: Answer) -> Iterator[bytes]:
    known = answer.fault.kind != "no_usage"
    usage = _anthropic_usage(asked, answer)
    head = _anthropic_head(asked) | ({"usage": usage | {"output_tokens": 1}} if known else {})
    yield _event("message_start", {"message": head})
    yield from _anthropic_blocks(asked, answer)
    if answer.fault.kind == "error_event":
        yield _event("error", error_body("Overloaded", "overloaded_error"))
        return
    if answer.fault.kind == "truncated":
        return
    delta = {"stop_reason": _anthropic_stop(asked, answer), "stop_sequence": None}
    yield _event(
        "message_delta", {"delta": delta} | ({"usage": {"output_tokens": usage["output_tokens"]}} if known else {})
    )
    yield _event("message_stop", {})


def _anthropic_blocks(asked: Asked, answer: Answer) -> Iterator[bytes]:
    index = 0
    if answer.thinking:
        yield _event(
            "content_block_start", {"index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}
        )
        yield _event(
            "content_block_delta", {"index": 0, "delta": {"type": "thinking_delta", "thinking": answer.thinking}}
        )
        yield _event("content_block_stop", {"index": 0})
        index = 1
    tool = _tool(asked)
    block = {"type": "tool_use", "id": "toolu_1", "name": tool, "input": {}} if tool else {"type": "text", "text": ""}
    yield _event("content_block_start", {"index": index, "content_block": block})
    for piece in _pieces(answer):
        delta = {"type": "input_json_delta", "partial_json": piece} if tool else {"type": "text_delta", "text": piece}
        yield _event("content_block_delta", {"index": index, "delta": delta})
    yield _event("content_block_stop", {"index": index})
    for place, (name, arguments) in enumerate(answer.calls, index + 1):
        block = {"type": "tool_use", "id": f"toolu_{place}", "name": name, "input": {}}
        yield _event("content_block_start", {"index": place, "content_block": block})
        for piece in _halves(arguments):
            delta = {"type": "input_json_delta", "partial_json": piece}
            yield _event("content_block_delta", {"index": place, "delta": delta})
        yield _event("content_block_stop", {"index": place})


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


def _event(name: str | None, value: dict[str, Any]) -> bytes:
    if name:
        value = {"type": name} | value
    data = b"data: " + json.dumps(value).encode() + b"\n\n"
    return f"event: {name}\n".encode() + data if name else data
