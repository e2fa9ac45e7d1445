"""From test outcomes to a score."""

from __future__ import annotations

from dataclasses import dataclass

from containers.sandbox import GradeResult, TestResult
from generators.task import CompletionTests


@dataclass(frozen=True)
class Score:
    """Both scores of an end state, each in [0, 1]; meaningless unless `valid`.

    weighted  sum of the weights of passed goals, 0 if a guard fails
    binary    1 if every goal and guard passes, else 0
    """

    weighted: float
    binary: int
    valid: bool
    reason: str
    tests: tuple[TestResult, ...]

    def passed(self, name: str) -> bool:
        """Whether one test passed."""
        return any(test.passed for test in self.tests if test.name == name)

    def failures(self) -> list[TestResult]:
        """The tests that did not pass."""
        return [test for test in self.tests if not test.passed]


def score(tests: CompletionTests, graded: GradeResult) -> Score:
    """Weigh a grading. A test without an outcome counts as failed; a grading without outcomes is invalid, not 0."""
    if not graded.valid:
        return Score(0.0, 0, False, graded.reason, graded.tests)
    passed = {test.name for test in graded.tests if test.passed}
    guarded = all(guard.name in passed for guard in tests.guards)
    complete = guarded and all(goal.name in passed for goal in tests.goals)
    total = sum(goal.weight for goal in tests.goals if goal.name in passed)
    weighted = 1.0 if complete else (min(1.0, total) if guarded else 0.0)
    return Score(weighted, int(complete), True, "", graded.tests)
