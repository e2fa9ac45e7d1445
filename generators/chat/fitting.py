"""Answers for which there is no room: where a server's context, or its limit of output, is smaller than what a request asks for, it is
asked for half as much, and half again.

A server refuses such a request before it works on it, so that nothing but the exchange is lost. It does not help where the prompt itself
does not fit: then the words say nothing of the answer, or the halving ends at LEAST tokens, and the fault stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from generators.chat.model import UNTAGGED, Ask, ChatModel, Reply, Tag
from generators.errors import AnswerFault

LEAST = 256  # tokens; a shorter answer is of no use
_ANSWER = re.compile(r"max_\w*tokens|output tokens|completion", re.I)


class FittingModel:
    """Asks for a shorter answer where the one that is wanted does not fit. `say` is told once."""

    def __init__(self, inner: ChatModel, say: Callable[[str], None]) -> None:
        self._inner, self._say = inner, say
        self._told = False

    @property
    def name(self) -> str:
        """The model's name."""
        return self._inner.name

    async def ask(self, ask: Ask, tag: Tag = UNTAGGED) -> Reply:
        """Ask; again for less, as long as that may help."""
        while True:
            try:
                return await self._inner.ask(ask, tag)
            except AnswerFault as fault:
                if not _about_the_answer(fault) or ask.max_tokens <= LEAST:
                    raise
                self._tell(ask.max_tokens)
                ask = ask.model_copy(update={"max_tokens": max(LEAST, ask.max_tokens // 2)})

    async def close(self) -> None:
        """Let go of connections."""
        await self._inner.close()

    def _tell(self, tokens: int) -> None:
        if not self._told:
            self._told = True
            self._say(f"{self.name} has no room for answers of {tokens} tokens; it is asked for shorter ones")


def _about_the_answer(fault: AnswerFault) -> bool:
    """Whether a request was refused, not answered, and the words are about the answer's length too."""
    return fault.reason == "context_overflow" and fault.usage is None and bool(_ANSWER.search(str(fault)))
