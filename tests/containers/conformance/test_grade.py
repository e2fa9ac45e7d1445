"""Grading, the same verdict in every engine: nothing of the sandbox is believed, and what goes wrong is invalid, never 0."""

from __future__ import annotations

import os
import secrets

import pytest

from containers.grading.score import score
from containers.sandbox import BuiltImage, Engine, Feature, GradeRequest, GradeResult, PutFile, Sandbox
from tests.containers.conformance.common import LIMITS, on_host
from tests.engines import needs
from tests.toys import SOLUTION, toy

RUN = "import subprocess\ndef run(command):\n    return subprocess.run(['/bin/bash', '-c', command], capture_output=True, text=True).stdout\n"


def graded(sandbox: Sandbox, source: str, timeout: float = 30.0) -> GradeResult:
    return sandbox.grade(GradeRequest(source, timeout=timeout))


def passes(sandbox: Sandbox, *body: str) -> None:
    result = graded(sandbox, RUN + "def test_it():\n" + "".join(f"    {line}\n" for line in body))
    assert result.valid and result.tests[0].passed, result


def test_outcomes_come_with_the_failing_line(sandbox: Sandbox) -> None:
    result = graded(sandbox, "def test_a():\n    assert 1 == 2\n\ndef test_b():\n    pass\n")
    assert [(test.name, test.passed) for test in result.tests] == [("test_a", False), ("test_b", True)]
    assert "assert 1 == 2" in result.tests[0].message


def test_only_named_tests_run_in_the_order_asked_for(sandbox: Sandbox) -> None:
    source = "def test_a(): pass\ndef test_b(): pass\ndef test_c(): 1 / 0\n"
    result = sandbox.grade(GradeRequest(source, ("test_c", "test_a"), timeout=30))
    assert [(test.name, test.passed) for test in result.tests] == [("test_c", False), ("test_a", True)]


@pytest.mark.parametrize(("script", "binary"), [(SOLUTION, 1), ("true", 0), ("echo 1 > /srv/sum.txt", 0)])
def test_a_task_is_scored(any_engine: Engine, script: str, binary: int) -> None:
    tests = toy().completion_tests
    with any_engine.start(any_engine.build(toy().image, LIMITS), LIMITS) as sandbox:
        sandbox.exec(script, timeout=20)
        result = score(tests, sandbox.grade(GradeRequest(tests.source, tuple(test.name for test in tests.tests))))
    assert (result.valid, result.binary, result.passed("test_kept")) == (True, binary, True)


def test_a_deadline_is_invalid_and_the_sandbox_can_be_graded_again(sandbox: Sandbox) -> None:
    mark = f"55.{os.getpid()}"
    body = (
        f"import subprocess, time\ndef test_a():\n    subprocess.Popen(['/bin/sleep', '{mark}'])\n    time.sleep(60)\n"
    )
    result = graded(sandbox, body, timeout=1.0)
    assert (result.valid, result.reason) == (False, "grader_deadline")
    assert not on_host(mark.encode())
    passes(sandbox, "pass")


def test_leaving_the_interpreter_is_a_crash_not_a_pass(sandbox: Sandbox) -> None:
    result = graded(sandbox, "import os\ndef test_a():\n    os._exit(0)\n")
    assert (result.valid, result.reason) == (False, "grader_crashed")


def test_a_killed_grader_is_invalid(sandbox: Sandbox) -> None:
    result = graded(sandbox, "import ctypes\ndef test_a():\n    ctypes.string_at(0)\n")
    assert not result.valid and result.reason.startswith("grader_")


def test_a_module_that_raises_fails_every_test(sandbox: Sandbox) -> None:
    result = sandbox.grade(GradeRequest("1 / 0\ndef test_a(): pass\n", ("test_a",), timeout=30))
    assert result.valid and not result.tests[0].passed and "ZeroDivisionError" in result.tests[0].message


def test_the_agents_processes_are_gone_first(sandbox: Sandbox) -> None:
    sandbox.exec(
        "setsid bash -c 'while :; do echo x > /srv/alive; rm -f /srv/alive; done' > /dev/null 2>&1 &", timeout=10
    )
    sandbox.exec("setsid nohup sleep 56 > /dev/null 2>&1 & kill -STOP $!", timeout=10)
    passes(
        sandbox,
        "import os, time",
        "seen = os.path.exists('/srv/alive'), os.stat('/srv').st_mtime_ns",
        "time.sleep(0.3)",
        "assert seen == (os.path.exists('/srv/alive'), os.stat('/srv').st_mtime_ns)",
        "others = set(filter(str.isdigit, os.listdir('/proc'))) - {str(os.getpid()), str(os.getppid()), '1'}",
        "assert not others, others",
    )


def test_killing_everything_inside_does_not_prevent_grading(sandbox: Sandbox) -> None:
    sandbox.exec("echo kept > /srv/kept; kill -9 -1", timeout=10, user="root")
    passes(sandbox, "assert open('/srv/kept').read() == 'kept\\n'")


