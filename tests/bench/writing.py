"""Drafts of a language model that answers at once: what is left is our own work, from prompts and SDK to parsing, screens and ledger."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from generators.axes import load_space, sample
from generators.chat.ledger import Ledger
from generators.chat.models import open_model
from generators.recipe import DEFAULT_MIX
from generators.written.draft import Order, task
from generators.written.writer import Models, Writer

DRAFTS, AT_ONCE = 1000, 256
AXES = Path(__file__).resolve().parents[2] / "datasets" / "axes"
_SERVER = """
import time
from tests.conversations import Conversations, load
from tests.provider import Provider
with Provider(Conversations(load(["toll_ledger"]))) as provider:
    print(provider.url, flush=True)
    time.sleep(3600)
"""


@contextmanager
def server() -> Generator[str]:
    """A provider in a process of its own, so that its work is not counted."""
    process = subprocess.Popen([sys.executable, "-c", _SERVER], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()


def writing(count: int = DRAFTS) -> dict[str, Any]:
    """CPU-seconds of this process for so many drafts, cells included, and wall time."""
    began, clock = time.process_time(), time.monotonic()
    cells = [cell for cell in sample(load_space(AXES), 1, 2 * count, DEFAULT_MIX) if cell.fixture == "text_only"]
    with server() as url:
        drafts = asyncio.run(
            _drafts(url, [Order(cell, 1, number, "openai:scripted") for number, cell in enumerate(cells[:count])])
        )
    return {
        "drafts": drafts,
        "cpu_seconds": round(time.process_time() - began, 1),
        "wall_seconds": round(time.monotonic() - clock, 1),
    }


async def _drafts(url: str, orders: list[Order]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder) / "ledger.db")
        model = open_model("openai:scripted", base_url=url, cache=Path(folder), ledger=ledger, say=lambda _: None)
        writer, places = Writer(Models(model, model, model)), asyncio.Semaphore(AT_ONCE)

        async def one(order: Order) -> None:
            async with places:
                task(await writer.begin(order))

        try:
            await asyncio.gather(*(one(order) for order in orders))
        finally:
            await model.close()
            ledger.close()
    return len(orders)
