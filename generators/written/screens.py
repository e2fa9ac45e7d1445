"""What can be seen wrong with an answer before anything is run: hostile build steps, tests that cannot work, another language.

Each screen raises AnswerError with a reason code and a sentence that the model can act on. They save rounds and money; what protects
the machine is the sandbox, and what decides is the proof.
"""

from __future__ import annotations

import ast
import re
import sys

from generators.task import ContextFile
from generators.written.problems import AnswerError
from generators.written.records import Completion, Description, Environment, Misses, Solution

INSTRUCTIONS = frozenset({"COPY", "RUN", "ENV", "WORKDIR", "USER"})
CONTEXT_BYTES = 4 << 20
_NETWORK = re.compile(
    r"\b(?:curl|wget|apt|apt-get|aptitude|pip3?|pipx|npm|npx|yarn|cargo|gem|scp|ssh|rsync|telnet|nc|ncat)\s+(?!--version)"
    r"|\bgit\s+(?:clone|fetch|pull|submodule\s+update)\b[^\n]*\b(?:https?|ssh|git)://|/dev/(?:tcp|udp)/|\bgo\s+(?:get|install)\b"
)
_HOST = re.compile(
    r"docker\.sock|/proc/(?:1|sys|sysrq-trigger|kcore)\b|/proc/\d+/root|/sys/(?:fs/cgroup|kernel)|--privileged|\bnsenter\b|\bunshare\b|\bpivot_root\b"
    r"|\bmount\s+-|\bmknod\b|\binsmod\b|/dev/(?:mem|sd[a-z]|nvme)|release_agent"
)
_SECRETS = re.compile(
    r"(?:OPENAI|ANTHROPIC|AWS|AZURE|GITHUB|HF|HUGGING_?FACE|WANDB)_[A-Z_]*(?:KEY|TOKEN|SECRET)|169\.254\.169\.254|/run/secrets"
    r"|/proc/(?:self|\d+|1)/environ|\b(?:printenv|env)\s*[|>]"
)
_ENGLISH = frozenset(
    "the a an to of and in is are for with on be that it as at by from or each must not this".split()  # noqa: SIM905
)
_MIN_ENGLISH = 0.12  # of all words; English prose has about 0.4


def description(answer: Description) -> None:
    """The instruction can be read by whom it is for, and does not hold the whole truth."""
    words = re.findall(r"[^\W\d_]+", answer.instruction.lower())
    share = sum(word in _ENGLISH for word in words) / max(1, len(words))
    if len(words) < 15 or share < _MIN_ENGLISH:
        raise AnswerError("other_language", "the instruction has to be written in English")
    if unknown := sorted(set(answer.discoverable) - set(answer.truth)):
        raise AnswerError("malformed", f"discoverable names keys that truth does not have: {', '.join(unknown)}")


def environment(answer: Environment) -> None:
    """Build steps that can work without a network and do not reach for the host or its secrets."""
    lines = _logical_lines(answer.dockerfile)
    for line in lines:
        word = line.split(None, 1)[0].upper()
        if word not in INSTRUCTIONS:
            raise AnswerError(
                "dockerfile_instruction", f"{line[:80]!r}: only {', '.join(sorted(INSTRUCTIONS))} may be used"
            )
        if "<<" in line and re.search(r"<<-?\s*['\"]?\w+['\"]?\s*$", line):
            raise AnswerError(
                "dockerfile_instruction", f"{line[:80]!r}: heredocs are not supported; put the text into a file"
            )
    scripts = [*(line for line in lines if line.upper().startswith(("RUN", "ENV")))]
    scripts += [file.content for file in answer.files if _is_script(file.path, file.content)]
    for text in scripts:
        _harmless(text)
    size = sum(len(file.content.encode()) for file in answer.files)
    if size > CONTEXT_BYTES:
        raise AnswerError(
            "context_too_big", f"the files hold {size} bytes; make long data by a program with a fixed seed"
        )
    for file in answer.files:
        try:
            ContextFile.of(file.path, "")
        except ValueError as error:
            raise AnswerError("context_path", str(error).splitlines()[-1][:200]) from error
    python_tests(answer.initial_tests, "initial_tests")


def _harmless(text: str) -> None:
    for reason, pattern, what in (
        ("environment_secrets", _SECRETS, "keys and the build's environment are no part of a task"),
        ("environment_host", _HOST, "a build step may not touch the host, its devices or its kernel"),
        (
            "environment_network",
            _NETWORK,
            "build steps run without a network; name Debian packages in `packages`, write files in `files`",
        ),
    ):
        if found := pattern.search(text):
            raise AnswerError(reason, f"{found[0].strip()!r} in a build step: {what}")


