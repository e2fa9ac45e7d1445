"""Tasks as directories in Harbor's format (schema 1.4), which Harbor and what reads its format run as they are.

A task's tests/ and solution/ are privileged: they hold what the agent must not see. The truth, the near misses and the other
solutions are not written at all. The same tasks give the same bytes and modes.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import tomli_w

from containers import dockerfile
from containers.state import storage
from generators.digest import digest_of, sha256_hex
from generators.errors import TaskError, UsageError
from generators.evidence import Evidence
from generators.task import Task

MARK = ".termforge-export.json"
FORMAT = "harbor-1"  # of what is written; raise it when the bytes of a task change
AGENT_SECONDS = 1800.0  # at least: a language model thinks longer than its commands run
_AGENT_FACTOR = 10  # times what the reference solution may take
_GRADER_START_SECONDS = 30
_IMAGE_MB = 4096  # providers count the image as storage
_TAKEN = ("Dockerfile", "docker-compose.yaml")  # files of environment/ that Harbor reads itself
_STRIPPED = re.compile(r"\s*(<!--.*canary.*-->|#.*canary.*)", re.IGNORECASE)
_TEST = """\
#!/bin/sh
# Grades what is there, with the image's own interpreter and nothing that was put beside it. No python3: no reward.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
cd / || exit 1
for python in /usr/bin/python3 /usr/local/bin/python3; do
  [ -x "$python" ] && exec "$python" -I -S -B /tests/grade.py
done
echo "this image has no python3: no reward" >&2
exit 1
"""
_README = """\
# Tasks of Termforge for Harbor

A directory per task; `harbor run -p . -a oracle` solves each with its reference solution. `tests/` and `solution/` of every task are
privileged: they hold what the agent must not see, and Harbor shows them to it only when the work is over. Nothing of them
belongs into prompts, images or training data. `tests/` needs no network: it runs by the python3 of the task's image.

