"""What can be seen wrong with an answer before anything is run: hostile build steps, tests that cannot work, another language.

Each screen raises AnswerError with a reason code and a sentence that the model can act on. They save rounds and money; what protects
the machine is the sandbox, and what decides is the proof.
"""

from __future__ import annotations

import json
import re
from typing import cast

from generators.task import ContextFile
from generators.written.lookups import unnamed_paths
from generators.written.modules import python_tests
from generators.written.problems import AnswerError
from generators.written.records import Completion, Description, Environment, Misses, Solution

INSTRUCTIONS = frozenset({"COPY", "RUN", "ENV", "ARG", "WORKDIR", "USER", "SHELL", "CMD", "ENTRYPOINT"})
CONTEXT_BYTES = 4 << 20
# Where a command begins, its folder included.
_AT = r"(?:^|[;&|({`]|\bthen\b|\bdo\b|\bsudo\b|\bexec\b|\bxargs\b|\btime\b|\benv\b(?:[ \t]+\w+=\S+)*|-c[ \t]+['\"])[ \t]*(?:/\S*/)?"
_NETWORK = re.compile(
    _AT + r"(?:(?:curl|wget|apt|apt-get|aptitude|scp|ssh|rsync|telnet|nc|ncat)[ \t]+(?!--?version)"
    r"|(?:npm|yarn|pnpm|cargo|gem|go)[ \t]+(?:i|ci|add|get|install)\b(?!.*--(?:offline|no-index))|npx[ \t]"
    r"|(?:python3?[ \t]+-m[ \t]+)?pip3?[ \t]+(?:install|download)\b(?!.*--no-index)"
    r"|git[ \t]+(?:-\S+[ \t]+\S+[ \t]+)*(?:clone|fetch|pull|submodule[ \t]+update)\b[^;&|\n]*(?:(?:https?|ssh|git)://|git@))|/dev/(?:tcp|udp)/",
    re.MULTILINE,
)
_OWN_HOST = re.compile(r"\blocalhost\b|\b127\.0\.0\.1\b|\[::1\]")
_HOST = re.compile(
    r"docker\.sock|(?<![\w/.-])(?:/proc/(?:1|sys|sysrq-trigger|kcore)\b|/proc/\d+/root|/sys/(?:fs/cgroup|kernel)|/dev/(?:mem|sd[a-z]|nvme))\b"
    r"|--privileged|release_agent|" + _AT + r"(?:nsenter|unshare|pivot_root|mount|mknod|insmod)\b",
    re.MULTILINE,
)
_SECRETS = re.compile(
    r"\$\{?(?:OPENAI|ANTHROPIC|AWS|AZURE|GITHUB|HF|HUGGING_?FACE|WANDB)_[A-Z_]*(?:KEY|TOKEN|SECRET)|169\.254\.169\.254|/run/secrets"
    r"|/proc/(?:self|\d+)/environ|" + _AT + r"(?:printenv\b|env\s*(?:[|>]|$))",
    re.MULTILINE,
)
_ENGLISH_WORDS = "the a an to of and in is are for with on be that it as at by from or each must not this"
_FOREIGN_WORDS = (
    "der das und ist nicht mit für auf ein eine dem den le les des et est dans pour une sur el los las que y para con het een van "
    "voor niet zijn il di che per sono não com em uma"
)
_ENGLISH, _FOREIGN = frozenset(_ENGLISH_WORDS.split()), frozenset(_FOREIGN_WORDS.split())
_MIN_ENGLISH = 0.06  # of all words; English prose has about 0.4, a list of columns still 0.1


