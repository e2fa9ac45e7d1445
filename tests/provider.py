"""A provider of language models for tests: a real HTTP server on 127.0.0.1 that speaks both protocols from a script.

    with Provider([Line(when=("hello",), say="Good day."), Line(fault=Fault("status", 429, {"retry-after": "1"}), times=2)]) as provider:
        model = open_model("openai:scripted", base_url=provider.url)

A script is a list of lines, the first of which that matches and is not used up answers, or a function from a request to
an answer. By hand: `python -m tests.provider --script FILE --port 8123`, where FILE is a YAML list of lines:

    - when: [ledger, Dockerfile]        # strings that must all occur in the request's messages
      say: "FROM debian"
      times: 1                          # how often it answers; without it, always
    - fault: {kind: status, status: 503}
"""

from __future__ import annotations

import argparse
import asyncio
import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

from tests.provider_wire import NO_FAULT, Answer, Asked, Fault, Kind, error_body, events, whole

__all__ = ["Answer", "Asked", "Fault", "Kind", "Line", "Provider", "Script", "read_script"]

_PATIENCE = 30.0  # seconds that requests wait for each other at most


@dataclass(frozen=True)
class Line:
    """A line of a script: an answer, to what, and how often (None: always)."""

    when: tuple[str, ...] = ()
    say: str = ""
    fault: Fault = NO_FAULT
    thinking: str = ""
    usage: tuple[int, int, int] | None = None
    times: int | None = None

    def answer(self) -> Answer:
        """What it says."""
        return Answer(self.say, self.fault, self.thinking, self.usage)


Script = Sequence[Line] | Callable[[Asked], Answer]
_UNMATCHED = Fault("status", 404, message="no line of the script matches this request")


def read_script(path: Path) -> list[Line]:
    """The lines of a YAML file; a key that is not known is an error."""
    lines = yaml.safe_load(path.read_text(encoding="utf-8"))
    return [_line(dict(line)) for line in lines]


def _line(values: dict[str, Any]) -> Line:
    fault = dict(values.pop("fault", {}))
    for name in ("when", "usage"):
        if name in values:
            values[name] = tuple(values[name])
    if "parameters" in fault:
        fault["parameters"] = tuple(fault["parameters"])
    if "kind" not in fault and "status" in fault:
        fault["kind"] = "status"
    return Line(fault=Fault(**fault), **values)


class _Drop(Exception):
    """The connection is closed now."""


class Provider:
    """The server. `asked` lists every request, `active` and `peak` count those in the works, `connections` those made so far.

    With `gather`, requests wait until so many are in the works at once (and no longer than half a minute).
    """

    def __init__(self, script: Script, port: int = 0, gather: int = 0) -> None:
        self.asked: list[Asked] = []
        self.active = self.peak = self.connections = 0
        self._script = script
        self._used: dict[int, int] = {}
        self._port = port
        self._gather = gather
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)

    @property
    def url(self) -> str:
        """The base URL, for both protocols."""
        return f"http://127.0.0.1:{self._port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._ready.wait(10):
            raise RuntimeError("the provider did not start")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    def wait(self) -> None:
        """Serve until interrupted."""
        self._thread.join()

    async def _run(self) -> None:
        self._loop, self._stop, self._gathered = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
        server = await asyncio.start_server(self._connection, "127.0.0.1", self._port, backlog=1024, limit=2**20)
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                await self._exchange(await _read(reader), writer)
        except _Drop:
            writer.transport.abort()
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):  # gone, or the server is closed
            pass
        finally:
            writer.close()

    async def _exchange(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        self.asked.append(asked)
        self.active += 1
        self.peak = max(self.peak, self.active)
        try:
            await self._wait_for_others()
            answer = self._answer(asked)
            await asyncio.sleep(answer.fault.delay)
            await _send(asked, answer, writer)
        finally:
            self.active -= 1

    async def _wait_for_others(self) -> None:
        if self.active >= self._gather:
            self._gathered.set()
        async with asyncio.timeout(_PATIENCE):
            await self._gathered.wait()

    def _answer(self, asked: Asked) -> Answer:
        if callable(self._script):
            return self._script(asked)
        for number, line in enumerate(self._script):
            used = self._used.get(number, 0)
            if (line.times is None or used < line.times) and all(word in asked.text for word in line.when):
                self._used[number] = used + 1
                return line.answer()
        return Answer(fault=_UNMATCHED)


async def _read(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    pairs = (line.split(":", 1) for line in head[1:] if line)
    headers = {name.strip().lower(): value.strip() for name, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(head[0].split(" ")[1], headers, json.loads(body or b"{}"), time.monotonic())


async def _send(asked: Asked, answer: Answer, writer: asyncio.StreamWriter) -> None:
    fault = answer.fault
    known = asked.path.endswith(("/chat/completions", "/messages"))
    if not known or fault.kind == "status":
        status = fault.status if known else 404
        return await _send_body(
            writer, json.dumps(error_body(fault.message, fault.code)).encode(), status, fault.headers
        )
    if fault.kind == "drop_before":
        raise _Drop
    if fault.kind == "lacks" and (lacking := next((name for name in fault.parameters if name in asked.body), None)):
        return await _send_body(writer, json.dumps(error_body(f"'{lacking}' is not supported here")).encode(), 400)
    if asked.body.get("stream"):
        return await _send_stream(asked, answer, writer)
    return await _send_whole(asked, answer, writer)


async def _send_whole(asked: Asked, answer: Answer, writer: asyncio.StreamWriter) -> None:
    body = _broken(json.dumps(whole(asked, answer)).encode(), answer.fault.kind)
    if answer.fault.kind == "drop_amid":
        writer.write(_head(200, {"content-length": str(len(body))}) + body[: len(body) // 2])
        await writer.drain()
        raise _Drop
    await _send_body(writer, body)


async def _send_stream(asked: Asked, answer: Answer, writer: asyncio.StreamWriter) -> None:
    writer.write(_head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"}))
    for number, event in enumerate(events(asked, answer)):
        if number == 2:
            event = _broken(event, answer.fault.kind)
            if answer.fault.kind == "drop_amid":
                await writer.drain()
                raise _Drop
        writer.write(b"%x\r\n%b\r\n" % (len(event), event))
        await writer.drain()
    writer.write(b"0\r\n\r\n")
    await writer.drain()


def _broken(data: bytes, kind: Kind) -> bytes:
    """The same bytes with the fault of this kind in them."""
    if kind == "bad_json":
        return data.replace(b"}", b"", 1)
    return data.replace(b'"index"', b'"inde\xff\xfe"', 1) if kind == "bad_utf8" else data


async def _send_body(
    writer: asyncio.StreamWriter, body: bytes, status: int = 200, headers: dict[str, str] | None = None
) -> None:
    length = {"content-type": "application/json", "content-length": str(len(body))}
    writer.write(_head(status, length | (headers or {})) + body)
    await writer.drain()


def _head(status: int, headers: dict[str, str]) -> bytes:
    phrase = next((known.phrase for known in HTTPStatus if known == status), "Fault")
    lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def main() -> None:
    """Serve a script until interrupted."""
    parser = argparse.ArgumentParser(prog="python -m tests.provider", description=main.__doc__)
    parser.add_argument("--script", type=Path, required=True, help="a YAML list of lines")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    options = parser.parse_args()
    with Provider(read_script(options.script), options.port) as provider:
        print(provider.url, flush=True)
        provider.wait()


if __name__ == "__main__":
    main()