def _is_script(path: str, content: str) -> bool:
    return content.startswith("#!") or path.endswith((".sh", ".bash"))


def _logical_lines(dockerfile: str) -> list[str]:
    joined = re.sub(r"\\[ \t]*\n", " ", dockerfile)
    return [line.strip() for line in joined.splitlines() if line.strip() and not line.strip().startswith("#")]


def completion(answer: Completion, instruction: str) -> None:
    """Tests that can run, each named once with a weight or as a guard, and mapped to sentences that exist."""
    names = python_tests(answer.source, "source")
    goals = [item.test for item in answer.weights]
    listed = [*goals, *answer.guards]
    if twice := sorted({name for name in listed if listed.count(name) > 1}):
        raise AnswerError("tests_named_twice", f"named more than once among weights and guards: {', '.join(twice)}")
    if missing := sorted(set(listed) - set(names)):
        raise AnswerError(
            "tests_missing", f"named in weights or guards but not defined in source: {', '.join(missing)}"
        )
    if extra := sorted(set(names) - set(listed)):
        raise AnswerError("tests_unweighted", f"defined in source but neither weighted nor a guard: {', '.join(extra)}")
    total = sum(item.weight for item in answer.weights)
    if abs(total - 1) > 0.02:
        raise AnswerError("weights_sum", f"the weights sum to {total:g}, not to 1")
    text = " ".join(instruction.split())
    for item in answer.requirements:
        if " ".join(item.sentence.split()) not in text:
            raise AnswerError("spec_sentence_missing", f"not word for word in the instruction: {item.sentence[:120]!r}")
    cited = {name for item in answer.requirements for name in item.tests}
    if unmapped := sorted(set(listed) - cited):
        raise AnswerError("spec_test_unmapped", f"no requirement names {', '.join(unmapped)}")
    if unknown := sorted(cited - set(listed)):
        raise AnswerError("tests_missing", f"requirements name tests that do not exist: {', '.join(unknown)}")


def python_tests(source: str, label: str) -> list[str]:
    """Names of the tests of a module that can be graded.

    Raises:
        AnswerError: it does not compile, imports what is not there, or has tests that take arguments or check nothing.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f", line {error.lineno}: {error.msg}" if isinstance(error, SyntaxError) else f": {error}"
        raise AnswerError("tests_syntax_error", f"{label}{where}") from error
    if missing := sorted(_imported(tree) - sys.stdlib_module_names - {"pytest"}):
        raise AnswerError(
            "tests_import_missing", f"{label} imports {', '.join(missing)}; only the standard library is there"
        )
    tests = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
    if not tests:
        raise AnswerError("tests_empty", f"{label} defines no function test_*")
    helpers = {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and _checks(node, set())}
    for test in tests:
        if test.args.args or test.args.kwonlyargs or test.args.posonlyargs:
            raise AnswerError("tests_arguments", f"{test.name} takes arguments; there are no fixtures")
        if not _checks(test, helpers):
            raise AnswerError("tests_check_nothing", f"{test.name} asserts nothing, so it always passes")
    return [test.name for test in tests]


def _imported(tree: ast.Module) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").split(".")[0] if not node.level else ".")
    return found


def _checks(function: ast.FunctionDef, helpers: set[str]) -> bool:
    """Whether a function can fail on purpose: an assertion that is no constant, a raise, or a helper with one."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assert) and not isinstance(node.test, ast.Constant):
            return True
        if isinstance(node, ast.Raise):
            return True
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            if name in helpers or name in ("fail", "raises", "check_call", "check_output"):
                return True
    return False


def solution(answer: Solution) -> None:
    """There is something to run."""
    lines = [line for line in answer.script.splitlines() if line.strip() and not line.strip().startswith("#")]
    if not lines:
        raise AnswerError("solution_empty", "the script does nothing")


def misses(answer: Misses, goals: frozenset[str]) -> None:
    """Different ones, caught by goals, every goal by one."""
    names = [miss.name for miss in answer.misses]
    if len(set(names)) < len(names):
        raise AnswerError("malformed", "two near misses have the same name")
    cited = {name for miss in answer.misses for name in miss.caught_by}
    if unknown := sorted(cited - goals):
        raise AnswerError("tests_missing", f"caught_by names what is no goal test: {', '.join(unknown)}")
    if idle := sorted(goals - cited):
        raise AnswerError("goal_never_catches", f"no near miss is caught by {', '.join(idle)}")
