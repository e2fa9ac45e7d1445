"""Transcripts of our own writing with the score they deserve: datasets/judge/cases.yaml, read into trajectories.

    tasks:
      ports: {instruction: "...", dockerfile: "..."}
    cases:
      no_exploration:
        why: What a good judge sees in it.
        expected: [0.1, 0.3]
        task: ports
        turns:
          - say: I will start.                       # or `thinks: 4000`, so many characters of it
            do:
              - todo: [add Find the port, complete 1, delete 2, view]
              - bash: ss -ltn
                out: "LISTEN 0 4096"
                exit: 0
              - edit: {file_path: /etc/app.ini, old_string: a, new_string: b}
              - broken: what was wrong with its form

An action is `bash`, `todo`, `note`, `notes`, `read`, `write`, `edit`, `multi_edit`, `metadata`, `grep`, `glob`, `ls`, `think` or `finish`;
beside it stand `out`, `exit`, `failed`, `timed_out`, `skipped`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import AfterValidator, Field, JsonValue, ValidationError, model_validator

from agent.observation import Observation
from agent.trajectory import Call, End, Item, Status, Step, Trajectory
from generators.chat.model import Usage
from generators.errors import RecipeError
from generators.problems import first_problem
from generators.strict_yaml import read_mapping
from generators.task import Record
from trainer.judge.rubric import Span, judge_data
from trainer.judge.verdict import Judged

_FILLER = "Let me think about this once more before I act, since there may be another way to see it. "
_FORMS = {  # the name in a case: tag, action, and the field that a bare text stands for
    "bash": ("bash", "", "cmd"),
    "note": ("scratchpad", "add_note", "content"),
    "notes": ("scratchpad", "view_all_notes", ""),
    "read": ("file", "read", "file_path"),
    "write": ("file", "write", ""),
    "edit": ("file", "edit", ""),
    "multi_edit": ("file", "multi_edit", ""),
    "metadata": ("file", "metadata", "file_paths"),
    "grep": ("search", "grep", "pattern"),
    "glob": ("search", "glob", "pattern"),
    "ls": ("search", "ls", "path"),
    "think": ("think", "", "content"),
    "finish": ("finish", "", "message"),
}
_BESIDE = {"out", "exit", "failed", "timed_out", "skipped"}
_OPERATION = re.compile(r"(add) (.+)|(complete|delete) (\d+)|(view)", re.DOTALL)


def _one_action(entry: dict[str, JsonValue]) -> dict[str, JsonValue]:
    names = set(entry) - _BESIDE
    if len(names) != 1 or not names <= {*_FORMS, "todo", "broken"}:
        raise ValueError(
            f"one action each, of {', '.join(_FORMS)}, todo or broken; not {', '.join(sorted(names)) or 'none'}"
        )
    return entry


class Turn(Record):
    """What the agent said and did."""

    say: str = ""
    thinks: int = 0
    do: tuple[Annotated[dict[str, JsonValue], AfterValidator(_one_action)], ...] = ()


class CaseTask(Record):
    """What the agent was asked."""

    instruction: str
    dockerfile: str


class Written(Record):
    """A case as it is written."""

    why: Annotated[str, Field(min_length=10)]
    expected: Span
    task: str
    style: Literal["structured", "minimal"] = "structured"
    end: End = End.FINISHED
    turns: tuple[Turn, ...]


class _File(Record):
    tasks: dict[str, CaseTask]
    cases: Annotated[dict[str, Written], Field(min_length=1)]

    @model_validator(mode="after")
    def _tasks_exist(self) -> Self:
        if missing := sorted({case.task for case in self.cases.values()} - set(self.tasks)):
            raise ValueError(f"no such task: {', '.join(missing)}")
        return self


class Case(Record):
    """An episode and the range in which its score should lie."""

    name: str
    why: str
    low: float
    high: float
    trajectory: Trajectory
    dockerfile: str

    @property
    def judged(self) -> Judged:
        """What a judge gets."""
        return Judged(self.trajectory, self.dockerfile)


def load_cases(path: Path | None = None) -> tuple[Case, ...]:
    """The cases in a file, or the shipped ones.

    Raises:
        RecipeError: not readable or not valid; the message names file and key.
    """
    path = path or judge_data() / "cases.yaml"
    values = read_mapping(path, "judge cases")
    try:
        written = _File.model_validate(values)
        return tuple(_case(name, case, written.tasks[case.task]) for name, case in written.cases.items())
    except ValidationError as error:
        raise RecipeError(f"judge cases {path}: {first_problem(error)}") from error
    except ValueError as error:
        raise RecipeError(f"judge cases {path}: {error}") from error


def _case(name: str, case: Written, task: CaseTask) -> Case:
    trajectory = Trajectory(
        task_id=f"judge-{case.task}",
        task_digest="",
        model="scripted:case",
        style=case.style,
        system="",
        instruction=task.instruction,
        steps=tuple(_step(turn, case.style) for turn in case.turns),
        status=Status.FAILED,
        end=case.end,
    )
    return Case(
        name=name,
        why=case.why,
        low=case.expected[0],
        high=case.expected[1],
        trajectory=trajectory,
        dockerfile=task.dockerfile,
    )


def _step(turn: Turn, style: str) -> Step:
    items = tuple(_item(entry) for entry in turn.do)
    words = turn.say + (_FILLER * (turn.thinks // len(_FILLER) + 1))[: turn.thinks]
    said = [_spelled(item, style) for item in items]
    reply = "\n".join(part for part in (words, *said) if part)
    return Step(reply=reply, items=items, usage=Usage(input_tokens=0, output_tokens=0))


def _item(entry: dict[str, Any]) -> Item:
    if "broken" in entry:
        return Item(mistake=str(entry["broken"]))
    call = _call(next((name, value) for name, value in entry.items() if name not in _BESIDE))
    if entry.get("skipped"):
        return Item(call=call, skipped=True)
    code, late = entry.get("exit"), bool(entry.get("timed_out"))
    if call.tag == "bash" and code is None and not late:
        code = 0
    failed = bool(entry.get("failed")) or late or bool(code)
    text = str(entry.get("out", ""))
    seen = Observation(tag=call.tag, text=text, failed=failed, exit_code=code, timed_out=late, chars=len(text))
    return Item(call=call, observation=seen)


def _call(named: tuple[str, Any]) -> Call:
    name, value = named
    if name == "todo":
        return Call(tag="todo", arguments={"operations": [_operation(str(text)) for text in value]})
    tag, action, bare = _FORMS[name]
    fields = value if isinstance(value, dict) else {} if value is None or not bare else {bare: value}
    return Call(tag=tag, arguments=({"action": action} if action else {}) | fields)


def _operation(text: str) -> dict[str, JsonValue]:
    match = _OPERATION.fullmatch(text)
    if not match:
        raise ValueError(f"todo {text!r}: write `add TEXT`, `complete N`, `delete N` or `view`")
    if match[1]:
        return {"action": "add", "content": match[2]}
    return {"action": match[3], "task_id": int(match[4])} if match[3] else {"action": "view_all"}


def _spelled(item: Item, style: str) -> str:
    """A reply's words for an item."""
    if item.call is None:
        return "<bash>\ncmd: [unclosed\n</bash>"
    if style == "minimal":
        return f"```bash\n{item.call.arguments.get('cmd', '')}\n```" if item.call.tag == "bash" else "SUBMIT"
    body = yaml.safe_dump(item.call.arguments, allow_unicode=True, sort_keys=False, width=10_000)
    return f"<{item.call.tag}>\n{body}</{item.call.tag}>"
