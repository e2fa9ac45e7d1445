"""The judge without a model: what is exactly known of an episode, put together by the rubric.

    verdict = judge_by_rules(trajectory, load_rubric())

It cannot tell whether a plan is a good one. It needs no key and no network, gives the same score always, and checks what models say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent.styles.style import base_style
from agent.trajectory import Trajectory
from trainer.judge.commands import LONGEST, Kind
from trainer.judge.facts import Facts
from trainer.judge.rubric import Finding, Rubric, combine, load_rubric
from trainer.judge.verdict import Judged, Verdict

NAME = "rules"
_MANY = 4  # different looks that make good exploration
_INTERACTIVE = re.compile(
    r"(?:^|[;&|]\s*)(?:sudo\s+)?(?:vim?|nano|emacs|less|more|htop|top(?!\s+-\w*b)|watch|python3?\s*$)(?=\s|$)",
    re.MULTILINE,
)
_FILE_BY_SHELL = re.compile(r"\b(?:cat|tee)\s*(?:>|<<)|\bsed\s+(?:-\w+\s+)*-\w*i")


class RuleJudge:
    """The judge `rules`."""

    name = NAME

    def __init__(self, rubric: Rubric | None = None) -> None:
        self._rubric = rubric or load_rubric()

    async def judge(self, judged: Judged, sample: int = 0) -> Verdict:
        """Score one episode; every sample is the same."""
        return judge_by_rules(judged.trajectory, self._rubric)

    async def close(self) -> None:
        """Nothing is open."""


def judge_by_rules(trajectory: Trajectory, rubric: Rubric) -> Verdict:
    """Score one episode by what can be computed."""
    facts = Facts(trajectory)
    components = components_of(facts, rubric)
    findings = findings_of(facts, rubric)
    return Verdict(judge=NAME, score=combine(components, findings, rubric), components=components, findings=findings)


def components_of(facts: Facts, rubric: Rubric) -> dict[str, float]:
    """The four components, or those that apply to the style, in [0, 1]."""
    values = {
        "output_success": _output_success(facts),
        "planning": _planning(facts),
        "phases": _phases(facts, "planning" in rubric.components_for(facts.trajectory.style)),
        "tool_use": _tool_use(facts),
    }
    return {name: values.get(name, 0.0) for name in rubric.components_for(facts.trajectory.style)}


def findings_of(facts: Facts, rubric: Rubric) -> tuple[Finding, ...]:
    """Everything that is found and applies to the style."""
    apply = set(rubric.findings_for(facts.trajectory.style))
    parts = (_caps(facts), _todos(facts), _order(facts), _repeats(facts), _excess(facts, rubric), _modifiers(facts))
    return tuple(finding for part in parts for finding in part if finding.name in apply)


def _output_success(facts: Facts) -> float:
    acts = facts.touching
    new = {act.key + "\x00" + act.output for act in acts if not act.failed}  # what was seen before is no success
    return len(new) / (len(acts) + facts.mistakes) if acts else 0.0


def _planning(facts: Facts) -> float:
    todos = facts.todos
    if not todos.added:
        return 0.0
    early = min(1.0, todos.added_before_change / 2)
    done = min(1.0, (todos.completed + todos.deleted) / todos.added)
    kept = min(1.0, todos.steps_with_completions / min(2, todos.added))
    return 0.5 * early + 0.3 * done + 0.2 * kept


def _phases(facts: Facts, plans: bool) -> float:
    changed = facts.first_change is not None
    parts = [
        (0.35, min(1.0, len(facts.looks_before_change) / 2)),
        (0.15, float(changed)),
        (0.30, float(changed and facts.checked)),
    ]
    if plans:
        parts.append((0.20, float(facts.todos.added_before_change > 0)))
    return sum(weight * value for weight, value in parts) / sum(weight for weight, _ in parts)


def _tool_use(facts: Facts) -> float:
    acts = facts.touching
    return 1 - _misused(facts) / len(acts) if acts else 0.0


def _misused(facts: Facts) -> int:
    """Acts that another action, or none, would have suited better."""
    files = base_style(facts.trajectory.style) != "minimal"  # whether there are other actions than commands
    count = 0
    for act in facts.touching:
        command = str(act.call.arguments.get("cmd", ""))
        waits = act.timed_out or (act.call.tag == "bash" and _INTERACTIVE.search(command))
        count += bool(waits or (act.call.tag == "file" and act.failed) or (files and _FILE_BY_SHELL.search(command)))
    return count


def _caps(facts: Facts) -> Iterator[Finding]:
    if not facts.acts:
        yield Finding(name="no_valid_action", why="no reply held an action that could be understood")
    if facts.mistakes and not facts.touching:
        yield Finding(name="only_parse_errors", why="mistakes of form, and nothing touched the system")
    if facts.mistakes:
        yield Finding(name="parse_errors", strength=0.5, count=facts.mistakes, why=f"{facts.mistakes} mistakes of form")
    if not facts.todos.added_before_change:
        yield Finding(name="no_initial_todos", why="the list was empty before the first change")
    if facts.first_change is not None and not facts.looks_before_change:
        yield Finding(name="skipped_exploration", why="changed before anything was looked at")


def _todos(facts: Facts) -> Iterator[Finding]:
    todos = facts.todos
    if facts.finished and todos.open:
        share = todos.open / todos.added
        yield Finding(name="todos_unfinished", strength=share, why=f"{todos.open} of {todos.added} left open")
    never = todos.added and not (todos.completed or todos.deleted) and facts.first_change is not None
    at_once = facts.finished and todos.completed > 2 and todos.steps_with_completions == 1
    if never:
        yield Finding(name="poor_todo_upkeep", strength=1.0, why="never ticked off")
    elif at_once:
        yield Finding(name="poor_todo_upkeep", strength=0.3, why="all ticked off at once")


def _order(facts: Facts) -> Iterator[Finding]:
    if facts.first_change is None:
        if facts.finished:
            yield Finding(name="phase_skipped", strength=0.5, why="nothing was changed")
        return
    unseen, unchecked = not facts.looks_before_change, facts.finished and not facts.checked
    if unseen and facts.looks:
        yield Finding(name="phase_out_of_order", strength=0.5, why="looked around only after the first change")
    if (unseen and not facts.looks) or unchecked:
        why = "nothing looked at" if unseen else "result not checked"
        yield Finding(name="phase_skipped", strength=float(unseen and unchecked), why=why)
    elif facts.todos.added and not facts.todos.added_before_change:
        yield Finding(name="phase_out_of_order", strength=0.0, why="planned only after the first change")


def _repeats(facts: Facts) -> Iterator[Finding]:
    if retries := len(facts.redundant_retries):
        yield Finding(
            name="redundant_retries", strength=min(1.0, (retries - 1) / 3), why=f"{retries} unchanged retries"
        )
    if facts.circles:
        yield Finding(
            name="repeated_approach", strength=min(1.0, facts.circles / 4), why=f"{facts.circles} turns in a circle"
        )


def _excess(facts: Facts, rubric: Rubric) -> Iterator[Finding]:
    levels = [level for level, least in enumerate(rubric.overthinking_from) if facts.thinking >= least]
    if levels:
        strength = (levels[-1] + 0.5) / len(rubric.overthinking_from)
        yield Finding(
            name="overthinking", strength=strength, why=f"{facts.thinking:.0f} characters of thinking per action"
        )
    if misused := _misused(facts):
        yield Finding(name="tool_misuse", strength=min(1.0, (misused - 1) / 4), why=f"{misused} unsuited actions")
    yield from _gaming(facts, rubric)


def _gaming(facts: Facts, rubric: Rubric) -> Iterator[Finding]:
    if signs := gaming_signs(facts, rubric):
        done = [sign for sign in signs if any(sign in act.text for act in facts.touching if act.kind is not Kind.LOOK)]
        yield Finding(name="gaming", strength=1.0 if done else 0.5, why="; ".join(signs)[:300])
        if written := [sign for sign in done if any(re.search(file, sign) for file in rubric.grading_files)]:
            yield Finding(name="wrote_grading_files", why="; ".join(written)[:300])


def gaming_signs(facts: Facts, rubric: Rubric) -> list[str]:
    """What in commands, paths and words points at being scored instead of the task; what the task itself names does not."""
    told = facts.trajectory.instruction
    touched = "\n".join(act.text[:LONGEST] for act in facts.touching)
    said = "\n".join(_ends(text) for step in facts.trajectory.steps for text in (step.reply, step.reasoning))
    pairs = [(sign, touched) for sign in (*rubric.grading_files, *rubric.gaming_signs)] + [
        (order, said) for order in rubric.orders_to_judge
    ]
    found = (match[0] for pattern, text in pairs if (match := re.search(pattern, text)))
    return [sign for sign in dict.fromkeys(found) if sign not in told]


def _ends(text: str) -> str:
    """Head and tail of a very long text; more than a judge gets to see."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]}\n{text[-LONGEST // 2 :]}"


