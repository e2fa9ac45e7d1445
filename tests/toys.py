"""A tiny valid task, and ways to break it. Every gate has to catch its kind of break."""

from __future__ import annotations

from typing import Any

from generators.bases import Base, preamble
from generators.task import (
    Axes,
    CompletionTests,
    ContextFile,
    Difficulty,
    Image,
    NearMiss,
    Provenance,
    Requirement,
    Task,
    TestSpec,
    Verifier,
)

SUM = "Write the sum of the numbers in /srv/numbers.txt to /srv/sum.txt, digits only."
KEEP = "Leave /srv/numbers.txt as it is."
TESTS = """
from pathlib import Path

def test_sum():
    assert Path("/srv/sum.txt").read_text().strip() == "600851475143"

def test_kept():
    assert Path("/srv/numbers.txt").read_text() == "600851475000\\n143\\n"
"""
INITIAL = """
from pathlib import Path

def test_numbers_are_there():
    assert Path("/srv/numbers.txt").exists()
"""
SOLUTION = "awk '{s+=$1} END {printf \"%d\\n\", s}' /srv/numbers.txt > /srv/sum.txt"
ALTERNATIVE = "python3 -c 'print(sum(map(int, open(\"/srv/numbers.txt\"))))' > /srv/sum.txt"


def dockerfile(body: str = "COPY numbers.txt /srv/\n") -> str:
    """The toy's Dockerfile with another body."""
    return preamble(Base.PYTHON) + body


def toy(**changes: Any) -> Task:
    """The toy with some fields replaced."""
    fields: dict[str, Any] = {
        "title": "Sum numbers",
        "instruction": f"{SUM} {KEEP}\n",
        "truth": {"sum": "600851475143"},
        "axes": Axes(
            domain="data_processing",
            skills=("arithmetic",),
            difficulty=Difficulty.EASY,
            verifier=Verifier.EXACT_TEXT,
            task_complexity="short",
            command_complexity="bash",
            scenario="tests",
            persona="tester",
            language="any",
            fixture="text_only",
        ),
        "image": Image(dockerfile=dockerfile(), files=(ContextFile.of("numbers.txt", "600851475000\n143\n"),)),
        "initial_tests": INITIAL,
        "completion_tests": CompletionTests(
            source=TESTS, tests=(TestSpec(name="test_sum", weight=1.0), TestSpec(name="test_kept", guard=True))
        ),
        "solution": SOLUTION,
        "alternatives": (ALTERNATIVE,),
        "near_misses": (
            NearMiss(
                name="first",
                why="takes the first number",
                script="head -1 /srv/numbers.txt > /srv/sum.txt",
                caught_by=("test_sum",),
            ),
            NearMiss(
                name="count", why="counts", script="wc -l < /srv/numbers.txt > /srv/sum.txt", caught_by=("test_sum",)
            ),
        ),
        "requirements": (
            Requirement(sentence=SUM, tests=("test_sum",)),
            Requirement(sentence=KEEP, tests=("test_kept",)),
        ),
        "provenance": Provenance(writer="procedural", family="toy", seed=1, serial=0, setting="toy", version="1"),
    }
    return Task.create("toy", **(fields | changes))
