"""The Dockerfile preambles that families build on.

Every task of one base starts with the same lines, so every engine builds them once and caches the layers. They are plain
Debian, usable by any Docker; the embedded engine serves `debian:bookworm-slim` from the machine's own mirror.
"""

from __future__ import annotations

from enum import StrEnum

_COMMON = (
    "bc bzip2 ca-certificates curl file gawk git jq less make openssl patch procps "
    "python3 python3-pytest sqlite3 unzip xz-utils zip"
)


class Base(StrEnum):
    """Which preamble a task uses."""

    PYTHON = "python"  # python3, git, sqlite3, jq, openssl, archivers
    BUILD = "build"  # PYTHON and a C compiler
    SCIENCE = "science"  # PYTHON and numpy


_EXTRA = {Base.BUILD: "gcc libc6-dev", Base.SCIENCE: "python3-numpy"}


def _apt(packages: str) -> str:
    return (
        f"RUN apt-get update && apt-get install -y --no-install-recommends {packages} && rm -rf /var/lib/apt/lists/*\n"
    )


def preamble(base: Base) -> str:
    """The first lines of a Dockerfile of this base."""
    extra = _apt(_EXTRA[base]) if base in _EXTRA else ""
    return f"FROM debian:bookworm-slim\nENV LANG=C.UTF-8\n{_apt(_COMMON)}{extra}"
