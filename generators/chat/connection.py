"""What the adapters share: the address and key of a provider, an HTTP client, and what the errors on the way mean."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit

import httpx2

from generators.chat.answer import TooLong, answer_fault
from generators.chat.faults import Place, shown_url, status_fault
from generators.chat.limits import Timeouts
from generators.chat.model import Usage
from generators.chat.stream import Failure
from generators.errors import ProviderFault, ProviderReason, TermforgeError, UsageError

LONGEST_LINE = 5_000_000  # bytes; an event of a stream, or a whole body, is one line
_STREAMED = {  # names of errors that come inside a stream, and the status they have outside
    "overloaded_error": 529,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "timeout_error": 408,
    "invalid_request_error": 400,
    "request_too_large": 413,
}


@dataclass(frozen=True)
class Errors:
    """A library's exceptions by what they mean. All derive from `all`."""

    status: type[Exception]
    timeout: type[Exception]
    connection: type[Exception]
    validation: type[Exception]
    all: type[Exception]


@dataclass(frozen=True)
class Provider:
    """What is particular to a provider. `home` is its own address, where a key is needed."""

    name: str
    home: str
    key_variable: str
    url_variable: str

    def place(self, model: str, base_url: str | None, keyless: bool = False) -> tuple[Place, str]:
        """Whom to ask, and the address as it was given.

        Raises:
            UsageError: the address is none, or the key is missing (and it is not `keyless`).
        """
        url = (base_url or os.environ.get(self.url_variable) or self.home).strip().rstrip("/")
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(f"{shown_url(url)!r} is no address for {self.name}: write http://HOST:PORT/v1")
        key = os.environ.get(self.key_variable, "").strip()
        if not key and not keyless and parts.hostname == urlsplit(self.home).hostname:
            raise UsageError(
                f"{self.name} needs a key: set {self.key_variable}, or for a server of your own --base-url or {self.url_variable}"
            )
        if not key.isascii():
            raise UsageError(f"{self.key_variable} holds characters that no key has")
        return Place(self.name, model, shown_url(url), self.key_variable, self.url_variable, key), url


class _Bounded(httpx2.AsyncByteStream):
    """A body that ends in TooLong when one of its lines does not end."""

    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        length = 0
        async for part in self._inner:
            end = part.rfind(b"\n")
            length = length + len(part) if end < 0 else len(part) - end - 1
            if length > LONGEST_LINE:
                raise TooLong
            yield part

    async def aclose(self) -> None:
        await self._inner.aclose()


async def _bound(response: httpx2.Response) -> None:
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _Bounded(response.stream)


def http_client(connections: int, timeouts: Timeouts) -> httpx2.AsyncClient:
    """A client that keeps so many connections open, and reads no more than it must."""
    return httpx2.AsyncClient(
        limits=httpx2.Limits(max_connections=connections, max_keepalive_connections=connections),
        timeout=httpx2.Timeout(timeouts.read, connect=timeouts.connect, pool=None),
        headers={"accept-encoding": "identity"},  # a compressed body has no length that could be bounded
        event_hooks={"response": [_bound]},
    )


def explained(error: Exception, place: Place, errors: Errors, usage: Usage) -> Exception:
    """The error in our vocabulary; an exception that is not a provider's fault stays what it is."""
    if isinstance(error, TermforgeError):
        return error
    if _caused_by(error, TooLong):
        return answer_fault(f"{place.provider} {place.model}", "too_long", usage)
    if isinstance(error, errors.status):
        return _by_status(error, place)
    if isinstance(error, Failure):
        return _in_stream(error, place)
    if reason := _on_the_way(error, errors):
        hint = f" (check {place.url_variable})" if _caused_by(error, httpx2.ConnectError) else ""
        return ProviderFault(f"{place.url}: {reason.replace('_', ' ')}: {place.clean(_words(error))}{hint}", reason)
    return error


def _words(error: Exception) -> str:
    return str(error.__cause__ or error) or type(error).__name__


def _on_the_way(error: Exception, errors: Errors) -> ProviderReason | None:
    """The reason of an error that has no status."""
    if isinstance(error, (errors.timeout, httpx2.TimeoutException, TimeoutError)):
        return "timeout"
    if isinstance(error, (errors.connection, httpx2.TransportError, httpx2.StreamError)):
        return "connection_lost"
    if isinstance(error, (errors.validation, httpx2.HTTPError, ValueError)):
        return "invalid_response"
    return "down" if isinstance(error, errors.all) else None


def _by_status(error: Exception, place: Place) -> TermforgeError:
    response = cast("httpx2.Response", getattr(error, "response"))  # noqa: B009
    return status_fault(response.status_code, response.headers, error_words(error), place)


def _in_stream(failure: Failure, place: Place) -> TermforgeError:
    """An error inside a stream that had begun well: by its code, if that is a status, or by its name."""
    code, kind = failure.body.get("code"), str(failure.body.get("type"))
    status = (
        code if isinstance(code, int) and 400 <= code < 600 else _STREAMED.get(kind) or _STREAMED.get(str(code), 500)
    )
    return status_fault(status, {}, error_words(failure), place)


def error_fields(error: Exception) -> Mapping[str, Any]:
    """What a provider's error says: message, type, code, param."""
    body = getattr(error, "body", None)
    if not isinstance(body, dict):
        return {}
    fields = cast("dict[str, Any]", body)
    inner = fields.get("error")
    return cast("dict[str, Any]", inner) if isinstance(inner, dict) else fields


def error_message(error: Exception) -> str:
    """A provider's message alone."""
    return str(error_fields(error).get("message") or error)


def error_words(error: Exception) -> str:
    """A provider's message and codes in one text."""
    fields = error_fields(error)
    words = [str(fields[name]) for name in ("message", "code", "type") if fields.get(name)]
    return " ".join(words) or str(error)


def _caused_by(error: BaseException, kind: type[BaseException]) -> bool:
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, kind):
            return True
        seen = seen.__cause__ or seen.__context__
    return False
