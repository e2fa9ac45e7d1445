"""The stages in order, and repair: ask, parse, screen; where that fails, ask again with the exact error, at most three times a stage.

    writer = Writer(models)
    written = await writer.begin(order)                 # a draft that passed every screen
    written = await writer.revise(written, problem)     # after a gate said what does not hold

Answers that a revision has made stale (a near miss that names a test which is gone) are repaired like wrong ones.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from generators.chat.model import Ask, ChatModel, Effort, Message, Tag
from generators.errors import AnswerFault
from generators.fixtures.spec import fixture_schema
from generators.task import Record
from generators.written import answers, screens
from generators.written.draft import Order, Written
from generators.written.problems import STAGES, AnswerError, Problem, Stage
from generators.written.prompts import prompt
from generators.written.records import (
    Completion,
    Description,
    Environment,
    FurnishedEnvironment,
    Judgement,
    Misses,
    Solution,
)

TryEnvironment = Callable[[Written], Awaitable[Problem | None]]
_ECHO, _ERROR = 24_000, 3_000  # characters of an earlier answer, and of an error, that a repair quotes
_THINKING = 8_000  # tokens on top of an answer's for models that reason
_KINDS: Mapping[Stage, type[Record]] = {
    "describe": Description,
    "tests": Completion,
    "solution": Solution,
    "alternative": Solution,
    "near_misses": Misses,
    "judge": Judgement,
}


@dataclass(frozen=True)
class Models:
    """Who writes, who tests, who solves, and who judges (nobody, where it is None)."""

    writer: ChatModel
    tester: ChatModel
    solver: ChatModel
    judge: ChatModel | None = None
    reasoning: Effort | None = None
    structured: bool = True  # ask for JSON of a schema; else for tagged text

    def of(self, stage: Stage) -> ChatModel:
        """The model of a stage."""
        match stage:
            case "tests" | "near_misses":
                return self.tester
            case "solution" | "alternative":
                return self.solver
            case "judge" if self.judge:
                return self.judge
            case _:
                return self.writer


class Writer:
    """Writes tasks with language models. Safe for many tasks at once in one event loop.

    `try_environment` builds a container and runs its initial tests, before more is written for it.
    """

    def __init__(self, models: Models, try_environment: TryEnvironment | None = None) -> None:
        self.models, self.try_environment = models, try_environment

    async def begin(self, order: Order) -> Written:
        """All stages, each until it passes its screens.

        Raises:
            DroppedError: a stage used up its rounds.
            ProviderFault, BudgetError, UsageError: the model could not be asked.
        """
        return await self._complete(Written(order))

    async def revise(self, written: Written, problem: Problem) -> Written:
        """One stage anew, with what is wrong said, and whatever no longer fits it. Raises as `begin` does."""
        return await self._complete(written.in_repair(problem))

    async def _complete(self, written: Written) -> Written:
        for stage in STAGES:
            if stage == "judge" and self.models.judge is None:
                continue
            written = await self._stage(written, stage)
        opinion = written.answers.get("judge")
        if isinstance(opinion, Judgement) and opinion.verdict == "revise":
            return await self.revise(written, Problem(opinion.stage, "judge_objects", opinion.reasons or "no reasons"))
        return written

    async def _stage(self, written: Written, stage: Stage) -> Written:
        """An answer of this stage that fits: the one that is there, or a new one."""
        while True:
            try:
                fresh = stage not in written.answers
                if fresh:
                    written = await self._ask(written, stage)
                    written = written.answered(stage, answers.parse(_kind(written, stage), written.said[stage]))
                _screen(written, stage)
            except AnswerError as error:
                written = written.in_repair(Problem(stage, error.reason, error.detail))
                continue
            except AnswerFault as fault:
                written = written.in_repair(Problem(stage, fault.reason, _why(fault))).heard(stage, "")
                continue
            if not fresh or stage != "environment" or self.try_environment is None:
                return written
            problem = await self.try_environment(written)
            if problem is None:
                return written
            written = written.in_repair(problem)

    async def _ask(self, written: Written, stage: Stage) -> Written:
        """Ask the stage's model, quoting its last answer and what is wrong with it where there is one."""
        models, number = self.models, written.round_of(stage)
        template = prompt("solution" if stage == "alternative" else stage)
        kind = _kind(written, stage)
        messages = _conversation(written, stage, kind, models.structured)
        ask = Ask(
            messages=messages,
            max_tokens=template.max_tokens + (_THINKING if models.reasoning else 0),
            temperature=None if models.reasoning else template.temperature,
            reasoning=models.reasoning,
            answer_schema=_schema(kind) if models.structured else None,
            sample=number,
        )
        reply = await models.of(stage).ask(ask, Tag(written.order.name, stage, number))
        return written.heard(stage, reply.text)


