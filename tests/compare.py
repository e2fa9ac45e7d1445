"""`python -m tests.compare OLD NEW`: the same tasks, byte for byte, in the same splits? Evidence may differ."""

from __future__ import annotations

import sys
from pathlib import Path

from generators.digest import canonical_json
from pipeline.release import content_digest, load_release


def main(old: Path, new: Path) -> int:
    """Print what differs; 0 if nothing does."""
    one, two = ({row["id"]: row for row in load_release(folder)} for folder in (old, new))
    only = sorted(set(one) ^ set(two))
    differs = [
        name
        for name in sorted(set(one) & set(two))
        if canonical_json(one[name] | {"evidence": None}) != canonical_json(two[name] | {"evidence": None})
    ]
    for name in only[:10]:
        print(f"only in one: {name}")
    for name in differs[:10]:
        print(f"differs: {name}")
    print(f"{len(one)} and {len(two)} tasks; content {content_digest(list(one.values()))[:16]}")
    return int(bool(only or differs))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
