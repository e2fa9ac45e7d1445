"""A task in the making: the answers of the stages so far, and the record they add up to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from pydantic import ValidationError

from generators.axes import Cell
from generators.bases import preamble
from generators.digest import sha256_hex
from generators.errors import TaskError
from generators.family import with_truth
from generators.fixtures.ship import ship
from generators.task import (
    CompletionTests,
    ContextFile,
    Image,
    Limits,
    NearMiss,
    Provenance,
    Record,
    Requirement,
    Task,
    TestSpec,
)
from generators.written.problems import AnswerError, DroppedError, Problem, Round, Stage
from generators.written.prompts import versions
from generators.written.records import Completion, Description, Environment, FurnishedEnvironment, Misses, Solution

OFFLINE = "# termforge:offline\n"  # steps after the packages run without a network
MOST_ROUNDS = 3  # of repair, for each stage
R = TypeVar("R", bound=Record)
LIMITS = Limits(solve_seconds=60, grade_seconds=60)


@dataclass(frozen=True)
class Order:
    """What is to be written: a cell, and where it stands in its recipe."""

    cell: Cell
    seed: int
    serial: int
    model: str

    @property
    def name(self) -> str:
        """A name for messages and the ledger, the same in every run."""
        return f"written-{self.seed}-{self.serial:05d}-{sha256_hex(self.model)[:6]}"


@dataclass(frozen=True)
class Written:
    """Answers by stage, what was said last in each, what is wrong with that, and the rounds of repair so far."""

    order: Order
    answers: Mapping[Stage, Record] = field(default_factory=dict[Stage, Record])
    said: Mapping[Stage, str] = field(default_factory=dict[Stage, str])
    problems: Mapping[Stage, Problem] = field(default_factory=dict[Stage, Problem])
    rounds: tuple[Round, ...] = ()

    def get(self, stage: Stage, kind: type[R]) -> R:
        """The answer of a stage.

        Raises:
            AnswerError: there is none yet.
        """
        found = self.answers.get(stage)
        if not isinstance(found, kind):
            raise AnswerError("unfinished", f"the stage {stage} has not been written")
        return found

    def heard(self, stage: Stage, text: str) -> Written:
        """With what a model said last in a stage, whatever it is worth."""
        return replace(self, said={**self.said, stage: text})

    def answered(self, stage: Stage, answer: Record) -> Written:
        """With an answer."""
        problems = {key: value for key, value in self.problems.items() if key != stage}
        return replace(self, answers={**self.answers, stage: answer}, problems=problems)

    def without(self, *stages: Stage) -> Written:
        """Without the answers of some stages; what was said in them is kept for a repair."""
        return replace(self, answers={key: value for key, value in self.answers.items() if key not in stages})

    def in_repair(self, problem: Problem) -> Written:
        """With one more round for a stage, whose answer is dropped.

        Raises:
            DroppedError: it had them all.
        """
        stage = problem.stage
        number = self.round_of(stage) + 1
        if number > MOST_ROUNDS:
            raise DroppedError(problem, self.rounds)
        rounds = (*self.rounds, Round(stage, number, problem.reason, problem.detail))
        if stage == "describe":  # all that followed was about another task
            said: dict[Stage, str] = {stage: self.said.get(stage, "")}
            problems: dict[Stage, Problem] = {stage: problem}
            return replace(self, answers={}, said=said, problems=problems, rounds=rounds)
        return replace(self.without(stage, "judge"), problems={**self.problems, stage: problem}, rounds=rounds)

    def round_of(self, stage: Stage) -> int:
        """How often a stage has been repaired."""
        return sum(done.stage == stage for done in self.rounds)


def image(environment: Environment) -> Image:
    """The image of an environment: the base's preamble, packages, fixtures, then its own lines.

    Raises:
        AnswerError: files or fixtures that cannot be.
    """
    base, files, lines = environment.base, dict[str, ContextFile](), ""
    for spec in environment.fixtures if isinstance(environment, FurnishedEnvironment) else ():
        try:
            shipped = ship(spec, base)
        except TaskError as error:
            raise AnswerError("fixture_invalid", str(error)) from error
        base = shipped.base
        files |= {file.path: file for file in shipped.files}
        lines += shipped.dockerfile_lines.rstrip("\n") + "\n"
    for file in environment.files:
        if file.path in files:
            raise AnswerError("context_path", f"two files of the build context are called {file.path}")
        files[file.path] = ContextFile.of(file.path, file.content, int(file.mode, 8))
    packages = " ".join(sorted(set(environment.packages)))
    install = (
        f"RUN apt-get update && apt-get install -y --no-install-recommends {packages} && rm -rf /var/lib/apt/lists/*\n"
        if packages
        else ""
    )
    text = OFFLINE + preamble(base) + install + lines + environment.dockerfile.strip() + "\n"
    return Image(dockerfile=text, files=tuple(files[path] for path in sorted(files)))


def task(written: Written) -> Task:
    """The record.

    Raises:
        AnswerError: a stage is missing, or the parts do not fit.
    """
    description = written.get("describe", Description)
    environment, completion = written.get("environment", Environment), written.get("tests", Completion)
    misses = written.get("near_misses", Misses)
    solutions = [written.get(stage, Solution).script for stage in ("solution", "alternative")]
    order, truth = written.order, dict(description.truth)
    total = sum(item.weight for item in completion.weights)
    tests = [TestSpec(name=item.test, weight=item.weight / total) for item in completion.weights]
    tests += [TestSpec(name=name, guard=True) for name in completion.guards]
    axes = order.cell.axes()
    try:
        return Task.create(
            f"written_{axes.domain}",
            title=description.title,
            instruction=description.instruction.strip() + "\n",
            truth=truth,
            discoverable=description.discoverable,
            axes=axes,
            image=image(environment),
            initial_tests=with_truth(environment.initial_tests, truth),
            completion_tests=CompletionTests(source=with_truth(completion.source, truth), tests=tuple(tests)),
            solution=solutions[0],
            alternatives=tuple(solutions[1:]),
            near_misses=tuple(NearMiss(**miss.model_dump()) for miss in misses.misses),
            requirements=tuple(
                Requirement(sentence=item.sentence, tests=item.tests) for item in completion.requirements
            ),
            limits=LIMITS,
            provenance=Provenance(
                writer="model",
                family=f"written_{axes.domain}",
                seed=order.seed,
                serial=order.serial,
                setting=order.cell.voice,
                knobs={
                    "model": order.model,
                    "category": order.cell.category,
                    "scale": order.cell.scale,
                    **order.cell.knobs,
                },
                version=versions(),
            ),
        )
    except ValidationError as error:
        problem = error.errors()[0]
        raise AnswerError("malformed", f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"[:500]) from error
