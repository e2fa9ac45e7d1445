"""Why runs fail: what can be counted in a trajectory, flags for what went wrong, and one main label for a failed run.

    findings = [examine(trajectory) for trajectory in trajectories]      # then agent/failure_tables.py

An *act* is an action that was run and is more than a note: bash, file, search. A *change* is a file action that writes, or a part of
a command line that changes something (agent/shell_text.py); a *look* is any other act or part, but for `cd`, `echo` and the like. What
a program does inside is not seen: changes made by a script count as looks, so premature finishes are rather missed than invented.

loop              the same act 3 times in a row, the same result (40 characters or more) 3 times in a row, or two acts in turn, 3 times each
premature_finish  finished with a failing test although no look came after the last change, or nothing was done at all
errors_ignored    at least half of its errors were ignored. An *error* is a command that failed or ran out of time (exit code 1 of grep,
                  diff, test and the like is an answer). It is *ignored* if none of the next 3 acts runs one of its programs again
                  or touches a file that it or its output names, and 3 acts or a finish did follow
after an error    distinct programs and distinct command lines among the next 5 acts, mean over a run's errors
format_errors, useless_answers, context_full, turns_exhausted, out_of_time, out_of_tokens    what ended the agent's part
wrong_result      none of these: it finished, looked, and was wrong

Flags are set for passed runs too. The main label of a failed run is its first flag in the order of `Failure`: what ended it against
its will and in vain, then loops, which use up the budgets that come next. For reference, Endless Terminals reports loops in 39 % of
failures and turns exhausted in 26 %, and far more diverse commands after an error in successful runs, by definitions it left open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from agent.shell_text import Command, Part, read
from agent.table import trajectory_id
from agent.trajectory import Call, End, Item, Status, Trajectory
from generators.digest import canonical_json
from generators.task import Record

SAME_ACTS = SAME_RESULTS = PAIRS = 3
RESULT_CHARS = 40  # shorter results, such as that of a silent command, are alike without being a loop
RETRY_WINDOW, DIVERSITY_WINDOW = 3, 5  # acts after an error
IGNORED_SHARE = 0.5
_NOTES = frozenset(("think", "todo", "scratchpad", "finish"))
_WRITES = frozenset(("write", "edit", "multi_edit"))
_TRIVIAL = frozenset(("", ":", "cd", "echo", "exit", "export", "printf", "pwd", "set", "sleep", "true"))
_ASKING = frozenset(("[", "[[", "cmp", "command", "diff", "egrep", "fgrep", "grep", "pgrep", "rg", "test", "which"))


class Failure(StrEnum):
    """What went wrong, the telling before the general."""

    ENDED = "sandbox_ended"
    FORMAT = "format_errors"
    ANSWERS = "useless_answers"
    LOOP = "loop"
    CONTEXT = "context_full"
    TURNS = "turns_exhausted"
    TIME = "out_of_time"
    TOKENS = "out_of_tokens"
    PREMATURE = "premature_finish"
    IGNORED = "errors_ignored"
    WRONG = "wrong_result"


_ENDS = {
    End.ENDED: Failure.ENDED,
    End.FORMAT: Failure.FORMAT,
    End.ANSWERS: Failure.ANSWERS,
    End.CONTEXT: Failure.CONTEXT,
    End.TURNS: Failure.TURNS,
    End.TIME: Failure.TIME,
    End.TOKENS: Failure.TOKENS,
}


class Findings(Record):
    """What one run shows. Counts are over the whole run; means after errors are None where there was none."""

    id: str
    task_id: str
    model: str
    style: str
    attempt: int
    family: str
    domain: str
    skills: tuple[str, ...]
    difficulty: str
    status: Status
    end: End
    label: Failure | None  # of a failed run
    flags: tuple[Failure, ...]
    turns: int
    acts: int
    mistakes: int  # items of replies that were no valid action
    repeats: int  # most times in a row of the same act
    same_results: int  # and of the same result
    alternations: int  # most acts in a row that alternate between two
    errors: int
    ignored: int
    programs_after_error: float | None
    commands_after_error: float | None
    seconds: float  # of model and tools
    input_tokens: int
    output_tokens: int
    cost: float | None


_SHARED = ("task_id", "model", "style", "attempt", "family", "domain", "skills", "difficulty", "status", "end")
_SUMS = ("input_tokens", "output_tokens", "cost")


@dataclass(frozen=True)
class Act:
    """An action that was run: what it is, in a form that compares, and what came of it."""

    command: Command
    path: str  # of the file it is about
    result: str
    error: bool


def acts_of(trajectory: Trajectory) -> list[Act]:
    """All acts in their order."""
    found = (_act(item) for step in trajectory.steps for item in step.items)
    return [act for act in found if act]


def _act(item: Item) -> Act | None:
    call, seen = item.call, item.observation
    if call is None or seen is None or item.skipped or call.tag in _NOTES:
        return None
    command = _command(call)
    asked = seen.exit_code == 1 and bool(command.parts) and command.parts[-1].head in _ASKING
    error = call.tag == "bash" and (seen.failed or seen.timed_out) and not asked
    return Act(command, str(call.arguments.get("file_path", "")), seen.text, error)


def _command(call: Call) -> Command:
    if call.tag == "bash":
        return read(str(call.arguments.get("cmd", "")))
    kind = str(call.arguments.get("action", ""))
    part = Part(f"{call.tag} {kind}".strip(), call.tag == "file" and kind in _WRITES)
    return Command(f"{call.tag} {canonical_json(call.arguments)}", (part,))


def examine(trajectory: Trajectory) -> Findings:
    """Count, flag and label one run."""
    acts = acts_of(trajectory)
    finished = trajectory.end is End.FINISHED
    texts = [act.command.text for act in acts]
    errors = [place for place, act in enumerate(acts) if act.error]
    ignored = sum(is_ignored(acts, place, finished) for place in errors)
    after = [acts[place + 1 : place + 1 + DIVERSITY_WINDOW] for place in errors]
    repeats, alternations = longest_run(texts), longest_alternation(texts)
    results = longest_run([act.result if len(act.result) >= RESULT_CHARS else "" for act in acts])
    signs = {
        _ENDS.get(trajectory.end): True,
        Failure.LOOP: repeats >= SAME_ACTS or results >= SAME_RESULTS or alternations >= 2 * PAIRS,
        Failure.PREMATURE: finished and trajectory.status is Status.FAILED and not is_verified(acts),
        Failure.IGNORED: ignored > 0 and ignored >= IGNORED_SHARE * len(errors),
    }
    flags = tuple(name for name in Failure if signs.get(name))
    failed = trajectory.status is Status.FAILED
    return Findings(
        **{name: getattr(trajectory, name) for name in (*_SHARED, *_SUMS)},
        id=trajectory_id(trajectory),
        label=next(iter(flags), Failure.WRONG) if failed else None,
        flags=flags,
        turns=len(trajectory.steps),
        acts=len(acts),
        mistakes=sum(bool(item.mistake) for step in trajectory.steps for item in step.items),
        repeats=repeats,
        same_results=results,
        alternations=alternations,
        errors=len(errors),
        ignored=ignored,
        programs_after_error=_mean([len({head for act in some for head in act.command.heads}) for some in after]),
        seconds=trajectory.seconds.model + trajectory.seconds.tools,
        commands_after_error=_mean([len({act.command.text for act in some}) for some in after]),
    )


def longest_run(keys: Sequence[str]) -> int:
    """Most times in a row of the same key. Empty keys are no run."""
    longest = current = 0
    last = ""
    for key in keys:
        current = current + 1 if key and key == last else int(bool(key))
        longest, last = max(longest, current), key
    return longest


def longest_alternation(keys: Sequence[str]) -> int:
    """Most keys in a row that are two in turn, as in A B A B; 0 without a repetition."""
    longest, current = 0, 0
    for place in range(2, len(keys)):
        goes_on = keys[place] == keys[place - 2] != keys[place - 1]
        current = max(current, 2) + 1 if goes_on else 0
        longest = max(longest, current)
    return longest


def is_verified(acts: Sequence[Act]) -> bool:
    """Whether a look came after the last change; False where nothing was done."""
    parts = [part for act in acts for part in act.command.parts if part.changes or part.head not in _TRIVIAL]
    return bool(parts) and not parts[-1].changes


def is_ignored(acts: Sequence[Act], place: int, finished: bool) -> bool:
    """Whether the error of the act at `place` was ignored, as the module's text defines it."""
    error, following = acts[place], acts[place + 1 : place + 1 + RETRY_WINDOW]
    if len(following) < RETRY_WINDOW and not finished:
        return False
    programs = (error.command.heads - _TRIVIAL) or error.command.heads
    said = f"{error.command.text}\n{error.result}"
    return not any(act.command.heads & programs or (act.path and act.path in said) for act in following)


def _mean(values: Sequence[int]) -> float | None:
    return sum(values) / len(values) if values else None
