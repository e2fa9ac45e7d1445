"""Supervision, with a shell script where verl's process would be: it measures steps as verl does, then fails, hangs, or goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from generators.errors import UsageError
from tests.toys import toy
from trainer import signals
from trainer.launch import Order, prepare
from trainer.presets import load_preset
from trainer.run import RunFolder, Status, read_lines
from trainer.supervise import Supervisor, last_error
from trainer.temporary import sweep

STEP = """
step() {
  printf '{"step": %d, "data": {"timing_s/step": 1.0, "actor/grad_norm": %s, "actor/pg_loss": 0.1}}\\n' $1 ${2:-0.5} >> "$VERL_FILE_LOGGER_PATH"
  mkdir -p "$TERMFORGE_RUN/checkpoints" && echo $1 > "$TERMFORGE_RUN/checkpoints/latest_checkpointed_iteration.txt"
}
"""


def supervisor(folder: Path, script: str, **sets: str) -> tuple[RunFolder, Supervisor, list[str]]:
    """A run of three steps by a script."""
    python = folder / "python"
    python.write_text(f"#!/bin/bash\n{STEP}{textwrap.dedent(script)}")
    python.chmod(0o755)
    preset = load_preset("smoke-cpu", {"steps": "3", **sets})
    order = Order(preset, {"train": [toy()]}, folder / "model", {"data_digest": "0"}, python=str(python))
    run, said = prepare(RunFolder(folder / "run"), order), list[str]()
    return run, Supervisor(run, order, said.append), said


def test_a_run_that_finishes_has_its_steps_its_report_and_nothing_left(tmp_path: Path) -> None:
    run, watched, said = supervisor(tmp_path, "sleep 300 & step 1; step 2; step 3")
    state = watched.train()
    assert (state.status, state.step) == (Status.FINISHED, 3)
    assert [line["step"] for line in read_lines(run.metrics)] == [1, 2, 3]
    assert len([line for line in said if line.startswith("step")]) == 3
    assert run.report.exists() and run.rollouts_table.exists()
    assert not list(Path("/tmp").glob(f"tf-{os.getpid()}-*"))
    assert (
        "sleep 300"
        not in subprocess.run(["ps", "-o", "args", "--ppid", str(os.getpid())], capture_output=True, text=True).stdout
    )


def test_a_run_that_fails_says_why_in_a_line(tmp_path: Path) -> None:
    _, watched, _ = supervisor(tmp_path, "step 1; echo 'torch.OutOfMemoryError: no memory'; exit 1")
    state = watched.train()
    assert (state.status, state.step) == (Status.FAILED, 1)
    assert state.reason.startswith("OutOfMemoryError: no memory")


@pytest.mark.parametrize(("phase", "limit"), [("rollout", "silent_seconds"), ("sync", "sync_seconds")])
def test_a_run_that_hangs_is_ended_with_a_reason(tmp_path: Path, phase: str, limit: str) -> None:
    script = f"step 1; printf {phase} > $TERMFORGE_RUN/phase; sleep 600"
    state = supervisor(tmp_path, script, **{f"watchdog.{limit}": "1.5"})[1].train()
    assert state.status is Status.STOPPED and state.reason.startswith("hang:") and phase in state.reason


def test_what_sandboxes_of_its_workers_left_is_removed(tmp_path: Path) -> None:
    program = "import os; from containers.engines.registry import open_engine; from tests.toys import toy; t = toy(); "
    program += "e = open_engine(); s = e.start(e.build(t.image, t.limits), t.limits); os.kill(os.getpid(), 9)"
    root = Path(__file__).resolve().parents[2]
    _, watched, _ = supervisor(
        tmp_path, f"(cd {root} && exec {sys.executable} -c '{program}') & echo $! > {tmp_path}/pid; wait; step 3"
    )
    assert watched.train().status is Status.FINISHED
    pid = int((tmp_path / "pid").read_text())
    assert not list(Path("/sys/fs/cgroup").rglob(f"termforge/{pid}-*"))


def test_a_gradient_that_is_no_number_ends_it(tmp_path: Path) -> None:
    _, watched, _ = supervisor(tmp_path, "step 1 NaN; sleep 600")
    state = watched.train()
    assert state.status is Status.STOPPED and state.reason.startswith("non_finite")


def test_what_was_measured_after_the_checkpoint_is_done_again(tmp_path: Path) -> None:
    run, watched, _ = supervisor(tmp_path, "step 1; step 2; exit 3")
    watched.train()
    (run.checkpoints / "latest_checkpointed_iteration.txt").write_text("1")
    _, again, _ = supervisor(tmp_path, "step 2; step 3")
    assert again.train().status is Status.FINISHED
    assert [line["step"] for line in read_lines(run.metrics)] == [1, 2, 3]
    assert [line["step"] for line in read_lines(run.verl_metrics)] == [1, 2, 3]


PROGRAM = """
import sys
from pathlib import Path
from tests.trainer.test_supervise import supervisor
run, watched, said = supervisor(Path(sys.argv[1]), sys.argv[2])
print(watched.train().model_dump_json())
"""


def started(folder: Path, script: str) -> subprocess.Popen[str]:
    """The same in a process of its own, in whose first step we are."""
    root = Path(__file__).resolve().parents[2]
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder), script],
        stdout=subprocess.PIPE,
        text=True,
        cwd=root,
        start_new_session=True,
    )
    while not (folder / "run" / "metrics.jsonl").exists():
        assert process.poll() is None
        time.sleep(0.05)
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_lets_the_step_end(tmp_path: Path, number: signal.Signals) -> None:
    waits = f"step 1; until [ -e $TERMFORGE_RUN/{'stop-after-step'} ]; do sleep 0.05; done; step 2"
    process = started(tmp_path, waits)
    process.send_signal(number)
    state = json.loads(process.communicate(timeout=60)[0])
    assert (state["status"], state["step"], state["reason"]) == ("stopped", 2, "stopped by its user")


def test_the_second_ends_it_now(tmp_path: Path) -> None:
    process = started(tmp_path, "step 1; sleep 600")
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    state = json.loads(process.communicate(timeout=60)[0])
    assert (state["status"], state["step"]) == ("stopped", 1)


def test_after_kill_9_the_next_run_sweeps_up(tmp_path: Path) -> None:
    process = started(tmp_path, "step 1; sleep 60")
    folder = next(Path("/tmp").glob(f"tf-{process.pid}-*"))
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert folder.exists()
    sweep()
    assert not folder.exists()
    subprocess.run(["pkill", "-9", "-f", str(tmp_path)], check=False)


def test_signals_are_given_and_taken_back(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    signals.note_phase(run, "update")
    assert signals.noted_phase(run) == "update"
    assert not signals.asked_to_stop(run)
    signals.ask_to_stop(run)
    assert signals.asked_to_stop(run)
    signals.forget(run)
    assert not signals.asked_to_stop(run) and signals.noted_phase(run) == "starting"


def test_no_run_and_no_log_are_said(tmp_path: Path) -> None:
    assert last_error(tmp_path / "log.txt") == ""
    with pytest.raises(UsageError, match="no training run"):
        RunFolder(tmp_path).state()


SEGMENT = """
import mmap, os, sys, time
file = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
os.ftruncate(file, 4096)
held = mmap.mmap(file, 4096)
time.sleep(600)
"""


def test_shared_memory_of_the_run_is_given_back(tmp_path: Path) -> None:
    segment = Path(f"/dev/shm/psm_{os.getpid()}")
    (tmp_path / "hold.py").write_text(SEGMENT)
    _, watched, _ = supervisor(
        tmp_path, f"{sys.executable} {tmp_path}/hold.py {segment} & sleep 7; [ -e {segment} ] && step 1; step 2; step 3"
    )
    state = watched.train()
    assert (state.status, state.step) == (Status.FINISHED, 3)
    assert not segment.exists()
