"""Prompts: files with a version, rendered strictly (a name that is not given is an error).

A version is part of a task's provenance; changing a prompt's words means raising it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml
from jinja2 import Environment, StrictUndefined, Template

_JINJA = Environment(undefined=StrictUndefined, keep_trailing_newline=True, lstrip_blocks=True, autoescape=False)


@cache
def _compiled(template: str) -> Template:
    return _JINJA.from_string(template)


@dataclass(frozen=True)
class Prompt:
    """A template with its settings. `max_tokens` bounds the answer; the temperature is left out for models that take none."""

    name: str
    version: int
    template: str
    max_tokens: int = 4000
    temperature: float | None = None

    def render(self, **values: object) -> str:
        """The text with these values."""
        return _compiled(self.template).render(**values).strip() + "\n"


@cache
def prompt(name: str) -> Prompt:
    """A prompt by name."""
    text = files("generators.written").joinpath("prompts", f"{name}.md").read_text(encoding="utf-8")
    _, head, template = text.split("---\n", 2)
    settings: dict[str, Any] = yaml.safe_load(head)
    return Prompt(name=name, template=template.lstrip("\n"), **settings)


NAMES = ("system", "describe", "environment", "tests", "solution", "near_misses", "judge", "repair")


def versions() -> str:
    """The versions of all prompts, as one word."""
    return "p" + ".".join(str(prompt(name).version) for name in NAMES)
