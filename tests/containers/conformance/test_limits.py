"""What a sandbox cannot use up. An engine that lacks a limit here says so beforehand."""

from __future__ import annotations

import re

import pytest

from containers.sandbox import BuiltImage, Engine, Feature, GradeRequest, Sandbox
from generators.task import Limits
from tests.containers.conformance.common import LIMITS, said
from tests.engines import needs

FORK = """
import os, signal
made = []
try:
    for _ in range(200):
        pid = os.fork()
        if pid == 0:
            signal.pause()
        made.append(pid)
except BlockingIOError:
    pass
for pid in made:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
print(len(made))
"""
SPIN = """
import os, time
began = time.monotonic()
for _ in range(3):
    if os.fork() == 0:
        while time.monotonic() - began < 1: pass
        os._exit(0)
for _ in range(3):
    os.wait()
used = os.times()
print((used.children_user + used.children_system) / (time.monotonic() - began))
"""


def test_memory(any_engine: Engine, sandbox: Sandbox) -> None:
    needs(any_engine, Feature.MEMORY_LIMIT)
    assert sandbox.exec("python3 -c 'x = bytearray(400 << 20)'", timeout=30).exit_code == 137
    assert said(sandbox, "echo alive") == "alive"


def test_memory_files_count_as_memory(any_engine: Engine, sandbox: Sandbox) -> None:
    needs(any_engine, Feature.MEMORY_LIMIT)
    assert sandbox.exec("head -c 400M /dev/zero > /dev/shm/big", timeout=30).exit_code not in (0, None)


def test_processes(any_engine: Engine, sandbox: Sandbox) -> None:
    needs(any_engine, Feature.PROCESS_LIMIT)
    made = int(sandbox.exec(["python3", "-c", FORK], timeout=30).stdout)
    assert 20 < made <= LIMITS.pids + 20  # an engine may add what its own processes take
    assert sandbox.exec("echo alive", timeout=20).stdout == b"alive\n"


def test_a_fork_bomb_does_not_keep_its_sandbox_from_being_graded(any_engine: Engine, sandbox: Sandbox) -> None:
    needs(any_engine, Feature.PROCESS_LIMIT)
    sandbox.exec("bomb() { bomb | bomb & }; bomb; sleep 1", timeout=2)
    result = sandbox.grade(GradeRequest("def test_a():\n    pass\n", timeout=30))
    assert result.valid and result.tests[0].passed, result


@pytest.mark.parametrize("place", ["/tmp", "/srv/app/logs"])
def test_disk(any_engine: Engine, sandbox: Sandbox, place: str) -> None:
    needs(any_engine, Feature.DISK_LIMIT)
    result = sandbox.exec(f"head -c 64M /dev/zero > {place}/big", timeout=30, user="root")
    assert result.exit_code != 0 and re.search("No space left|Disk quota exceeded", result.stderr.decode())


def test_a_full_disk_does_not_keep_a_sandbox_from_being_graded(any_engine: Engine, sandbox: Sandbox) -> None:
    needs(any_engine, Feature.DISK_LIMIT)
    sandbox.exec("cat /dev/zero > /tmp/big", timeout=30)
    result = sandbox.grade(GradeRequest("def test_a():\n    pass\n", timeout=30))
    assert result.valid and result.tests[0].passed, result


def test_processors(any_engine: Engine, built: BuiltImage) -> None:
    needs(any_engine, Feature.CPU_LIMIT)
    half = Limits.model_validate(LIMITS.model_dump() | {"cpus": 0.5})
    with any_engine.start(built, half) as sandbox:
        share = float(sandbox.exec(["python3", "-c", SPIN], timeout=30).stdout)
    assert share < 0.9  # three that spin get more of any machine with one core