The reward is 1 where every test passes, else 0; `reward-details.json` holds the weighted score and each test's outcome. With
`--ve TERMFORGE_REWARD=weighted` the reward is the weighted score (Harbor then computes no pass@k).
"""


@dataclass(frozen=True)
class File:
    """A file to write, below the folder."""

    path: str
    data: bytes
    mode: int = 0o644


def task_files(task: Task, evidence: Evidence | None, split: str) -> list[File]:
    """All files of a task's directory, below its id.

    Raises:
        TaskError: it cannot be said in this format.
    """
    if bad := [file.path for file in task.image.files if file.path.split("/")[0] in _TAKEN]:
        raise TaskError(
            f"task {task.id} cannot be a Harbor task: its build context holds {bad[0]}, which Harbor reads itself"
        )
    user = _user(task)
    tests = task.completion_tests
    spec = {
        "task": task.id,
        "digest": task.digest,
        "user": user,
        "goals": {goal.name: goal.weight for goal in tests.goals},
        "guards": [guard.name for guard in tests.guards],
    }
    grading, own = files("containers.grading"), files("pipeline.exchange")
    found = [
        File("task.toml", tomli_w.dumps(config(task, evidence, split, user)).encode()),
        File("instruction.md", _instruction(task.instruction).encode()),
        File("environment/Dockerfile", task.image.dockerfile.encode()),
        *(File(f"environment/{file.path}", file.data(), file.mode) for file in task.image.files),
        File("tests/test.sh", _TEST.encode(), 0o755),
        File("tests/grade.py", own.joinpath("harbor_grade.py").read_bytes()),
        File("tests/runner.py", grading.joinpath("runner.py").read_bytes()),
        File("tests/modules.py", grading.joinpath("modules.py").read_bytes()),
        File("tests/test_outputs.py", tests.source.encode()),
        File("tests/weights.json", _json(spec)),
    ]
    if task.solution:
        script = task.solution if task.solution.startswith("#!") else f"#!/bin/bash\n{task.solution}"
        found.append(File("solution/solve.sh", script.rstrip("\n").encode() + b"\n", 0o755))
    return [File(f"{task.id}/{file.path}", file.data, file.mode) for file in found]


def config(task: Task, evidence: Evidence | None, split: str, user: str) -> dict[str, Any]:
    """What task.toml says."""
    axes, limits = task.axes.model_dump(mode="json", exclude_none=True), task.limits
    return {
        "schema_version": "1.4",
        "task": {
            "name": f"termforge/{task.id}",
            "description": task.title,
            "keywords": list(dict.fromkeys([axes["domain"], axes["difficulty"], axes["verifier"], *axes["skills"]])),
        },
        "metadata": {
            "digest": task.digest,
            "difficulty": axes["difficulty"],
            "split": split,
            "family": task.provenance.family,
            "writer": task.provenance.writer,
            "solve_seconds": limits.solve_seconds,
            "guards": [guard.name for guard in task.completion_tests.guards],
            "weights": {goal.name: goal.weight for goal in task.completion_tests.goals},
            "axes": axes,
            "evidence": _evidence(evidence),
            "harbor": {"lint": {"ignore": ["shared-verifier"]}},  # tests look at the container that the agent leaves
        },
        "agent": {
            "timeout_sec": max(AGENT_SECONDS, float(_AGENT_FACTOR * limits.solve_seconds)),
            **({} if user == "root" else {"user": user}),
        },
        "verifier": {
            "timeout_sec": float(limits.grade_seconds + _GRADER_START_SECONDS),
            "user": "root",
            "environment_mode": "shared",
        },
        "environment": {
            "build_timeout_sec": float(limits.build_seconds),
            "network_mode": "no-network",
            "cpus": int(limits.cpus) if limits.cpus.is_integer() else limits.cpus,
            "memory_mb": limits.memory_mb,
            "storage_mb": limits.disk_mb + _IMAGE_MB,
        },
    }


def write_harbor(chosen: Sequence[tuple[Task, Evidence | None, str]], folder: Path) -> str:
    """Write tasks (with evidence and split) into a folder; the digest of all that was written.

    A folder that is there must be empty, or hold an earlier export and nothing else: that is replaced, whole or not at all.

    Raises:
        UsageError: the folder holds something else.
        TaskError: a task does not fit the format.
        StorageError: it cannot be written.
    """
    check_target(folder)
    found = [File("README.md", _README.encode())]
    for task, evidence, split in sorted(chosen, key=lambda item: item[0].id):
        found += task_files(task, evidence, split)
    digest = digest_of([FORMAT, *sorted([file.path, file.mode, sha256_hex(file.data)] for file in found)])
    names = sorted({file.path.split("/")[0] for file in found})
    found.append(File(MARK, _json({"format": FORMAT, "digest": digest, "written": names})))
    part, old = (folder.with_name(f".{folder.name}.{word}") for word in ("part", "old"))
    with storage(f"writing {folder}"):
        for left in (part, old):
            shutil.rmtree(left, ignore_errors=True)
        for file in found:
            _write(part / file.path, file)
        if folder.exists():
            folder.rename(old)
        part.rename(folder)
        shutil.rmtree(old, ignore_errors=True)
    return digest


def check_target(folder: Path) -> None:
    """Whether a folder may be written to.

    Raises:
        UsageError: it is no folder, or holds what no export wrote.
    """
    with storage(f"looking at {folder}"):
        if not folder.exists():
            return
        if not folder.is_dir():
            raise UsageError(f"{folder} is not a folder")
        names = {path.name for path in folder.iterdir()}
        written = _written(folder / MARK)
    if names and written is None:
        raise UsageError(
            f"{folder} is not empty and holds no earlier export ({MARK}); name another folder, or empty it"
        )
    if others := sorted(names - (written or set()) - {MARK}):
        raise UsageError(f"{folder} holds {others[0]}, which the earlier export did not write; move it away first")


def _written(mark: Path) -> set[str] | None:
    """The names that an earlier export says it wrote; None where there was none."""
    try:
        value = json.loads(mark.read_bytes())
        return set(value["written"]) if str(value["format"]).startswith("harbor-") else None
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError):
        return None


def _write(path: Path, file: File) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(file.data)
    os.chmod(path, file.mode)


def _user(task: Task) -> str:
    """The image's user, as the Dockerfile names it.

    Raises:
        TaskError: the Dockerfile cannot be read.
    """
    named = [step.text for step in dockerfile.parse(task.image.dockerfile) if step.name == "USER"]
    return "root" if not named or named[-1].split(":")[0] in ("0", "root") else named[-1]


def _instruction(text: str) -> str:
    """Harbor takes leading lines that speak of a canary for marks and drops them: a comment before them keeps them."""
    return f"<!-- task -->\n{text}" if _STRIPPED.match(text) else text


def _evidence(evidence: Evidence | None) -> Mapping[str, Any]:
    """Which gates hold, and where that was found out; nothing that differs between two runs of a machine."""
    if evidence is None:
        return {"proven": False}
    verdicts = {
        verdict.gate.value: "holds" if verdict.holds else verdict.reason or "fails" for verdict in evidence.verdicts
    }
    return {
        "proven": evidence.proven,
        "suite": evidence.suite,
        "engine": evidence.engine,
        "base_digest": evidence.base_digest,
        "verdicts": verdicts,
    }


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, indent=1, ensure_ascii=False).encode() + b"\n"
