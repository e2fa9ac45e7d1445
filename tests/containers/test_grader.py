"""The grader: nothing of the sandbox is believed, and what goes wrong with it is invalid, never 0."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from containers.engines.bubblewrap.engine import BubblewrapEngine, BubblewrapSandbox
from containers.grading.groups import GraderGroups
from containers.grading.score import score
from containers.linux import cgroups
from containers.sandbox import GradeRequest, GradeResult, TestResult
from generators.task import CompletionTests, Limits, TestSpec
from tests.toys import toy

LIMITS = Limits(memory_mb=256, disk_mb=64, pids=64)


@pytest.fixture
def sandbox(engine: BubblewrapEngine) -> Iterator[BubblewrapSandbox]:
    with engine.start(engine.build(toy().image, LIMITS), LIMITS) as opened:
        yield opened


def graded(sandbox: BubblewrapSandbox, source: str, timeout: float = 20.0) -> GradeResult:
    return sandbox.grade(GradeRequest(source, timeout=timeout))


def passes(sandbox: BubblewrapSandbox, body: str) -> None:
    result = graded(sandbox, f"def test_it():\n    {body}\n")
    assert result.valid and result.tests[0].passed, result


def test_outcomes_come_with_the_failing_line(sandbox: BubblewrapSandbox) -> None:
    result = graded(sandbox, "def test_a():\n    assert 1 == 2\n\ndef test_b():\n    pass\n")
    assert [(test.name, test.passed) for test in result.tests] == [("test_a", False), ("test_b", True)]
    assert "assert 1 == 2" in result.tests[0].message


def test_a_skip_is_not_a_pass(sandbox: BubblewrapSandbox) -> None:
    assert not graded(sandbox, "import pytest\ndef test_a():\n    pytest.skip('no')\n").tests[0].passed


def test_leaving_the_interpreter_is_a_crash_not_a_pass(sandbox: BubblewrapSandbox) -> None:
    result = graded(sandbox, "import os\ndef test_a():\n    os._exit(0)\n")
    assert (result.valid, result.reason) == (False, "grader_crashed")


def test_raising_system_exit_fails_one_test_only(sandbox: BubblewrapSandbox) -> None:
    result = graded(sandbox, "def test_a():\n    raise SystemExit(0)\n\ndef test_b():\n    pass\n")
    assert [test.passed for test in result.tests] == [False, True]


def test_a_module_that_raises_fails_every_test(sandbox: BubblewrapSandbox) -> None:
    result = sandbox.grade(GradeRequest("1 / 0\ndef test_a(): pass\n", ("test_a",)))
    assert result.valid and not result.tests[0].passed and "ZeroDivisionError" in result.tests[0].message


def test_a_deadline_is_invalid(sandbox: BubblewrapSandbox) -> None:
    result = graded(sandbox, "import time\ndef test_a():\n    time.sleep(30)\n", timeout=0.5)
    assert (result.valid, result.reason) == (False, "grader_deadline")


def test_a_pipe_without_a_writer_is_a_deadline(sandbox: BubblewrapSandbox) -> None:
    sandbox.exec("mkfifo /srv/sum.txt", timeout=10)
    assert graded(sandbox, "def test_a():\n    open('/srv/sum.txt').read()\n", timeout=0.5).reason == "grader_deadline"


def test_out_of_memory_is_invalid(sandbox: BubblewrapSandbox, engine: BubblewrapEngine) -> None:
    if "memory" not in engine.hierarchy.roots:
        pytest.skip("no memory control group on this machine")
    result = graded(sandbox, "def test_a():\n    x = bytearray(1 << 30)\n")
    assert (result.valid, result.reason) == (False, "grader_killed_9")


FEW = "import os; assert len(os.listdir('/proc/self/fd')) == 5, [os.readlink(f'/proc/self/fd/{fd}') for fd in range(3, 32)]"


def test_a_grading_has_no_descriptors_of_others(
    sandbox: BubblewrapSandbox, engine: BubblewrapEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three of its own, one for results, and that of the list itself; also where the process that grades is not made ahead."""
    passes(sandbox, FEW)
    monkeypatch.setattr(engine, "groups", GraderGroups(cgroups.Hierarchy(1, {}), "none"))
    passes(sandbox, FEW)


