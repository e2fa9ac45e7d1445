"""The command line as a user meets it: a process, its exit code, and what it says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from generators.task import Task
from tests.toys import SOLUTION, toy

TINY = (
    "name: tiny\nseed: 3\ncount: 3\nfamilies: [ledger_reconciliation]\ndifficulty: {easy: 34, medium: 33, hard: 33}\n"
)


def termforge(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pipeline.cli", *words]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **env}, timeout=300)


def save(folder: Path, *tasks: Task) -> Path:
    for task in tasks:
        (folder / f"{task.id}.json").write_text(task.canonical())
    return folder


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["build", "--recipe", "nothing"], 2, "there is no recipe 'nothing'"),
        (["build", "--count", "0"], 2, "count: Input should be greater than 0"),
        (["build", "--count", "100000"], 2, "beyond what"),
        (["build", "--family", "nothing", "--count", "1"], 2, "unknown family 'nothing'"),
        (["export", "--to", "/nowhere", "--split", "dev"], 2, "unknown split 'dev'"),
        (["export", "--to", "/nowhere", "--splits", "train=50"], 2, "sum to 50"),
        (["export", "--to", "/nowhere", "--splits", "train=many"], 2, "'many' is not a share"),
        (["show", "nothing", "--from", "/nowhere"], 2, "/nowhere does not exist"),
        (["prove", "/nowhere"], 2, "/nowhere does not exist"),
        (["solve", "x"], 2, "--shell"),
        (["frobnicate"], 2, "No such command"),
    ],
)
def test_wrong_usage_gets_one_line_and_a_code(words: list[str], code: int, says: str) -> None:
    result = termforge(*words)
    assert result.returncode == code, result.stderr
    assert says in result.stderr and "Traceback" not in result.stderr


def test_what_the_machine_lacks_is_said(tmp_path: Path) -> None:
    folder = save(tmp_path, toy())
    result = termforge("prove", str(folder), TERMFORGE_BWRAP="/nowhere/bwrap")
    assert result.returncode == 3 and "TERMFORGE_BWRAP names /nowhere/bwrap" in result.stderr


def test_an_unreachable_state_folder_is_said(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root maps ids that other folders may keep out")
    (tmp_path / "closed").mkdir(mode=0o700)
    result = termforge("prove", str(save(tmp_path, toy())), TERMFORGE_HOME=str(tmp_path / "closed" / "home"))
    assert result.returncode == 3 and "set TERMFORGE_HOME" in result.stderr


def test_no_user_namespaces_is_said(tmp_path: Path) -> None:
    """In a namespace of its own, where no further one may be made."""
    script = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
    command = [
        "unshare",
        "-Ur",
        "sh",
        "-c",
        script,
        "x",
        sys.executable,
        "-m",
        "pipeline.cli",
        "prove",
        str(save(tmp_path, toy())),
    ]
    if subprocess.run(
        [*command[:3], "-c", "echo 0 > /proc/sys/user/max_user_namespaces"], capture_output=True
    ).returncode:
        pytest.skip("no user namespaces to begin with")
    env = {**os.environ, "TERMFORGE_HOME": f"/var/tmp/termforge-no-userns-{os.getpid()}"}
    result = subprocess.run(command, capture_output=True, text=True, env=env)
    subprocess.run(["rm", "-rf", env["TERMFORGE_HOME"]], check=True)
    assert result.returncode == 3 and "user namespaces cannot be used here" in result.stderr, result.stderr


def test_no_mirror_is_said(tmp_path: Path) -> None:
    home = Path("/var/tmp") / f"termforge-test-{os.getpid()}"
    fake = tmp_path / "bin"
    fake.mkdir()
    (fake / "mmdebstrap").write_text("#!/bin/sh\necho 'E: cannot reach the mirror' >&2\nexit 1\n")
    (fake / "mmdebstrap").chmod(0o755)
    path = f"{fake}:{os.environ['PATH']}"
    result = termforge("prove", str(save(tmp_path, toy())), TERMFORGE_HOME=str(home), PATH=path)
    subprocess.run(["rm", "-rf", str(home)], check=True)
    assert result.returncode == 3 and "cannot reach the mirror" in result.stderr and "Traceback" not in result.stderr


def test_an_unwritable_output_is_said() -> None:
    result = termforge("export", "--from", str(Path(__file__).parent), "--to", "/proc/nowhere")
    assert result.returncode in (2, 4) and "Traceback" not in result.stderr


def test_a_full_disk_is_said(tmp_path: Path) -> None:
    if (
        os.geteuid() != 0
        or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(tmp_path)]).returncode
    ):
        pytest.skip("cannot mount a small file system here")
    try:
        source = save(Path("/var/tmp"), toy())
        (tmp_path / "fill").write_bytes(b"x" * 60_000)
        result = termforge("export", "--all", "--from", str(source / f"{toy().id}.json"), "--to", str(tmp_path / "out"))
        assert result.returncode == 4 and "No space left" in result.stderr and "free some space" in result.stderr
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)
        (Path("/var/tmp") / f"{toy().id}.json").unlink()


def test_prove_says_which_gate_fails(tmp_path: Path) -> None:
    good, bad = toy(), toy(solution="true # does nothing at all")
    result = termforge("prove", str(save(tmp_path, good, bad)), "--json", "--again")
    assert result.returncode == 1
    proofs = {proof["id"]: proof for proof in json.loads(result.stdout)}
    assert proofs[good.id]["proven"] and not proofs[bad.id]["proven"]
    assert proofs[bad.id]["verdicts"][-1]["reason"] == "solution_fails"


def test_an_edited_task_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(toy().canonical().replace("Write the sum", "Write a sum"))
    result = termforge("prove", str(tmp_path))
    assert result.returncode == 2 and "was edited" in result.stderr


def test_solve_by_script_and_show(tmp_path: Path) -> None:
    source = str(save(tmp_path, toy()))
    (tmp_path / "s.sh").write_text(SOLUTION)
    (tmp_path / "w.sh").write_text("echo 1 > /srv/sum.txt")
    solved = termforge("solve", toy().id, "--from", source, "--script", str(tmp_path / "s.sh"), "--json")
    wrong = termforge("solve", toy().id, "--from", source, "--script", str(tmp_path / "w.sh"), "--json")
    assert (solved.returncode, json.loads(solved.stdout)["weighted"]) == (0, 1.0)
    assert (wrong.returncode, json.loads(wrong.stdout)["weighted"]) == (1, 0.0)
    seen = termforge("show", "toy", "--from", source)
    assert toy().instruction.split(".")[0] in seen.stdout and "600851475143" not in seen.stdout
    assert "600851475143" in termforge("show", "toy", "--from", source, "--privileged").stdout


def test_schema_families_doctor_and_version_answer() -> None:
    assert json.loads(termforge("schema", "task").stdout)["title"] == "Task"
    assert len(json.loads(termforge("families", "--json").stdout)) >= 40
    doctor = termforge("doctor", "--json")
    assert doctor.returncode == 0 and {"bubblewrap", "user namespaces"} <= {
        item["name"] for item in json.loads(doctor.stdout)
    }
    assert termforge("--version").stdout.startswith("termforge")


def test_a_dry_run_does_nothing(tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text(TINY)
    result = termforge(
        "build", "--recipe", str(tmp_path / "tiny.yaml"), "--dry-run", "--json", "--to", str(tmp_path / "out")
    )
    plan = json.loads(result.stdout)
    assert (plan["tasks"], plan["difficulty"]) == (3, {"easy": 1, "hard": 1, "medium": 1})
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("how", "when"),
    [
        (signal.SIGINT, "proven: 1"),
        (signal.SIGKILL, "proven: 1"),
        pytest.param(signal.SIGINT, "drafts: 1", marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, "environments: 1", marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, "environments: 3", marks=pytest.mark.slow),
        pytest.param(signal.SIGKILL, "drafts: 1", marks=pytest.mark.slow),
        pytest.param(signal.SIGKILL, "environments: 1", marks=pytest.mark.slow),
        pytest.param(signal.SIGKILL, "proven: 3", marks=pytest.mark.slow),
    ],
)
def test_a_stopped_build_goes_on_where_it_was(tmp_path: Path, how: signal.Signals, when: str) -> None:
    """Stopped half way, the same command finishes; what was proven is not proven again, and nothing is left behind."""
    seed = time.time_ns() % 10**9  # nothing of this is proven yet
    (tmp_path / "tiny.yaml").write_text(TINY.replace("seed: 3", f"seed: {seed}"))
    words = ["build", "--recipe", str(tmp_path / "tiny.yaml"), "--to", str(tmp_path / "out"), "--json"]
    env = {**os.environ, "DAGSTER_HOME": str(tmp_path)}
    command = [sys.executable, "-m", "pipeline.cli", *words[:-1]]
    first = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env, start_new_session=True)
    assert first.stderr is not None
    for line in first.stderr:
        if line.startswith(when):
            (first.send_signal if how == signal.SIGKILL else partial(os.killpg, first.pid))(how)  # as a terminal does
            break
    rest = first.stderr.read()
    first.stderr.close()
    assert first.wait(60) == (130 if how == signal.SIGINT else -9), rest
    assert "Traceback" not in rest
    again = termforge(*words, DAGSTER_HOME=str(tmp_path))
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["funnel"]["published"] == 3
    assert (tmp_path / "out" / "tiny" / "train.parquet").is_file()
