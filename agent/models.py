"""Who plays an agent: a language model, a script of replies, or a task's own solution replayed through the style's actions.

scripted:replay            the reference solution, so that "solvable" is proven through the agent's interface
scripted:idle              says at once that it is done
scripted:FILE              the `replies` of a YAML file, in order; the last one again and again
openai:NAME  anthropic:NAME   see generators.chat.models
"""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path
from typing import cast

from agent.actions import MAX_SECONDS, AnyAction, Bash, Finish
from agent.styles.style import Style
from generators.chat.model import UNTAGGED, Ask, ChatModel, Reply, Tag, estimate_usage
from generators.digest import sha256_hex
from generators.errors import UsageError
from generators.strict_yaml import read_mapping
from generators.task import Task

SCRIPTED = "scripted:"
REPLAY, IDLE = "scripted:replay", "scripted:idle"
Player = Callable[[Task, Style], ChatModel]


class ScriptedModel:
    """A ChatModel that says its lines, by the number of replies already in the conversation."""

    def __init__(self, name: str, replies: Sequence[str]) -> None:
        if not replies:
            raise UsageError(f"{name}: there is no reply to say")
        self.name, self.replies = name, tuple(replies)

    async def ask(self, ask: Ask, tag: Tag = UNTAGGED) -> Reply:
        """The next line."""
        await asyncio.sleep(0)  # others have their turn, as with a real one
        said = sum(message.role == "assistant" for message in ask.messages)
        text = self.replies[min(said, len(self.replies) - 1)]
        return Reply(text=text, usage=estimate_usage(ask, text), model=self.name, seconds=0.0)

    async def close(self) -> None:
        """Nothing is held."""


def identity(spec: str) -> str:
    """A name that stands for what is played: of a file, its content too."""
    path = Path(spec.removeprefix(SCRIPTED))
    if not spec.startswith(SCRIPTED) or spec in (REPLAY, IDLE) or not path.is_file():
        return spec
    return f"{spec} {sha256_hex(path.read_bytes())}"


def replay(task: Task, style: Style) -> ScriptedModel:
    """The reference solution as one command, then the end."""
    if task.solution is None:
        raise UsageError(f"{task.id} has no reference solution to replay")
    seconds = min(task.limits.solve_seconds, MAX_SECONDS)
    command = f"timeout {seconds} bash -c {shlex.quote(task.solution)}"
    try:
        replies = [style.render([Bash(cmd=command, timeout_secs=seconds)]), style.render([Finish()])]
    except ValueError:  # a style whose commands name no time
        replies = [style.render([Bash(cmd=command)]), style.render([Finish()])]
    return ScriptedModel(REPLAY, replies)


def scripted(spec: str) -> Player:
    """The player that a `scripted:` name stands for.

    Raises:
        UsageError: the file is not there or is no list of replies.
    """
    if spec == REPLAY:
        return replay
    if spec == IDLE:
        done: list[AnyAction] = [Finish()]
        return lambda _, style: ScriptedModel(IDLE, [style.render(done)])
    if not Path(spec.removeprefix(SCRIPTED)).is_file():
        raise UsageError(f"{spec}: there is no such file; write scripted:replay, scripted:idle or scripted:FILE")
    given = read_mapping(Path(spec.removeprefix(SCRIPTED)), "script", "`replies`").get("replies")
    texts = cast(list[object], given) if isinstance(given, list) else []
    replies = [text for text in texts if isinstance(text, str)]
    if not replies or len(replies) < len(texts):
        raise UsageError(f"{spec}: `replies` must be a list of texts")
    return lambda _, __: ScriptedModel(spec, replies)


@contextlib.asynccontextmanager
async def player(spec: str, opened: Callable[[str], ChatModel]) -> AsyncGenerator[Player]:
    """Who plays under a name, for the time of a block; `opened` opens a language model (generators.chat.models.open_model).

    Raises:
        UsageError: there is nobody of that name.
    """
    if spec.startswith(SCRIPTED):
        yield scripted(spec)
        return
    model = opened(spec)
    try:
        yield lambda _, __: model
    finally:
        await model.close()
