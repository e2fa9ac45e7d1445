"""Rates per minute, with a short minute."""

from __future__ import annotations

import asyncio
import time

from generators.chat.limits import Pacer, Rates
from generators.chat.model import Ask, Message

MINUTE = 1.0  # seconds
ASK = Ask(messages=(Message(role="user", content="x" * 168),), max_tokens=100)  # 200 tokens at worst


def turns(rates: Rates, count: int) -> list[float]:
    """When so many requests that come at once have their turns."""
    times: list[float] = []

    async def one(pacer: Pacer) -> None:
        await pacer.turn(ASK)
        times.append(time.monotonic())

    async def main() -> None:
        pacer = Pacer(rates, MINUTE)
        await asyncio.gather(*(one(pacer) for _ in range(count)))

    asyncio.run(main())
    return sorted(times)


def most_in_a_minute(times: list[float]) -> int:
    return max(sum(start <= at < start + 0.98 * MINUTE for at in times) for start in times)


def test_no_minute_sees_more_requests_than_allowed() -> None:
    times = turns(Rates(requests=20), 45)
    assert len(times) == 45 and most_in_a_minute(times) <= 20


def test_no_minute_sees_more_tokens_than_allowed() -> None:
    assert most_in_a_minute(turns(Rates(tokens=200 * 10), 25)) <= 10


def test_a_request_larger_than_a_minutes_tokens_still_has_its_turn() -> None:
    assert len(turns(Rates(tokens=150), 2)) == 2


def test_without_rates_nobody_waits_and_a_hold_holds_all() -> None:
    async def main() -> float:
        pacer = Pacer(Rates())
        pacer.hold(0.3)
        started = time.monotonic()
        await asyncio.gather(*(pacer.turn(ASK) for _ in range(50)))
        return time.monotonic() - started

    assert asyncio.run(main()) >= 0.3
