"""What a provider's errors mean: from status, headers and words to the one vocabulary of errors.

No text that leaves here holds a key: a provider's own words are passed on only without it, and not at all where it
complains about the key.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit, urlunsplit

from generators.errors import AnswerFault, ProviderFault, ProviderReason, RefusedError, TermforgeError, UsageError

REMOVED = "[secret removed]"  # stands in data where a secret was
_OVERFLOW = re.compile(
    r"context[_ ](length|window|size|limit)|maximum context|prompt is too long|too many input tokens|request_too_large"
    r"|max_model_len|max_tokens is too large|maximum allowed number of output tokens|max_new_tokens\W+must be",
    re.I,
)
_FILTERED = re.compile(r"content[_ ](policy|filter|management)", re.I)
_NO_CREDIT = re.compile(r"insufficient_quota|credit balance|billing[_ ]hard[_ ]limit", re.I)
_UNKNOWN = re.compile(r"support|unknown|unrecogni[sz]ed|unexpected|extra|permitted|allowed|deprecated", re.I)
_STRUCTURED = re.compile(r"response_format|json_schema|grammar|structured output|output_config|tool", re.I)
_PUBLIC = re.compile(r"sk-(?:proj-|svcacct-|admin-|or-v1-|ant-[a-z]+[0-9]+-)?")  # how everybody's keys begin
_PLACEHOLDER = re.compile(r".{0,7}|[a-z]{8,15}")  # `none`, `EMPTY`: for servers that need no key
_PIECE = 8  # characters of a key that are too many to show
_STRUCTURING = ("response_format", "tools", "output_config")  # the prompt says the form anyhow: any complaint will do


@dataclass(frozen=True)
class Place:
    """Whom a request went to, in the words a user needs to put it right."""

    provider: str
    model: str
    url: str
    key_variable: str
    url_variable: str
    key: str = field(default="", repr=False)

    def clean(self, text: str, most: int = 240) -> str:
        """A provider's words in one line, cut, without the key."""
        line = _without(self.key, " ".join(text.split()), "***")
        return line if len(line) <= most else line[: most - 1] + "…"

    def scrub(self, text: str) -> str:
        """What a model said, without the key; a placeholder is no secret, and a word that answers are full of."""
        return text if _PLACEHOLDER.fullmatch(self.key) else _without(self.key, text, REMOVED)


def _without(key: str, text: str, mark: str) -> str:
    """A text without a key, and without what a provider quotes of it: every run that its pieces cover."""
    text = text.replace(key, mark) if key else text
    public = _PUBLIC.match(key)
    first = max(0, public.end() - _PIECE + 1) if public else 0  # a piece has something secret in it
    pieces = {key[at : at + _PIECE] for at in range(first, len(key) - _PIECE + 1)}
    parts, end = list[str](), 0
    for start in (at for at in range(len(text) - _PIECE + 1) if text[at : at + _PIECE] in pieces):
        if start > end or not parts:
            parts += (text[end:start], mark)
        end = start + _PIECE
    return "".join(parts) + text[end:]


def shown_url(url: str) -> str:
    """An address without the user and password it may hold."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="")).rstrip("/")


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """How many seconds a provider asks to wait: retry-after-ms, or Retry-After as seconds or as an HTTP date."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after")
    seconds = _number(text)
    if seconds is not None or text is None:
        return seconds
    try:
        at = parsedate_to_datetime(text.strip())
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
        return max(0.0, (at - (now or datetime.now(UTC))).total_seconds())
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else math.nan
    except ValueError:
        return None
    return max(0.0, value) if math.isfinite(value) else None


def refused_parameter(message: str, named: str | None, sent: Collection[str]) -> str | None:
    """The optional parameter that a provider says it cannot take, if it was sent; None where that is not the matter."""
    if _OVERFLOW.search(message):
        return None
    root = (named or "").split(".")[0]
    found = [root] if root in sent else [name for name in sent if name in message]
    if found and (found[0] in _STRUCTURING or _UNKNOWN.search(message)):
        return found[0]
    structuring = [name for name in _STRUCTURING if name in sent]
    return structuring[0] if structuring and _STRUCTURED.search(message) else None


def status_fault(status: int, headers: Mapping[str, str], text: str, place: Place) -> TermforgeError:
    """The error for an answer with this status. `text` is the provider's message and its codes."""
    if reason := _passing(status, text):
        wait = retry_after(headers)
        return ProviderFault(f"{place.provider} answered {status}: {place.clean(text)}", reason, wait)
    if status in (401, 403):
        return UsageError(
            f"{place.url} refused the key ({status}): set {place.key_variable} to one that may use {place.model}"
        )
    if status == 404:
        return UsageError(
            f"{place.url} answered 404 for model {place.model!r}: check its name and {place.url_variable}"
            f" ({place.clean(text)})"
        )
    if status == 413 or _OVERFLOW.search(text):
        return AnswerFault(f"the request does not fit {place.model}: {place.clean(text)}", "context_overflow")
    if _FILTERED.search(text):
        return RefusedError(f"{place.provider} declined the request: {place.clean(text)}")
    return UsageError(f"{place.url} refused the request to {place.model} ({status}): {place.clean(text)}")


def _passing(status: int, text: str) -> ProviderReason | None:
    if status == 402 or (status in (400, 403, 429) and _NO_CREDIT.search(text)):
        return "out_of_credit"
    if status == 429:
        return "rate_limited"
    if status == 408:
        return "timeout"
    return "down" if status >= 500 or status in (409, 425) else None