def test_no_module_of_the_sandbox_is_imported(sandbox: Sandbox) -> None:
    sandbox.exec(
        "for f in /json.py /sitecustomize.py /usercustomize.py /conftest.py /usr/lib/python3.11/json/__init__.py "
        "/srv/app/logs/json.py /usr/lib/python3/dist-packages/sitecustomize.py; do "
        "echo 'raise SystemExit(0)' > $f; done; echo /tmp/planted.so > /etc/ld.so.preload",
        timeout=10,
        user="root",
    )
    passes(sandbox, "import json, sys", "assert json.loads('[1]') == [1] and 'sitecustomize' not in sys.modules")
    assert "ModuleNotFoundError" in graded(sandbox, "def test_a():\n    import planted\n").tests[0].message


def test_programs_that_tests_start_run_as_the_images_user(sandbox: Sandbox) -> None:
    sandbox.exec("printf '#!/bin/sh\\nid -u; id -G; echo $HOME' > /srv/mine; chmod 755 /srv/mine", timeout=10)
    passes(
        sandbox,
        "assert run('/srv/mine').split() == ['1000', '1000', '1500', '/home/ada']",
        "assert run('echo $WORD; hostname; grep NoNewPrivs /proc/self/status').split() == ['hello-there', 'sandbox', 'NoNewPrivs:', '1']",
        "assert run('cat /etc/shadow; touch /etc/x 2>&1') .startswith('touch')",
    )


def test_programs_that_tests_start_ignore_no_signal(sandbox: Sandbox) -> None:
    passes(sandbox, "assert int(run('grep SigIgn /proc/self/status').split()[1], 16) & 0x7FFFFFFF == 0")


def test_programs_under_test_cannot_reach_the_grader(sandbox: Sandbox) -> None:
    passes(
        sandbox,
        "out = run('for p in 1 $PPID; do ls /proc/$p/fd; cat /proc/$p/environ /proc/$p/mem; echo x > /proc/$p/fd/1; kill -9 $p; "
        "echo not-killed:$?; done 2>/dev/null').split()",
        "assert out == ['not-killed:1', 'not-killed:1'], out",
    )


def test_tests_and_their_truth_are_in_no_file_and_no_process(sandbox: Sandbox) -> None:
    half, other = secrets.token_hex(8), secrets.token_hex(8)
    places = "/tmp /var/tmp /srv /root /home /etc /run /dev/shm /opt /.[!.]* /proc/[0-9]*/cmdline /proc/[0-9]*/environ /proc/[0-9]*/fd/*"
    search = f'read -r a; timeout 20 grep -rlsa -D skip -e "$a" {places}; echo done'
    passes(
        sandbox,
        f"truth = '{half}{other}'",
        f"found = subprocess.run(['/bin/bash', '-c', {search!r}], input='{half}' + '{other}\\n', capture_output=True, text=True).stdout",
        "assert found.split() == ['done'], found",
    )


def test_there_is_no_network_while_grading(sandbox: Sandbox) -> None:
    passes(sandbox, "assert [line.split(':')[0].strip() for line in open('/proc/net/dev')][2:] == ['lo']")


def test_a_service_can_be_started_and_spoken_to(sandbox: Sandbox) -> None:
    passes(
        sandbox,
        "import socket, subprocess, time",
        "server = subprocess.Popen(['/usr/bin/python3', '-m', 'http.server', '8123', '--bind', '127.0.0.1'], cwd='/srv')",
        "deadline = time.monotonic() + 20",
        "while socket.socket().connect_ex(('127.0.0.1', 8123)) and time.monotonic() < deadline: time.sleep(0.02)",
        "import urllib.request",
        "assert b'app' in urllib.request.urlopen('http://127.0.0.1:8123/').read()",
    )


def test_what_a_test_prints_is_kept_for_the_log(sandbox: Sandbox) -> None:
    assert "said by a test" in graded(sandbox, "def test_a():\n    print('said by a test', flush=True)\n").log


def test_planted_links_are_followed_inside_only(sandbox: Sandbox, built: BuiltImage) -> None:
    sandbox.exec("ln -s /proc/1/root/etc/passwd /home/ada/link", timeout=10)
    passes(sandbox, "assert 'ada:x:1000' in open('/home/ada/link').read()")


def test_a_second_grading_sees_what_was_changed_after_the_first(any_engine: Engine, sandbox: Sandbox) -> None:
    needs(any_engine, Feature.REGRADING)
    read = "from pathlib import Path\ndef test_a():\n    assert Path('/tmp/word').read_text() == '{}'\n"
    sandbox.put([PutFile("/tmp/word", b"one")])
    assert graded(sandbox, read.format("one")).tests[0].passed
    sandbox.put([PutFile("/tmp/word", b"two")])
    assert graded(sandbox, read.format("two")).tests[0].passed
