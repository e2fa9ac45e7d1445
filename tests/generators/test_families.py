"""Every family: reproducible, well formed, varied. (That its tasks are solvable and so on is for the gates to say.)"""

from __future__ import annotations

import hashlib
import subprocess
import sys

import pytest

from containers.proof.spec import spec_problem
from generators.family import Family
from generators.overlap import jaccard, shingles
from generators.procedural import all_families, write_task
from generators.task import Task

SEED = 20_240
MAX_RECORD = 400_000


def tasks(family: Family, count: int = 8, seed: int = SEED) -> list[Task]:
    return [
        write_task(family, seed, serial, family.difficulties[serial % len(family.difficulties)])
        for serial in range(count)
    ]


@pytest.mark.parametrize("name", all_families())
def test_family(name: str) -> None:
    family = all_families()[name]
    written = tasks(family)
    assert [task.canonical() for task in tasks(family)] == [task.canonical() for task in written], "not reproducible"
    assert len({task.digest for task in written}) == len(written), "two serials give the same task"
    assert write_task(family, SEED + 1, 0, family.difficulties[0]).digest != written[0].digest, (
        "the seed changes nothing"
    )
    for task in written:
        assert spec_problem(task) is None
        assert len(task.canonical()) < MAX_RECORD
        assert task.alternatives and task.solution not in task.alternatives
    assert len({task.provenance.setting for task in written}) >= 4, "fewer than four settings"
    texts = [shingles(task.instruction) for task in written]
    worst = max(jaccard(one, other) for number, one in enumerate(texts) for other in texts[:number])
    assert worst < 0.8, "two tasks read alike"


def test_hash_seed_and_process_do_not_matter() -> None:
    """The same bytes from another process with another hash seed."""
    code = (
        "import hashlib; from tests.generators.test_families import tasks; from generators.procedural import all_families\n"
        "h = hashlib.sha256()\n"
        "for f in all_families().values():\n"
        "    for t in tasks(f, 3): h.update(t.canonical().encode())\n"
        "print(h.hexdigest())"
    )
    own = hashlib.sha256()
    for family in all_families().values():
        for task in tasks(family, 3):
            own.update(task.canonical().encode())
    env = {"PYTHONHASHSEED": "4242", "PATH": "/usr/bin:/bin", "TZ": "Asia/Kathmandu", "LANG": "tr_TR.UTF-8"}
    other = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert other.stdout.strip() == own.hexdigest()
