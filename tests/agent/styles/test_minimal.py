"""The minimal style: what counts as a command, what as the end, what is refused, and that renders are read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.actions import Bash, Finish, Todo, TodoView
from agent.observation import Observation
from agent.styles.minimal import MARKER, Minimal

STYLE = Minimal()


@pytest.mark.parametrize(
    ("reply", "command"),
    [
        ("I look.\n```bash\nls -l /srv\n```\n", "ls -l /srv"),
        ("```\nls\n```", "ls"),
        ("~~~sh\nls\n~~~", "ls"),
        ("Write it.\r\n```bash\r\ncat > a <<'E'\r\nx\r\nE\r\n```", "cat > a <<'E'\nx\nE"),
        ("````bash\necho '```'\n```\n````", "echo '```'\n```"),
        (f"```bash\necho {MARKER}\n```", f"echo {MARKER}"),
    ],
)
def test_one_fenced_command_is_run(reply: str, command: str) -> None:
    assert STYLE.parse(reply).items == (Bash(cmd=command),)


def test_the_marker_on_a_line_of_its_own_ends() -> None:
    assert STYLE.parse(f"All is done.\n{MARKER}\n").items == (Finish(message="All is done."),)
    assert STYLE.parse(f"I will say {MARKER} later").actions == ()


@pytest.mark.parametrize(
    ("reply", "problem", "line"),
    [
        ("", "neither", 1),
        ("I think about it.", "neither", 1),
        ("so:\n```bash\nls\n", "not closed", 2),
        ("```bash\nls\n```\nand\n```bash\npwd\n```", "2 commands", 5),
        ("```bash\n\n```", "empty", 1),
        (f"x\n```bash\nls\n```\n{MARKER}", "and TASK_DONE", 2),
        ("```python\nprint(1)\n```", "", 1),
    ],
)
def test_what_is_refused_says_where_and_how_it_would_be_right(reply: str, problem: str, line: int) -> None:
    (mistake,) = STYLE.parse(reply).mistakes
    assert problem in mistake.problem and mistake.line == line and "```bash" in mistake.expected
    assert mistake.problem in STYLE.show([mistake])


@given(st.text())
def test_no_reply_raises_and_none_says_nothing(reply: str) -> None:
    assert len(STYLE.parse(reply).items) == 1


@given(st.text(st.characters(exclude_characters="\r", exclude_categories=["Cs"]), min_size=1), st.text())
def test_what_is_rendered_is_read_back_or_refused(command: str, thought: str) -> None:
    for action in (Bash(cmd=command), Finish(message=thought)):
        try:
            reply = STYLE.render([action], thought)
        except ValueError:
            continue
        assert STYLE.parse(reply).items == (action,)


def test_a_command_of_any_kind_can_be_said() -> None:
    command = "cat > /srv/README.md <<'END'\n```bash\nmake\n```\nEND\n"
    assert STYLE.parse(STYLE.render([Bash(cmd=command.strip())], "I write it.")).items == (Bash(cmd=command.strip()),)
    with pytest.raises(ValueError, match="one command"):
        STYLE.render([Todo(operations=(TodoView(),))])


def test_results_are_shown_as_they_are() -> None:
    seen = Observation(tag="bash", text="a\nb\n", exit_code=0)
    assert STYLE.show([seen], ["2 turns are left"]) == "a\nb\n[exit code 0]\n\n[2 turns are left]"
    bad = Observation(tag="bash", text="a\n[exit code 3]", exit_code=3, failed=True)
    assert STYLE.show([bad]) == bad.text


def test_tools_are_read_as_actions() -> None:
    assert STYLE.parse_call("bash", {"cmd": "ls"}) == Bash(cmd="ls")
    assert STYLE.parse_call("submit", {}) == Finish()
    for name, values in (("bash", {}), ("bash", {"cmd": 3}), ("rm", {})):
        assert "problem" in STYLE.parse_call(name, values).model_dump()
