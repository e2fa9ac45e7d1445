"""What can be computed of an episode without a model: every call in its order with its kind and outcome, and counts over them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from agent.trajectory import Call, End, Item, Trajectory
from generators.digest import canonical_json
from trainer.judge.commands import TOUCHING, Kind, kind_of

_MARKUP = 24  # characters that tags and a key take around a call's text
_PATH = re.compile(r"(?<![\w.])/[\w.@+\-/]+")


@dataclass(frozen=True)
class Act:
    """A call that ran."""

    step: int
    call: Call
    kind: Kind
    failed: bool
    timed_out: bool
    output: str

    @cached_property
    def key(self) -> str:
        """Equal for the same call."""
        return self.call.tag + canonical_json(self.call.arguments)

    @property
    def text(self) -> str:
        """A command, or the values of other calls in one text."""
        return "\n".join(_strings(self.call.arguments))

    @property
    def touching(self) -> bool:
        """Whether it touches the system."""
        return self.kind in TOUCHING


@dataclass(frozen=True)
class Todos:
    """The list over the whole episode."""

    added: int = 0
    added_before_change: int = 0
    completed: int = 0
    deleted: int = 0
    steps_with_completions: int = 0

    @property
    def open(self) -> int:
        """How many were left."""
        return max(0, self.added - self.completed - self.deleted)


class Facts:
    """An episode, seen exactly."""

    def __init__(self, trajectory: Trajectory) -> None:
        self.trajectory = trajectory
        self.acts = tuple(_acts(trajectory))
        self.mistakes = sum(bool(item.mistake) for step in trajectory.steps for item in step.items)

    @cached_property
    def touching(self) -> tuple[Act, ...]:
        """The acts that touch the system."""
        return tuple(act for act in self.acts if act.touching)

    @cached_property
    def first_change(self) -> int | None:
        """Where in `acts` the first change is; a program of unknown effect counts as one."""
        return next((at for at, act in enumerate(self.acts) if act.kind in (Kind.CHANGE, Kind.RUN)), None)

    @cached_property
    def looks_before_change(self) -> tuple[Act, ...]:
        """What was looked at, or tried out, before the first change."""
        before = self.acts if self.first_change is None else self.acts[: self.first_change]
        return _distinct([act for act in before if act.kind in (Kind.LOOK, Kind.CHECK)])

    @property
    def looks(self) -> int:
        """How many looks there were at all."""
        return sum(act.kind is Kind.LOOK for act in self.acts)

    @cached_property
    def checked(self) -> bool:
        """Whether something was looked at, run or tried out after the last change."""
        last = max((at for at, act in enumerate(self.acts) if act.kind is Kind.CHANGE), default=-1)
        if last < 0:
            last = self.first_change if self.first_change is not None else len(self.acts)
        return any(act.touching and not act.timed_out for act in self.acts[last + 1 :])

    @property
    def finished(self) -> bool:
        """Whether the agent itself said that it was done."""
        return self.trajectory.end is End.FINISHED

    @cached_property
    def todos(self) -> Todos:
        """The list of things to do."""
        limit = len(self.acts) if self.first_change is None else self.first_change
        kinds = [
            (at, act.step, kind) for at, act in enumerate(self.acts) if not act.failed for kind in _todo_kinds(act)
        ]
        return Todos(
            added=sum(kind == "add" for _, _, kind in kinds),
            added_before_change=sum(kind == "add" for at, _, kind in kinds if at < limit),
            completed=sum(kind == "complete" for _, _, kind in kinds),
            deleted=sum(kind == "delete" for _, _, kind in kinds),
            steps_with_completions=len({step for _, step, kind in kinds if kind == "complete"}),
        )

    @cached_property
    def redundant_retries(self) -> tuple[Act, ...]:
        """Failed calls that were made again unchanged, with nothing but looking or thinking in between."""
        found: list[Act] = []
        failed: set[str] = set()
        for act in self.touching:
            if act.key in failed and act.failed:
                found.append(act)
            elif act.kind in (Kind.CHANGE, Kind.RUN) and not act.failed:
                failed.clear()
            if act.failed:
                failed.add(act.key)
        return tuple(found)

    @cached_property
    def circles(self) -> int:
        """How often a call beyond the second gave what it had given before, or one program beyond the second failed in the same way.

        Redundant retries are not counted again.
        """
        same: Counter[str] = Counter()
        retries = set(map(id, self.redundant_retries))
        for act in self.touching:
            if id(act) not in retries:
                same[act.key + "\x00" + act.output] += 1
                if act.failed:
                    same[f"{_program(act)}\x00{re.sub('[0-9]+', '0', act.output[-200:])}"] += 1
        return sum(count - 2 for count in same.values() if count > 2)

    @cached_property
    def recovered(self) -> tuple[int, int]:
        """Of how many runs of failures something different succeeded within the next three acts; and how many runs there were."""
        good = total = 0
        for at, act in enumerate(self.touching):
            if not act.failed or (at and self.touching[at - 1].failed):
                continue
            total += 1
            good += any(not later.failed and later.key != act.key for later in self.touching[at + 1 : at + 4])
        return good, total

    @cached_property
    def thinking(self) -> float:
        """Characters of thinking for each act that touches the system."""
        whole = sum(len(step.reply) + len(step.reasoning) for step in self.trajectory.steps)
        calls = [item.call for step in self.trajectory.steps for item in step.items if item.call]
        acting = sum(len(text) + _MARKUP for call in calls if call.tag != "think" for text in _strings(call.arguments))
        return max(0, whole - acting) / max(1, len(self.touching))

    @cached_property
    def edits(self) -> tuple[int, int]:
        """How many changes to files that existed concern a file whose content had been looked at; and how many there are."""
        seen, good, total = "", 0, 0
        for act in self.acts:
            if paths := _edited(act):
                total += 1
                good += all(path in seen or path.rsplit("/", 1)[-1] in seen for path in paths)
            if act.touching:
                seen += f"\n{act.text}\n{act.output}"
        return good, total


def _acts(trajectory: Trajectory) -> Iterator[Act]:
    for number, step in enumerate(trajectory.steps):
        for item in step.items:
            if item.call is not None and not item.skipped:
                yield _act(number, item, item.call)


def _act(number: int, item: Item, call: Call) -> Act:
    kind, seen = kind_of(call), item.observation
    if seen is None:
        return Act(number, call, kind, failed=False, timed_out=False, output="")
    harmless = kind in (Kind.LOOK, Kind.CHECK) and seen.exit_code == 1  # nothing found, or a check that says no
    return Act(number, call, kind, (seen.failed or seen.timed_out) and not harmless, seen.timed_out, seen.text)


def _todo_kinds(act: Act) -> list[str]:
    if act.kind is not Kind.PLAN:
        return []
    listed = act.call.arguments.get("operations")
    operations = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    return [str(entry.get("action") or _implied(entry)) for entry in operations]


def _implied(operation: Mapping[str, object]) -> str:
    """What an operation is that does not name itself."""
    return "add" if "content" in operation else "complete" if "task_id" in operation else "view_all"


def _edited(act: Act) -> list[str]:
    """The files that existed and are changed by a call, as far as it names them."""
    arguments = act.call.arguments
    action = arguments.get("action")
    if act.call.tag == "file" and (
        action in ("edit", "multi_edit") or (action == "write" and arguments.get("overwrite"))
    ):
        return [str(arguments.get("file_path", ""))]
    command = str(arguments.get("cmd", "")) if act.call.tag == "bash" else ""
    return _PATH.findall(command.split("sed", 1)[1])[-1:] if re.search(r"\bsed\s+(-\w+\s+)*-\w*i", command) else []


def _program(act: Act) -> str:
    return (
        act.call.tag
        + str(act.call.arguments.get("action", ""))
        + " ".join(str(act.call.arguments.get("cmd", "")).split()[:1])
    )


def _strings(value: object) -> list[str]:
    """Every text in a value, in order."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for part in value.values() for text in _strings(part)]
    return [text for part in value for text in _strings(part)] if isinstance(value, list) else []


def _distinct(acts: Sequence[Act]) -> tuple[Act, ...]:
    return tuple({act.key: act for act in acts}.values())
