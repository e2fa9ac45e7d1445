"""How fast a provider is asked: how many requests at once, how many requests and tokens a minute, for how long each.

A `Pacer` belongs to one provider's account and is shared by all that ask it: by `LimitedModel` for first tries and by the
retries. In any 60 seconds it lets through no more than its rates, spread evenly but for a small burst.
"""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass

from aiolimiter import AsyncLimiter

from generators.chat.model import UNTAGGED, Ask, ChatModel, Reply, Tag
from generators.errors import UsageError

MINUTE = 60.0
_BURST = 11  # a burst of 1/11 of a minute's worth, and the rest at a steady rate: together one minute's worth


@dataclass(frozen=True)
class Rates:
    """What an account may do in a minute. None: no limit. Tokens are counted as providers do, with max_tokens."""

    requests: int | None = None
    tokens: int | None = None

    def __post_init__(self) -> None:
        if any(rate is not None and rate < 1 for rate in (self.requests, self.tokens)):
            raise UsageError("rates per minute are whole numbers from 1")


@dataclass(frozen=True)
class Timeouts:
    """Seconds: to connect, between two pieces of an answer, and for a whole answer."""

    connect: float = 10.0
    read: float = 300.0
    total: float = 1800.0


class _Bucket:
    """At most `rate` units in any minute. What is larger than the burst is taken in parts."""

    def __init__(self, rate: int, minute: float) -> None:
        self._burst = max(1.0, rate / _BURST)
        steady = max(rate - self._burst, 0.5) / minute  # units a second
        self._limiter = AsyncLimiter(self._burst, self._burst / steady)

    async def take(self, units: int) -> None:
        left = float(units)
        while left > 0:
            part = min(left, self._burst)
            await self._limiter.acquire(part)
            left -= part


class Pacer:
    """Who may ask when. `minute` is the length of a minute in seconds."""

    def __init__(self, rates: Rates, minute: float = MINUTE) -> None:
        self._buckets = (
            _Bucket(rates.requests, minute) if rates.requests else None,
            _Bucket(rates.tokens, minute) if rates.tokens else None,
        )
        self._closed_until = 0.0

    def hold(self, seconds: float) -> None:
        """Let nobody ask for so long."""
        self._closed_until = max(self._closed_until, time.monotonic() + seconds)

    async def turn(self, ask: Ask) -> None:
        """Wait until this request may be sent."""
        for bucket, units in zip(self._buckets, (1, ask.worst_input_tokens() + ask.max_tokens), strict=True):
            if bucket:
                await bucket.take(units)
        while (wait := self._closed_until - time.monotonic()) > 0:
            await asyncio.sleep(wait + random.uniform(0, min(wait, 1)))  # not all at the same instant


class LimitedModel:
    """At most `concurrency` requests at once, each at its turn."""

    def __init__(self, inner: ChatModel, pacer: Pacer, concurrency: int) -> None:
        if concurrency < 1:
            raise UsageError("concurrency is a whole number from 1")
        self._inner = inner
        self._pacer = pacer
        self._slots = asyncio.Semaphore(concurrency)

    @property
    def name(self) -> str:
        """The model's name."""
        return self._inner.name

    async def ask(self, ask: Ask, tag: Tag = UNTAGGED) -> Reply:
        """Ask when there is room."""
        async with self._slots:
            await self._pacer.turn(ask)
            return await self._inner.ask(ask, tag)

    async def close(self) -> None:
        """Let go of connections."""
        await self._inner.close()
