"""Where the actions of a reply stand: tags at the start of a line, up to a closing tag at the start of a line.

A tag in the middle of a sentence is text, and so is one of a name that nobody knows, unless it looks as if an action was meant: by a
name that is near to one, or by a field below it. Time is linear in the length of the text as long as few blocks are asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from agent.actions import ACTIONS

TAGS = tuple(dict.fromkeys(kind.tag for kind in ACTIONS))
KNOWN = "|".join((*TAGS, "thinking"))
AS_FIELDS = re.compile(r"\s*(?:content|must_succeed):(?:\s|\Z)")  # a think that is written as other actions are

_TAG = r"<([A-Za-z][\w.-]{0,40})((?:[ \t][^<>\n]{0,200})?/?)>"
_FIRST, _NEXT = re.compile(f"^{_TAG}", re.MULTILINE), re.compile(f"[ \t]*{_TAG}")
_FIELD = re.compile(r"\s*([A-Za-z_]+):(?:\s|\Z)")
_FIELDS = {name for kind in ACTIONS for name in kind.model_fields}
_ENDS_LINE = rf"(?=[ \t\r]*(?:$|<(?:{KNOWN})[ \t]*/?>))"  # or is followed by another action
_OPENS = rf"^<(?:{KNOWN})>(?=[ \t\r]*$|[ \t]*[a-z_]+:)"
_MEANT = {
    **dict.fromkeys(("shell", "sh", "cmd", "command", "terminal", "run", "execute", "execute_bash"), "bash"),
    **dict.fromkeys(("read", "write", "edit", "multi_edit", "read_file", "write_file", "edit_file"), "file"),
    **dict.fromkeys(("grep", "glob", "ls", "find"), "search"),
    **dict.fromkeys(("note", "notes"), "scratchpad"),
    **dict.fromkeys(("done", "submit", "complete", "end", "final_answer"), "finish"),
    **dict.fromkeys(("tool_call", "function_call", "tool_use", "invoke", "function"), ""),
}


@dataclass(frozen=True)
class Block:
    """Where an action stands: `start` of its tag, its body, and what comes `after`. With a `problem`, it cannot be read.

    The body of one that is not closed goes on to the next action; what comes after its tag is looked at all the same.
    """

    tag: str
    start: int
    body: int
    end: int
    after: int
    problem: str = ""


def blocks(text: str) -> Iterator[Block]:
    """What is an action or was meant as one, in the order of the text."""
    cursor, closed = 0, False
    while found := (_NEXT.match(text, cursor) if closed else None) or _FIRST.search(text, cursor):
        block = _block(text, found)
        closed = block is not None and block.after > found.end()
        cursor = block.after if block else found.end()
        if block:
            yield block


@lru_cache(4096)
def near(name: str) -> str:
    """What a name that is none was probably meant to be; empty where nothing is near."""
    low = name.lower()
    first = low.split("_")[0]
    meant = _MEANT.get(low) or (first if first in TAGS else "")
    return meant or next((_NEAR[spelling] for spelling in _spellings(low) if spelling in _NEAR), "")


def _spellings(name: str) -> tuple[str, ...]:
    """A name, and it with one letter left out: names that share one are a slip apart."""
    return (name, *(name[:at] + name[at + 1 :] for at in range(len(name))))


_NEAR = {spelling: tag for tag in TAGS for spelling in _spellings(tag)}


def _block(text: str, found: re.Match[str]) -> Block | None:
    """The action that a tag opens; None where the tag is just text."""
    name, start, body = found[1], found.start(1) - 1, found.end()
    tag = "think" if name == "thinking" else name
    line_end = end if (end := text.find("\n", body)) >= 0 else len(text)
    blank = not text[body:line_end].strip()
    if tag not in TAGS and not (
        _looks_like_action(name, text, body) and (blank or f"</{name}>" in text[body:line_end])
    ):
        return None
    problem = _problem_of_tag(tag, found[2])
    if found[2].strip() == "/":
        return Block(tag, start, body, body, body, problem)
    closing = re.compile(rf"</{re.escape(name)}>{_ENDS_LINE}", re.MULTILINE).search(text, body, line_end)
    if closing and (tag == "think" or not blank):
        return Block(tag, start, body, closing.start(), closing.end(), problem)
    if tag == "think" and not AS_FIELDS.match(text, body):
        return _thinking(text, start, body, name)
    if not blank and not _FIELD.match(text, body, line_end):
        return None
    return _over_lines(text, found, tag, line_end, problem)


def _over_lines(text: str, found: re.Match[str], tag: str, line_end: int, problem: str) -> Block:
    name, start, body = found[1], found.start(1) - 1, found.end()
    opens = _OPENS if tag in TAGS else r"^</?[A-Za-z]"
    stop = re.compile(rf"^</({re.escape(name)})>|{opens}", re.MULTILINE).search(text, line_end)
    if stop and stop[1]:
        return Block(tag, start, body, stop.start(), stop.end(), problem)
    if tag == "think":
        return _thinking(text, start, body, name)
    before = " before another action" if stop else ""
    what = f"it is not closed{before}; </{name}> has to stand at the start of a line, unindented"
    return Block(tag, start, body, stop.start() if stop else len(text), body, problem or what)


def _thinking(text: str, start: int, body: int, name: str) -> Block:
    """Thinking ends with a closing tag at the start or end of a line; without one, all the rest is thinking."""
    if found := re.compile(rf"^</{name}>|</{name}>{_ENDS_LINE}", re.MULTILINE).search(text, body):
        return Block("think", start, body, found.start(), found.end())
    return Block("think", start, body, len(text), len(text), "it is not closed, so all the rest was taken as thinking")


def _looks_like_action(name: str, text: str, body: int) -> bool:
    """Whether an unknown tag was meant as an action: by its name, or by a field that follows."""
    if name.lower() in _MEANT or near(name):
        return True
    field = _FIELD.match(text, body)
    return field is not None and field[1] in _FIELDS


def _problem_of_tag(tag: str, attributes: str) -> str:
    if tag in TAGS:
        return "" if attributes.strip() in ("", "/") else "a tag has no attributes: fields go into its body"
    if tag.endswith("_output"):
        return "results are shown to you, never written by you: stop after your actions and wait"
    meant = f"; did you mean <{near(tag)}>?" if near(tag) else ""
    return f"there is no action <{tag}>{meant or '; there are: ' + ', '.join(TAGS)}"
