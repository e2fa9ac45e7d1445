"""The gates that need a sandbox: each takes a task and its built image and returns a verdict from fresh sandboxes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

from containers.attacks.attack import Attack, targets
from containers.attacks.library import TASK_ATTACKS
from containers.grading.score import Score, score
from containers.pool import Pool
from containers.proof import leak
from containers.proof.spec import defined_tests
from containers.sandbox import BuiltImage, ExecResult, GradeRequest, Sandbox, StartOptions
from generators.errors import SandboxFault
from generators.evidence import Gate, Verdict
from generators.seeds import stream
from generators.task import Limits, Task

ATTACK_LIMITS = {"solve_seconds": 10, "memory_mb": 384, "disk_mb": 64}  # floods end sooner
DAY = 86_400


@dataclass(frozen=True)
class Variation:
    """What must not matter to a correct solution: name of the host, clock, time zone, hash seed, order of the tests."""

    hostname: str
    clock_offset: int  # seconds
    timezone: str
    hash_seed: int

    def __str__(self) -> str:
        days = f"clock {self.clock_offset // DAY:+} days"
        return f"host {self.hostname}, {days}, time zone {self.timezone}, hash seed {self.hash_seed}"

    @property
    def env(self) -> dict[str, str]:
        """The part of it that an environment brings about."""
        return {"PYTHONHASHSEED": str(self.hash_seed), "TZ": self.timezone}

    @property
    def options(self) -> StartOptions:
        """A sandbox of this variation."""
        return StartOptions(self.hostname, self.env, self.clock_offset)


PLAIN = Variation("sandbox", 0, "UTC", 0)
VARIATIONS = (
    PLAIN,
    Variation("quartz-19", 211 * DAY, "Pacific/Auckland", 1),
    Variation("node-7f3a", -97 * DAY, "America/St_Johns", 2),
)


class StoppedError(Exception):
    """The run is being stopped: nothing is said about the task, which is proven next time."""


@dataclass(frozen=True)
class Attempted:
    """A script's run and the score of what it left."""

    ran: ExecResult
    score: Score


class Bench:
    """Where one task's gates are run: a pool of sandboxes, the built image, and how to start over on a fresh one."""

    def __init__(self, pool: Pool, task: Task, built: BuiltImage, stop: Callable[[], bool]) -> None:
        self.pool, self.task, self.built, self.stop = pool, task, built, stop

    def attempt(
        self, script: str | None, variation: Variation = PLAIN, limits: Limits | None = None, grade: float = 0
    ) -> Attempted:
        """Run a script (or nothing) in a fresh sandbox and grade what it left."""
        limits = limits or self.task.limits
        with self._fresh(limits, variation) as sandbox:
            ran = ExecResult(0, b"", b"", 0.0)
            if script is not None:
                ran = sandbox.exec(script, timeout=limits.solve_seconds)
            return Attempted(ran, self.graded(sandbox, variation, grade or limits.grade_seconds))

    @contextlib.contextmanager
    def solved(self) -> Generator[Sandbox]:
        """A fresh sandbox in which the reference solution, if there is one, has just run."""
        with self._fresh(self.task.limits, PLAIN) as sandbox:
            if self.task.solution is not None:
                sandbox.exec(self.task.solution, timeout=self.task.limits.solve_seconds)
            yield sandbox

    def graded(self, sandbox: Sandbox, variation: Variation = PLAIN, seconds: float = 0) -> Score:
        """Run the completion tests over what a sandbox holds now."""
        task = self.task
        names = [test.name for test in task.completion_tests.tests]
        order = tuple(stream(task.digest, variation.hostname).sample(names, len(names)))
        request = GradeRequest(task.completion_tests.source, order, seconds or task.limits.grade_seconds, variation.env)
        return score(task.completion_tests, sandbox.grade(request))

    def _fresh(self, limits: Limits, variation: Variation) -> contextlib.AbstractContextManager[Sandbox]:
        if self.stop():
            raise StoppedError
        return self.pool.lease(self.built, limits, variation.options)

    def initial(self) -> Score:
        """Run the initial-state tests in a fresh sandbox."""
        return initial_state(self.pool, self.built, self.task.initial_tests, self.task.limits)


def initial_state(pool: Pool, built: BuiltImage, source: str, limits: Limits) -> Score:
    """Run initial-state tests in a fresh sandbox of an image."""
    names = tuple(defined_tests(source))
    with pool.lease(built, limits) as sandbox:
        graded = sandbox.grade(GradeRequest(source, names, limits.grade_seconds))
    passed = all(test.passed for test in graded.tests)
    return Score(float(passed), int(passed), graded.valid, graded.reason, graded.tests)


def timed(gate: Gate, check: Callable[[], Verdict | None]) -> Verdict:
    """Run a check that returns a failing verdict, or None where the gate holds."""
    began = time.monotonic()
    verdict = check() or Verdict(gate=gate, holds=True)
    return verdict.model_copy(update={"seconds": round(time.monotonic() - began, 4)})


def fails(gate: Gate, reason: str, detail: str, **figures: float | str) -> Verdict:
    """A failing verdict."""
    return Verdict(gate=gate, holds=False, reason=reason, detail=detail[:600], figures=dict(figures))


def _why(attempted: Attempted) -> str:
    """The first failing test, or how the script ended."""
    failed = attempted.score.failures()
    text = f"{failed[0].name}: {failed[0].message}" if failed else attempted.score.reason
    if attempted.ran.timed_out:
        text = f"ran out of time; {text}"
    elif attempted.ran.exit_code:
        text = f"exit code {attempted.ran.exit_code} ({attempted.ran.tail(200)}); {text}"
    return text


