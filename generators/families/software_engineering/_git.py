"""The names git gives to objects, for histories that are written as fast-import streams."""

from __future__ import annotations

import hashlib


def git_object(kind: str, body: bytes) -> str:
    """The name git gives to an object."""
    return hashlib.sha1(f"{kind} {len(body)}\0".encode() + body).hexdigest()


def tree_of(blobs: dict[str, str]) -> str:
    """The name of a tree with one level of folders."""
    rows: list[tuple[str, bytes]] = [
        (p, b"100644 " + p.encode() + b"\0" + bytes.fromhex(b)) for p, b in blobs.items() if "/" not in p
    ]
    for folder in sorted({path.split("/")[0] for path in blobs if "/" in path}):
        inner = sorted((p[len(folder) + 1 :], b) for p, b in blobs.items() if p.startswith(folder + "/"))
        body = b"".join(b"100644 " + name.encode() + b"\0" + bytes.fromhex(blob) for name, blob in inner)
        rows.append((folder + "/", b"40000 " + folder.encode() + b"\0" + bytes.fromhex(git_object("tree", body))))
    return git_object("tree", b"".join(row for _, row in sorted(rows)))