def test_a_grading_that_is_given_up_does_not_harm_the_next(engine: BubblewrapEngine) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    built = engine.build(toy().image, LIMITS)
    before = signal.signal(signal.SIGALRM, stop)
    try:
        for _ in range(3):
            with engine.start(built, LIMITS) as sandbox, pytest.raises(KeyboardInterrupt):
                signal.setitimer(signal.ITIMER_REAL, 0.3)
                graded(sandbox, "import time\ndef test_a():\n    time.sleep(20)\n")
            with engine.start(built, LIMITS) as sandbox:
                passes(sandbox, "pass")
    finally:
        signal.signal(signal.SIGALRM, before)


def test_one_that_was_killed_while_it_waited_is_replaced(sandbox: BubblewrapSandbox, engine: BubblewrapEngine) -> None:
    if not engine.hierarchy.roots or os.geteuid():
        pytest.skip("only root's are made ahead, and are told from others by control groups")
    passes(sandbox, "pass")
    time.sleep(0.5)  # until the next one waits
    groups = [group for name, group in cgroups.find(engine.hierarchy).items() if "-grader-" in name]
    waiting = [pid for group in groups for pid in group.pids() if own_namespace(pid)]
    for pid in waiting:
        os.kill(pid, signal.SIGKILL)
    assert waiting
    time.sleep(0.5)  # until they have ended
    passes(sandbox, FEW)


def test_each_grading_has_a_network_of_its_own(sandbox: BubblewrapSandbox) -> None:
    """By a network's cookie and by what stays in memory of an IPC namespace: the kernel gives a name in /proc again when its
    namespace is gone."""
    cookie = "import socket; print(int.from_bytes(socket.socket().getsockopt(socket.SOL_SOCKET, 71, 8), 'little'))"
    source = (
        f"import ctypes, os\ndef test_a():\n    {cookie.replace('; print(', '; seen = (')}\n"
        "    queues = open('/proc/sysvipc/msg').read().count(chr(10)) - 1\n"
        "    assert ctypes.CDLL(None).msgget(0x7E57, 0o1666) >= 0\n"
        "    os.write(1, f'{seen} {queues}'.encode())\n"
    )
    agents = sandbox.exec(f'python3 -c "{cookie}"', timeout=20).stdout.decode().strip()
    seen = [graded(sandbox, source).log.split() for _ in range(3)]
    assert agents.isdigit()
    assert len({agents, *(network for network, _ in seen)}) == 4, (agents, seen)
    assert [queues for _, queues in seen] == ["0"] * 3


def test_what_a_grading_held_is_in_no_memory_of_the_next(sandbox: BubblewrapSandbox) -> None:
    """They share an ancestor. What is looked for is known by its beginning and by a digest, so that the search finds no trace of itself."""
    marker = "needle-" + secrets.token_hex(16)
    held = graded(sandbox, f"def test_{marker.replace('-', '_')}():\n    assert {marker!r} == 'x' * 3000\n")
    assert held.valid and marker in held.tests[0].message
    passes(
        sandbox,
        "import ctypes, hashlib\n"
        "    for line in open('/proc/self/maps'):\n"
        "        place, rights = line.split()[:2]\n"
        "        first, last = (int(part, 16) for part in place.split('-'))\n"
        "        if rights[:2] != 'rw': continue\n"
        "        held = ctypes.string_at(first, last - first)\n"
        "        at = held.find(b'needle-')\n"
        "        while at >= 0:\n"
        f"            assert hashlib.sha256(held[at:at + {len(marker)}]).hexdigest() != {hashlib.sha256(marker.encode()).hexdigest()!r}, line\n"
        "            at = held.find(b'needle-', at + 1)",
    )


def own_namespace(pid: int) -> bool:
    """Whether it is process 1 of a process namespace of its own."""
    try:
        line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("NSpid:"))
    except OSError:
        return False
    return len(line.split()) > 2


def test_agents_processes_are_gone_first(sandbox: BubblewrapSandbox) -> None:
    sandbox.exec("setsid bash -c 'while :; do date +%N > /srv/alive; done' > /dev/null 2>&1 &", timeout=10)
    passes(sandbox, "import os; assert [p for p in os.listdir('/proc') if p.isdigit()] == ['1']")


