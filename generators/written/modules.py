"""A module of tests, judged by its source: whether it can be graded, and whether its assertions can fail."""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Iterator

from generators.written.problems import AnswerError

_FAILING = ("fail", "raises", "check_call", "check_output", "check_returncode", "index")


def python_tests(source: str, label: str) -> list[str]:
    """Names of the tests of a module that can be graded.

    Raises:
        AnswerError: it does not compile, imports what is not there, has tests that take arguments or check nothing, or assertions that
            cannot fail.
    """
    try:
        with warnings.catch_warnings(action="ignore"):  # said better below
            compile(source, label, "exec", dont_inherit=True)
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f", line {error.lineno}: {error.msg}" if isinstance(error, SyntaxError) else f": {error}"
        raise AnswerError("tests_syntax_error", f"{label}{where}") from error
    if any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body):
        raise AnswerError(
            "tests_syntax_error", f"{label}: imports from __future__ cannot be used, something precedes them"
        )
    if missing := sorted(_imported(tree) - sys.stdlib_module_names - {"pytest"}):
        raise AnswerError(
            "tests_import_missing", f"{label} imports {', '.join(missing)}; only the standard library is there"
        )
    tests = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
    if not tests:
        raise AnswerError("tests_empty", f"{label} defines no function test_*")
    if len({test.name for test in tests}) < len(tests):
        raise AnswerError("tests_named_twice", f"{label} defines two tests of the same name")
    _can_fail(tree)
    checking = _checking(tree)
    for test in tests:
        given = test.args
        if given.args or given.kwonlyargs or given.posonlyargs or given.vararg or given.kwarg:
            raise AnswerError("tests_arguments", f"{test.name} takes arguments; there are no fixtures")
        if test.name not in checking:
            raise AnswerError("tests_check_nothing", f"{test.name} asserts nothing that can be false")
    return [test.name for test in tests]


def _can_fail(tree: ast.Module) -> None:
    """No assertion says `or True`, and no failure of one is swallowed."""
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        for node in _own_nodes(function):
            if isinstance(node, ast.Assert) and isinstance(node.test, ast.BoolOp) and _always_true(node.test):
                raise AnswerError(
                    "tests_check_nothing",
                    f"{function.name}: `{ast.unparse(node.test)[:200]}` holds whatever the result is",
                )
            if _swallows(node):
                raise AnswerError(
                    "tests_swallowed", f"{function.name} has an assertion whose failure is caught and then ignored"
                )


def _swallows(node: ast.AST) -> bool:
    """Whether a failing assertion in here is passed over. Trying again in a loop is no such thing."""
    if isinstance(node, ast.With):
        calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
        caught = [kind for call in calls if _called(call) == "suppress" for kind in call.args]
        return any(map(_any_failure, caught)) and _asserts(node)
    if not isinstance(node, ast.Try) or node.orelse or not _asserts(*node.body):
        return False
    ignored = (handler for handler in node.handlers if handler.type is None or _any_failure(handler.type))
    return any(_goes_on(handler.body[-1]) for handler in ignored)


def _goes_on(step: ast.stmt) -> bool:
    return isinstance(step, ast.Pass | ast.Continue) or (isinstance(step, ast.Return) and step.value is None)


def _asserts(*nodes: ast.AST) -> bool:
    """Whether there are assertions, and nothing that leaves a loop or the function if they hold."""
    parts = [part for node in nodes for part in ast.walk(node)]
    leaves = any(isinstance(part, ast.Break | ast.Return | ast.Raise) for part in parts)
    return any(isinstance(part, ast.Assert) for part in parts) and not leaves


def _any_failure(kind: ast.expr) -> bool:
    """Whether an `except` of this kind catches a failed assertion."""
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(getattr(item, "id", "") in ("AssertionError", "Exception", "BaseException") for item in kinds)


def _checking(tree: ast.Module) -> set[str]:
    """Names of functions (methods too) that can fail on purpose, by themselves or by what they call."""
    calls: dict[str, set[str]] = {}
    found: set[str] = set()
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        own = list(_own_nodes(function))
        calls.setdefault(function.name, set()).update(_called(node) for node in own if isinstance(node, ast.Call))
        if any(_fails(node) for node in own):
            found.add(function.name)
    while new := {name for name, called in calls.items() if name not in found and called & found}:
        found |= new
    return found


def _own_nodes(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """What runs when a function is called: not what functions inside of it do."""
    todo: list[ast.AST] = list(function.body)
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            todo += ast.iter_child_nodes(node)


def _called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def _imported(tree: ast.Module) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").split(".")[0] if not node.level else ".")
    return found


def _fails(node: ast.AST) -> bool:
    """Whether this can fail on purpose: an assertion that is not always true, a raise, or a call that does so."""
    if isinstance(node, ast.Assert):
        return not _always_true(node.test)
    if isinstance(node, ast.Call):
        checked = any(
            key.arg == "check" and isinstance(key.value, ast.Constant) and key.value.value for key in node.keywords
        )
        return checked or _called(node).startswith("assert") or _called(node) in _FAILING
    return isinstance(node, ast.Raise)


def _always_true(test: ast.expr) -> bool:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        return any(_always_true(value) for value in test.values)
    if isinstance(test, ast.Constant):
        return bool(test.value)
    return isinstance(test, ast.Tuple) and bool(test.elts)
