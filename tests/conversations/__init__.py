"""Scripted conversations with a language model that writes tasks: a YAML file each, played back by `tests.provider.Provider`.

    with Provider(Conversations(load())) as provider: ...
    python -m tests.conversations --port 8123            # by hand; prints the URL; names may follow

    name: sum_numbers
    key: harbour toll ledger           # occurs in the description, and so in the prompts of all later stages
    about: a good task, first time right
    fixture: text_only                 # of the cell that it is told for
    expect: {gate: "", reason: ""}     # proven; else where it falls
    rounds: [[tests, tests_syntax_error]]        # repairs that have to be asked for, in order
    says:                              # by stage; the last entry is repeated
      describe: ["<title>...", {fault: {kind: refusal}}]

Which conversation a first request gets depends on its cell: the next one that was not begun yet (when all are, again from the first) and is
told for the cell's fixture. Where none is, one about text brings a small fixture along, so that it fits any order. A request that comes again
(a retry) gets the same entry again.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from tests.conversations.furniture import furnished
from tests.provider import Answer, Asked, Fault

FOLDER = Path(__file__).parent
_MATERIAL = re.compile(r"- Material: (\w+)")  # of a cell, as the prompts of the first two stages describe it
_STAGES = {
    "Stage: the task itself.": "describe",
    "Stage: the container.": "environment",
    "Stage: the tests of the end state.": "tests",
    "Stage: a reference solution.": "solution",
    "Stage: another solution.": "alternative",
    "Stage: near misses.": "near_misses",
    "Stage: a second opinion.": "judge",
}


@dataclass(frozen=True)
class Conversation:
    """One file."""

    name: str
    key: str
    about: str
    says: Mapping[str, Sequence[str | Mapping[str, Any]]]
    fixture: str = "text_only"
    expect: Mapping[str, str] = field(default_factory=dict)
    rounds: Sequence[Sequence[str]] = ()

    def answer(self, stage: str, number: int) -> Answer:
        """What is said the n-th time that a stage is asked for."""
        entries = self.says[stage]
        entry = entries[min(number, len(entries) - 1)]
        return Answer(say=entry) if isinstance(entry, str) else _answer(entry)


def _answer(entry: Mapping[str, Any]) -> Answer:
    return Answer(say=str(entry.get("say", "")), fault=Fault(**entry.get("fault", {})))


def load(names: Sequence[str] = (), folder: Path = FOLDER) -> list[Conversation]:
    """The conversations of a folder in the order of their names, or some of them."""
    found = [Conversation(**yaml.safe_load(path.read_text(encoding="utf-8"))) for path in sorted(folder.glob("*.yaml"))]
    return [item for item in found if not names or item.name in names]


class Conversations:
    """A script for a Provider: plays conversations, each for the first cell that comes."""

    def __init__(self, known: Sequence[Conversation]) -> None:
        self.known = known
        self._begun: dict[str, Conversation] = {}
        self._numbers: dict[tuple[str, str], list[str]] = {}
        self._lock = threading.Lock()

    def __call__(self, asked: Asked) -> Answer:
        """The answer to a request."""
        stage = next((name for line, name in _STAGES.items() if line in asked.text), "")
        with self._lock:
            found = self._first(asked) if stage == "describe" else self._by_key(asked.text)
            if not stage or found is None or stage not in found.says:
                return Answer(
                    fault=Fault("status", 404, message=f"{found and found.name} does not answer this ({stage})")
                )
            seen = self._numbers.setdefault((found.name, stage), [])
            body = repr(asked.body.get("messages"))
            if body not in seen:
                seen.append(body)
            answer = found.answer(stage, seen.index(body))
            kind = _material(asked)
            plain = stage != "environment" or kind in ("", "text_only")
            return answer if plain else replace(answer, say=furnished(answer.say, kind))

    @property
    def begun(self) -> list[Conversation]:
        """The conversations that were begun, in that order."""
        with self._lock:
            return list(self._begun.values())

    def _first(self, asked: Asked) -> Conversation:
        first = next(message for message in asked.body["messages"] if message["role"] == "user")
        cell = repr(first).split("Form of the answer:")[0]
        if cell not in self._begun:
            self._begun[cell] = self._next(_material(asked))
        return self._begun[cell]

    def _next(self, kind: str) -> Conversation:
        """One that was not begun yet: told for this kind of fixture, else about text; when all were begun, again from the first."""
        waiting = [item for item in self.known if item not in self._begun.values()]
        for items in (waiting, self.known):
            for wanted in dict.fromkeys((kind, "text_only")):
                if found := next((item for item in items if item.fixture == wanted), None):
                    return found
        return self.known[0]

    def _by_key(self, text: str) -> Conversation | None:
        return next((item for item in self.known if item.key in text), None)


def _material(asked: Asked) -> str:
    """The fixture that a request's cell asks for; empty where the request does not say."""
    found = _MATERIAL.search(asked.text)
    return found[1] if found else ""
