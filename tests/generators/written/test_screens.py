"""Screens: each refuses an answer that is right but for one thing, and nothing that is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from generators.bases import Base
from generators.task import Record
from generators.written import screens
from generators.written.problems import AnswerError
from generators.written.records import (
    Completion,
    Description,
    Environment,
    File,
    Mapped,
    Miss,
    Misses,
    Solution,
    Weight,
)

INSTRUCTION = (
    "The ledger of the harbour lies in /srv/tolls/ledger.csv, a passage on each line. Write the sum of the tolls for each "
    "ship to /srv/tolls/sums.json. The ledger must stay as it is."
)
TESTS = """\
from pathlib import Path

def sums():
    return json.loads(Path("/srv/tolls/sums.json").read_text())

def test_sums():
    assert sums() == TRUTH["sums"]

def test_ships():
    assert set(sums()) == set(TRUTH["sums"])

def test_ledger_stays():
    assert Path("/srv/tolls/ledger.csv").stat().st_size == 812
"""
DESCRIPTION = Description(title="Sums of tolls", instruction=INSTRUCTION, truth={"sums": {"Wren": 7}}, discoverable=())
ENVIRONMENT = Environment(
    base=Base.PYTHON,
    packages=(),
    dockerfile="COPY ledger.csv /srv/tolls/\nRUN chmod 644 /srv/tolls/ledger.csv\nWORKDIR /srv/tolls\n",
    files=(File(path="ledger.csv", content="ship,toll\nWren,7\n", mode="0644"),),
    initial_tests="def test_ledger():\n    assert open('/srv/tolls/ledger.csv').readline()\n",
)
COMPLETION = Completion(
    source=TESTS,
    weights=(Weight(test="test_sums", weight=0.7), Weight(test="test_ships", weight=0.3)),
    guards=("test_ledger_stays",),
    requirements=(
        Mapped(
            sentence="Write the sum of the tolls for each\n  ship to /srv/tolls/sums.json.",
            tests=("test_sums", "test_ships"),
        ),
        Mapped(sentence="The ledger must stay as it is.", tests=("test_ledger_stays",)),
    ),
)
MISSES = Misses(
    misses=(
        Miss(name="one", why="w", script="echo 1", caught_by=("test_sums",)),
        Miss(name="two", why="w", script="echo 2", caught_by=("test_sums", "test_ships")),
    )
)
GOALS = frozenset({"test_sums", "test_ships"})
SCREEN: dict[type[Record], Callable[[Any], None]] = {
    Description: screens.description,
    Environment: screens.environment,
    Completion: lambda answer: screens.completion(answer, INSTRUCTION),
    Solution: screens.solution,
    Misses: lambda answer: screens.misses(answer, GOALS),
}


def but(record: Record, **changes: Any) -> Record:
    return type(record).model_validate(record.model_dump() | changes)


def steps(dockerfile: str) -> Record:
    return but(ENVIRONMENT, dockerfile=dockerfile)


def runs(path: str, text: str) -> Record:
    """A file that a build step runs."""
    file = File(path=path, content=text, mode="0755")
    return but(ENVIRONMENT, files=(file,), dockerfile=f"COPY {path} /srv/{path}\nRUN bash /srv/{path}\n")


def keeps(path: str, text: str) -> Record:
    """A file that lies in the image."""
    return but(ENVIRONMENT, files=(File(path=path, content=text, mode="0644"),), dockerfile=f"COPY {path} /srv/\n")


def source(text: str) -> Record:
    """Three tests, the last of which is given."""
    return but(COMPLETION, source=TESTS[: TESTS.index("def test_ledger_stays")] + text)


def guard(body: str, head: str = "") -> Record:
    return source(f"{head}\ndef test_ledger_stays():\n    {body}\n")


def refused(record: Record) -> AnswerError:
    with pytest.raises(AnswerError) as caught:
        SCREEN[type(record)](record)
    return caught.value


@pytest.mark.parametrize(
    ("reason", "says", "record"),
    [
        ("other_language", "English", but(DESCRIPTION, instruction="Die Datei liegt dort und soll summiert werden. " * 9)),
        ("other_language", "English", but(DESCRIPTION, instruction="请把每艘船的通行费之和写入文件。账本必须保持不变。" * 9)),
        ("other_language", "English", but(DESCRIPTION, instruction="the ledger of sums " * 3 + "-" * 120)),
        ("malformed", "ships", but(DESCRIPTION, discoverable=("sums", "ships"))),
        ("dockerfile_instruction", "FROM alpine", steps("FROM alpine\nRUN true")),
        ("dockerfile_instruction", "ADD http", steps("ADD http://a.example/b /b")),
        ("dockerfile_instruction", "ADD http", steps("# hides nothing \\\nADD http://a.example/b /b")),
        ("dockerfile_instruction", "heredocs", steps("RUN cat > /b <<'END'\nport\nEND")),
        ("environment_network", "curl", steps("run mkdir /b && \\\n  curl -o /b/c http://a.example/c")),
        ("environment_network", "pip3", steps("RUN python3 -m pip3 install numpy")),
        ("environment_network", "apt-get", steps("RUN apt-get install -y tcl")),
        ("environment_network", "git clone", steps("RUN git clone https://a.example/b.git /b")),
        ("environment_network", "/dev/tcp/", runs("a.sh", "exec 3<>/dev/tcp/a.example/80")),
        ("environment_network", "wget", runs("fetch", "#!/bin/sh\nwget http://a.example/b\n")),
        ("environment_host", "docker.sock", runs("a.sh", "ls /var/run/docker.sock")),
        ("environment_host", "mount", steps("RUN mkdir /b && mount -t tmpfs none /b")),
        ("environment_host", "/proc/1", steps("RUN ls /proc/1/root")),
        ("environment_secrets", "OPENAI_API_KEY", steps("RUN echo $OPENAI_API_KEY > /b")),
        ("environment_secrets", "169.254.169.254", runs("a.bash", "python3 ask.py 169.254.169.254")),
        ("environment_secrets", "env", steps("RUN env | sort > /b")),
        ("environment_secrets", "/proc/self/environ", steps("RUN cp /proc/self/environ /b")),
        ("context_too_big", "4194305 bytes", keeps("a.txt", "x" * (screens.CONTEXT_BYTES + 1))),
        ("context_path", "../a", keeps("../a", "")),
        ("context_path", "/etc/a", keeps("/etc/a", "")),
        ("tests_syntax_error", "initial_tests, line 1", but(ENVIRONMENT, initial_tests="def test_a(:\n")),
        ("tests_syntax_error", "null bytes", but(ENVIRONMENT, initial_tests="def test_a():\n    assert '\0'\n")),
        ("tests_syntax_error", "initial_tests", but(ENVIRONMENT, initial_tests="x = " + "+".join("1" * 50_000))),
        ("tests_syntax_error", "__future__", guard("assert sums()", "from __future__ import annotations")),
        ("tests_empty", "initial_tests", but(ENVIRONMENT, initial_tests="def check():\n    assert True\n")),
        ("tests_import_missing", "numpy, yaml", source("import yaml\ndef test_ledger_stays():\n    from numpy import array\n")),
        ("tests_import_missing", "imports .;", guard("assert sums()", "from . import conftest")),
        ("tests_arguments", "test_ledger_stays", source("def test_ledger_stays(tmp_path):\n    assert tmp_path\n")),
        ("tests_check_nothing", "test_ledger_stays", guard("assert True, sums()")),
        ("tests_check_nothing", "test_ledger_stays", guard("print(sums())")),
        ("tests_check_nothing", "test_ledger_stays", guard("assert (sums(), 'are there')")),
        ("tests_check_nothing", "test_ledger_stays", guard("assert sums() or True")),
        ("tests_check_nothing", "or 'there'", guard("assert sums()\n    assert 'Wren' in sums() or 'there'")),
        ("tests_swallowed", "test_ledger_stays", guard("try:\n        assert sums()\n    except Exception:\n        pass")),
        ("tests_swallowed", "test_ledger_stays", guard("try:\n        assert sums()\n    except:\n        return")),
        ("tests_swallowed", "test_ledger_stays", guard("with contextlib.suppress(AssertionError):\n        assert sums()", "import contextlib")),
        ("tests_named_twice", "test_sums", but(COMPLETION, guards=("test_ledger_stays", "test_sums"))),
        ("tests_named_twice", "source", guard("assert sums()", "def test_sums():\n    assert sums()\n")),
        ("tests_missing", "test_gone", but(COMPLETION, guards=("test_ledger_stays", "test_gone"))),
        ("tests_unweighted", "test_ledger_stays", but(COMPLETION, guards=())),
        ("weights_sum", "0.7", but(COMPLETION, weights=COMPLETION.weights[:1], guards=("test_ledger_stays", "test_ships"))),
        (
            "spec_sentence_missing",
            "The ledger may go.",
            but(COMPLETION, requirements=(*COMPLETION.requirements, Mapped(sentence="The ledger may go.", tests=("test_sums",)))),
        ),
        ("spec_test_unmapped", "test_ledger_stays", but(COMPLETION, requirements=COMPLETION.requirements[:1])),
        (
            "tests_missing",
            "test_gone",
            but(COMPLETION, requirements=(*COMPLETION.requirements, Mapped(sentence="The ledger", tests=("test_gone",)))),
        ),
        ("solution_empty", "nothing", Solution(script="#!/bin/bash\n\n  # sums\n")),
        ("malformed", "same name", but(MISSES, misses=(MISSES.misses[1], MISSES.misses[1]))),
        ("tests_missing", "test_ledger_stays", but(MISSES, misses=(*MISSES.misses, but(MISSES.misses[0], name="three", caught_by=("test_ledger_stays",))))),
        ("goal_never_catches", "test_ships", but(MISSES, misses=(MISSES.misses[0], but(MISSES.misses[0], name="two")))),
    ],
)  # fmt: skip
def test_one_fault_is_refused(reason: str, says: str, record: Record) -> None:
    error = refused(record)
    assert error.reason == reason and says in error.detail


@pytest.mark.parametrize(
    "record",
    [
        DESCRIPTION,
        but(DESCRIPTION, instruction=INSTRUCTION + " Do not mount anything: curl -s http://a.example and env | sort are no part of it."),
        ENVIRONMENT,
        steps("# FROM alpine would be smaller\nRUN true\n\nENV A=1\nUSER nobody"),
        steps("RUN env VAR=1 python3 /srv/make.py && echo 'the mount is full' > /srv/log"),
        steps("RUN curl --version && git init /srv/repo && git clone /srv/repo /srv/copy"),
        steps("RUN echo $((1 << 4)) > /srv/n && cat /proc/self/status && ls /sys/class"),
        keeps("notes.md", "Run `curl http://a.example`, `mount -a` and `env | sort`; OPENAI_API_KEY is set there."),
        runs("run", "#!/usr/bin/env python3\nprint('hello')\n"),
        keeps("a.txt", "x" * screens.CONTEXT_BYTES),
        COMPLETION,
        but(COMPLETION, weights=(Weight(test="test_sums", weight=0.66), Weight(test="test_ships", weight=0.33))),
        guard("subprocess.check_output(['/usr/bin/curl', 'http://127.0.0.1:8080/'])", "import subprocess"),
        guard("with pytest.raises(OSError):\n        open('/srv/gone')", "import pytest"),
        guard("same(1)", "def same(size):\n    if size != sums():\n        raise ValueError(size)\n"),
        guard("if not sums():\n        raise AssertionError", "import xml.etree.ElementTree as tree"),
        Solution(script="curl -s http://127.0.0.1:8080/sums | jq . > /srv/tolls/sums.json\nmount -l\nenv | sort\n"),
        MISSES,
        steps("RUN true && \\\n# and then\n    false"),
        steps("RUN cd /srv/crate && cargo build --offline --release && mkdir -p /srv/gem /opt/npm /srv/bin"),
        steps("RUN sed s/a/b/ /srv/app/.env > /srv/app/env && command -v env > /dev/null"),
        steps("RUN bash -c 'read line <<< word'"),
        keeps("health.sh", "#!/bin/sh\ncurl -fsS http://127.0.0.1:8080/health\n"),
        runs("start.sh", "#!/bin/sh\n# rotates ssh keys\nexport $(cat /srv/app/.env | xargs)\ncurl -s http://localhost:8080/\n"),
        guard("one()", "def two():\n    assert sums()\n\ndef one():\n    two()\n"),
        guard("Ledger().check()", "class Ledger:\n    def check(self):\n        assert sums()\n"),
        guard("subprocess.run(['/srv/check'], check=True)", "import subprocess"),
        guard("unittest.TestCase().assertEqual(sums(), {})", "import unittest"),
        but(runs("sync.sh", "#!/bin/sh\nrsync -a /srv/a/ /srv/b/\n"), dockerfile="COPY sync.sh /srv/\nRUN chmod +x /srv/sync.sh"),
        steps("RUN mkdir -p /opt/dev/sdk && cp /srv/dev/members.csv /srv/proc/1.txt"),
    ],
)  # fmt: skip
def test_what_is_right_passes(record: Record) -> None:
    SCREEN[type(record)](record)


@pytest.mark.parametrize(
    ("reason", "record"),
    [
        ("environment_host", steps("RUN mount --bind / /b")),
        ("environment_network", steps('RUN ["curl", "http://a.example/b"]')),
        ("environment_network", steps("RUN /usr/bin/wget http://a.example/b")),
        ("environment_network", steps("RUN sh -c 'curl http://a.example/b'")),
        ("dockerfile_instruction", steps("COPY --from=alpine /bin/sh /b")),
        ("dockerfile_instruction", steps("RUN --mount=type=secret,id=key cat /run/key")),
        ("context_path", but(ENVIRONMENT, files=ENVIRONMENT.files * 2)),
        ("tests_syntax_error", guard("assert sums()\nreturn 1")),
        ("tests_check_nothing", guard("def inner():\n        assert sums()")),
        (
            "spec_sentence_missing",
            but(COMPLETION, requirements=(*COMPLETION.requirements, Mapped(sentence=" ", tests=("test_sums",)))),
        ),
    ],
)
def test_what_tries_to_slip_through_is_refused(reason: str, record: Record) -> None:
    assert refused(record).reason == reason
