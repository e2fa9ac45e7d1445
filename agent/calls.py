"""Native tool calls: a style's actions as a provider's tools, calls read as actions, results as their answers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, cast

from agent.actions import AnyAction, Malformed
from agent.session import Turn
from agent.styles.style import Said, Style
from generators.chat.model import Message, Reply, Tool, ToolCall, ToolResult

NOTE = (
    "\n\nTools are offered to you: act by calling them instead of writing the forms above; their fields are the same."
)

_MUST_SUCCEED = re.compile(r'"must_succeed"\s*:\s*true')


def tools(style: Style) -> tuple[Tool, ...]:
    """The actions of a style."""
    return tuple(Tool.model_validate(dict(tool)) for tool in style.tools())


def said(style: Style, reply: Reply) -> Said:
    """What a reply says. One without a call is read as text."""
    if not reply.calls:
        return style.parse(reply.text)
    return Said(tuple(_action(style, call) for call in reply.calls), reply.text)


def _action(style: Style, call: ToolCall) -> AnyAction | Malformed:
    try:
        values: Any = json.loads(call.arguments)
    except ValueError as error:
        return _mistake(style, call, f"the arguments are not JSON: {error}")
    if not isinstance(values, dict):
        return _mistake(style, call, "the arguments are no JSON object")
    return style.parse_call(call.name, cast(Mapping[str, Any], values))


def _mistake(style: Style, call: ToolCall, problem: str) -> Malformed:
    """What is wrong with arguments that are no object; the form is the one that a style asks for where all are missing."""
    empty = style.parse_call(call.name, {})
    return Malformed(
        tag=call.name[:40],
        line=1,
        column=1,
        problem=problem,
        echo=call.arguments[:60],
        expected=empty.expected if isinstance(empty, Malformed) else f"{call.name} {{}}",
        must_succeed=_MUST_SUCCEED.search(call.arguments) is not None,
    )


def messages(style: Style, reply: Reply, turn: Turn, notes: list[str]) -> tuple[Message, Message]:
    """The two messages that a turn adds: the reply with its calls, and their results."""
    results = tuple(
        ToolResult(id=call.id, content=style.show([result]) or "-")
        for call, result in zip(reply.calls, turn.results, strict=True)
    )
    told = "\n".join(notes)
    return (
        Message(role="assistant", content=reply.text, calls=reply.calls),
        Message(role="user", content=told, results=results),
    )
