"""From start to close: nothing is left, nothing is used afterwards, and many live side by side."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from containers.sandbox import BuiltImage, Engine, PutFile, Sandbox
from containers.state import default_state
from generators.errors import SandboxFault
from tests.containers.conformance.common import LIMITS, await_sleeps, on_host, said


def test_doctor_shows_every_gap(any_engine: Engine) -> None:
    shown = {line.name: line for line in any_engine.probe()}
    for gap in any_engine.gaps():
        assert not shown[gap.feature].ok and shown[gap.feature].remedy


def test_closing_twice_is_closing_once(any_engine: Engine, built: BuiltImage) -> None:
    sandbox = any_engine.start(built, LIMITS)
    sandbox.close()
    sandbox.close()


@pytest.mark.parametrize("use", ["exec", "put", "get", "changed_paths"])
def test_what_was_closed_cannot_be_used(any_engine: Engine, built: BuiltImage, use: str) -> None:
    sandbox = any_engine.start(built, LIMITS)
    sandbox.close()
    with pytest.raises(SandboxFault):
        _use(sandbox, use)


def _use(sandbox: Sandbox, what: str) -> None:
    match what:
        case "exec":
            sandbox.exec("true", timeout=5)
        case "put":
            sandbox.put([PutFile("/tmp/x", b"x")])
        case "get":
            sandbox.get("/etc/passwd")
        case _:
            sandbox.changed_paths()


def test_no_process_mount_or_descriptor_is_left(any_engine: Engine, built: BuiltImage) -> None:
    mark = f"57.{os.getpid()}"

    def live() -> None:
        sandbox = any_engine.start(built, LIMITS)
        command = f"for i in 1 2; do setsid sleep {mark} > /dev/null 2>&1 & done; {await_sleeps(2)}"
        assert sandbox.exec(command, timeout=20).exit_code == 0
        assert on_host(mark.encode())
        sandbox.close()
        assert not on_host(mark.encode())

    live()  # what an engine opens once and keeps
    before, mounts = _descriptors(), _mounts()
    for _ in range(4):
        live()
    assert _descriptors() - before < 4  # connections to a daemon are pooled; one for each sandbox would be a leak
    assert _mounts() == mounts


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def _mounts() -> list[str]:
    """Mounts of ours that this machine sees; what other programs mount meanwhile does not matter."""
    home = f"{default_state().home}/"
    return [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if home in line]


def tried(work: Callable[[], str]) -> str:
    """A busy daemon at times loses what a short program says: a fault, which whoever uses sandboxes tries again."""
    for _ in range(2):
        with contextlib.suppress(SandboxFault):
            return work()
    return work()


def test_eight_at_once(any_engine: Engine, built: BuiltImage) -> None:
    everybody = threading.Barrier(8, timeout=60)

    def live(number: int) -> str:
        with any_engine.start(built, LIMITS) as sandbox:
            everybody.wait()  # all eight are there
            sandbox.put([PutFile("/srv/number", str(number).encode())])
            results = [
                tried(lambda turn=turn: said(sandbox, f"echo $(( $(cat /srv/number) * {turn} ))")) for turn in range(3)
            ]
            return ",".join([*results, sandbox.get("/srv/number").decode()])

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(live, range(8))) == [f"0,{n},{2 * n},{n}" for n in range(8)]


def test_one_sandbox_serves_several_threads(sandbox: Sandbox) -> None:
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda n: said(sandbox, f"sleep 0.1; echo {n}"), range(8))) == [
            str(n) for n in range(8)
        ]