@cache
def _schema(kind: type[Record]) -> dict[str, Any]:
    return kind.model_json_schema()


def _conversation(written: Written, stage: Stage, kind: type[Record], structured: bool) -> tuple[Message, ...]:
    """The stage's prompt; in a repair, its last answer and what is wrong with it too."""
    template = prompt("solution" if stage == "alternative" else stage)
    asked = template.render(**_values(written, stage), form=answers.form(kind))
    system = Message(role="system", content=prompt("system").render(structured=structured))
    problem, said = written.problems.get(stage), written.said.get(stage)
    if problem is None:
        return system, Message(role="user", content=asked)
    advice = f"{problem.advice}\n\n" if problem.advice else ""
    repair = prompt("repair").render(reason=problem.reason, error=problem.detail[:_ERROR], advice=advice)
    if not said:
        return system, Message(role="user", content=f"{asked}\n{repair}")
    told = Message(role="assistant", content=said[:_ECHO])
    return system, Message(role="user", content=asked), told, Message(role="user", content=repair)


def _why(fault: AnswerFault) -> str:
    return {"cut_off": "the answer was cut off at the limit of its length; write less"}.get(fault.reason, str(fault))


def _kind(written: Written, stage: Stage) -> type[Record]:
    if stage == "environment":
        return Environment if written.order.cell.fixture == "text_only" else FurnishedEnvironment
    return _KINDS[stage]


def _values(written: Written, stage: Stage) -> dict[str, object]:
    """What a stage's prompt is rendered with."""
    cell = written.order.cell
    if stage == "describe":
        return {"cell": cell.describe()}
    about = written.get("describe", Description)
    values: dict[str, object] = {"description": answers.render(about)}
    if stage == "environment":
        fixture = "" if cell.fixture == "text_only" else cell.fixture
        return {
            **values,
            "cell": cell.describe(),
            "fixture": fixture,
            "fixture_schema": json.dumps(fixture_schema(fixture)) if fixture else "",
        }
    environment = written.get("environment", Environment)
    solving = stage in ("solution", "alternative")
    values["environment"] = answers.render(_as_found(environment) if solving else environment)
    if stage == "tests":
        return {**values, "verifier": f"{cell.verifier}. {cell.notes.get('verifier', '')}".strip()}
    if solving:
        known = written.get("solution", Solution).script if stage == "alternative" else ""
        return {**values, "instruction": about.instruction, "number": 2 if known else 1, "known": known}
    values["tests"] = answers.render(written.get("tests", Completion))
    return {**values, "solution": written.get("solution", Solution).script}


def _as_found(environment: Environment) -> Environment:
    """What a solver may know of it: nothing that only the examiner does, and of fixtures what it finds in the container."""
    bare = Environment(**{name: getattr(environment, name) for name in Environment.model_fields})
    return bare.model_copy(update={"initial_tests": ""})


def _screen(written: Written, stage: Stage) -> None:
    """What can be seen wrong without running anything.

    Raises:
        AnswerError: something is.
    """
    match stage:
        case "describe":
            screens.description(written.get("describe", Description))
        case "environment":
            screens.environment(written.get("environment", Environment))
        case "tests":
            instruction, environment = (
                written.get("describe", Description).instruction,
                written.get("environment", Environment),
            )
            screens.completion(written.get("tests", Completion), instruction)
            screens.lookups(written.get("tests", Completion), f"{instruction}\n{answers.render(environment)}")
        case "solution" | "alternative":
            screens.solution(written.get(stage, Solution))
        case "near_misses":
            goals = frozenset(item.test for item in written.get("tests", Completion).weights)
            screens.misses(written.get("near_misses", Misses), goals)
        case "judge":
            pass
