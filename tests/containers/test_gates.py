"""A broken task of every kind is caught by the gate that should, with the reason that says so."""

from __future__ import annotations

from typing import Any

import pytest

from containers.pool import Pool
from containers.proof.prove import prove
from generators.evidence import Evidence, Gate
from generators.task import CompletionTests, ContextFile, Image, NearMiss, Requirement, TestSpec
from tests.toys import KEEP, SOLUTION, SUM, TESTS, dockerfile, toy

NUMBERS = ContextFile.of("numbers.txt", "600851475000\n143\n")
WEAK = CompletionTests(
    source=TESTS.replace('.strip() == "600851475143"', '.strip() != ""'),
    tests=(TestSpec(name="test_sum", weight=1.0), TestSpec(name="test_kept", guard=True)),
)


def image(body: str, *files: ContextFile) -> Image:
    return Image(dockerfile=dockerfile(body), files=(NUMBERS, *files))


BROKEN: dict[str, tuple[Gate, str, dict[str, Any]]] = {
    "leaky file": (
        Gate.LEAK,
        "truth_leaks",
        {"image": image("COPY numbers.txt notes.txt /srv/\n", ContextFile.of("notes.txt", "hint: 600851475143"))},
    ),
    "leaky base64": (
        Gate.LEAK,
        "truth_leaks",
        {
            "image": image(
                "COPY numbers.txt /srv/\nRUN printf 600851475000143 | tr -d x | cut -c1-9 > /dev/null; "
                "printf '%s%s' 600851 475143 | base64 > /srv/.cache\n"
            )
        },
    ),
    "leaky lower layer": (
        Gate.LEAK,
        "truth_leaks",
        {
            "image": image(
                "COPY numbers.txt /srv/\nCOPY key /tmp/key\nRUN rm /tmp/key\n", ContextFile.of("key", "600851475143")
            )
        },
    ),
    "leaky git history": (
        Gate.LEAK,
        "truth_leaks",
        {
            "image": image(
                "COPY numbers.txt /srv/\nWORKDIR /srv/repo\nRUN git init -q . && printf '%s%s' 600851 475143 > a && git add a && "
                "git -c user.name=a -c user.email=a@b commit -qm a && git rm -q a && git -c user.name=a -c user.email=a@b commit -qm b"
                " && git gc -q\n"
            )
        },
    ),
    "already solved": (
        Gate.NO_OP,
        "already_solved",
        {"image": image("COPY numbers.txt /srv/\nRUN echo $((600851475000 + 143)) > /srv/sum.txt\n")},
    ),
    "guard fails untouched": (
        Gate.NO_OP,
        "guard_fails_untouched",
        {"image": Image(dockerfile=dockerfile(), files=(ContextFile.of("numbers.txt", "1\n"),))},
    ),
    "unsolvable": (Gate.ORACLE, "solution_fails", {"solution": SOLUTION.replace("s+=", "s-=")}),
    "flaky by clock": (
        Gate.ORACLE,
        "solution_flaky",
        {"solution": f'[ $(date +%s) -lt {2**31} ] && [ "$(hostname)" = sandbox ] && {SOLUTION}'},
    ),
    "no solution": (Gate.ORACLE, "solution_missing", {"solution": None}),
    "pedantic tests": (
        Gate.ALTERNATIVES,
        "alternative_fails",
        {"alternatives": ("echo 600,851,475,143 > /srv/sum.txt",)},
    ),
    "alternative is the solution": (Gate.ALTERNATIVES, "alternative_missing", {"alternatives": (SOLUTION,)}),
    "unknown base": (
        Gate.BUILD,
        "dockerfile_invalid",
        {"image": Image(dockerfile="FROM alpine:3\n", files=(NUMBERS,))},
    ),
    "weak verifier": (Gate.NEAR_MISS, "weak_verifier", {"completion_tests": WEAK}),
    "near miss that is caught elsewhere": (
        Gate.NEAR_MISS,
        "near_miss_not_caught",
        {
            "completion_tests": CompletionTests(
                source=TESTS + "\ndef test_exists():\n    assert Path('/srv/sum.txt').exists()\n",
                tests=(
                    TestSpec(name="test_sum", weight=0.5),
                    TestSpec(name="test_exists", weight=0.5),
                    TestSpec(name="test_kept", guard=True),
                ),
            ),
            "near_misses": (
                NearMiss(name="a", why="b", script="echo 1 > /srv/sum.txt", caught_by=("test_sum", "test_exists")),
                NearMiss(name="c", why="d", script="true", caught_by=("test_sum",)),
            ),
            "requirements": (
                Requirement(sentence=SUM, tests=("test_sum", "test_exists")),
                Requirement(sentence=KEEP, tests=("test_kept",)),
            ),
        },
    ),
    "attack scores": (
        Gate.TAMPER,
        "attack_scores",
        {
            "completion_tests": CompletionTests(
                source=TESTS.replace(
                    'assert Path("/srv/sum.txt").read_text().strip() == "600851475143"',
                    'text = Path("/srv/sum.txt").read_text()\n    assert "600851475143" in text or "passed" in text',
                ),
                tests=WEAK.tests,
            )
        },
    ),
    "unmapped test": (
        Gate.SPEC,
        "spec_test_unmapped",
        {"requirements": (Requirement(sentence=SUM, tests=("test_sum",)),)},
    ),
    "sentence not said": (
        Gate.SPEC,
        "spec_sentence_missing",
        {"requirements": (Requirement(sentence="Be quick.", tests=("test_sum", "test_kept")),)},
    ),
    "one near miss": (
        Gate.SPEC,
        "near_misses_too_few",
        {"near_misses": (NearMiss(name="a", why="b", script="true", caught_by=("test_sum",)),)},
    ),
    "syntax error in tests": (
        Gate.SPEC,
        "tests_syntax_error",
        {"completion_tests": CompletionTests(source="def test_sum(:\n", tests=WEAK.tests)},
    ),
    "no tests": (Gate.SPEC, "tests_empty", {"initial_tests": "x = 1\n"}),
    "test without weight": (
        Gate.SPEC,
        "tests_unweighted",
        {"completion_tests": CompletionTests(source=TESTS + "\ndef test_more():\n    pass\n", tests=WEAK.tests)},
    ),
    "weight of a missing test": (
        Gate.SPEC,
        "tests_missing",
        {"completion_tests": CompletionTests(source=TESTS.replace("test_kept", "check_kept"), tests=WEAK.tests)},
    ),
    "build fails": (Gate.BUILD, "build_failed", {"image": image("COPY numbers.txt /srv/\nRUN exit 3\n")}),
    "unsupported instruction": (Gate.BUILD, "dockerfile_unsupported", {"image": image("VOLUME /data\n")}),
    "initial state is wrong": (Gate.INITIAL, "initial_failed", {"image": image("COPY numbers.txt /opt/\n")}),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_task_is_caught_by_its_gate(kind: str, pool: Pool) -> None:
    gate, reason, changes = BROKEN[kind]
    evidence = prove(pool, toy(**changes))
    assert evidence.failure is not None, "it was proven"
    assert (evidence.failure.gate, evidence.failure.reason) == (gate, reason), evidence.failure.detail


@pytest.fixture(scope="module")
def proof(pool: Pool) -> Evidence:
    return prove(pool, toy())


def test_the_whole_task_is_proven(proof: Evidence) -> None:
    assert proof.proven, proof.failure or proof.fault
    assert [verdict.gate for verdict in proof.verdicts] == list(Gate)[:-2]


def test_proof_figures_are_measured(proof: Evidence) -> None:
    figures = {verdict.gate: verdict.figures for verdict in proof.verdicts}
    assert figures[Gate.ORACLE]["solved"] == 3
    assert int(str(figures[Gate.TAMPER]["attacks"])) >= 25
    assert figures[Gate.NEAR_MISS]["highest_score"] == 0
