"""A point of the space of tasks: what one task is to be about, with the lines that a prompt says of it."""

from __future__ import annotations

from collections.abc import Iterator

from generators.bases import Base
from generators.family import Voice
from generators.task import Axes, Difficulty, Record, Text, Verifier

IN_DOMAIN = ("difficulty", "command_complexity", "verifier", "task_complexity")  # counted within each domain, too


def pair(axis: str) -> str:
    """The name under which an axis is counted within domains."""
    return f"domain*{axis}"


def in_domain(domain: str, value: str) -> str:
    """A value of such a pair."""
    return f"{domain}*{value}"


class Cell(Record):
    """One point of the space: what a writer is asked to write. `notes` holds what the data say of each value."""

    domain: Text
    category: Text
    context: Text
    skills: tuple[Text, ...]
    persona: Text
    language: Text
    task_complexity: Text
    command_complexity: Text
    difficulty: Difficulty
    verifier: Verifier
    fixture: Text
    anchor: Text | None
    voice: Voice
    knobs: dict[str, int]
    scale: float
    base: Base
    apt: tuple[str, ...]
    notes: dict[str, str]

    def axes(self) -> Axes:
        """The axes of a task written for this cell."""
        own = self.model_dump(include=set(Axes.model_fields))
        return Axes.model_validate(own | {"scenario": f"{self.category} for {self.context}"})

    def values(self) -> Iterator[tuple[str, str]]:
        """Each axis and its value, one by one; these are what a tally counts."""
        for axis in ("domain", "category", "context", "persona", "language", "fixture", "voice", *IN_DOMAIN):
            yield axis, str(getattr(self, axis))
        yield "anchored", "no" if self.anchor is None else "yes"
        if self.anchor is not None:
            yield "anchor", self.anchor
        for skill in self.skills:
            yield "skills", skill
        for axis in IN_DOMAIN:
            yield pair(axis), in_domain(self.domain, str(getattr(self, axis)))

    def describe(self) -> str:
        """The cell as lines for a prompt."""
        lines = [
            ("Domain", self._with_note("domain")),
            ("Category", self._with_note("category")),
            ("Skills to draw on", "; ".join(self.skills)),
            ("Context", self._with_note("context")),
            ("Asked by", self._with_note("persona")),
            ("Voice of the instruction", self._with_note("voice")),
            ("Language", self._with_note("language")),
            ("Image", f"base {self.base.value}" + (f", with the packages {', '.join(self.apt)}" if self.apt else "")),
            ("Task complexity", self._with_note("task_complexity")),
            ("Command complexity", self._with_note("command_complexity")),
            ("Difficulty", self._with_note("difficulty")),
            ("Verifier", self._with_note("verifier")),
            ("Material", self._with_note("fixture")),
        ]
        if self.anchor is not None:
            lines.append(("Real software it is about", self._with_note("anchor")))
        lines += [("Size", f"{count} {self.notes.get(name, name)}") for name, count in self.knobs.items()]
        return "\n".join(f"- {label}: {text}" for label, text in lines)

    def _with_note(self, axis: str) -> str:
        value, note = str(getattr(self, axis)), self.notes.get(axis)
        return f"{value}. {note}" if note else value
