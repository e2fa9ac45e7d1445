"""Reading the actions of a reply: XML-like tags at the start of a line, with a YAML mapping as their body.

    <bash>
    cmd: |
      cd /srv
      make
    timeout_secs: 20
    </bash>

Only a closing tag at the start of a line, unindented, ends an action, so that content may hold tags; `<finish>message: done</finish>`
on one line is an action too. Every scalar is text as written until the action's record says what it has to be. `think` takes any
text. What stands before a lone `</think>` is reasoning that a chat template opened, and no part of the answer. Time is linear.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import NoneType
from typing import Any, cast, get_args

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from agent.actions import Action, AnyAction, Malformed, Think, with_tag
from agent.tags import AS_FIELDS, KNOWN, Block, blocks
from agent.yaml_body import Node, Wrong, compose
from generators.chat.model import clean

MAX_CHARACTERS = 1_000_000  # of a reply
MAX_ACTIONS = 100  # in a reply
ECHO = 80  # characters
Form = Callable[[Sequence[type[Action]]], str]  # how some actions look; all of them where none is given

_REASONED = re.compile(r"^</think(?:ing)?>|</think(?:ing)?>[ \t\r]*$", re.MULTILINE)
_INDENTED = re.compile(rf"^[ \t]+<(?:{KNOWN})>", re.MULTILINE)
_MUST_SUCCEED = re.compile(r"""^[ \t]*must_succeed:[ \t]*["']?(?:true|yes|on|t|y|1)\b""", re.MULTILINE | re.IGNORECASE)
_EMPTY_FENCE = re.compile(r"^```[\w+-]*[ \t\r]*\n\s*```[ \t\r]*$", re.MULTILINE)


def read(reply: str, form: Form) -> tuple[tuple[AnyAction | Malformed, ...], str]:
    """Actions and mistakes in their order, and the words around them. `form` gives what a mistake says was expected."""
    text = clean(reply)
    if len(text) > MAX_CHARACTERS:
        problem = f"the reply has {len(text)} characters; at most {MAX_CHARACTERS} are read"
        return (_mistake(text, "", Wrong(0, problem), ""),), ""
    items: list[AnyAction | Malformed] = []
    words: list[str] = []
    cursor = 0
    for number, block in enumerate(blocks(text)):
        words.append(text[cursor : block.start])
        if _REASONED.search(words[-1]):
            items.clear()
        if number == MAX_ACTIONS:
            problem = f"more than {MAX_ACTIONS} actions in one reply; the rest was not read"
            items.append(_mistake(text, block.tag, Wrong(block.start, problem), ""))
            return tuple(items), _thought(words)
        items.append(_item(text, block, form))
        cursor = block.after
    words.append(text[cursor:])
    if _REASONED.search(words[-1]):
        items.clear()
    return tuple(items) or (_nothing(text, form),), _thought(words)


def choose(tag: str, action: object) -> type[Action]:
    """The action of a tag; `action` tells those apart that share one.

    Raises:
        Wrong: there is none.
    """
    kinds = with_tag(tag)
    names = [kind.model_fields["action"].default for kind in kinds if "action" in kind.model_fields]
    if len(kinds) == 1:
        return kinds[0]
    if action not in names:
        said = "is missing" if action is None else f"cannot be {str(action)[:40]!r}"
        raise Wrong(0, f"action {said}; it is one of {', '.join(names)}")
    return kinds[names.index(action)]


def explain(error: ValidationError) -> tuple[tuple[int | str, ...], str]:
    """The path of the first wrong field of an action, and what is wrong, in a line."""
    entries = error.errors(include_url=False, include_input=False, include_context=False)
    entries = [entry for entry in entries if entry["type"] != "too_short" or len(entries) == 1]
    return entries[0]["loc"], "; ".join(map(_problem, entries[:3]))


