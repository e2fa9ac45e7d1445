"""The layer that books: nothing is asked before its worst case fits under the ceiling, nothing is answered unbooked."""

from __future__ import annotations

import asyncio
import time

from generators.chat.ledger import NOTHING, Ceiling, Entry, Ledger
from generators.chat.model import UNTAGGED, Ask, ChatModel, Reply, Tag, Usage
from generators.chat.prices import Price
from generators.errors import AnswerFault, ProviderFault, UsageError

_SHORTEST, _LONGEST = 0.01, 0.5  # seconds between two looks for room under the ceiling


class BookedModel:
    """Reserves, asks, books.

    Raises:
        UsageError: the ceiling is of money and the price is unknown.
    """

    def __init__(self, inner: ChatModel, ledger: Ledger, price: Price | None, ceiling: Ceiling) -> None:
        if price is None and ceiling.money is not None:
            raise UsageError(
                f"no price is known for {inner.name}, so no ceiling of money can hold: "
                "give its price in a prices file of your own (--prices), or a ceiling of tokens"
            )
        self._inner = inner
        self._ledger = ledger
        self._price = price
        self._ceiling = ceiling

    @property
    def name(self) -> str:
        """The model's name."""
        return self._inner.name

    async def ask(self, ask: Ask, tag: Tag = UNTAGGED) -> Reply:
        """Ask if the ceiling allows; faults are booked too, with what they cost.

        Raises:
            BudgetError: the request could cross the ceiling. It was not sent.
        """
        reservation = await self._reserve(ask)
        started = time.monotonic()
        try:
            reply = await self._inner.ask(ask, tag)
        except (AnswerFault, ProviderFault) as fault:
            usage = (fault.usage if isinstance(fault, AnswerFault) else None) or NOTHING
            self._settle(reservation, tag, fault.reason, usage, time.monotonic() - started)
            raise
        except BaseException:
            self._ledger.release(reservation)
            raise
        self._settle(reservation, tag, "ok", reply.usage, reply.seconds)
        return reply

    async def close(self) -> None:
        """Let go of connections; the ledger is its owner's to close."""
        await self._inner.close()

    async def _reserve(self, ask: Ask) -> int:
        """Wait for room under the ceiling, as long as requests in the works may leave some."""
        worst = ask.worst_input_tokens()
        money = self._price.at_most(worst, ask.max_tokens) if self._price else 0.0
        wait = _SHORTEST
        while (reservation := self._ledger.reserve(worst + ask.max_tokens, money, self._ceiling)) is None:
            await asyncio.sleep(wait)
            wait = min(_LONGEST, wait * 1.5)
        return reservation

    def _settle(self, reservation: int, tag: Tag, outcome: str, usage: Usage, seconds: float) -> None:
        nothing = usage.input_tokens + usage.output_tokens == 0
        money = self._price.of(usage) if self._price else (0.0 if nothing else None)
        self._ledger.settle(reservation, Entry(tag, self.name, outcome, usage, money, seconds))
