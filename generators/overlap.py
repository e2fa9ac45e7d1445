"""Near duplicates within a set: MinHash over word shingles finds candidates, exact Jaccard similarity decides.

Broder, "On the resemblance and containment of documents" (1997).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from datasketch import MinHash, MinHashLSH  # pyright: ignore[reportMissingTypeStubs]

SHINGLE = 3
PERMUTATIONS = 128
_WORD = re.compile(r"[a-z0-9_./-]+")


@dataclass(frozen=True)
class Twin:
    """A task and the earlier one it resembles too much."""

    task: str
    other: str
    similarity: float


def shingles(text: str, size: int = SHINGLE) -> frozenset[str]:
    """Runs of `size` neighbouring words, lower case."""
    words = _WORD.findall(text.lower())
    return frozenset(" ".join(words[start : start + size]) for start in range(max(1, len(words) - size + 1)))


def jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    """Shared shingles over all shingles."""
    return len(left & right) / len(left | right) if left or right else 1.0


def twins(texts: Mapping[str, str], similarity: float) -> dict[str, Twin]:
    """For every text that resembles an earlier one at least this much: the nearest earlier one that was kept."""
    index = MinHashLSH(threshold=max(0.1, similarity - 0.15), num_perm=PERMUTATIONS)
    kept: dict[str, frozenset[str]] = {}
    found: dict[str, Twin] = {}
    for name, text in texts.items():
        own = shingles(text)
        sketch = MinHash(num_perm=PERMUTATIONS, seed=1)
        sketch.update_batch([shingle.encode() for shingle in sorted(own)])  # pyright: ignore[reportUnknownMemberType]
        near = [(jaccard(own, kept[other]), other) for other in _similar(index, sketch)]
        best = max(near, default=(0.0, ""))
        if best[0] >= similarity:
            found[name] = Twin(name, best[1], round(best[0], 4))
            continue
        kept[name] = own
        index.insert(name, sketch)
    return found


def _similar(index: MinHashLSH, sketch: MinHash) -> list[str]:
    return [str(name) for name in index.query(sketch)]  # pyright: ignore[reportUnknownMemberType]
