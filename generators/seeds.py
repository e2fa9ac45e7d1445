"""Named random streams: the same words give the same stream on any machine and Python version.

`random.Random` seeded with an int, and its integer methods, are stable across CPython 3.11-3.13; Python's own string
seeding is avoided so that nothing depends on how an object is hashed.
"""

from __future__ import annotations

import hashlib
from random import Random


def stream(*words: object) -> Random:
    """A generator seeded from the sha256 of the words."""
    text = "\x1f".join(str(word) for word in words)
    return Random(int.from_bytes(hashlib.sha256(text.encode()).digest(), "big"))
