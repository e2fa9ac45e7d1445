"""A process that asks: `python -m tests.generators.chat.worker URL FOLDER COUNT [CEILING_TOKENS]`, in its own folder of replies and ledger.

It prints a line for each request that was answered, and at the end what stopped it.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from generators.chat.ledger import Ceiling, Ledger
from generators.chat.model import Ask, ChatModel, Message, Tag
from generators.chat.models import open_model
from generators.errors import BudgetError


def ask_number(number: int) -> Ask:
    """The request with a number; the same in every process."""
    return Ask(messages=(Message(role="user", content=f"question {number}."),), max_tokens=50)


async def answer(model: ChatModel, number: int) -> None:
    try:
        reply = await model.ask(ask_number(number), Tag(f"task-{number}", "draft"))
        print("cached" if reply.cached else "paid", number, flush=True)
    except BudgetError:
        print("stopped", number, flush=True)


async def main(url: str, folder: Path, count: int, ceiling: int | None) -> None:
    ledger = Ledger(folder / "ledger.sqlite")
    model = open_model(
        "openai:tiny",
        base_url=url,
        cache=folder / "replies",
        ledger=ledger,
        ceiling=Ceiling(tokens=ceiling),
        concurrency=8,
        say=lambda line: None,
    )
    await asyncio.gather(*(answer(model, number) for number in range(count)))
    await model.close()
    ledger.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else None))