def test_no_module_of_the_sandbox_is_imported(sandbox: BubblewrapSandbox) -> None:
    sandbox.exec(
        "echo 'raise SystemExit(0)' | tee /json.py /sitecustomize.py /usr/lib/python3.11/json/__init__.py", timeout=10
    )
    passes(sandbox, "import json; assert json.loads('[1]') == [1]")
    result = graded_again(sandbox)
    assert "ModuleNotFoundError" in result.tests[0].message


def graded_again(sandbox: BubblewrapSandbox) -> GradeResult:
    return graded(sandbox, "def test_a():\n    import planted\n")


def test_code_under_test_cannot_reach_the_grader(sandbox: BubblewrapSandbox) -> None:
    probe = "ls /proc/1/fd; cat /proc/1/environ /proc/1/mem; kill -9 1; echo x > /proc/1/fd/1; true"
    passes(
        sandbox,
        f"import subprocess; out = subprocess.run(['/bin/bash', '-c', {probe!r}], capture_output=True, text=True); "
        "assert not out.stdout.strip() and 'Permission denied' in out.stderr, out",
    )


def test_writing_to_every_descriptor_is_no_result(sandbox: BubblewrapSandbox) -> None:
    """A test may open what an agent made a link to one of them."""
    forged = json.dumps({"outcome": {"tests": [{"name": "test_a", "passed": True, "message": "", "seconds": 0}]}})
    result = graded(
        sandbox,
        "import os\ndef test_a():\n    for fd in range(3, 64):\n        try:\n"
        f"            os.write(fd, {forged.encode()!r})\n        except OSError:\n            pass\n    assert False\n",
    )
    assert (result.valid, result.reason) == (False, "grader_crashed")


def test_a_low_port_can_be_served_where_root_may(sandbox: BubblewrapSandbox) -> None:
    passes(sandbox, "import socket; socket.create_server(('127.0.0.1', 80)).close()")


def test_tests_are_in_no_file(sandbox: BubblewrapSandbox) -> None:
    passes(
        sandbox,
        "import subprocess; marker = 'needle' + '-in-tests'; "
        "out = subprocess.run(['/bin/grep', '-rl', marker, '/tmp', '/srv', '/root', '/proc/1/cmdline', '/proc/1/maps'], capture_output=True); "
        "assert not out.stdout",
    )


def test_a_service_can_be_started_and_spoken_to(sandbox: BubblewrapSandbox) -> None:
    passes(
        sandbox,
        "import subprocess, urllib.request, time; server = subprocess.Popen(['/usr/bin/python3', '-m', 'http.server', '8123', '--bind', '127.0.0.1'], cwd='/srv'); "
        "time.sleep(1.5); assert b'143' in urllib.request.urlopen('http://127.0.0.1:8123/numbers.txt').read()",
    )


def test_a_sandbox_whose_keeper_was_killed_is_still_graded(sandbox: BubblewrapSandbox) -> None:
    sandbox.exec("echo 600851475143 > /srv/sum.txt; kill -9 2", timeout=10)
    assert score(toy().completion_tests, sandbox.grade(GradeRequest(toy().completion_tests.source))).binary == 1


TESTS = CompletionTests(
    source="x",
    tests=(
        TestSpec(name="test_a", weight=0.7),
        TestSpec(name="test_b", weight=0.3),
        TestSpec(name="test_g", guard=True),
    ),
)


@pytest.mark.parametrize(
    ("passed", "weighted", "binary"),
    [("abg", 1.0, 1), ("ag", 0.7, 0), ("bg", 0.3, 0), ("ab", 0.0, 0), ("g", 0.0, 0), ("", 0.0, 0)],
)
def test_scores(passed: str, weighted: float, binary: int) -> None:
    results = tuple(TestResult(f"test_{name}", True) for name in passed)
    outcome = score(TESTS, GradeResult(results))
    assert (outcome.weighted, outcome.binary, outcome.valid) == (weighted, binary, True)


def test_an_invalid_grading_has_no_score() -> None:
    assert not score(TESTS, GradeResult((), "grader_deadline")).valid
