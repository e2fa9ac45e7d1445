"""The layer next to the adapter: a key that a server says back goes no further, neither into a cache nor into a draft."""

from __future__ import annotations

from collections.abc import Callable

from generators.chat.model import UNTAGGED, Ask, ChatModel, Reply, Tag, ToolCall
from generators.errors import AnswerFault


class ScrubbedModel:
    """Takes the key out of every text that comes from outside: of replies, of their calls, and of answers of no use."""

    def __init__(self, inner: ChatModel, scrub: Callable[[str], str]) -> None:
        self._inner, self._scrub = inner, scrub

    @property
    def name(self) -> str:
        """The model's name."""
        return self._inner.name

    async def ask(self, ask: Ask, tag: Tag = UNTAGGED) -> Reply:
        """Ask; what comes is without the key."""
        try:
            reply = await self._inner.ask(ask, tag)
        except AnswerFault as fault:
            fault.args, fault.text = (self._scrub(str(fault)),), self._scrub(fault.text)
            raise
        calls = tuple(self._scrubbed(call) for call in reply.calls)
        return reply.model_copy(update={"text": self._scrub(reply.text), "calls": calls})

    async def close(self) -> None:
        """Let go of connections."""
        await self._inner.close()

    def _scrubbed(self, call: ToolCall) -> ToolCall:
        return ToolCall(id=self._scrub(call.id), name=self._scrub(call.name), arguments=self._scrub(call.arguments))
