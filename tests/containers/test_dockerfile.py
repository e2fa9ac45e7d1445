"""The Dockerfile parser: what it understands, and one clear line for what it does not."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from containers.dockerfile import assignments, expand, parse, resolve_copy
from generators.errors import TaskError
from generators.task import ContextFile, Image

FILES = tuple(ContextFile.of(path, path) for path in ("a.txt", "b.txt", "d/one", "d/deep/two"))


def copied(text: str, workdir: str = "/work") -> list[tuple[str, str]]:
    item = parse(f"FROM x\n{text}")[1]
    return [
        (file.path, path)
        for path, file in resolve_copy(item, Image(dockerfile="FROM x", files=FILES), workdir, {}).files
    ]


def test_comments_continuations_and_forms() -> None:
    found = parse('# c\nFROM a:1 \n\nRUN one && \\\n  # inside\n  two\nRUN ["x", "y z"]\ncmd sleep 1\n')
    assert [(item.name, item.text) for item in found][:2] == [("FROM", "a:1"), ("RUN", "one &&   two")]
    assert found[2].exec_form == ("x", "y z") and found[2].line == 7
    assert found[3].name == "CMD"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("FROM a\nVOLUME /x", "line 2: instruction VOLUME"),
        ("FROM a\nHEALTHCHECK NONE", "HEALTHCHECK"),
        ("FROM a\nRUN --mount=type=cache,target=/x y", "RUN --mount"),
        ("FROM a\nCOPY --from=b /x /y", "COPY --from"),
        ("FROM a\nFROM b", "second FROM"),
        ("FROM a\nADD https://x/y /z", "ADD of an address"),
        ("FROM a\nADD x.tar.gz /z", "ADD of an archive"),
        ("FROM a\nRUN cat <<EOF\nx\nEOF", "heredoc"),
        ("FROM a\nONBUILD RUN x", "ONBUILD"),
    ],
)
def test_what_is_not_supported_names_the_engine_to_use(text: str, what: str) -> None:
    with pytest.raises(TaskError) as caught:
        parse(text)
    assert what in str(caught.value) and "docker engine" in str(caught.value)


@pytest.mark.parametrize("text", ["", "RUN x", "# only", "FROM a\nRUN"])
def test_what_is_no_dockerfile_is_said(text: str) -> None:
    with pytest.raises(TaskError):
        parse(text)


@given(st.text(max_size=200))
def test_no_text_makes_the_parser_fail_otherwise(text: str) -> None:
    with contextlib.suppress(TaskError):
        parse("FROM a\n" + text)


@given(st.text(max_size=80), st.dictionaries(st.sampled_from(["A", "B"]), st.text(max_size=5)))
def test_text_without_variables_is_left_alone(text: str, variables: dict[str, str]) -> None:
    plain = text.replace("$", "").replace("\\", "")
    assert expand(plain, variables) == plain


def test_variables() -> None:
    assert expand("$A ${B} ${C:-c} ${A:+set} \\$A $D.", {"A": "1", "B": "2"}) == "1 2 c set $A ."
    assert assignments(parse('FROM x\nENV A=1 B="two words" C=a\\ b')[1], {}) == {
        "A": "1",
        "B": "two words",
        "C": "a b",
    }
    assert assignments(parse("FROM x\nENV A old form")[1], {}) == {"A": "old form"}


def test_copy_targets() -> None:
    assert copied("COPY a.txt /x") == [("a.txt", "/x")]
    assert copied("COPY a.txt b.txt /x") == [("a.txt", "/x/a.txt"), ("b.txt", "/x/b.txt")]
    assert copied("COPY a.txt .") == [("a.txt", "/work/a.txt")]
    assert copied("COPY d /x/") == [("d/one", "/x/one"), ("d/deep/two", "/x/deep/two")]
    assert copied("COPY . /all")[-1] == ("d/deep/two", "/all/d/deep/two")
    assert copied('COPY ["a.txt", "/with space"]') == [("a.txt", "/with space")]
    assert copied("COPY *.txt /x/") == [("a.txt", "/x/a.txt"), ("b.txt", "/x/b.txt")]


def test_a_missing_source_is_said() -> None:
    with pytest.raises(TaskError, match="'nothing' is not in the build context"):
        copied("COPY nothing /x")
