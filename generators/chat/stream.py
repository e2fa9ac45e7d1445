"""Server-sent events, read by us: the libraries build an object tree for every token, which costs more than all else here.

An event's data goes straight into a small model of the few fields that matter; what does not fit is a ValueError.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

Model = TypeVar("Model", bound=BaseModel)
_DONE = b"[DONE]"
_DRAIN_SECONDS = 1.0


class Failure(Exception):
    """An error that came inside a stream, as the provider wrote it."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__(str(body.get("message", body)))
        self.body = body


async def events(parts: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    """The data of each event of a stream, up to OpenAI's end mark. An event that the end cuts off is dropped."""
    data: list[bytes] = []
    lines = _lines(parts)
    async for line in lines:
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif not line and data:
            event = b"\n".join(data)
            if event == _DONE:
                await _drain(lines)
                return
            yield event
            data = []


async def _drain(lines: AsyncIterator[bytes]) -> None:
    """Read to the end of the body, which is near: only then can the connection be used again."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in lines:
                pass


async def _lines(parts: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    """Whole lines without their ends (LF or CR LF)."""
    rest: list[bytes] = []
    async for part in parts:
        first, *others = part.split(b"\n")
        rest.append(first)
        for following in others:
            yield b"".join(rest).removesuffix(b"\r")
            rest = [following]


def parse(model: type[Model], data: bytes) -> Model:
    """An event as a model. Half of a character, which some servers send alone, is let through."""
    try:
        return model.model_validate_json(data)
    except ValidationError:
        return model.model_validate(json.loads(data))
