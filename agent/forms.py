"""How actions are written: an example of each, their fields in words, their JSON Schemas. All of it is made from the records.

example(FileRead)   the tag with its YAML, as text        tool_name(FileRead)   "file_read"
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, cast

from pydantic import BaseModel

from agent import actions as act
from agent.actions import Action, AnyAction, Think
from agent.parser import read
from agent.tags import TAGS
from agent.yaml_render import yaml_lines

EXAMPLES: tuple[AnyAction, ...] = (
    act.Bash(cmd="cd /srv/app && make test 2>&1 | tail -n 40", timeout_secs=120),
    act.Todo(
        operations=(
            act.TodoAdd(content="Find out why the import stops"),
            act.TodoComplete(task_id=1),
            act.TodoDelete(task_id=2),
            act.TodoView(),
        )
    ),
    act.NoteAdd(content="The service reads /etc/app/app.ini, not the copy below /srv."),
    act.NotesView(),
    act.FileRead(file_path="/srv/app/main.py", offset=120, limit=60),
    act.FileWrite(file_path="/srv/app/run.sh", content='#!/bin/sh\n# nightly run\nexec python3 "$1"\n', overwrite=True),
    act.FileEdit(
        file_path="/srv/app/main.py",
        old_string="def total(rows):\n    return len(rows)",
        new_string="def total(rows):\n    return sum(row.amount for row in rows)",
    ),
    act.FileMultiEdit(
        file_path="/etc/app/app.ini",
        edits=(
            act.Replacement(old_string="port = 80", new_string="port = 8080"),
            act.Replacement(old_string="debug", new_string="verbose", replace_all=True),
        ),
    ),
    act.FileMetadata(file_paths=("/srv/app/run.sh", "/var/log/app.log")),
    act.Grep(pattern=r"import_rows\(", path="/srv/app", include="*.py"),
    act.Glob(pattern="**/*.sql", path="/srv/app"),
    act.Ls(path="/srv/app", ignore=("*.pyc", ".git")),
    act.Think(content="The dates are sorted as text, so 10 comes before 9. Sorting by number should do."),
    act.Finish(message="The import runs through, and the totals agree with the ledger."),
)
_EXAMPLE: dict[type[Action], AnyAction] = {type(shown): shown for shown in EXAMPLES}
_WORDS = {"string": "text", "integer": "number", "boolean": "true or false", "array": "list"}


def as_text(action: AnyAction) -> str:
    """An action as a tag with its YAML; plain words for a thought that reads back the same."""
    if isinstance(action, Think) and not action.must_succeed:
        said = f"<think>\n{action.content}\n</think>"
        if action.content and "\r" not in said and read(said, no_form)[0] == (action,):
            return said
    return "\n".join([f"<{action.tag}>", *yaml_lines(written(action)), f"</{action.tag}>"])


def written(record: BaseModel) -> dict[str, Any]:
    """The fields of an action that are written: those not at their defaults, and what names its kind, first."""
    values = {
        name: getattr(record, name)
        for name, info in type(record).model_fields.items()
        if name == "action" or info.is_required() or getattr(record, name) != info.default
    }
    values = {name: values[name] for name in sorted(values, key=lambda name: name == "must_succeed")}
    return {name: _items(value) if isinstance(value, tuple) else value for name, value in values.items()}


def example(kind: type[Action]) -> AnyAction:
    """An action of a kind, as shown to agents."""
    return _EXAMPLE[kind]


def form(kinds: Sequence[type[Action]]) -> str:
    """How one action looks, or the first of several and what else there is."""
    if len(kinds) == 1:
        return f"{as_text(_EXAMPLE[kinds[0]])}\nfields: {fields(kinds[0])}"
    shown = as_text(_EXAMPLE[kinds[0] if kinds else act.Bash])
    others = ", ".join(str(kind.model_fields["action"].default) for kind in kinds[1:])
    return f"{shown}\nor with action: {others}" if kinds else f"{shown}\ntags: {', '.join(TAGS)}"


def no_form(kinds: Sequence[type[Action]]) -> str:
    """Nothing, where nobody reads what was expected."""
    return ""


def sentence(kind: type[Action]) -> str:
    """What an action does."""
    return " ".join((kind.__doc__ or "").split())


@cache
def fields(kind: type[Action]) -> str:
    """Names and kinds of an action's fields, in a line; `action` and `must_succeed` are left out."""
    schema = parameters(kind)
    said = [
        f"{name} ({_words(inner, name in schema['required'])})"
        for name, inner in schema["properties"].items()
        if name != "must_succeed"
    ]
    return ", ".join(said) or "none"


def tool_name(kind: type[Action]) -> str:
    """What an action is called as a tool: its tag, with `_` and what tells it from the others of its tag."""
    action = kind.model_fields.get("action")
    return f"{kind.tag}_{action.default}" if action else kind.tag


@cache
def parameters(kind: type[Action]) -> dict[str, Any]:
    """JSON Schema of an action's fields, in one piece, without `action`, which the tool's name says."""
    schema = kind.model_json_schema()
    schema = _plain(schema, schema.get("$defs", {}))
    properties = {name: inner for name, inner in schema["properties"].items() if name != "action"}
    required = [name for name in schema.get("required", []) if name != "action"]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _items(values: Sequence[Any]) -> list[Any]:
    return [written(item) if isinstance(item, BaseModel) else item for item in values]


def _words(schema: Mapping[str, Any], required: bool) -> str:
    """A field's type, bounds and default, in words."""
    plain = schema["anyOf"][0] if "anyOf" in schema else schema
    word = _WORDS[plain["type"]]
    if inner := plain.get("items", {}).get("properties"):
        word += " of " + ", ".join(inner)
    if "maximum" in plain:
        word += f" from {plain['minimum']} to {plain['maximum']}"
    default = schema.get("default")
    if required:
        return word
    shown = str(default).lower() if isinstance(default, bool) else default
    return f"{word}; {shown} if left out" if shown or default is False else f"{word}; may be left out"


def _plain(schema: Any, defined: Mapping[str, Any]) -> Any:
    """A schema without references, titles, and keywords that not every provider reads."""
    if isinstance(schema, list):
        return [_plain(item, defined) for item in cast(list[Any], schema)]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _plain(defined[schema["$ref"].rsplit("/", 1)[-1]], defined)
    found = {
        "anyOf" if key == "oneOf" else key: _properties(value, defined)
        if key == "properties"
        else _plain(value, defined)
        for key, value in cast(dict[str, Any], schema).items()
        if key not in ("$defs", "discriminator", "pattern", "title")
    }
    constants = [name for name, inner in found.get("properties", {}).items() if "const" in inner]
    return found | ({"required": [*constants, *found.get("required", [])]} if constants else {})


def _properties(schemas: Mapping[str, Any], defined: Mapping[str, Any]) -> dict[str, Any]:
    """Their names are fields, `pattern` among them."""
    return {name: _plain(schema, defined) for name, schema in schemas.items()}
