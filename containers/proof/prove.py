"""Prove one task: the gates in order, each on fresh sandboxes, up to the first that does not hold."""

from __future__ import annotations

import time
from collections.abc import Callable

from containers.pool import Pool
from containers.proof import gates, spec
from containers.proof.gates import Bench, fails, timed
from containers.proof.mutants import mutants
from containers.sandbox import BuildFailure, BuiltImage, Engine
from generators.errors import SandboxFault
from generators.evidence import SUITE, Evidence, Gate, Verdict
from generators.task import Task

ORDER: tuple[tuple[Gate, Callable[[Bench], Verdict | None]], ...] = (
    (Gate.INITIAL, gates.initial),
    (Gate.NO_OP, gates.no_op),
    (Gate.ORACLE, gates.oracle),
    (Gate.ALTERNATIVES, gates.alternatives),
    (Gate.NEAR_MISS, gates.near_miss),
    (Gate.MUTANTS, mutants),
    (Gate.LEAK, gates.leaks),
    (Gate.TAMPER, gates.tamper),
)
INFRASTRUCTURE_TRIES = 2


def plan_name(tamper: bool) -> str:
    """Names the set of gates, so that evidence of fewer gates is not taken for that of more."""
    return "with tamper" if tamper else "without tamper"


def prove(pool: Pool, task: Task, *, tamper: bool = True, stop: Callable[[], bool] = lambda: False) -> Evidence:
    """All gates but `twin` (which needs the other tasks). Infrastructure faults are retried, then said, never judged."""
    verdicts = [_spec(task)]
    built: BuiltImage | None = None
    if verdicts[-1].holds:
        began = time.monotonic()
        try:
            built = pool.engine.build(task.image, task.limits)
            figures = {"layers": len(built.layers), "notes": len(built.notes)}
            verdicts.append(Verdict(gate=Gate.BUILD, holds=True, figures=dict(figures), seconds=_since(began)))
        except BuildFailure as failure:
            detail = f"{failure.step}: {failure.output[-300:]}"
            verdicts.append(fails(Gate.BUILD, failure.reason, detail).model_copy(update={"seconds": _since(began)}))
        except SandboxFault as fault:
            return _evidence(pool.engine, task, None, verdicts, str(fault))
    if built is not None:
        bench = Bench(pool, task, built, stop)
        for gate, check in ORDER:
            if gate is Gate.TAMPER and not tamper:
                continue
            try:
                verdicts.append(_tried(gate, check, bench))
            except SandboxFault as fault:
                return _evidence(pool.engine, task, built, verdicts, f"{gate}: {fault}")
            if not verdicts[-1].holds:
                break
    return _evidence(pool.engine, task, built, verdicts)


def _since(began: float) -> float:
    return round(time.monotonic() - began, 4)


def _tried(gate: Gate, check: Callable[[Bench], Verdict | None], bench: Bench) -> Verdict:
    for left in reversed(range(INFRASTRUCTURE_TRIES)):
        try:
            return timed(gate, lambda: check(bench))
        except SandboxFault:
            if not left:
                raise
    raise AssertionError("unreachable")


def _spec(task: Task) -> Verdict:
    def check() -> Verdict | None:
        problem = spec.spec_problem(task)
        return fails(Gate.SPEC, *problem) if problem else None

    return timed(Gate.SPEC, check)


def _evidence(
    engine: Engine, task: Task, built: BuiltImage | None, verdicts: list[Verdict], fault: str = ""
) -> Evidence:
    return Evidence(
        task_id=task.id,
        task_digest=task.digest,
        suite=SUITE,
        engine=engine.name,
        base_digest=built.base_digest if built else "",
        image_digest=built.digest if built else "",
        verdicts=tuple(verdicts),
        valid=not fault,
        fault=fault,
    )
