"""The YAML mapping that is the body of an action: text and positions, nothing else.

Scalars stay text as they were written (`yes`, `1.0`, `null`, dates). What would change a value silently is refused: keys given
twice, aliases, tags, line breaks in quotes, a `#` in the middle of quotes that are the shell's and not YAML's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DEEPEST = 8
_MOST = 20_000  # values in a body
_CONTROL = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_SPECIAL = re.compile(r"[ \t]*(?:- +)?(?:\w+:[ \t]+)?([*&!%@`\[{])")
_COMMENT = re.compile(r"[ \t]+#")


class Wrong(ValueError):
    """Something at a place of the reply is not as it has to be."""

    def __init__(self, at: int, problem: str) -> None:
        super().__init__(problem)
        self.at, self.problem = at, problem


@dataclass
class Node:
    """A value and where it stands in the reply. `bare`: a scalar without quotes."""

    at: int
    value: str | list[Node] | dict[str, Node]
    keys: dict[str, int] = field(default_factory=dict)
    bare: bool = False

    def plain(self) -> Any:
        """Text, lists and dictionaries."""
        if isinstance(self.value, dict):
            return {name: child.plain() for name, child in self.value.items()}
        return [child.plain() for child in self.value] if isinstance(self.value, list) else self.value

    def find(self, path: tuple[int | str, ...]) -> int:
        """Where what a path of keys and indices leads to stands, as far as it leads."""
        node, at = self, self.at
        for part in path:
            if isinstance(node.value, dict) and isinstance(part, str) and part in node.value:
                node, at = node.value[part], node.keys[part]
            elif isinstance(node.value, list) and isinstance(part, int) and part < len(node.value):
                node = node.value[part]
                at = node.at
        return at


def compose(text: str, start: int, end: int) -> Node | None:
    """The value in a part of a text; None where nothing stands there. Positions are those of the text.

    Raises:
        Wrong: it is not YAML, or not of the plain kind that is read here.
    """
    body = text[start:end]
    if found := _CONTROL.search(body):
        problem = f"the character U+{ord(found[0]):04X} cannot stand here; write it with \\x or \\u in double quotes"
        raise Wrong(start + found.start(), problem)
    try:
        return _Reader(body, start).document()
    except yaml.MarkedYAMLError as error:
        mark: Any = error.problem_mark or error.context_mark
        raise Wrong(start + min(mark.index, len(body)), _explained(error, body)) from error
    except yaml.YAMLError as error:
        raise Wrong(start, f"not valid YAML: {error}") from error


class _Reader:
    """Builds nodes from events, so that nothing is expanded and nothing deep is entered."""

    def __init__(self, body: str, offset: int) -> None:
        self.body, self.offset, self.count = body, offset, 0
        self.events: Iterator[Any] = yaml.parse(body, _Loader)

    def document(self) -> Node | None:
        next(self.events)
        if isinstance(next(self.events), yaml.StreamEndEvent):
            return None
        node = self.node(next(self.events), 0)
        next(self.events)
        if not isinstance(end := next(self.events), yaml.StreamEndEvent):
            raise self.wrong(end, "a second YAML document begins here; a body is one mapping")
        return node

    def node(self, event: Any, depth: int) -> Node:
        if isinstance(event, yaml.AliasEvent) or event.anchor or event.tag:
            raise self.wrong(event, "anchors, aliases and tags are not read: quote a value that starts with & * or !")
        self.count += 1
        if depth > _DEEPEST or self.count > _MOST:
            raise self.wrong(
                event, "the values are nested too deep" if depth > _DEEPEST else "there are too many values"
            )
        at = self.offset + event.start_mark.index
        if isinstance(event, yaml.ScalarEvent):
            self.check(event)
            return Node(at, event.value, bare=not event.style)
        return self.mapping(at, depth) if isinstance(event, yaml.MappingStartEvent) else self.sequence(at, depth)

    def sequence(self, at: int, depth: int) -> Node:
        items: list[Node] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            items.append(self.node(event, depth + 1))
        return Node(at, items)

    def mapping(self, at: int, depth: int) -> Node:
        values: dict[str, Node] = {}
        keys: dict[str, int] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key = self.node(event, depth + 1)
            if not isinstance(key.value, str):
                raise self.wrong(event, "a field's name is a word; quote a value that starts with { or [")
            if key.value in values:
                raise self.wrong(event, f"{key.value[:40]} is given twice")
            values[key.value], keys[key.value] = self.node(next(self.events), depth + 1), key.at
        return Node(at, values, keys)

    def check(self, event: Any) -> None:
        """Refuse what YAML would silently make something else of."""
        if event.style in ("|", ">"):
            return
        if event.start_mark.line != event.end_mark.line and event.value:
            raise self.wrong(event, "line breaks get lost in this value: write it as a block, | and indented lines")
        odd = event.value.count("'") % 2 or event.value.count('"') % 2
        if not event.style and odd and _COMMENT.match(self.body, event.end_mark.index):
            raise self.wrong(event, "YAML takes all after # as a comment: quote the value, or write it as a block, |")

    def wrong(self, event: Any, problem: str) -> Wrong:
        return Wrong(self.offset + event.start_mark.index, problem)


def _explained(error: yaml.MarkedYAMLError, body: str) -> str:
    """The library's words, and what to do about the usual causes."""
    marks: list[Any] = [mark for mark in (error.context_mark, error.problem_mark) if mark]
    at = min(mark.index for mark in marks)
    line = body[body.rfind("\n", 0, at) + 1 :].split("\n", 1)[0]
    said, hint = f"not valid YAML: {error.problem}", ""
    if special := _SPECIAL.match(line):
        hint = f"quote a value that starts with {special[1]}"
    elif "mapping values" in said:
        hint = "quote a value that holds ': ', or write it as a block, |"
    elif "could not find expected ':'" in said:
        hint = "every line of a block (|) is indented, and every other line is `field: value`"
    elif "\t" in line or "tab" in said:
        hint = "indent with spaces"
    return f"{said}; {hint}" if hint else said