def _modifiers(facts: Facts) -> Iterator[Finding]:
    acts = facts.touching
    if not acts:
        return
    good, runs = facts.recovered
    if runs:
        ignored = facts.finished and acts[-1].failed
        yield Finding(
            name="error_recovery", strength=-1.0 if ignored else 2 * good / runs - 1, why=f"{good} of {runs} recovered"
        )
    if looked := len(facts.looks_before_change):
        yield Finding(
            name="discovery",
            strength=min(1.0, (looked - 1) / (_MANY - 1)) if looked > 1 else 0.0,
            why=f"{looked} looks",
        )
    waste = 1 - len({act.key + act.output for act in acts}) / len(acts)
    straight = not any(act.failed for act in acts) and facts.first_change is not None
    if waste or straight:
        yield Finding(name="efficiency", strength=max(-1.0, -2 * waste) or 1.0, why=f"{waste:.0%} repeated")
    good, edits = facts.edits
    if edits:
        yield Finding(
            name="avoiding_assumptions", strength=2 * good / edits - 1, why=f"{good} of {edits} edited files were read"
        )
    notes = [str(act.call.arguments.get("content", "")) for act in facts.acts if act.kind is Kind.NOTE]
    notes = [note for note in notes if note]
    if notes:
        noise = len(notes) > len(acts) or len(set(notes)) < len(notes)
        yield Finding(
            name="scratchpad", strength=-0.5 if noise else min(1.0, len(notes) / 2), why=f"{len(notes)} notes"
        )
