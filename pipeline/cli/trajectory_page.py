"""A trajectory on the screen: turns, actions, results, how it ended and what it scored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rich.console import Console

from agent.observation import clean, cut
from agent.table import trajectory_id
from agent.trajectory import Item, Step, Trajectory

SHOWN_CHARS = 1500  # of a text


def in_short(record: Trajectory) -> str:
    """Which one it is, in a line."""
    return f"{record.task_id}, {record.model}, attempt {record.attempt}, {record.status.value}"


class Page:
    """A trajectory for a reader."""

    def __init__(self, console: Console, whole: bool) -> None:
        self.console, self.whole = console, whole

    def print(self, record: Trajectory, only: int | None) -> None:
        """All of it, or one turn."""
        if only is None:
            self.head(f"{trajectory_id(record)}: {in_short(record)}")
            self.text(_facts(record))
            self.head("first message")
            self.text(record.instruction)
        for number, step in enumerate(record.steps, 1):
            if only in (None, number):
                self.turn(number, step)
        if only is None:
            self.end(record)

    def turn(self, number: int, step: Step) -> None:
        """What was said, done and seen."""
        cost = "" if step.cost is None else f", ${step.cost:.4f}"
        usage = step.usage
        self.head(
            f"turn {number}: {usage.input_tokens:,} tokens in, {usage.output_tokens:,} out{cost}, "
            f"model {step.model_seconds:.1f} s, tools {step.tool_seconds:.1f} s"
        )
        if step.reasoning:
            self.text(step.reasoning, "dim italic")
        self.text(step.reply)
        for item in step.items:
            self.item(item)

    def item(self, item: Item) -> None:
        """An action with its result, or a mistake."""
        if item.call:
            self.text(f"> {item.call.tag}{_arguments(item.call.arguments)}", "bold cyan")
        if item.skipped:
            self.text("  not run", "yellow")
        if item.mistake:
            self.text(f"! {item.mistake}", "yellow")
        if seen := item.observation:
            self.text(_indented(self.cut(seen.text)), "red" if seen.failed else "green", cut_already=True)

    def end(self, record: Trajectory) -> None:
        """How it ended and what it scored."""
        self.head(f"end: {record.end.value}; {record.status.value}")
        if record.reason:
            self.text(record.reason)
        for test in record.tests:
            self.text(
                f"{'passed' if test.passed else 'FAILED':>6} {test.name} {' '.join(test.message.split())[:200]}".rstrip()
            )
        spent = record.seconds
        self.text(
            f"score: weighted {record.weighted:g}, binary {record.binary}\n"
            f"seconds: set-up {spent.setup:.1f}, model {spent.model:.1f}, tools {spent.tools:.1f}, grading {spent.grading:.1f}"
        )

    def head(self, text: str) -> None:
        """A rule with words."""
        self.console.rule(text.replace("[", r"\["), align="left")

    def text(self, text: str, style: str = "", cut_already: bool = False) -> None:
        """Words as they are, cut in the middle where they are long."""
        shown = text if cut_already else self.cut(text)
        self.console.print(shown.rstrip(), style=style or None, highlight=False, markup=False, soft_wrap=True)

    def cut(self, text: str) -> str:
        """No control sequences for the reader's terminal, and at most so much unless a turn is shown whole."""
        return clean(text) if self.whole else cut(clean(text), SHOWN_CHARS)


def _facts(record: Trajectory) -> str:
    cost = "unknown" if record.cost is None else f"${record.cost:.4f}"
    return (
        f"{record.domain or 'no domain'}, {record.difficulty or 'no difficulty'}; style {record.style}; engine {record.engine or '-'}\n"
        f"{len(record.steps)} turns, {record.input_tokens:,} tokens in, {record.output_tokens:,} out, cost {cost}"
    )


def _arguments(values: Mapping[str, Any]) -> str:
    """Arguments of a call, those of one line behind the name, others below it."""
    short = {key: value for key, value in values.items() if not (isinstance(value, str) and "\n" in value)}
    said = "".join(f" {key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in short.items())
    return said + "".join(f"\n  {key}:\n{_indented(str(values[key]))}" for key in values if key not in short)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())
