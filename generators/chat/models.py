"""Opening a model by its name: the adapter of its provider inside the layers, cache(book(limits(retry(fit(scrub(adapter)))))).

    model = open_model("anthropic:claude-haiku-4-5", cache=Path("replies"), ledger=ledger, ceiling=Ceiling(money=5))
    model = open_model("openai:Qwen/Qwen3-8B", base_url="http://127.0.0.1:8000/v1")  # vLLM, SGLang, llama.cpp, OpenRouter

Keys come from the environment only: OPENAI_API_KEY, ANTHROPIC_API_KEY. OPENAI_BASE_URL and ANTHROPIC_BASE_URL stand in for
`base_url`. The providers' libraries are imported here at first use, since they take a second.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

from generators.chat.booked import BookedModel
from generators.chat.cache import CachedModel, Replies
from generators.chat.fitting import FittingModel
from generators.chat.ledger import NOTHING, Ceiling, Entry, Ledger
from generators.chat.limits import LimitedModel, Pacer, Rates, Timeouts
from generators.chat.model import UNTAGGED, Ask, ChatModel, Effort, Reply, Tag
from generators.chat.prices import Prices
from generators.chat.retry import Patience, RetryModel
from generators.chat.scrubbed import ScrubbedModel
from generators.errors import UsageError

CONCURRENCY = 256
_SPEC = re.compile(r"(openai|anthropic):(\S+)")


class Adapter(ChatModel, Protocol):
    """A ChatModel that talks to a provider."""

    @property
    def url(self) -> str:
        """The provider's address, without what is secret in it."""
        ...

    def scrub(self, text: str) -> str:
        """A text without the key."""
        ...


class WithReasoning:
    """Asks with this effort where a request names none."""

    def __init__(self, inner: ChatModel, effort: Effort) -> None:
        self._inner = inner
        self._effort: Effort = effort

    @property
    def name(self) -> str:
        """The model's name."""
        return self._inner.name

    async def ask(self, ask: Ask, tag: Tag = UNTAGGED) -> Reply:
        """Ask with the effort."""
        return await self._inner.ask(ask if ask.reasoning else ask.model_copy(update={"reasoning": self._effort}), tag)

    async def close(self) -> None:
        """Let go of connections."""
        await self._inner.close()


def provider_of(spec: str) -> str:
    """The provider that a model's name begins with."""
    return spec.partition(":")[0]


def require_one_provider(specs: Iterable[str]) -> None:
    """That one address can be meant for all these models: with another provider's model its key would go there too.

    Raises:
        UsageError: they are of several providers.
    """
    providers = list(dict.fromkeys(map(provider_of, specs)))
    if len(providers) > 1:
        raise UsageError(
            f"--base-url is one provider's, the models are of {' and '.join(providers)}: name them in runs of their own"
        )


def open_model(
    spec: str,
    *,
    base_url: str | None = None,
    cache: Path | None = None,
    ledger: Ledger | None = None,
    ceiling: Ceiling | None = None,
    prices: Prices | None = None,
    concurrency: int = CONCURRENCY,
    per_minute: Rates | None = None,
    reasoning: Effort | None = None,
    patience: Patience | None = None,
    timeouts: Timeouts | None = None,
    keyless: bool = False,
    say: Callable[[str], None] = print,
) -> ChatModel:
    """A model by its name, `openai:NAME` or `anthropic:NAME`. `say` is told once that a price is unknown, or answers have no room.

    `keyless` is for those who ask nothing but the cache: no key need be there.

    Raises:
        UsageError: the name, the key, an address or a limit does not fit, or the ceiling cannot be kept.
    """
    if ceiling and ledger is None:
        raise UsageError("a ceiling needs a ledger to count in")
    adapter = _adapter(spec, base_url, concurrency, timeouts or Timeouts(), keyless)
    pacer = Pacer(per_minute or Rates())
    scrubbed = ScrubbedModel(adapter, adapter.scrub)
    model: ChatModel = RetryModel(FittingModel(scrubbed, say), pacer, patience or Patience(), say)
    model = LimitedModel(model, pacer, concurrency)
    if ledger:
        model = _booked(model, ledger, prices or Prices.load(), ceiling or Ceiling(), say)
    if cache:
        model = CachedModel(model, Replies(cache), adapter.url, _found(spec, ledger))
    return WithReasoning(model, reasoning) if reasoning else model


def _adapter(spec: str, base_url: str | None, concurrency: int, timeouts: Timeouts, keyless: bool) -> Adapter:
    match = _SPEC.fullmatch(spec)
    if not match:
        raise UsageError(f"model {spec!r}: write openai:NAME or anthropic:NAME, for example openai:gpt-5-mini")
    if match[1] == "openai":
        from generators.chat.openai import OpenAIModel

        return OpenAIModel(match[2], base_url, concurrency, timeouts, keyless)
    from generators.chat.anthropic import AnthropicModel

    return AnthropicModel(match[2], base_url, concurrency, timeouts, keyless)


def _booked(
    model: ChatModel, ledger: Ledger, prices: Prices, ceiling: Ceiling, say: Callable[[str], None]
) -> BookedModel:
    price = prices.find(model.name)
    booked = BookedModel(model, ledger, price, ceiling)
    if price is None and model.name not in ledger.told:
        ledger.told.add(model.name)
        say(f"no price is known for {model.name}: its tokens are counted, its money is not (a prices file may name it)")
    return booked


def _found(name: str, ledger: Ledger | None) -> Callable[[Tag, Reply], None]:
    """What books a reply that came from the cache: a row of nothing."""

    def book(tag: Tag, reply: Reply) -> None:
        if ledger:
            ledger.book(Entry(tag, name, "ok", NOTHING, money=0.0, seconds=0.0, cached=reply.cached))

    return book
