"""Styles of agent by name. A new one is a file here and a line in STYLES."""

from __future__ import annotations

from agent.styles.minimal import Minimal
from agent.styles.structured import Structured
from agent.styles.style import Said, Style
from generators.errors import UsageError

STYLES: dict[str, type[Style]] = {"structured": Structured, "minimal": Minimal}


def open_style(name: str) -> Style:
    """A style by its name.

    Raises:
        UsageError: there is none of that name.
    """
    if name not in STYLES:
        raise UsageError(f"there is no style {name!r}; there are {', '.join(STYLES)}")
    return STYLES[name]()


__all__ = ["STYLES", "Said", "Style", "open_style"]