def description(answer: Description) -> None:
    """The instruction can be read by whom it is for."""
    words = re.findall(r"[^\W\d_]+", answer.instruction.lower())
    english, foreign = (sum(word in known for word in words) for known in (_ENGLISH, _FOREIGN))
    if len(words) < 15 or english < _MIN_ENGLISH * len(words) or foreign >= english:
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
        if re.search(r"(?<!<)<<-?\s*['\"]?[A-Za-z_]\w*['\"]?(?:\s*$|\s+/)", line):
            raise AnswerError(
                "dockerfile_instruction", f"{line[:80]!r}: heredocs are not supported; put the text into a file"
            )
        if word in ("COPY", "WORKDIR") and re.search(r"\s/(?:proc|sys|dev)(?:/|\s|$)", line):
            raise AnswerError("environment_host", f"{line[:80]!r}: /proc, /sys and /dev are not part of an image")
        flags = [flag.split("=")[0] for flag in line.split()[1:] if flag.startswith("--")] if word == "COPY" else []
        if set(flags) - {"--chmod", "--chown"} or re.match(r"RUN\s+--", line, re.IGNORECASE):
            raise AnswerError(
                "dockerfile_instruction", f"{line[:80]!r}: of flags, COPY --chown and --chmod may be used"
            )
    steps = [_command(line) for line in lines if line.upper().startswith("RUN")]
    scripts = [*steps, *(file.content for file in answer.files if any(_runs(step, file.path) for step in steps))]
    for text in scripts:
        _harmless(text)
    size = sum(len(file.content.encode()) for file in answer.files)
    if size > CONTEXT_BYTES:
        raise AnswerError(
            "context_too_big", f"the files hold {size} bytes; make long data by a program with a fixed seed"
        )
    if len({file.path for file in answer.files}) < len(answer.files):
        raise AnswerError("context_path", "two files have the same path")
    for file in answer.files:
        try:
            ContextFile.of(file.path, "")
        except ValueError as error:
            raise AnswerError(
                "context_path", f"{file.path!r} must be relative, without empty, '.' or '..' parts"
            ) from error
    python_tests(answer.initial_tests, "initial_tests")


def _harmless(text: str) -> None:
    """What a build step runs. Comments do nothing, and a container may talk to itself."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    outward = "\n".join(line for line in lines if not _OWN_HOST.search(line))
    for reason, pattern, searched, what in (
        ("environment_secrets", _SECRETS, "\n".join(lines), "keys and the build's environment are no part of a task"),
        ("environment_host", _HOST, "\n".join(lines), "a build step may not touch the host, its devices or its kernel"),
        (
            "environment_network",
            _NETWORK,
            outward,
            "build steps run without a network; name Debian packages in `packages`, write files in `files`",
        ),
    ):
        if found := pattern.search(searched):
            raise AnswerError(reason, f"{found[0].strip(' ;&|(')!r} in a build step: {what}")


def _command(line: str) -> str:
    """What a RUN line runs; the words of the exec form as one line."""
    text = line[3:].strip()
    try:
        words: object = json.loads(text) if text.startswith("[") else text
    except ValueError:
        words = text
    return " ".join(map(str, cast(list[object], words))) if isinstance(words, list) else text


def _runs(step: str, path: str) -> bool:
    """Whether a step runs a file of the context."""
    name = re.escape(path.rsplit("/", 1)[-1])
    by = r"(?:(?:ba)?sh|source|\.|python3?|perl|make[ \t]+-f|g?awk[ \t]+-f)[ \t]+(?:-\S+[ \t]+)*\S*"
    return re.search(rf"{_AT}(?:{by})?(?:\./)?{name}(?![\w.-])", step) is not None


def _logical_lines(dockerfile: str) -> list[str]:
    kept = "\n".join(line for line in dockerfile.splitlines() if not line.strip().startswith("#"))
    return [line.strip() for line in re.sub(r"\\[ \t]*\n", " ", kept).splitlines() if line.strip()]


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
        if not item.sentence.strip() or " ".join(item.sentence.split()) not in text:
            raise AnswerError("spec_sentence_missing", f"not word for word in the instruction: {item.sentence[:120]!r}")
    cited = {name for item in answer.requirements for name in item.tests}
    if unmapped := sorted(set(listed) - cited):
        raise AnswerError("spec_test_unmapped", f"no requirement names {', '.join(unmapped)}")
    if unknown := sorted(cited - set(listed)):
        raise AnswerError("tests_missing", f"requirements name tests that do not exist: {', '.join(unknown)}")


def lookups(answer: Completion, named: str) -> None:
    """Completion tests look at nothing but what the task names (its instruction and container are the text `named`).

    Raises:
        AnswerError: one looks elsewhere, which is how a file that nobody asked for could count as a result.
    """
    for path, function in unnamed_paths(answer.source, named).items():
        raise AnswerError(
            "tests_unnamed_path",
            f"{function} looks at {path}, which neither the instruction nor the container names; tests may only look at what the task "
            "asks for, what is in the container, and what they write themselves",
        )


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