def _problem(entry: ErrorDetails) -> str:
    name = ".".join(str(part)[:40] for part in entry["loc"]) or "the fields"
    if entry["type"] == "missing":
        return f"{name} is missing"
    return (
        f"{name} is no field of this action" if entry["type"] == "extra_forbidden" else f"{name}: {entry['msg'][:200]}"
    )


def one_line(text: str, most: int) -> str:
    """The first characters of a text, in a line, with spaces for what cannot be printed."""
    shown = "".join(character if character.isprintable() else " " for character in text[:most])
    return " ".join(shown.split())


# --- what they say ---------------------------------------------------------------------------------------------------------------


def _item(text: str, block: Block, form: Form) -> AnyAction | Malformed:
    kinds: tuple[type[Action], ...] = with_tag(block.tag)
    try:
        if block.problem:
            raise Wrong(block.start, block.problem)
        if block.tag == "think":
            return _think(text, block)
        start, end = _unfenced(text, block.body, block.end)
        node = compose(text, start, end) or Node(block.start, {})
        if not isinstance(node.value, dict):
            raise Wrong(node.at, "the body is no mapping of fields to values")
        try:
            kinds = (choose(block.tag, node.value["action"].value if "action" in node.value else None),)
        except Wrong as wrong:
            raise Wrong(node.keys.get("action", block.start), wrong.problem) from wrong
        return _validated(kinds[0], node)
    except Wrong as wrong:
        asked = _MUST_SUCCEED.search(text[block.body : block.end]) is not None
        return _mistake(text, block.tag, wrong, form(kinds), asked)


def _think(text: str, block: Block) -> AnyAction:
    if AS_FIELDS.match(text, block.body):
        try:
            return _validated(Think, compose(text, block.body, block.end) or Node(block.start, {}))
        except Wrong:
            pass  # words that only begin like a field
    return Think(content=text[block.body : block.end].strip())


def _validated(kind: type[Action], node: Node) -> AnyAction:
    values = cast(dict[str, Any], node.plain())
    for name, child in cast(Mapping[str, Node], node.value).items():
        optional = name in kind.model_fields and NoneType in get_args(kind.model_fields[name].annotation)
        if optional and child.bare and child.value in ("", "~", "null"):
            values[name] = None
    try:
        return cast(AnyAction, kind.model_validate(values))
    except ValidationError as error:
        path, problem = explain(error)
        raise Wrong(node.find(path), problem) from error


def _unfenced(text: str, start: int, end: int) -> tuple[int, int]:
    """The body without one code fence around it, and without spaces before a first field on the tag's line."""
    if opening := re.compile(r"\s*```[\w+-]*[ \t\r]*\n").match(text, start, end):
        body = text[opening.end() : end].rstrip()
        return opening.end(), opening.end() + len(body.removesuffix("```"))
    spaces = re.compile(r"[ \t]*(?=[^\s])").match(text, start, end)
    return (spaces.end() if spaces else start), end


# --- words -----------------------------------------------------------------------------------------------------------------------


def _thought(words: Sequence[str]) -> str:
    said = "\n".join(_REASONED.sub("", part).strip() for part in words)
    return _EMPTY_FENCE.sub("", said).strip()


def _nothing(text: str, form: Form) -> Malformed:
    if found := _INDENTED.search(text):
        return _mistake(
            text, "", Wrong(found.start(), "no action: its tag has to stand at the start of a line"), form(())
        )
    return _mistake(text, "", Wrong(0, "the reply holds no action"), form(()))


def _mistake(text: str, tag: str, wrong: Wrong, expected: str, must_succeed: bool = False) -> Malformed:
    at = min(max(wrong.at, 0), len(text))
    line_start = text.rfind("\n", 0, at) + 1
    return Malformed(
        tag=tag,
        line=text.count("\n", 0, at) + 1,
        column=at - line_start + 1,
        problem=one_line(wrong.problem, 500),
        echo=one_line(text[at : at + ECHO].split("\n")[0], ECHO),
        expected=expected,
        must_succeed=must_succeed,
    )
