"""A model's answer as a record: a JSON object where it gave one, else tagged text.

    <title>Find the slow query</title>
    <files>
    <item><path>app.conf</path><content>
    port = 80
    </content></item>
    </files>

Text fields are taken as they stand (one code fence around them is dropped), lists of records are repeated <item> tags, everything else
is JSON. A tag closes where another known tag, or nothing, follows: so content may hold tags of the same name.
"""

from __future__ import annotations

import json
import re
import types
from functools import cache
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from generators.task import Record
from generators.written.problems import AnswerError

R = TypeVar("R", bound=Record)
MAX_CHARACTERS = 1_000_000
_FENCE = re.compile(r"\A\s*```[\w+-]*[ \t]*\n(.*?)\n?```\s*\Z", re.DOTALL)
_JSON_FENCE = re.compile(r"```(?:json)?[ \t]*\n(?=\{)")
_THOUGHT = re.compile(r"\A\s*(?:<think(?:ing)?>)?(?:(?!<think).)*?</think(?:ing)?>", re.DOTALL)
_MOST_ITEMS = 200


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(strict=False, parse_constant=_no_constant)


def parse(kind: type[R], text: str) -> R:
    """The record in an answer.

    Raises:
        AnswerError: empty, too long, or not of this form; the message says which field and why, for the model to read.
    """
    text = _THOUGHT.sub("", text).strip()
    if not text:
        raise AnswerError("empty", "the answer was empty")
    if len(text) > MAX_CHARACTERS:
        raise AnswerError("too_long", f"the answer has {len(text)} characters; at most {MAX_CHARACTERS} are read")
    fields = _json_object(kind, text)
    if fields is None:
        fields = _tagged(kind, text)
    if not fields:
        raise AnswerError("no_answer", f"none of the tags {_known(kind)} was found in the answer")
    return _validated(kind, fields)


@cache
def form(kind: type[Record]) -> str:
    """How a tagged answer of this kind looks, with what each field is: for a prompt."""
    return "\n".join(_form(kind, ""))


def render(record: Record) -> str:
    """A record as tagged text: `parse` gives it back."""
    return "\n".join(_rendered(record))


def _known(kind: type[BaseModel]) -> str:
    return ", ".join(f"<{name}>" for name in kind.model_fields)


def _validated(kind: type[R], fields: dict[str, Any]) -> R:
    try:
        json.dumps(fields, ensure_ascii=False, allow_nan=False).encode()
        return kind.model_validate(fields)
    except (UnicodeError, OverflowError, RecursionError) as error:
        raise AnswerError("malformed", f"the answer holds what no text can hold: {str(error)[:200]}") from error
    except ValidationError as error:
        problems = [
            f"{'.'.join(str(part) for part in problem['loc']) or 'answer'}: {problem['msg'].removeprefix('Value error, ')}"
            for problem in error.errors()[:4]
        ]
        raise AnswerError("malformed", "; ".join(problems)[:1500]) from error
    except ValueError as error:  # infinite numbers
        raise AnswerError(
            "malformed", f"the answer holds a number that JSON does not have: {str(error)[:200]}"
        ) from error


# --- JSON ---------------------------------------------------------------------------------------------------------------------


def _json_object(kind: type[BaseModel], text: str) -> dict[str, Any] | None:
    """The JSON object an answer consists of, alone or in a code fence; None where it is not JSON."""
    fenced = _JSON_FENCE.search(text)
    start = (
        0
        if text.startswith("{")
        else fenced.end()
        if fenced
        else text.find("{")
        if _opening(kind).search(text) is None
        else -1
    )
    if start < 0 or _opening(kind).search(text, 0, start):
        return None
    try:
        value: Any = _DECODER.raw_decode(text, start)[0]  # a remark may follow
    except (ValueError, RecursionError) as error:
        if start == 0 or _opening(kind).search(text) is None:
            raise AnswerError(
                "invalid_json", f"the JSON object of the answer is not valid: {str(error)[:200]}"
            ) from None
        return None
    return cast(dict[str, Any], value) if isinstance(value, dict) else None


# --- tags ---------------------------------------------------------------------------------------------------------------------


def _opening(kind: type[BaseModel]) -> re.Pattern[str]:
    return re.compile(rf"<({'|'.join(kind.model_fields)})>")


def _tagged(kind: type[BaseModel], text: str, follows: str = r"```\s*\Z|</item>\s*\Z|") -> dict[str, Any]:
    """Fields by their tags, in whatever order; the first of a name counts."""
    found: dict[str, Any] = {}
    opening, position = _opening(kind), 0
    after = re.compile(rf"\s*(?:{follows}<(?:{'|'.join(kind.model_fields)})>|\Z)")
    while len(found) < len(kind.model_fields) and (match := opening.search(text, position)):
        name = match[1]
        content, position = _until_closed(text, match.end(), name, after)
        found.setdefault(name, _value(name, kind.model_fields[name], content))
    return found


