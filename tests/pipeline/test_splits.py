"""Dealing tasks into splits."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from pipeline.splits import Item, split

SHARES = {"train": 80.0, "validation": 10.0, "test": 10.0}
ITEMS = st.lists(
    st.builds(
        Item, id=st.text(min_size=1), family=st.sampled_from("abcdef"), difficulty=st.sampled_from(["easy", "hard"])
    ),
    unique_by=lambda item: item.id,
    max_size=80,
)


@given(ITEMS, st.integers(), st.booleans())
def test_everything_is_dealt_once_and_order_does_not_matter(items: list[Item], seed: int, apart: bool) -> None:
    dealt = split(items, SHARES, seed, apart)
    assert set(dealt) == {item.id for item in items}
    assert dealt == split(list(reversed(items)), SHARES, seed, apart)
    if apart:
        assert all(len({dealt[item.id] for item in items if item.family == family}) <= 1 for family in "abcdef")


@given(ITEMS, st.integers())
def test_shares_are_met_to_within_one_task(items: list[Item], seed: int) -> None:
    counts = Counter(split(items, SHARES, seed).values())
    assert all(abs(counts[name] - share / 100 * len(items)) <= 1 for name, share in SHARES.items())


def test_every_difficulty_is_in_every_split() -> None:
    items = [Item(f"{n}", "abcde"[n % 5], ["easy", "medium", "hard"][n % 3]) for n in range(120)]
    dealt = split(items, SHARES, 1)
    assert len({(dealt[item.id], item.difficulty) for item in items}) == 9


def test_a_split_without_a_share_stays_empty() -> None:
    assert set(split([Item("a", "f", "easy"), Item("b", "f", "easy")], {"train": 100.0, "test": 0.0}, 1).values()) == {
        "train"
    }
