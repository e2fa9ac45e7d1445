"""Worked examples for small models, shown before the task (`loop.examples` of a preset, `export --examples`)."""

from __future__ import annotations

from pathlib import Path

from generators.errors import UsageError

_FOLDER = Path(__file__).parent


def worked_examples(name: str) -> str:
    """The text of a shipped file by its name, or of any file by its path; no name, no examples.

    Raises:
        UsageError: there is none, or it is no text.
    """
    if not name:
        return ""
    shipped = {path.stem: path for path in sorted(_FOLDER.glob("*.txt"))}
    try:
        return shipped.get(name, Path(name)).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"examples {name!r}: neither a file of text nor one of {', '.join(shipped)} ({error})"
        ) from None
