"""Prices: the shipped table, a file of one's own, and what usage costs."""

from __future__ import annotations

from pathlib import Path

import pytest

from generators.chat.model import Usage
from generators.chat.prices import Price, Prices
from generators.errors import UsageError


@pytest.mark.parametrize(
    ("name", "output"),
    [
        ("openai:gpt-5-mini", 2.0),
        ("openai:gpt-5-mini-2025-08-07", 2.0),
        ("openai:gpt-5-2025-08-07", 10.0),
        ("anthropic:claude-haiku-4-5-20251001", 5.0),
        ("anthropic:claude-opus-4-1-20250805", 75.0),
        ("anthropic:claude-opus-4-5", 25.0),
    ],
)
def test_known_models_have_a_price(name: str, output: float) -> None:
    price = Prices.load().find(name)
    assert price and price.output == output


@pytest.mark.parametrize("name", ["openai:gpt-5-pro", "openai:Qwen/Qwen3-8B", "openai:my-gpt-5", "anthropic:claude"])
def test_what_is_not_in_the_table_has_none(name: str) -> None:
    assert Prices.load().find(name) is None


def test_cached_input_is_cheaper_and_the_worst_case_is_never_less() -> None:
    price = Price(models=("m",), input=2.0, cached=0.5, output=8.0)
    usage = Usage(input_tokens=1_000_000, cached_tokens=400_000, output_tokens=250_000)
    assert price.of(usage) == pytest.approx(1.2 + 0.2 + 2.0)
    assert price.at_most(1_000_000, 250_000) == pytest.approx(4.0)


def test_ones_own_file_comes_first(tmp_path: Path) -> None:
    own = tmp_path / "prices.yaml"
    own.write_text('- {models: ["openai:gpt-5-mini", "openai:mine-*"], input: 1, cached: 0, output: 3}\n')
    prices = Prices.load(own)
    found = [prices.find(name) for name in ("openai:gpt-5-mini", "openai:mine-7b", "openai:gpt-5")]
    assert [price.output for price in found if price] == [3.0, 3.0, 10.0]


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "- {models: [m], input: -1, cached: 0, output: 0}",
        "- {model: m}",
        "hello",
        "- {models: [m], input: .nan, cached: 0, output: 0}",
    ],
)
def test_a_file_that_is_not_valid_is_said_in_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"prices .*prices\.yaml: ") as caught:
        Prices.load(path)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        Prices.load(tmp_path / "none.yaml")