def _must_be_valid(attempted: Score) -> None:
    """An engine's or grader's fault is not a verdict on the task."""
    if not attempted.valid:
        raise SandboxFault(f"grading was invalid: {attempted.reason}")


def initial(bench: Bench) -> Verdict | None:
    """The image is in the state that the tests expect to begin from."""
    return judged_initial(bench.initial())


def judged_initial(result: Score) -> Verdict | None:
    """The verdict on a run of initial-state tests."""
    _must_be_valid(result)
    failed = result.failures()
    return fails(Gate.INITIAL, "initial_failed", f"{failed[0].name}: {failed[0].message}") if failed else None


def no_op(bench: Bench) -> Verdict | None:
    """Untouched: score 0, every goal fails, every guard passes."""
    result = bench.attempt(None).score
    _must_be_valid(result)
    tests = bench.task.completion_tests
    if passing := [goal.name for goal in tests.goals if result.passed(goal.name)]:
        return fails(Gate.NO_OP, "already_solved", f"passes untouched: {', '.join(passing)}")
    if failing := [test for test in result.failures() if test.name in {guard.name for guard in tests.guards}]:
        return fails(Gate.NO_OP, "guard_fails_untouched", f"{failing[0].name}: {failing[0].message}")
    return Verdict(gate=Gate.NO_OP, holds=True, figures={"score": result.weighted})


def oracle(bench: Bench) -> Verdict | None:
    """The reference solution scores 1 in fresh sandboxes that differ in what must not matter."""
    if bench.task.solution is None:
        return fails(Gate.ORACLE, "solution_missing", "there is no reference solution to prove")
    runs = [bench.attempt(bench.task.solution, variation) for variation in VARIATIONS]
    for run in runs:
        _must_be_valid(run.score)
    solved = sum(run.score.binary for run in runs)
    if solved < len(runs):
        variation, worst = next(pair for pair in zip(VARIATIONS, runs, strict=True) if not pair[1].score.binary)
        reason, where = ("solution_flaky", f"not with {variation}; ") if solved else ("solution_fails", "")
        return fails(
            Gate.ORACLE, reason, f"{solved} of {len(runs)} runs; {where}{_why(worst)}", solved=solved, runs=len(runs)
        )
    slowest = max(run.ran.seconds for run in runs)
    figures = {"solved": solved, "runs": len(runs), "solve_seconds": round(slowest, 4)}
    return Verdict(gate=Gate.ORACLE, holds=True, figures=dict(figures))


def alternatives(bench: Bench) -> Verdict | None:
    """Every other correct solution scores 1 too: the tests check results, not ways."""
    if not bench.task.alternatives:
        return fails(Gate.ALTERNATIVES, "alternative_missing", "there is no second, different solution")
    if bench.task.solution and bench.task.solution.strip() in {script.strip() for script in bench.task.alternatives}:
        return fails(Gate.ALTERNATIVES, "alternative_missing", "an alternative is the reference solution itself")
    for number, script in enumerate(bench.task.alternatives, 1):
        attempted = bench.attempt(script, VARIATIONS[number % len(VARIATIONS)])
        _must_be_valid(attempted.score)
        if not attempted.score.binary:
            return fails(Gate.ALTERNATIVES, "alternative_fails", f"alternative {number}: {_why(attempted)}")
    return Verdict(gate=Gate.ALTERNATIVES, holds=True, figures={"alternatives": len(bench.task.alternatives)})


def near_miss(bench: Bench) -> Verdict | None:
    """Every plausible wrong solution scores below 1 and fails the tests that it names."""
    scores: list[float] = []
    for miss in bench.task.near_misses:
        attempted = bench.attempt(miss.script).score
        _must_be_valid(attempted)
        scores.append(attempted.weighted)
        if attempted.binary:
            return fails(Gate.NEAR_MISS, "weak_verifier", f"{miss.name} ({miss.why}) scores 1")
        if slipped := [name for name in miss.caught_by if attempted.passed(name)]:
            return fails(Gate.NEAR_MISS, "near_miss_not_caught", f"{miss.name} passes {', '.join(slipped)}")
    return Verdict(
        gate=Gate.NEAR_MISS, holds=True, figures={"near_misses": len(scores), "highest_score": max(scores, default=0.0)}
    )


def leaks(bench: Bench) -> Verdict | None:
    """Neither truth nor solution can be found in the image or the instruction."""
    wanted = leak.needles(bench.task)
    found = leak.search(wanted, leak.texts(bench.task))
    if found is None:
        found = leak.search(wanted, bench.pool.engine.contents(bench.built))
    if found:
        reason = "solution_leaks" if found.needle == "solution" else "truth_leaks"
        return fails(Gate.LEAK, reason, f"{found.needle} is in {found.place}")
    return Verdict(gate=Gate.LEAK, holds=True, figures={"needles": len(wanted)})


def tamper(bench: Bench, attacks: Sequence[Attack] = TASK_ATTACKS) -> Verdict | None:
    """Every attack scores 0 or leaves a grading that is invalid."""
    places = targets(bench.task.instruction)
    limits = bench.task.limits.model_copy(update=ATTACK_LIMITS)
    invalid = 0
    for attack in attacks:
        script = attack.script_for(places)
        attempted = bench.attempt(script, limits=limits, grade=attack.grade_seconds).score
        invalid += not attempted.valid
        if attempted.valid and attempted.weighted > 0:
            return fails(
                Gate.TAMPER, "attack_scores", f"{attack.name} scores {attempted.weighted:g}", attack=attack.name
            )
    return Verdict(gate=Gate.TAMPER, holds=True, figures={"attacks": len(attacks), "invalid": invalid})