def _until_closed(text: str, start: int, name: str, after: re.Pattern[str]) -> tuple[str, int]:
    """The content up to the closing tag after which something known follows (else the last one), and where it ends."""
    tag, last = f"</{name}>", -1
    at = text.find(tag, start)
    while at >= 0:
        last = at
        if after.match(text, at + len(tag)):
            break
        at = text.find(tag, at + len(tag))
    if last < 0:
        raise AnswerError("unclosed_tag", f"<{name}> is not closed")
    return text[start:last], last + len(tag)


def _value(name: str, info: FieldInfo, content: str) -> Any:
    inner = _item_kind(info)
    if inner is not None and not content.lstrip().startswith(("[", "```")):
        return _items(inner, content)
    if _is_text(info):
        return content.strip() if _is_short(info) else _text(content)
    plain = fence[1] if (fence := _FENCE.match(content)) else content
    if _is_words(info) and not plain.lstrip().startswith(("[", '"')):
        return _words(plain)
    try:
        return json.loads(plain, strict=False, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        if (bare := plain.strip()) and not bare.startswith(("{", "[", '"')):
            return bare  # a number, a name of a choice
        raise AnswerError("invalid_json", f"<{name}> holds no valid JSON") from None


def _items(kind: type[BaseModel], content: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    first = "|".join(kind.model_fields)
    after, position = (
        re.compile(rf"[^<]*<item>\s*<(?:{first})>|\s*\Z"),
        0,
    )  # words between two items are no part of either
    while len(found) < _MOST_ITEMS and (start := content.find("<item>", position)) >= 0:
        body, position = _until_closed(content, start + len("<item>"), "item", after)
        found.append(_tagged(kind, body, ""))
    return found


def _text(content: str) -> str:
    """Text without the line breaks after and before its tags, and without one fence around it."""
    if fence := _FENCE.match(content):
        return fence[1] + "\n"
    content = content[1:] if content.startswith("\n") else content
    return content[:-1] if content.endswith("\n\n") else content


# --- what a field holds ---------------------------------------------------------------------------------------------------------


def _bare(annotation: Any) -> Any:
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    return annotation


def _is_text(info: FieldInfo) -> bool:
    return _bare(info.annotation) is str


def _is_words(info: FieldInfo) -> bool:
    """Whether it is a list of texts."""
    annotation = _bare(info.annotation)
    return get_origin(annotation) is tuple and _bare(get_args(annotation)[0]) is str


def _words(content: str) -> list[str]:
    """A list that is not JSON: items in tags, or words by lines and commas; `none` is an empty one."""
    text = re.sub(r"</?item>", "\n", content)
    words = [word.strip().lstrip("-* ").strip("`'\"") for word in re.split(r"[\n,]", text)]
    return [word for word in words if word and word.lower() not in ("none", "n/a")]


def _is_short(info: FieldInfo) -> bool:
    """Whether it is one line: a name, a path, a mode."""
    limits = [getattr(limit, "max_length", None) for limit in info.metadata]
    return any(getattr(limit, "pattern", None) for limit in info.metadata) or any(
        most and most <= 200 for most in limits
    )


def _item_kind(info: FieldInfo) -> type[BaseModel] | None:
    """The record that a field lists, if it lists records of one kind with text in them."""
    annotation = _bare(info.annotation)
    if get_origin(annotation) is not tuple:
        return None
    inner = _bare(get_args(annotation)[0])
    if get_origin(inner) in (Union, types.UnionType) or not isinstance(inner, type):
        return None
    return inner if issubclass(inner, BaseModel) else None


def _form(kind: type[BaseModel], indent: str) -> list[str]:
    lines: list[str] = []
    for name, info in kind.model_fields.items():
        what = info.description or ("text" if _is_text(info) else "JSON")
        optional = "" if info.is_required() else " (may be left out)"
        if inner := _item_kind(info):
            lines += [f"{indent}<{name}>  ({what}{optional}; an <item> each)", f"{indent}<item>"]
            lines += [*_form(inner, indent + "  "), f"{indent}</item>", f"{indent}</{name}>"]
        else:
            lines.append(f"{indent}<{name}>{what}{optional}</{name}>")
    return lines


def _rendered(record: BaseModel) -> list[str]:
    lines: list[str] = []
    for name, info in type(record).model_fields.items():
        value = getattr(record, name)
        if _item_kind(info):
            items = ["\n".join(["<item>", *_rendered(item), "</item>"]) for item in value]
            lines.append("\n".join([f"<{name}>", *items, f"</{name}>"]))
        elif _is_text(info):
            before, after = "\n" * value.startswith("\n") or "\n" * value.endswith("\n"), "\n" * value.endswith("\n")
            lines.append(f"<{name}>{before}{value}{after}</{name}>")
        else:
            dumped = record.model_dump(mode="json", include={name})[name]
            lines.append(f"<{name}>{json.dumps(dumped, ensure_ascii=False)}</{name}>")
    return lines
