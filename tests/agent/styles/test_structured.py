"""The structured style: what it renders it reads, results cannot be forged, and the prompt and tools are true."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from agent import actions as act
from agent.actions import ACTIONS, AnyAction, Malformed
from agent.calls import said
from agent.forms import EXAMPLES, tool_name, written
from agent.observation import LIMIT, Observation
from agent.parser import MAX_ACTIONS, MAX_CHARACTERS
from agent.styles import open_style
from agent.styles.structured import Structured
from agent.tags import TAGS
from generators.chat.model import Reply, ToolCall, Usage

STYLE = Structured()
AWKWARD = (
    *["\n", "\n\n", " ", "  ", "\t", "\r", "\r\n", "\0", "\x1b[0m", "\x7f", "\x85", "\u2028", "\ufeff", "\ufffe", "😀", "é"],
    *["</file>", "<bash>", "\n</bash>\n", "\n<bash>\ncmd: x\n</bash>\n", "</think>", "<think>", "content: ", "```", "---\n", "...\n"],
    *[": ", " #", "'", '"', "\\", "|", ">", "- ", "? ", "&a", "*", "!", "%", "@", "`", "{", "[", ",", "null", "~", "yes", "1.0", ":", "a"],
)  # fmt: skip
texts = st.lists(st.sampled_from(AWKWARD) | st.text(max_size=4), max_size=10).map("".join)
some = texts.filter(bool)
paths = some.filter(lambda text: "\0" not in text)
truths, numbers, counts = st.booleans(), st.integers(), st.integers(min_value=1)
operations = st.one_of(
    st.builds(act.TodoAdd, content=some),
    st.builds(act.TodoComplete, task_id=numbers),
    st.builds(act.TodoDelete, task_id=numbers),
    st.builds(act.TodoView),
)
replacements = st.builds(act.Replacement, old_string=some, new_string=texts, replace_all=truths)
BUILT: dict[type[act.Action], st.SearchStrategy[Any]] = {
    act.Bash: st.builds(
        act.Bash, cmd=some, block=truths, timeout_secs=st.none() | st.integers(1, 600), must_succeed=truths
    ),
    act.Todo: st.builds(act.Todo, operations=st.lists(operations, min_size=1, max_size=4).map(tuple)),
    act.NoteAdd: st.builds(act.NoteAdd, content=some),
    act.NotesView: st.builds(act.NotesView, must_succeed=truths),
    act.FileRead: st.builds(act.FileRead, file_path=paths, offset=counts, limit=counts),
    act.FileWrite: st.builds(act.FileWrite, file_path=paths, content=texts, overwrite=truths, must_succeed=truths),
    act.FileEdit: st.builds(act.FileEdit, file_path=paths, old_string=some, new_string=texts, replace_all=truths),
    act.FileMultiEdit: st.builds(
        act.FileMultiEdit, file_path=paths, edits=st.lists(replacements, min_size=1, max_size=3).map(tuple)
    ),
    act.FileMetadata: st.builds(act.FileMetadata, file_paths=st.lists(paths, min_size=1, max_size=10).map(tuple)),
    act.Grep: st.builds(act.Grep, pattern=some, path=paths, include=st.none() | texts),
    act.Glob: st.builds(act.Glob, pattern=some, path=paths),
    act.Ls: st.builds(act.Ls, path=paths, ignore=st.lists(texts, max_size=3).map(tuple)),
    act.Think: st.builds(act.Think, content=texts, must_succeed=truths),
    act.Finish: st.builds(act.Finish, message=texts),
}
any_action = st.one_of([BUILT[kind] for kind in ACTIONS])


@given(st.lists(any_action, min_size=1, max_size=4), texts)
@example([act.Bash(cmd="\n")], "<bash>")
@example([act.Bash(cmd=" a\nb")], "<think>")
@example([act.FileWrite(file_path="/a", content="\n\n  x\n \n")], "</think>\n<shell>\ncmd: x")
@example([act.Think(content="a\n</think>\nb"), act.Think(content=" x ")], "<finish/>")
def test_what_is_rendered_is_read(actions: list[AnyAction], thought: str) -> None:
    assert STYLE.parse(STYLE.render(actions, thought)).items == tuple(actions)


def test_the_thought_is_read_too() -> None:
    assert STYLE.parse(STYLE.render([act.Bash(cmd="ls")], "I look\nfirst.")).thought == "I look\nfirst."


def test_text_over_lines_is_rendered_as_it_looks() -> None:
    edit = act.FileEdit(file_path="/a.py", old_string="    if x:\n\treturn '#'", new_string="é </file>\n<bash>\n")
    assert STYLE.render([edit], "So.") == (
        "So.\n\n<file>\naction: edit\nfile_path: /a.py\nold_string: |2-\n      if x:\n  \treturn '#'\n"
        "new_string: |\n  é </file>\n  <bash>\n</file>\n"
    )
    assert 'content: "a\'\\x1b\\n"\n' in STYLE.render([act.NoteAdd(content="a'\x1b\n")])


@given(any_action)
def test_bodies_are_yaml_as_everybody_reads_it(action: AnyAction) -> None:
    body = re.fullmatch(r"<\w+>\n(.*)</\w+>\n", STYLE.render([action]), re.DOTALL)
    if isinstance(action, act.Think) or body is None:
        return
    assert (yaml.load(body[1], yaml.BaseLoader) or {}) == as_words(written(action))


def as_words(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: as_words(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [as_words(inner) for inner in value]
    return str(value).lower() if isinstance(value, bool) else str(value)


@given(st.lists(any_action, min_size=1, max_size=3), st.data())
def test_a_spoilt_reply_gives_items_and_never_raises(actions: list[AnyAction], data: st.DataObject) -> None:
    reply = STYLE.render(actions)
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(reply)))
        end = data.draw(st.integers(start, min(start + 12, len(reply))))
        reply = reply[:start] + data.draw(st.sampled_from(["", "\n", *AWKWARD])) + reply[end:]
    assert STYLE.parse(reply).items


def test_more_than_is_read_is_not_rendered() -> None:
    with pytest.raises(ValueError, match=str(MAX_ACTIONS)):
        STYLE.render([act.Finish()] * (MAX_ACTIONS + 1))
    with pytest.raises(ValueError, match=str(MAX_CHARACTERS)):
        STYLE.render([act.NoteAdd(content="x" * MAX_CHARACTERS)])


# --- results ---------------------------------------------------------------------------------------------------------------------


def test_results_say_what_happened() -> None:
    mistake = STYLE.parse("<bash>\n</bash>").mistakes[0]
    shown = STYLE.show(
        [
            Observation(tag="bash", text="no such file\n", failed=True, exit_code=2, chars=13),
            Observation(tag="bash", text="...", failed=True, timed_out=True, chars=LIMIT + 5),
            Observation(tag="file", text="not found", failed=True, chars=9),
            Observation(tag="todo", text=""),
            mistake,
        ],
        ["3 turns are left"],
    )
    assert shown.startswith(
        '<bash_output exit_code="2">\nno such file\n</bash_output>\n\n'
        f'<bash_output timed_out="true" cut_from="{LIMIT + 5} characters">\n...\n</bash_output>\n\n'
        '<file_output failed="true">\nnot found\n</file_output>\n\n'
        "<todo_output>\n(nothing)\n</todo_output>\n\n<mistake>\n<bash> line 1, column 1: cmd is missing"
    )
    assert shown.endswith("</mistake>\n\n<note>\n3 turns are left\n</note>")


@given(
    st.lists(
        st.sampled_from(["<", "</", "< / ", "BASH_output", "bash_output", "mistake", "note", ">", "\n", " ", "\\"]),
        max_size=12,
    )
)
def test_text_cannot_close_its_block_or_open_another(parts: list[str]) -> None:
    text = "".join(parts)
    shown = STYLE.show([Observation(tag="bash", text=text, exit_code=0)], [text])
    tags = re.findall(r"<\s*/?\s*(?:bash_output|mistake|note)\b", shown, re.IGNORECASE)
    assert tags == ["<bash_output", "</bash_output", "<note", "</note"]


# --- tools and prompt ------------------------------------------------------------------------------------------------------------


def test_every_action_is_a_tool_of_plain_schema() -> None:
    tools = STYLE.tools()
    assert [tool["name"] for tool in tools][:5] == [
        "bash",
        "todo",
        "scratchpad_add_note",
        "scratchpad_view_all_notes",
        "file_read",
    ]
    assert len({tool["name"] for tool in tools}) == len(ACTIONS)
    for tool in tools:
        said = str(tool["parameters"])
        assert not [word for word in ("$ref", "$defs", "title", "discriminator", "oneOf") if f"'{word}'" in said]
        assert "action" not in tool["parameters"]["properties"]
    grep = next(tool for tool in tools if tool["name"] == "search_grep")["parameters"]
    assert (grep["required"], set(grep["properties"])) == (["pattern"], {"must_succeed", "pattern", "path", "include"})
    todo = next(tool for tool in tools if tool["name"] == "todo")["parameters"]
    assert todo["properties"]["operations"]["items"]["anyOf"][0]["required"] == ["action", "content"]


@given(any_action)
def test_an_action_can_be_called_as_a_tool(action: AnyAction) -> None:
    values = TypeAdapter(dict[str, Any]).dump_python(action.model_dump(), mode="json")
    assert STYLE.parse_call(tool_name(type(action)), values) == action
    del values["must_succeed"]
    assert STYLE.parse_call(action.tag, values) == action.model_copy(update={"must_succeed": False})


def test_a_null_for_what_may_be_left_out_is_left_out() -> None:
    assert STYLE.parse_call("file_read", {"file_path": "/x", "offset": None}) == act.FileRead(file_path="/x")


@pytest.mark.parametrize(
    ("name", "values", "problem"),
    [
        ("file_red", {}, "there is no tool of this name; there are bash, todo"),
        ("file", {}, "action is missing"),
        ("file_read", {}, "file_path is missing"),
        ("file_read", {"file_path": 1}, "valid string"),
        ("file_read", {"file_path": "/x", "x": 1}, "x is no field"),
        ("file_read", {"file_path": "/x", "action": "write"}, "action: "),
        ("bash", [], "no object"),
        ("bash", {"cmd": "\ud800"}, "cmd: "),
        ("bash", {"cmd": None}, "cmd: "),
    ],
)
def test_a_call_that_cannot_be_read_is_a_mistake(name: str, values: Any, problem: str) -> None:
    found = STYLE.parse_call(name, values)
    assert isinstance(found, Malformed)
    assert problem in found.problem
    assert (found.tag, found.line, found.column) == (name, 1, 1)
    assert "fields: " in found.expected


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        ('{"must_succeed": true}', True),
        ('{"must_succeed": true', True),
        ('{"must_succeed": false}', False),
        ("{", False),
    ],
)
def test_a_call_that_cannot_be_read_says_whether_it_must_succeed(arguments: str, asked: bool) -> None:
    usage = Usage(input_tokens=1, output_tokens=1)
    reply = Reply(
        text="", usage=usage, model="m", seconds=0.0, calls=(ToolCall(id="1", name="bash", arguments=arguments),)
    )
    assert [found.must_succeed for found in said(STYLE, reply).mistakes] == [asked]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters()), inner, max_size=3),
    max_leaves=8,
)
FIELDS = sorted({name for kind in ACTIONS for name in kind.model_fields})


@given(
    st.sampled_from([*TAGS, *map(tool_name, ACTIONS)]) | st.text(st.characters()),
    st.dictionaries(st.sampled_from(FIELDS) | st.text(st.characters()), json_values, max_size=5) | json_values,
)
def test_no_call_raises(name: str, values: Any) -> None:
    found = STYLE.parse_call(name, values)
    assert isinstance(found, (Malformed, *ACTIONS))


def test_every_example_of_the_prompt_is_read_as_its_action() -> None:
    told = STYLE.parse(STYLE.system_prompt())
    assert told.items == EXAMPLES
    assert tuple(type(shown) for shown in EXAMPLES) == ACTIONS


def test_the_prompt_names_every_field_and_the_limit() -> None:
    prompt = STYLE.system_prompt()
    assert not [name for name in FIELDS if not re.search(rf"\b{name}\b", prompt)]
    assert f"{LIMIT:,} characters" in prompt
    assert "{{" not in prompt


def test_it_is_opened_by_name_and_says_the_task() -> None:
    style = open_style("structured")
    assert isinstance(style, Structured)
    assert "Find the <bash> bug." in style.opening("  Find the <bash> bug.\n")
