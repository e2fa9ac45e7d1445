"""Faults of a provider are waited out: with growing, random pauses, or for as long as the provider asks for.

Bounded by patience, and by tries where the provider does not say when to come again: one that does is busy, not broken. A provider
that asks for more than the patience left is not waited for.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_before_delay

from generators.chat.limits import Pacer
from generators.chat.model import UNTAGGED, Ask, ChatModel, Reply, Tag
from generators.errors import ProviderFault


@dataclass(frozen=True)
class Patience:
    """How often and how long. `first` is the mean of the first pause; each later one is twice as long, up to `most`."""

    tries: int = 8
    first: float = 1.0  # seconds, like all here
    most: float = 60.0
    total: float = 900.0  # from the first try to the beginning of the last


class RetryModel:
    """Tries again what another try may mend. What a provider asks to wait holds back all that share the pacer."""

    def __init__(
        self, inner: ChatModel, pacer: Pacer, patience: Patience, say: Callable[[str], None] = lambda _: None
    ) -> None:
        self._inner = inner
        self._pacer = pacer
        self._patience = patience
        self._say, self._said = say, set[str]()

    @property
    def name(self) -> str:
        """The model's name."""
        return self._inner.name

    async def ask(self, ask: Ask, tag: Tag = UNTAGGED) -> Reply:
        """Ask until there is an answer, or no patience left: then the last fault is raised, with the number of tries."""
        tries = 0
        try:
            async for attempt in self._retrying():
                with attempt:
                    tries += 1
                    if tries > 1:
                        await self._pacer.turn(ask)
                    return await self._inner.ask(ask, tag)
        except ProviderFault as fault:
            many = "try" if tries == 1 else "tries"
            raise ProviderFault(f"{fault} (after {tries} {many})", fault.reason, fault.retry_after) from None
        raise AssertionError("tenacity neither returned nor raised")

    async def close(self) -> None:
        """Let go of connections."""
        await self._inner.close()

    def _retrying(self) -> AsyncRetrying:
        return AsyncRetrying(
            retry=retry_if_exception(_may_pass),
            stop=self._enough,
            wait=self._pause,
            before_sleep=self._hold,
            reraise=True,
        )

    def _enough(self, state: RetryCallState) -> bool:
        tried = _asked(state) is None and state.attempt_number >= self._patience.tries
        return tried or stop_before_delay(self._patience.total)(state)

    def _pause(self, state: RetryCallState) -> float:
        """Full jitter around the exponential, never less than the provider asked for."""
        mean = min(self._patience.most, self._patience.first * 2.0 ** min(state.attempt_number - 1, 30))
        pause = mean * random.uniform(0.5, 1.5)
        asked = _asked(state)
        return pause if asked is None else asked + min(pause, 1.0) * random.random()

    def _hold(self, state: RetryCallState) -> None:
        error, asked = state.outcome.exception() if state.outcome else None, _asked(state)
        if isinstance(error, ProviderFault) and error.reason not in self._said:  # once for each kind of trouble
            self._said.add(error.reason)
            many = (
                f"up to {self._patience.tries} times" if asked is None else f"for {self._patience.total:.0f} s at most"
            )
            self._say(f"{self.name}: {error}; trying again, {many}")
        if asked is not None:
            self._pacer.hold(asked)


def _asked(state: RetryCallState) -> float | None:
    error = state.outcome.exception() if state.outcome else None
    return error.retry_after if isinstance(error, ProviderFault) else None


def _may_pass(error: BaseException) -> bool:
    return isinstance(error, ProviderFault) and error.reason != "out_of_credit"
