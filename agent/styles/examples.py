"""Worked examples before the task, as turns of the conversation: small models need to see the form before they keep to it.

A text of examples has, for each, a line `=== task`, an instruction, a line `=== reply`, and the reply to it.
"""

from __future__ import annotations

import re

from agent.styles.style import Style
from generators.chat.model import Message
from generators.errors import UsageError

_MARK = re.compile(r"^=== (task|reply)[ \t]*$", re.MULTILINE)


def first_messages(style: Style, instruction: str, examples: str = "") -> tuple[Message, ...]:
    """What an agent is told before its first reply: rules, examples if there are any, the task.

    Raises:
        UsageError: the examples are not in their form.
    """
    messages = [Message(role="system", content=style.system_prompt())]
    for task, reply in parse_examples(examples):
        messages.append(Message(role="user", content=style.opening(task)))
        messages.append(Message(role="assistant", content=reply))
    return (*messages, Message(role="user", content=style.opening(instruction)))


def parse_examples(text: str) -> tuple[tuple[str, str], ...]:
    """Instructions and replies.

    Raises:
        UsageError: a mark is missing, or nothing follows it.
    """
    before, *parts = _MARK.split(text)
    marks, texts = parts[::2], [part.strip() for part in parts[1::2]]
    if before.strip() or marks != ["task", "reply"] * (len(marks) // 2) or not all(texts):
        raise UsageError("worked examples: say `=== task`, an instruction, `=== reply` and a reply, by turns")
    return tuple(zip(texts[::2], texts[1::2], strict=True))
