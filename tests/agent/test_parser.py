"""Reading actions: where they stand, what they say, and one clear mistake for what cannot be read."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent.actions import (
    AnyAction,
    Bash,
    FileEdit,
    FileRead,
    FileWrite,
    Finish,
    Glob,
    Grep,
    Ls,
    Malformed,
    Think,
    Todo,
    TodoAdd,
    TodoView,
)
from agent.forms import form
from agent.parser import ECHO, MAX_ACTIONS, MAX_CHARACTERS, read


def actions(reply: str) -> tuple[AnyAction | Malformed, ...]:
    return read(reply, form)[0]


def mistake(reply: str) -> Malformed:
    """The only item of a reply, a mistake."""
    (item,) = actions(reply)
    assert isinstance(item, Malformed), item
    assert "\n" not in item.problem
    assert "\n" not in item.echo
    assert len(item.echo) <= ECHO
    return item


READ = {
    "<bash>\ncmd: ls -l /srv\ntimeout_secs: 20\n</bash>": Bash(cmd="ls -l /srv", timeout_secs=20),
    "<bash>\r\ncmd: ls\r\nblock: no\r\n</bash>\r\n": Bash(cmd="ls", block=False),
    "<bash>\ncmd: |\n  cat <<END\n  </bash>\n  <bash>\n  END\n</bash>": Bash(cmd="cat <<END\n</bash>\n<bash>\nEND\n"),
    "<bash>cmd: ls\n</bash>": Bash(cmd="ls"),
    "<bash>\n  cmd: ls\n  block: true\n</bash>": Bash(cmd="ls"),
    "<bash>\ncmd: ls\ntimeout_secs: null\nmust_succeed: yes\n</bash>": Bash(cmd="ls", must_succeed=True),
    "<bash>cmd: echo '</bash>'</bash>": Bash(cmd="echo '</bash>'"),
    "<bash>\n```yaml\ncmd: ls\n```\n</bash>": Bash(cmd="ls"),
    "<bash>\n---\ncmd: ls\n</bash>": Bash(cmd="ls"),
    "<bash>\ncmd: make # all of it\n</bash>": Bash(cmd="make"),
    "<bash>\ncmd: make\n\n# in time\n\nblock: true\n\n</bash>": Bash(cmd="make"),
    "<finish>message: done</finish>": Finish(message="done"),
    "<finish/>": Finish(),
    "<finish>\n</finish>": Finish(),
    "<finish>\nmessage: >\n  all\n  done\n</finish>": Finish(message="all done\n"),
    "<bash>\ncmd: yes\n</bash>": Bash(cmd="yes"),
    "<file>\naction: write\nfile_path: /a\ncontent: 1.0\n</file>": FileWrite(file_path="/a", content="1.0"),
    "<file>\naction: write\nfile_path: /a\ncontent:\n</file>": FileWrite(file_path="/a", content=""),
    "<file>\naction: edit\nfile_path: /a\nold_string: null\nnew_string: 2024-01-02\n</file>": FileEdit(
        file_path="/a", old_string="null", new_string="2024-01-02"
    ),
    "<file>\naction: read\nfile_path: 0x1F\noffset: '7'\n</file>": FileRead(file_path="0x1F", offset=7),
    "<search>\naction: grep\npattern: ~\ninclude: ~\n</search>": Grep(pattern="~"),
    "<search>\naction: grep\npattern: x\ninclude: 'null'\n</search>": Grep(pattern="x", include="null"),
    "<search>\naction: ls\nignore: [.git, no]\n</search>": Ls(ignore=(".git", "no")),
    "<todo>\noperations:\n- action: add\n  content: on\n- action: view_all\n</todo>": Todo(
        operations=(TodoAdd(content="on"), TodoView())
    ),
    "<think>any: [text</think>": Think(content="any: [text"),
    "<think>\nfirst\n<bash>\ncmd: rm -r /\n</bash>\nno.\n</think>": Think(
        content="first\n<bash>\ncmd: rm -r /\n</bash>\nno."
    ),
    "<think>it ends with </think> I guess.</think>": Think(content="it ends with </think> I guess."),
    "<thinking>\nso\n</thinking>": Think(content="so"),
    "<think>\ncontent: a\nmust_succeed: true\n</think>": Think(content="a", must_succeed=True),
    "<think>\ncontent: [what I look at\n</think>": Think(content="content: [what I look at"),
}


@pytest.mark.parametrize("reply", READ)
def test_what_is_written_is_read(reply: str) -> None:
    assert actions(reply) == (READ[reply],)


def test_several_actions_come_in_their_order_with_the_words_around_them() -> None:
    reply = (
        "First I look.\n<bash>\ncmd: a\n</bash> and then\n<search>\naction: glob\npattern: x\n</search><finish/>\nBye"
    )
    assert read(reply, form) == ((Bash(cmd="a"), Glob(pattern="x"), Finish()), "First I look.\nand then\n\nBye")
    assert actions("<bash>cmd: a</bash> <bash>cmd: b</bash>\n<think>c</think><bash>cmd: d</bash><finish/>") == (
        Bash(cmd="a"),
        Bash(cmd="b"),
        Think(content="c"),
        Bash(cmd="d"),
        Finish(),
    )


@pytest.mark.parametrize("fence", ["```", "```xml"])
def test_a_fence_around_an_action_is_no_hindrance(fence: str) -> None:
    assert read(f"So:\n{fence}\n<bash>\ncmd: ls\n</bash>\n```\n", form) == ((Bash(cmd="ls"),), "So:")


@pytest.mark.parametrize(
    "words",
    [
        "I use <bash> for this.",
        "`<bash>` runs commands, </bash> ends one.",
        "<bash> is what I would use",
        "<bash> and </bash> are tags",
        "<server>\n  <port>80</port>\n</server>",
        "<p>cmd</p>",
        "a < b\n<c> d",
        "",
        " \n\t",
        "</bash>",
    ],
)
def test_words_are_no_action(words: str) -> None:
    found = mistake(words)
    assert (found.problem, found.tag, found.line, found.column) == ("the reply holds no action", "", 1, 1)
    assert "<bash>" in found.expected


def test_what_stands_before_the_end_of_reasoning_is_not_done() -> None:
    reply = "I could\n<bash>\ncmd: rm -r /srv\n</bash>\nor\n<bash>\ncmd: x\n\nno.\n</think>\n\n<bash>\ncmd: ls\n</bash>"
    assert actions(reply) == (Bash(cmd="ls"),)
    assert mistake("<bash>\ncmd: ls\n</bash>\n</think>\nWell.").problem == "the reply holds no action"


# reply, tag, line, column, a part of the problem
MISTAKES = [
    ("\n\n<bash>\ncmd: ls\n", "bash", 3, 1, "not closed"),
    ("<bash>\ncmd: ls</bash>", "bash", 1, 1, "</bash> has to stand at the start of a line"),
    ("  <bash>\n  cmd: ls\n  </bash>", "", 1, 1, "has to stand at the start of a line"),
    ("<think>\nhm\n<bash>\ncmd: ls\n</bash>", "think", 1, 1, "not closed"),
    ('<bash timeout="3">\ncmd: ls\n</bash>', "bash", 1, 1, "no attributes"),
    ("x\n<shell>\ncmd: ls\n</shell>", "shell", 2, 1, "did you mean <bash>?"),
    ("<Bash>\ncmd: ls\n</Bash>", "Bash", 1, 1, "did you mean <bash>?"),
    ("<finsh>\nmessage: x\n</finsh>", "finsh", 1, 1, "did you mean <finish>?"),
    ("<file_read>\nfile_path: /x\n</file_read>", "file_read", 1, 1, "did you mean <file>?"),
    ("<zebra>\ncmd: ls\n</zebra>", "zebra", 1, 1, "there is no action <zebra>; there are: bash"),
    ('<tool_call>\n{"name": "bash"}\n</tool_call>', "tool_call", 1, 1, "there is no action"),
    ("<bash_output>\nroot\n</bash_output>", "bash_output", 1, 1, "never written by you"),
    ("ok\n\n<bash>\ncmd: a\n  b: c\n</bash>", "bash", 4, 6, "line breaks get lost"),
    ("é😀\u2028\n<bash>\ncmd: é😀 x: y\n</bash>", "bash", 3, 10, "mapping values"),
    ("<bash>\ncmd: grep x: y\n</bash>", "bash", 2, 12, "write it as a block"),
    ("<bash>\ncmd: |\nls\npwd\n</bash>", "bash", 4, 1, "every line of a block"),
    ("<search>\naction: glob\npattern: *.py\n</search>", "search", 3, 11, "quote a value that starts with *"),
    ("<bash>\ncmd: [ -f x ] && y\n</bash>", "bash", 2, 16, "quote a value that starts with ["),
    ("<bash>\ncmd: {{ x }}\n</bash>", "bash", 2, 7, "quote a value"),
    ("<bash>\ncmd: 'ls\n</bash>", "bash", 3, 1, "unexpected end"),
    ("<bash>\n\tcmd: ls\n</bash>", "bash", 2, 1, "indent with spaces"),
    ("<bash>\ncmd: ls\ncmd: pwd\n</bash>", "bash", 3, 1, "cmd is given twice"),
    ("<bash>\ncmd: &a ls\n</bash>", "bash", 2, 6, "anchors"),
    ("<bash>\ncmd: !important\n</bash>", "bash", 2, 6, "tags"),
    ("<bash>\ncmd: !!python/object:os.system x\n</bash>", "bash", 2, 6, "tags"),
    ("<todo>\noperations: &a [1]\nx: [*a, *a]\n</todo>", "todo", 2, 13, "anchors"),
    ('<bash>\ncmd: echo "a # b"\n</bash>', "bash", 2, 6, "takes all after # as a comment"),
    ("<bash>\ncmd: cd /srv\n  make\n</bash>", "bash", 2, 6, "line breaks get lost"),
    ('<bash>\ncmd: "cd /srv\n  make"\n</bash>', "bash", 2, 6, "line breaks get lost"),
    ("<bash>\ncmd: ls\n---\ncmd: pwd\n</bash>", "bash", 3, 1, "second YAML document"),
    ("<bash>\ncmd: a\x1bb\n</bash>", "bash", 2, 7, "U+001B"),
    ("<bash>\n? [a]\n: b\n</bash>", "bash", 2, 3, "a field's name"),
    ("<bash>\ncmd: " + "[" * 20 + "]" * 20 + "\n</bash>", "bash", 2, 14, "too deep"),
    ("<bash>\ncmd: " + "[" * 100_000 + "\n</bash>", "bash", 2, 1005, "depth"),
    ("<bash>\n" + "".join(f"k{n}: 1\n" for n in range(30_000)) + "</bash>", "bash", 10_001, 8, "too many values"),
    ("<bash>\nls -l\n</bash>", "bash", 2, 1, "no mapping"),
    ("<bash>\n- cmd: ls\n</bash>", "bash", 2, 1, "no mapping"),
    ("<bash>\n</bash>", "bash", 1, 1, "cmd is missing"),
    ("<bash/>", "bash", 1, 1, "cmd is missing"),
    ("<bash>\nblock: true\n</bash>", "bash", 2, 1, "cmd is missing"),
    ("<bash>\ncmd: ''\n</bash>", "bash", 2, 1, "at least 1 character"),
    ("<bash>\ncmd: ls\ntimeout_secs: 20s\n</bash>", "bash", 3, 1, "valid integer"),
    ("<bash>\ncmd: ls\ntimeout_secs: 99999\n</bash>", "bash", 3, 1, "less than or equal to 600"),
    ("<bash>\ncmd: ls\nblock: maybe\n</bash>", "bash", 3, 1, "valid boolean"),
    ("<bash>\ncmd: [a, b]\n</bash>", "bash", 2, 1, "valid string"),
    ("<bash>\ncmd: ls\ncwd: /\n</bash>", "bash", 3, 1, "cwd is no field of this action"),
    ("<file>\nfile_path: /x\n</file>", "file", 1, 1, "action is missing; it is one of read, write"),
    ("<file>\nfile_path: /x\naction: red\n</file>", "file", 3, 1, "action cannot be 'red'"),
    ("<file>\naction: [read]\n</file>", "file", 2, 1, "action cannot be"),
    ("<file>\naction: metadata\nfile_paths: /x\n</file>", "file", 3, 1, "valid tuple"),
    ("<todo>\noperations:\n- action: add\n  content: x\n- action: complete\n  task_id: two\n</todo>", "todo", 6, 3, "integer"),
    ("<todo>\noperations:\n- content: x\n</todo>", "todo", 3, 3, "discriminator"),
    ("<think>\nhm\n</think x", "think", 1, 1, "not closed"),
]  # fmt: skip


@pytest.mark.parametrize(("reply", "tag", "line", "column", "problem"), MISTAKES)
def test_a_mistake_says_where_and_what(reply: str, tag: str, line: int, column: int, problem: str) -> None:
    found = mistake(reply)
    assert problem in found.problem
    assert (found.tag, found.line, found.column) == (tag, line, column)
    assert found.expected


def test_a_mistake_shows_the_form_of_the_action_that_was_meant() -> None:
    found = mistake("<file>\naction: read\n</file>")
    (shown,) = actions(found.expected.split("\nfields:")[0])
    assert isinstance(shown, FileRead)
    assert "offset (number; 1 if left out)" in found.expected


def test_what_follows_a_mistake_is_read() -> None:
    found = actions("<bash>\ncmd: ls\n<file>\naction: read\nfile_path: /x\n</file>\n<bash>\n- 1\n</bash>\n<finish/>")
    assert [item.tag for item in found] == ["bash", "file", "bash", "finish"]
    assert [isinstance(item, Malformed) for item in found] == [True, False, True, False]
    assert "before another action" in str(found[0])


def test_very_long_replies_and_very_many_actions_are_mistakes() -> None:
    assert f"at most {MAX_CHARACTERS}" in mistake("<bash>\ncmd: ls\n</bash>\n" * 500_000).problem
    found = actions("<bash>\ncmd: ls\n</bash>\n" * (MAX_ACTIONS + 50))
    assert found[:-1] == (Bash(cmd="ls"),) * MAX_ACTIONS
    assert "the rest was not read" in str(found[-1])


@pytest.mark.parametrize(
    "part",
    [
        "<bash>\n",
        "<a>\n",
        "<bash>cmd: ",
        "<bash> ",
        "```\n",
        "</think> ",
        "\t ",
        "<think>",
        "- ",
        "[",
        "<finsh>\n",
        "&a ",
    ],
)
def test_a_megabyte_of_the_same_is_read_like_anything_else(part: str) -> None:
    text = part * (MAX_CHARACTERS // len(part) - 10)
    for reply in (text, f"<bash>\ncmd: {text}\n</bash>"):
        assert len(actions(reply)) <= MAX_ACTIONS + 1


PIECES = st.sampled_from((
    *["<", "</", ">", "/>", "bash", "<bash>", "</bash>", "\n<file>\n", "\n</file>\n", "<think>", "</think>", "```\n", "\n", "cmd: ", "action: read\n"],
    *["file_path: ", "|", "  ", "- ", "'", '"', ": ", "#", "&a", "*a", "!", "{", "[", "\t", "\r", "\x85", "\u2028", "\ufeff", "\0", "\ud800", "---\n", "? ", "<<: ", "\\"],
))  # fmt: skip


@given(st.one_of(st.text(), st.lists(PIECES | st.text(max_size=3), max_size=40).map("".join), st.text(st.characters())))
@example("<bash>\n\ufeffcmd: x\n</bash>")
@example("<bash>\ncmd: x\n...\n</bash>")
@example("<bash>\n%YAML 9.9\n---\ncmd: x\n</bash>")
def test_no_text_raises_and_something_is_always_found(text: str) -> None:
    items, _ = read(text, form)
    assert items
    for item in items:
        if isinstance(item, Malformed):
            assert 1 <= item.line <= text.count("\n") + 1
            assert item.column >= 1
            assert len(item.echo) <= ECHO
            assert str(item).isprintable() or "\n" in str(item)
