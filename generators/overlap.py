"""Near duplicates within a set. MinHash over word shingles finds candidates and exact Jaccard similarity decides; where
embeddings are given, a text that says the same in other words is found by its cosine.

Broder, "On the resemblance and containment of documents" (1997).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from generators.embeddings import Embed, Vectors, unit

if TYPE_CHECKING:  # imported at first use: it brings scipy, which takes a second
    from datasketch import MinHash  # pyright: ignore[reportMissingTypeStubs]

SHINGLE = 3
PERMUTATIONS = 128
COSINE = 0.95
_WORD = re.compile(r"[a-z0-9_./-]+")


@dataclass(frozen=True)
class Twin:
    """A task and the earlier one it resembles too much, in its words or in its meaning."""

    task: str
    other: str
    similarity: float
    by: Literal["words", "meaning"] = "words"


def shingles(text: str, size: int = SHINGLE) -> frozenset[str]:
    """Runs of `size` neighbouring words, lower case."""
    words = _WORD.findall(text.lower())
    return frozenset(" ".join(words[start : start + size]) for start in range(max(1, len(words) - size + 1)))


def jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    """Shared shingles over all shingles."""
    return len(left & right) / len(left | right) if left or right else 1.0


def twins(
    texts: Mapping[str, str], similarity: float, embed: Embed | None = None, cosine: float = COSINE
) -> dict[str, Twin]:
    """For every text that resembles an earlier one too much: the nearest earlier one that was kept.

    Too much is a Jaccard similarity of at least `similarity`, or, where `embed` is given, a cosine of at least `cosine`.
    """
    words = _Words(similarity)
    meanings = _Meanings(embed(list(texts.values()))) if embed and texts else None
    found: dict[str, Twin] = {}
    for row, (name, text) in enumerate(texts.items()):
        own = shingles(text)
        sketch = _sketch(own)
        near, other = words.nearest(own, sketch)
        if near >= similarity:
            found[name] = Twin(name, other, round(near, 4))
            continue
        near, other = meanings.nearest(row) if meanings else (0.0, "")
        if other and near >= cosine:
            found[name] = Twin(name, other, round(near, 4), "meaning")
            continue
        words.keep(name, own, sketch)
        if meanings:
            meanings.keep(name, row)
    return found


class _Words:
    """The shingles of the texts that were kept."""

    def __init__(self, similarity: float) -> None:
        from datasketch import MinHashLSH  # pyright: ignore[reportMissingTypeStubs]

        self._index = MinHashLSH(threshold=max(0.1, similarity - 0.15), num_perm=PERMUTATIONS)
        self._kept: dict[str, frozenset[str]] = {}

    def nearest(self, own: frozenset[str], sketch: MinHash) -> tuple[float, str]:
        """The best similarity and whose it is; 0 and no name if there is no candidate."""
        names = [str(name) for name in self._index.query(sketch)]  # pyright: ignore[reportUnknownMemberType]
        return max(((jaccard(own, self._kept[name]), name) for name in names), default=(0.0, ""))

    def keep(self, name: str, own: frozenset[str], sketch: MinHash) -> None:
        """Compare later ones with this one too."""
        self._kept[name] = own
        self._index.insert(name, sketch)


class _Meanings:
    """The vectors of all texts, and which of them were kept."""

    def __init__(self, vectors: Vectors) -> None:
        self._all = unit(vectors)
        self._kept = np.empty_like(self._all)
        self._names: list[str] = []

    def nearest(self, row: int) -> tuple[float, str]:
        """The best cosine and whose it is; 0 and no name if none was kept."""
        if not self._names:
            return 0.0, ""
        cosines = self._kept[: len(self._names)] @ self._all[row]
        best = int(np.argmax(cosines))
        return float(cosines[best]), self._names[best]

    def keep(self, name: str, row: int) -> None:
        """Compare later ones with this one too."""
        self._kept[len(self._names)] = self._all[row]
        self._names.append(name)


def _sketch(own: frozenset[str]) -> MinHash:
    from datasketch import MinHash  # pyright: ignore[reportMissingTypeStubs]

    sketch = MinHash(num_perm=PERMUTATIONS, seed=1)
    sketch.update_batch([shingle.encode() for shingle in sorted(own)])  # pyright: ignore[reportUnknownMemberType]
    return sketch
