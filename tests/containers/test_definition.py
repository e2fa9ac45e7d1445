"""From a Dockerfile to Apptainer's definition: nothing that a task can write changes what is run, or ends a section."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from containers.engines.apptainer.definition import PROLOGUE, plan, quote, render, words
from generators.bases import Base, preamble
from generators.errors import TaskError
from generators.task import ContextFile, Image

SECTIONS = ["%files", "%post", "%environment", "%labels"]
NASTY = st.text(st.sampled_from("'\"`$\\{}%\n #!&|;<>*?[~=é\t-ab"), max_size=30) | st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30
)
_WRITTEN = st.text(st.sampled_from("'\"`$\\{}% #!&|;<>*?[~=é-ab"), max_size=30).map(lambda text: f"echo {text}x")
LINE = _WRITTEN.filter(lambda text: "<<" not in text)  # a heredoc is refused


def shell(script: str) -> bytes:
    return subprocess.run(["/bin/sh", "-c", script], capture_output=True, check=True, cwd="/").stdout


@settings(max_examples=60, deadline=None)
@given(st.lists(NASTY, min_size=1, max_size=20))
def test_a_quoted_word_is_that_word(texts: list[str]) -> None:
    said = shell(f"{PROLOGUE}\nprintf '%s\\0' {words(texts)}")
    assert said.decode().split("\0")[:-1] == texts


@given(NASTY)
def test_a_quoted_word_is_one_line_without_double_braces(text: str) -> None:
    quoted = quote(text)
    assert "\n" not in quoted and "{{" not in quoted


@settings(deadline=None)
@given(run=LINE, value=NASTY, name=st.text(st.sampled_from("a%{ \n'é"), min_size=1, max_size=12))
def test_a_definition_has_its_own_sections_only(run: str, value: str, name: str) -> None:
    made = plan(
        Image(dockerfile=f"FROM a\nENV WORD=there\nRUN {run}\nCOPY . /in\n", files=(ContextFile.of(name, "x"),))
    )
    made.env["WORD"] = value
    text = render("localimage", "/base", made.steps, made, {"one": "1"})
    lines = text.split("\n")
    assert [line for line in lines if line.lstrip().startswith("%")] == ["%files", "%post", "%environment", "%labels"]
    assert "{{" not in text
    post = "\n".join(lines[lines.index("%post") + 1 : lines.index("%environment")])
    subprocess.run(["/bin/sh", "-n", "-c", post], check=True)  # it parses


@settings(max_examples=30, deadline=None)
@given(NASTY)
def test_the_environment_section_sets_what_was_said(value: str) -> None:
    made = plan(Image(dockerfile="FROM a\nENV WORD=x\n"))
    made.env["WORD"] = value
    section = render("localimage", "/base", (), made, {}).split("%environment\n")[1].split("%labels")[0]
    assert shell(f"{section}\nprintf '%s.' \"$WORD\"").decode() == f"{value}."


def test_each_run_has_the_settings_of_its_place() -> None:
    body = 'ARG A=1\nENV B=$A-2\nRUN one\nENV B=3\nWORKDIR /w\nUSER ada\nSHELL ["/bin/bash", "-ec"]\nRUN two\nRUN ["x", "y z"]\n'
    made = plan(Image(dockerfile=f"FROM a\n{body}"))
    scripts = [step.script for step in made.steps]
    assert scripts == [
        "run 'root' '/' 'A=1' 'B=1-2' '/bin/sh' '-c' 'one'",
        "mkdir -p -- '/w'",
        "run 'ada' '/w' 'A=1' 'B=3' '/bin/bash' '-ec' 'two'",
        "run 'ada' '/w' 'A=1' 'B=3' 'x' 'y z'",
    ]
    assert (made.base, made.user, made.workdir, made.env) == ("a", "ada", "/w", {"B": "3"})


def test_a_run_sees_its_variables_and_folder() -> None:
    made = plan(Image(dockerfile='FROM a\nENV WORD="it\'s"\nWORKDIR /usr\nRUN pwd; echo $WORD $HOME $0\n'))
    assert shell(PROLOGUE + made.steps[-1].script).decode().split() == ["/usr", "it's", "/root", "/bin/sh"]


def test_a_run_of_a_user_that_is_not_there_fails() -> None:
    made = plan(Image(dockerfile="FROM a\nUSER no-such-user\nRUN true\n"))
    ended = subprocess.run(["/bin/sh", "-c", PROLOGUE + made.steps[-1].script], capture_output=True, text=True)
    assert ended.returncode == 125 and "no such user" in ended.stderr


def test_packages_that_come_first_are_shared() -> None:
    made = plan(Image(dockerfile=preamble(Base.BUILD) + "RUN make\n" + preamble(Base.PYTHON).splitlines()[-1] + "\n"))
    assert [step.shared for step in made.steps] == [True, True, False, True]
    assert len(made.shared) == 2 and made.shared + made.own == made.steps


def test_equal_files_are_staged_once() -> None:
    file = ContextFile.of("a", "x", 0o755)
    made = plan(Image(dockerfile="FROM a\nCOPY a /one\nCOPY --chmod=600 --chown=5:6 a /two/\n", files=(file,)))
    assert made.files == (file,)
    assert [step.script for step in made.steps] == ["place 0 0755 '0:0' '/one' 'a'", "place 0 0600 '5:6' '/two/a'"]


@pytest.mark.parametrize("line", ["ENV a-b=1", "ARG 1x=2", "ENV $(id)=3"])
def test_what_is_no_name_of_a_variable_is_refused(line: str) -> None:
    with pytest.raises(TaskError, match="not a name of a variable"):
        plan(Image(dockerfile=f"FROM a\n{line}\n"))
