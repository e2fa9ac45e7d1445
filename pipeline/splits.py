"""Deal tasks into train, validation and test: stratified by family and difficulty, or with whole families apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from generators.seeds import stream


@dataclass(frozen=True)
class Item:
    """What splitting looks at."""

    id: str
    family: str
    difficulty: str


def split(
    items: Sequence[Item], shares: Mapping[str, float], seed: int, separate_families: bool = False
) -> dict[str, str]:
    """The split of every id. The same items, shares and seed give the same answer, in whatever order the items come."""
    names = [name for name, share in shares.items() if share > 0]
    if separate_families:
        return _by_family(items, shares, names, seed)
    ordered = sorted(items, key=lambda item: item.id)
    shuffled = stream("split", seed).sample(ordered, len(ordered))
    strata = sorted(shuffled, key=lambda item: (item.difficulty, item.family))
    given = dict.fromkeys(names, 0)
    result: dict[str, str] = {}
    for number, item in enumerate(strata, 1):
        result[item.id] = _most_behind(names, shares, given, number)
        given[result[item.id]] += 1
    return result


def _by_family(items: Sequence[Item], shares: Mapping[str, float], names: Sequence[str], seed: int) -> dict[str, str]:
    """Whole families, largest first, each to the split that is furthest behind."""
    families: dict[str, list[Item]] = {}
    for item in sorted(items, key=lambda item: item.id):
        families.setdefault(item.family, []).append(item)
    order = stream("split families", seed).sample(sorted(families), len(families))
    order.sort(key=lambda name: -len(families[name]))
    given = dict.fromkeys(names, 0)
    result: dict[str, str] = {}
    for name in order:
        target = _most_behind(names, shares, given, len(items))
        given[target] += len(families[name])
        result |= {item.id: target for item in families[name]}
    return result


def _most_behind(names: Sequence[str], shares: Mapping[str, float], given: Mapping[str, int], total: int) -> str:
    """The split that lacks most of its share; the first named where two lack the same."""
    return max(names, key=lambda name: (shares[name] / 100 * total - given[name], -names.index(name)))
