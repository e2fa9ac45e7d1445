"""Every attack of the library, on real sandboxes: none scores, none leaves a trace on the host or in another sandbox."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from containers.attacks.attack import Attack, targets
from containers.attacks.library import ATTACKS, ENGINE_ATTACKS, TASK_ATTACKS, named
from containers.attacks.table import LIMITS, Range, attack_table
from containers.attacks.tasks import USERS, small_task
from containers.attacks.witness import Witness
from containers.grading import runner
from containers.sandbox import Engine, PutFile


@pytest.fixture(scope="module")
def place(engine: Engine) -> Iterator[Range]:
    with Range(engine) as opened:
        yield opened


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_gains_nothing_and_harms_nobody(attack: Attack, place: Range) -> None:
    for user in USERS:
        row = place.fire(attack, user)
        assert row.held, row
    solved = place.solve("sum", USERS[0])
    assert solved.binary == 1, solved


@pytest.mark.slow
@pytest.mark.long
def test_attacks_gain_nothing_in_other_engines_either(other_engine: Engine) -> None:
    """Those on the engine; bait for tests is met there by whole tasks (test_same_everywhere.py)."""
    assert [row for row in attack_table(other_engine, ENGINE_ATTACKS) if not row.held] == []


@pytest.mark.parametrize("user", USERS)
def test_the_attacked_tasks_can_be_solved(user: str, place: Range) -> None:
    assert place.solve("sum", user).binary == place.solve("adder", user).binary == 1


def test_the_library_is_large_and_each_attack_says_what_it_breaks() -> None:
    assert len(ATTACKS) >= 64 and len({attack.name for attack in ATTACKS}) == len(ATTACKS)
    assert len({attack.breaks for attack in ATTACKS}) == len(ATTACKS)
    assert len(TASK_ATTACKS) + len(ENGINE_ATTACKS) == len(ATTACKS)
    assert {attack.on for attack in TASK_ATTACKS} == {"sum"}


def test_attacks_are_chosen_by_name() -> None:
    assert [attack.name for attack in named("sysrq, conftest")] == ["conftest", "sysrq"]
    with pytest.raises(KeyError, match="no such attack: nonsense"):
        named("nonsense,sysrq")


def test_targets_are_the_paths_that_an_instruction_names() -> None:
    assert targets(small_task("sum").instruction) == ["/srv/numbers.txt", "/srv/sum.txt"]


def test_a_right_answer_is_called_a_score(place: Range) -> None:
    row = place.fire(Attack("solves", "-", small_task("sum").solution), "root")
    assert (row.outcome, row.held) == ("SCORES 1", False)


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        ("touch /tmp/$MARK", "was made"),
        ("exec -a $MARK sleep 20 & sleep 0.1", "is left"),
        ("pkill -f $MARK-witness", "was ended"),
        ("exec 3<>/dev/tcp/127.0.0.1/$PORT", "listener"),
    ],
)
def test_a_witness_sees_what_reaches_the_host(harm: str, said: str) -> None:
    with Witness() as witness:
        assert witness.changes() == ()
        env = {"MARK": witness.mark, "PORT": str(witness.port), "PATH": "/usr/bin:/bin"}
        subprocess.run(["/bin/bash", "-c", harm], env=env, check=True)
        found = witness.changes()
        subprocess.run(["/usr/bin/pkill", "-f", f"^{witness.mark}"], check=False)
        Path("/tmp", witness.mark).unlink(missing_ok=True)
    assert len(found) == 1 and said in found[0], found


# What these break is broken in a grader that lives in the sandbox: they are no blanks.
AGAINST_PYTEST_INSIDE = [
    "conftest",
    "pytest_plugin",
    "sitecustomize",
    "path_files",
    "shadowed_modules",
    "replaced_standard_library",
    "bytecode",
    "python_shim",
    "path_shims",
    "undone_when_looked_at",
    "replaces_its_interpreter",
]


@pytest.mark.parametrize("name", AGAINST_PYTEST_INSIDE)
def test_an_attack_beats_a_grader_that_lives_in_the_sandbox(name: str, place: Range, engine: Engine) -> None:
    (attack,) = named(name)
    task, built = place.task(attack.on, "root")
    with engine.start(built, LIMITS) as sandbox:
        sandbox.exec(attack.script_for(targets(task.instruction)), timeout=10)
        sandbox.put([PutFile("/tests/test_outputs.py", task.tests.source.encode())])
        runs = [sandbox.exec("cd /tests && python3 -m pytest -q test_outputs.py", timeout=10) for _ in range(2)]
    assert 0 in [run.exit_code for run in runs], runs[-1].tail()


@pytest.mark.parametrize("name", ["reads_memory_of_parents", "searches_the_disk"])
def test_a_program_finds_what_a_careless_grader_leaves(name: str, place: Range, engine: Engine) -> None:
    (attack,) = named(name)
    task, built = place.task("adder", "root")
    with engine.start(built, LIMITS) as sandbox:
        sandbox.exec(attack.script_for(targets(task.instruction)), timeout=10)
        sandbox.put([PutFile("/tests/test_outputs.py", task.tests.source.encode())])
        run = sandbox.exec("cd /tests && python3 -m pytest -q test_outputs.py", timeout=20)
    assert b" passed" in run.stdout, run.tail()


def test_sealed_results_cannot_be_forged_or_added_to() -> None:
    outcome = {"tests": [{"name": "test_a", "passed": True}]}
    sealed = runner.seal(outcome, "key")
    assert runner.unseal(sealed, "key") == outcome
    forged = json.dumps(outcome).encode()
    for said in (
        b"",
        forged,
        b"0" * 64 + b" " + forged,
        forged + sealed,
        sealed + forged,
        sealed[:-3],
        runner.seal(outcome, ""),
    ):
        assert runner.unseal(said, "key") is None, said
