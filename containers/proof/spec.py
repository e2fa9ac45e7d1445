"""The static gate: tests that can run, requirements and tests that map both ways, near misses that cover every goal."""

from __future__ import annotations

import ast

from generators.task import Task

MIN_NEAR_MISSES = 2


def spec_problem(task: Task) -> tuple[str, str] | None:
    """The first thing wrong as (reason code, detail), or None."""
    return _tests(task) or _mapping(task) or _near_misses(task)


def defined_tests(source: str) -> list[str]:
    """Names of the top-level test functions of a module, in order.

    Raises:
        SyntaxError: the module does not compile.
    """
    return [
        node.name
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]


def _tests(task: Task) -> tuple[str, str] | None:
    for label, source in (("completion", task.completion_tests.source), ("initial", task.initial_tests)):
        try:
            names = defined_tests(source)
        except SyntaxError as error:
            return "tests_syntax_error", f"{label} tests, line {error.lineno}: {error.msg}"
        if not names:
            return "tests_empty", f"the {label} tests define no test function"
        if label == "initial":
            continue
        listed = {test.name for test in task.completion_tests.tests}
        if missing := sorted(listed - set(names)):
            return "tests_missing", f"weights or guards name tests that are not defined: {', '.join(missing)}"
        if extra := sorted(set(names) - listed):
            return "tests_unweighted", f"tests without weight or guard: {', '.join(extra)}"
    return None


def _mapping(task: Task) -> tuple[str, str] | None:
    text = " ".join(task.instruction.split())
    for requirement in task.requirements:
        if " ".join(requirement.sentence.split()) not in text:
            return "spec_sentence_missing", f"not in the instruction: {requirement.sentence[:120]!r}"
    cited = {name for requirement in task.requirements for name in requirement.tests}
    if unmapped := sorted({test.name for test in task.completion_tests.tests} - cited):
        return "spec_test_unmapped", f"no sentence of the instruction is cited for {', '.join(unmapped)}"
    return None


def _near_misses(task: Task) -> tuple[str, str] | None:
    if len(task.near_misses) < MIN_NEAR_MISSES:
        return "near_misses_too_few", f"{len(task.near_misses)} of at least {MIN_NEAR_MISSES}"
    catchers = {name for miss in task.near_misses for name in miss.caught_by}
    if idle := sorted({goal.name for goal in task.completion_tests.goals} - catchers):
        return "goal_never_catches", f"no near miss is caught by {', '.join(idle)}"
    return None
