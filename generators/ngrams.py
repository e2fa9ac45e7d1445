"""A text as a set of 64-bit hashes, one per run of 13 tokens: two texts that share a hash share 13 tokens in a row.

Thirteen tokens is the run that contamination studies of language models look for (Brown et al., "Language Models are
Few-Shot Learners", 2020). Case, Unicode form, punctuation, quotes and mark-up do not count; a path, a version or an option
such as `/srv/app/run.log`, `3.11` or `dry-run` is one token.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata

N = 13
SCHEME = (
    "termforge-13-gram-1"  # the key of the hash: a change of tokens or hash needs another one, and indexes made anew
)
_KEYED = hashlib.blake2b(digest_size=8, key=SCHEME.encode())
_UNSPACED = r"\u3040-\u30ff\u3400-\u9fff"  # kana and ideographs are written without spaces: each is a token
_TOKEN = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+(?:[_./~:@+-]{{1,3}}[^\W_{_UNSPACED}]+)*")


def tokens(text: str) -> list[str]:
    """Words, numbers and paths in order, NFKC and case folded; the slash that a path begins with is not kept."""
    return _TOKEN.findall(_normal(text))


def grams(text: str) -> frozenset[int]:
    """The hashes of all runs of 13 tokens; a shorter text is one run, a text without tokens none."""
    words = tokens(text)
    starts = range(max(1, len(words) - N + 1)) if words else ()
    return frozenset(_hash(" ".join(words[start : start + N])) for start in starts)


def _normal(text: str) -> str:
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", text).casefold()  # not lower(): its final sigma depends on what follows
    return unicodedata.normalize("NFKC", folded)


def _hash(run: str) -> int:
    hashed = _KEYED.copy()  # half the time of a new one with a key
    hashed.update(run.encode())
    return int.from_bytes(hashed.digest(), "little")
