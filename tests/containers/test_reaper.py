"""kill -9 at any moment: nothing stays behind, and the next start clears what the kernel could not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from containers import reaper
from containers.engines.bubblewrap.engine import BubblewrapEngine
from containers.state import owner_is_alive, owner_name

VICTIM = """
import sys, time
from containers.engines.bubblewrap.engine import BubblewrapEngine
from generators.task import Limits
from tests.toys import toy
engine = BubblewrapEngine()
sandbox = engine.start(engine.build(toy().image, Limits()), Limits())
sandbox.exec("setsid sleep 4242 > /dev/null 2>&1 & until pgrep -x sleep; do :; done", timeout=10)
(engine.state.folder("tmp") / f"{engine.state.owner}-half-built").mkdir()
print(engine.state.owner, flush=True)
time.sleep(60)
"""


def running(text: bytes) -> list[str]:
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            found += [pid] if text in Path(f"/proc/{pid}/cmdline").read_bytes() else []
        except OSError:
            continue
    return found


def wait_until_gone(text: bytes, seconds: float = 5.0) -> None:
    deadline = time.monotonic() + seconds
    while running(text) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not running(text)


@pytest.mark.parametrize("whom", ["driver", "warden", "both"])
def test_nothing_survives_kill_9(engine: BubblewrapEngine, whom: str) -> None:
    victim = subprocess.Popen([sys.executable, "-c", VICTIM], stdout=subprocess.PIPE, text=True)
    assert victim.stdout is not None
    try:
        owner = victim.stdout.readline().strip()
        _kill(victim, whom)
        wait_until_gone(b"sleep\x004242")
    finally:
        victim.kill()
        victim.wait()
        victim.stdout.close()
    reaped = reaper.reap(engine.state, engine.warden, engine.ids, engine.hierarchy)
    assert reaped.folders >= 1
    left = [path for root in engine.hierarchy.folders for path in root.glob(f"{owner}-*")]
    assert not left + list(engine.state.folder("tmp").glob(f"{owner}-*"))


def _kill(victim: subprocess.Popen[str], whom: str) -> None:
    assert running(b"sleep\x004242")
    wardens = [pid for pid in running(b"containers.warden.server") if parent(pid) == victim.pid]
    for pid in wardens if whom != "driver" else []:
        os.kill(int(pid), signal.SIGKILL)
    if whom != "warden":
        victim.kill()


def parent(pid: str) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:  # it ended in between
        return -1


def test_what_a_living_run_uses_is_not_touched(engine: BubblewrapEngine) -> None:
    mine = engine.state.folder("tmp") / f"{owner_name()}-in-use"
    mine.mkdir(exist_ok=True)
    reaper.reap(engine.state, engine.warden, engine.ids, engine.hierarchy)
    assert mine.exists()
    mine.rmdir()


def test_owners_are_told_apart_by_start_time() -> None:
    assert owner_is_alive(owner_name()) and owner_is_alive(f"{owner_name()}-layer-3")
    assert not owner_is_alive(f"{os.getpid()}-12345") and not owner_is_alive("rubbish")
