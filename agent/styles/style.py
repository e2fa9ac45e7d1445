"""What a style of agent is: how it is told what to do, how its replies are read, how it is shown results.

A style is one file with one class, named in agent/styles/__init__.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from agent.actions import AnyAction, Malformed
from agent.observation import Observation

NATIVE = "-tools"  # ends the name of a style whose actions are the provider's tool calls


def base_style(name: str) -> str:
    """The style by name, whether it acts in text or by tool calls."""
    return name.removesuffix(NATIVE)


@dataclass(frozen=True)
class Said:
    """What a reply says: actions and mistakes in their order, and the words around them."""

    items: tuple[AnyAction | Malformed, ...]
    thought: str = ""

    @property
    def actions(self) -> tuple[AnyAction, ...]:
        """The actions."""
        return tuple(item for item in self.items if not isinstance(item, Malformed))

    @property
    def mistakes(self) -> tuple[Malformed, ...]:
        """What was meant as an action and is none."""
        return tuple(item for item in self.items if isinstance(item, Malformed))


class Style(Protocol):
    """How an agent speaks. Styles keep no state: one serves every episode."""

    name: str

    def system_prompt(self) -> str:
        """What the agent is told once, the same for every task."""
        ...

    def opening(self, instruction: str) -> str:
        """The first message: the task."""
        ...

    def parse(self, reply: str) -> Said:
        """Read a reply. Never raises: what cannot be read is a mistake, and so is a reply without an action."""
        ...

    def show(self, results: Sequence[Observation | Malformed], notes: Sequence[str] = ()) -> str:
        """The next message: what the items of a reply led to, in their order, and notes of the episode's own."""
        ...

    def render(self, actions: Sequence[AnyAction], thought: str = "") -> str:
        """A reply that says just this: for replays and worked examples. `parse` gives the actions back.

        Raises:
            ValueError: this style has no form for one of the actions.
        """
        ...

    def tools(self) -> Sequence[Mapping[str, Any]]:
        """The actions as tools, for providers with tool calls: name, description, parameters (JSON Schema)."""
        ...

    def parse_call(self, name: str, values: Mapping[str, Any]) -> AnyAction | Malformed:
        """Read one tool call."""
        ...
