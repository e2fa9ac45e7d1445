"""Tests that pass what is worth nothing are caught by the gate `mutants`, also where near misses are as weak; good tests hold."""

from __future__ import annotations

from typing import Any

import pytest

from containers.pool import Pool
from containers.proof.gates import Bench
from containers.proof.mutants import MOST_OUTPUTS, mutants
from containers.proof.prove import prove
from containers.sandbox import Engine
from generators.evidence import Gate, Verdict
from generators.task import CompletionTests, NearMiss, Requirement, Task, TestSpec
from tests.toys import KEEP, toy

ASK = "Write /srv/sum.json, a JSON object with the key sum."
READ = 'from pathlib import Path\n\nOUT = Path("/srv/sum.json")\n\ndef test_sum():\n    '
GOOD = 'assert json.loads(OUT.read_text()) == {"sum": 600851475143}'


def task(check: str, ask: str = ASK, also: str = "", **changes: Any) -> Task:
    """The toy that writes JSON, with another check of it, and near misses that lack the key."""
    weak = [f"echo '{text}' > /srv/sum.json" for text in ('{"total": 600851475143}', "[]")]
    fields: dict[str, Any] = {
        "instruction": f"{ask} {KEEP}\n",
        "completion_tests": CompletionTests(
            source=f"import json\n{READ}{check}\n",
            tests=(TestSpec(name="test_sum", weight=1.0),),
        ),
        "solution": f"echo '{{\"sum\": 600851475143}}' > /srv/sum.json\n{also}",
        "alternatives": ("printf '{\"sum\":%s}' 600851475143 > /srv/sum.json; " + also,),
        "near_misses": tuple(
            NearMiss(name=f"miss_{number}", why="lacks the key", script=script, caught_by=("test_sum",))
            for number, script in enumerate(weak)
        ),
        "requirements": (Requirement(sentence=ask, tests=("test_sum",)),),
    }
    return toy(**(fields | changes))


def gate(pool: Pool, made: Task) -> Verdict:
    built = pool.engine.build(made.image, made.limits)
    verdict = mutants(Bench(pool, made, built, lambda: False))
    assert verdict is not None
    return verdict


@pytest.mark.parametrize(
    ("check", "damage"),
    [
        ('assert set(json.loads(OUT.read_text())) == {"sum"}', "given other values in the same shape"),
        ('assert isinstance(json.loads(OUT.read_text())["sum"], int)', "given other values in the same shape"),
        ('if OUT.exists():\n        assert json.loads(OUT.read_text())["sum"] == 600851475143', "removed"),
        ('text = OUT.read_text()\n    assert not text or json.loads(text)["sum"] == 600851475143', "emptied"),
    ],
)
def test_tests_that_pass_damage_are_weak(check: str, damage: str, pool: Pool) -> None:
    verdict = gate(pool, task(check))
    assert (verdict.holds, verdict.reason) == (False, "weak_verifier")
    assert verdict.detail == f"/srv/sum.json, {damage} after the reference solution, scores 1"


def test_only_this_gate_catches_weak_tests_with_weak_near_misses(pool: Pool) -> None:
    evidence = prove(pool, task('assert set(json.loads(OUT.read_text())) == {"sum"}'))
    assert evidence.failure is not None and (evidence.failure.gate, evidence.failure.reason) == (
        Gate.MUTANTS,
        "weak_verifier",
    )
    assert prove(pool, task(GOOD)).proven


def test_good_tests_hold_and_figures_say_what_was_tried(pool: Pool) -> None:
    assert gate(pool, task(GOOD)).figures == {"outputs": 1, "mutants": 3, "made_again": 0}
    assert gate(pool, toy()).holds


def test_a_task_that_names_no_output_holds_by_none(pool: Pool) -> None:
    verdict = gate(pool, task(GOOD, ask="Write a JSON object with the key sum."))
    assert verdict.holds and verdict.figures == {"outputs": 0, "mutants": 0, "made_again": 0}


def test_an_output_may_be_named_by_its_folder(pool: Pool) -> None:
    assert (
        gate(pool, task(GOOD, ask="In /srv, write sum.json, a JSON object with the key sum.")).figures["mutants"] == 3
    )


def test_no_more_outputs_are_tried_than_the_bound(pool: Pool) -> None:
    names = [f"/srv/part{number}.txt" for number in range(5)]
    also = "".join(f"echo {number} > {name}; " for number, name in enumerate(names, 10))
    check = GOOD + "".join(f'\n    assert Path("{name}").read_text() == "{n}\\n"' for n, name in enumerate(names, 10))
    verdict = gate(pool, task(check, ask=f"{ASK} Write {', '.join(names)} too.", also=also))
    assert verdict.holds and verdict.figures["outputs"] == MOST_OUTPUTS


def test_what_the_tests_have_made_again_says_nothing(pool: Pool) -> None:
    """A program is asked for, and what it writes: the tests run the program, so it does not matter that its output was gone."""
    program = "printf '#!/bin/sh\\necho 7 > /srv/seven.txt\\n' > /srv/seven; chmod 755 /srv/seven; /srv/seven"
    check = (
        'import subprocess\n    subprocess.run(["/srv/seven"], check=True, timeout=5)\n'
        f'    assert Path("/srv/seven.txt").read_text() == "7\\n"\n    {GOOD}'
    )
    verdict = gate(pool, task(check, ask=f"{ASK} The program /srv/seven writes 7 to /srv/seven.txt.", also=program))
    assert verdict.holds and verdict.figures == {"outputs": 3, "mutants": 8, "made_again": 3}


def test_links_and_folders_are_no_outputs(pool: Pool) -> None:
    also = "mkdir /srv/all; ln -s /srv/sum.json /srv/all/sum"
    verdict = gate(pool, task(GOOD, ask=f"{ASK} Make a link to it, /srv/all/sum, in /srv/all.", also=also))
    assert verdict.holds and verdict.figures["outputs"] == 1


def test_mode_and_owner_stay(pool: Pool) -> None:
    check = (
        "state = OUT.stat()\n    assert (oct(state.st_mode & 0o777), state.st_uid) == ('0o640', 7)\n"
        '    assert set(json.loads(OUT.read_text())) == {"sum"}'
    )
    verdict = gate(pool, task(check, also="chmod 640 /srv/sum.json; chown 7 /srv/sum.json"))
    assert verdict.reason == "weak_verifier" and "other values" in verdict.detail


def test_every_engine_says_the_same(any_engine: Engine) -> None:
    pool = Pool(any_engine, 1)
    assert gate(pool, task(GOOD)).figures == {"outputs": 1, "mutants": 3, "made_again": 0}
    assert "other values" in gate(pool, task('assert "sum" in json.loads(OUT.read_text())')).detail
