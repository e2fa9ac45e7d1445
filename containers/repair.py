"""From a draft to a proven task: what a gate found wrong goes back to the stage that can mend it, until all gates hold or the rounds
are used up.

    workshop = Workshop(pool, store)
    outcome = await workshop.make(writer, order)        # Outcome: the task with its evidence, or the gate and reason it fell at

Sandboxes are worked by threads; the event loop only waits for them.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from containers.pool import Pool
from containers.proof import gates
from containers.proof.prove import plan_name, prove
from containers.proof.store import ProofStore
from containers.sandbox import BuildFailure
from generators.digest import digest_of
from generators.errors import SandboxFault
from generators.evidence import SUITE, Evidence, Gate, Verdict
from generators.family import with_truth
from generators.task import Image, Task
from generators.written.draft import LIMITS, MOST_ROUNDS, Order, Written, image, task
from generators.written.problems import AnswerError, DroppedError, Problem, Round, Stage
from generators.written.records import Description, Environment
from generators.written.writer import Models, Writer

_TRIES, _PAUSE = 3, 2.0  # of a proof whose infrastructure fails; seconds between two, longer each time
_TAIL = 1500  # characters of a build's output
# Which stage mends what a gate found: by round, since either side of a disagreement may be wrong.
_MENDS: Mapping[Gate, tuple[Stage, ...]] = {
    Gate.SPEC: ("tests",),
    Gate.BUILD: ("environment",),
    Gate.INITIAL: ("environment",),
    Gate.NO_OP: ("tests",),
    Gate.ORACLE: ("solution", "tests"),
    Gate.ALTERNATIVES: ("alternative", "tests"),
    Gate.NEAR_MISS: ("tests", "near_misses"),
    Gate.MUTANTS: ("tests",),
    Gate.LEAK: ("environment", "describe"),
    Gate.TAMPER: ("tests",),
}
_MENDS_REASON: Mapping[str, tuple[Stage, ...]] = {
    "alternative_missing": ("alternative",),
    "solution_fails": ("solution", "tests", "describe"),  # or the truth is wrong
}
_ADVICE: Mapping[str, str] = {
    "already_solved": "A goal test must fail on the container as it is before anyone has worked in it.",
    "guard_fails_untouched": "A guard must pass on the container as it is before anyone has worked in it.",
    "solution_fails": "The solution, the tests or the truth is wrong. Work the case out by hand, and mend this part if it is wrong.",
    "solution_flaky": "The result must not depend on the clock, the time zone, the host's name, hash seeds or the order of tests.",
    "alternative_fails": "A different correct solution was refused: tests may only look at results.",
    "weak_verifier": "What is wrong or damaged has full marks: the tests have to check what is wrong with it.",
    "near_miss_not_caught": "A wrong solution passes a test that ought to catch it.",
    "truth_leaks": "What only the examiner may know can be found by the agent. If it is a value that the agent has to find there, its key "
    "belongs into `discoverable`.",
    "solution_leaks": "The solution can be found by the agent.",
    "attack_scores": "A trick scores without the work being done: a test trusts what an agent can fake.",
}


@dataclass(frozen=True)
class Outcome:
    """What became of an order. Where it fell, `gate` and `reason` say why; the last draft and its evidence are there if it had any."""

    order: Order
    rounds: tuple[Round, ...]
    task: Task | None = None
    evidence: Evidence | None = None
    gate: str = ""
    reason: str = ""
    detail: str = ""


class Workshop:
    """Proves drafts, and has them repaired. What was proven or refuted once is looked up, so that a rerun asks models the same."""

    def __init__(self, pool: Pool, store: ProofStore, stop: Callable[[], bool] = lambda: False) -> None:
        self.pool, self.store, self.stop = pool, store, stop
        self._threads = ThreadPoolExecutor(pool.size, thread_name_prefix="workshop")

    def writer(self, models: Models) -> Writer:
        """A writer whose containers are tried here as soon as they are written."""
        return Writer(models, self._try_environment)

    async def make(self, writer: Writer, order: Order) -> Outcome:
        """Write, prove and repair one task.

        Raises:
            ProviderFault, BudgetError, UsageError: the model could not be asked.
            SandboxFault: infrastructure failed, however often it was tried.
        """
        made: Task | None = None
        evidence: Evidence | None = None
        try:
            written = await writer.begin(order)
            while True:
                try:
                    made = task(written)
                except AnswerError as error:
                    written = await writer.revise(written, Problem("tests", error.reason, error.detail))
                    continue
                evidence = await self._evidence(made.digest, plan_name(True), self._proof(made))
                problem = problem_of(evidence, written.rounds)
                if problem is None:
                    return Outcome(order, written.rounds, made, evidence.model_copy(update={"task_id": made.id}))
                written = await writer.revise(written, problem)
        except DroppedError as dropped:
            problem = dropped.problem
            known = problem.gate or problem.reason.startswith(problem.stage)
            reason = problem.reason if known else f"{problem.stage}_{problem.reason}"
            return Outcome(order, dropped.rounds, made, evidence, problem.gate or "draft", reason, problem.detail)

    async def _try_environment(self, written: Written) -> Problem | None:
        """Build the container and run its initial tests, before anything else is written for it."""
        try:
            made = image(written.get("environment", Environment))
        except AnswerError as error:
            return Problem("environment", error.reason, error.detail)
        source = with_truth(
            written.get("environment", Environment).initial_tests, written.get("describe", Description).truth
        )
        digest = digest_of([made.model_dump(mode="json"), source])
        evidence = await self._evidence(
            digest, "environment", lambda: self._built(made, source, digest, written.order.name)
        )
        return problem_of(evidence, written.rounds)

    def _built(self, made: Image, source: str, digest: str, name: str) -> Evidence:
        verdict = Verdict(gate=Gate.INITIAL, holds=True)
        try:
            built = self.pool.engine.build(made, LIMITS)
            result = gates.initial_state(self.pool, built, source, LIMITS)
            verdict = gates.judged_initial(result) or verdict
        except BuildFailure as failure:
            verdict = Verdict(
                gate=Gate.BUILD, holds=False, reason=failure.reason, detail=f"{failure.step}\n{failure.output[-_TAIL:]}"
            )
        return Evidence(
            task_id=name,
            task_digest=digest,
            suite=SUITE,
            engine=self.pool.engine.name,
            base_digest="",
            image_digest="",
            verdicts=(verdict,),
        )

    def _proof(self, made: Task) -> Callable[[], Evidence]:
        return lambda: prove(self.pool, made, tamper=True, stop=self.stop)

    async def _evidence(self, digest: str, plan: str, work: Callable[[], Evidence]) -> Evidence:
        """What is known under this plan, or the result of the work, done in a thread; tried again where infrastructure fails."""

        def worked() -> Evidence:
            if (known := self.store.load(digest, plan)) is not None:
                return known
            self.pool.prepare(self.stop)
            evidence = work()
            if not evidence.valid:
                raise SandboxFault(evidence.fault)
            self.store.save(evidence, plan)
            return evidence

        for left in reversed(range(_TRIES)):
            try:
                return await asyncio.get_running_loop().run_in_executor(self._threads, worked)
            except SandboxFault:
                if not left:
                    raise
                await asyncio.sleep(_PAUSE * (_TRIES - left))
        raise AssertionError("unreachable")

    def close(self) -> None:
        """Wait for what is being proven now, and begin nothing more."""
        self._threads.shutdown(cancel_futures=True)


def problem_of(evidence: Evidence, rounds: Sequence[Round]) -> Problem | None:
    """What the first failing gate says to the stage that is to mend it."""
    failure = evidence.failure
    if failure is None:
        return None
    stages = _MENDS_REASON.get(failure.reason) or _MENDS[failure.gate]
    left: Sequence[Stage] = [
        stage for stage in stages if sum(done.stage == stage for done in rounds) < MOST_ROUNDS
    ] or stages
    stage = left[sum(done.reason == failure.reason for done in rounds) % len(left)]
    if failure.detail.endswith(" is in instruction"):
        stage = "describe"
    detail = f"gate {failure.gate.value}: {failure.detail}"
    if stage in ("solution", "alternative"):  # what an assertion says may be the truth, which no solver sees
        detail = re.sub(r"(test_\w+): .*", r"\1 fails", detail, flags=re.DOTALL)
    return Problem(stage, failure.reason, detail, _ADVICE.get(failure.reason, ""), failure.gate.value)
