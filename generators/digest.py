"""One canonical JSON form and one digest for every record."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def canonical_json(value: Any) -> str:
    """Serialise to JSON with sorted keys, no white space, UTF-8 text and no NaN (RFC 8785 without its number rules)."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def sha256_hex(data: str | bytes) -> str:
    """Hex sha256 of text (as UTF-8) or bytes."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def digest_of(value: Any) -> str:
    """Hex sha256 of a value's canonical JSON."""
    return sha256_hex(canonical_json(value))
