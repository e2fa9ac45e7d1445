"""Attack an engine: each attack in a sandbox of its own, as root and as an ordinary user, and what came of it.

with Range(engine) as place:
    rows = [place.fire(attack, user) for attack in ENGINE_ATTACKS for user in USERS]
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from containers.attacks.attack import Attack, Target, targets
from containers.attacks.tasks import USERS, SmallTask, small_task
from containers.attacks.witness import Witness
from containers.grading.score import Score, score
from containers.sandbox import BuiltImage, Engine, GradeRequest, Sandbox
from generators.errors import SandboxFault
from generators.task import Limits

LIMITS = Limits(solve_seconds=10, grade_seconds=20, memory_mb=256, disk_mb=64, pids=96)
_WORD = "as it was"
_LOOKS = 3  # at the neighbour, where a daemon fails to answer


@dataclass(frozen=True)
class Row:
    """One attack as one user. `harm` lists what changed outside; `held` is the verdict."""

    attack: str
    scope: str
    breaks: str
    user: str
    outcome: str  # "score 0", "invalid: reason", "SCORES 0.25"
    seconds: float
    harm: tuple[str, ...] = ()

    @property
    def held(self) -> bool:
        """Whether the attack neither scored nor did harm."""
        return not self.harm and not self.outcome.startswith("SCORES")


class Range:
    """An engine, the images of the small tasks, and a neighbour: a sandbox that nothing may happen to."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._built: dict[tuple[Target, str], tuple[SmallTask, BuiltImage]] = {}

    def __enter__(self) -> Self:
        self._neighbour = self.engine.start(self.task("sum", "root")[1], LIMITS)
        try:
            self._neighbour.exec(
                f"echo '{_WORD}' > /srv/word; nohup sleep 3000 > /dev/null 2>&1 & echo $! > /srv/pid", timeout=10
            )
        except BaseException:
            self._neighbour.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._neighbour.close()

    def task(self, kind: Target, user: str) -> tuple[SmallTask, BuiltImage]:
        """A small task and its image."""
        if (kind, user) not in self._built:
            task = small_task(kind, user)
            self._built[kind, user] = task, self.engine.build(task.image, LIMITS)
        return self._built[kind, user]

    def fire(self, attack: Attack, user: str) -> Row:
        """Run one attack and look at the score, the host and the neighbour."""
        began = time.monotonic()
        task, built = self.task(attack.on, user)
        with Witness() as witness:
            script = attack.script_for(targets(task.instruction), witness.mark, witness.port)
            outcome = self._outcome(task, built, script, attack.grade_seconds)
            harm = (*witness.changes(), *self._neighbour_harmed())
        return Row(attack.name, attack.scope, attack.breaks, user, outcome, round(time.monotonic() - began, 3), harm)

    def solve(self, kind: Target, user: str) -> Score:
        """The score of the right solution in a fresh sandbox."""
        task, built = self.task(kind, user)
        with self.engine.start(built, LIMITS) as sandbox:
            sandbox.exec(task.solution, timeout=LIMITS.solve_seconds)
            return _graded(task, sandbox, LIMITS.grade_seconds)

    def _outcome(self, task: SmallTask, built: BuiltImage, script: str, seconds: float) -> str:
        with self.engine.start(built, LIMITS) as sandbox:
            try:
                sandbox.exec(script, timeout=LIMITS.solve_seconds)
                result = _graded(task, sandbox, seconds)
            except SandboxFault as fault:  # the attack broke its own sandbox
                return f"invalid: {fault}"
        if not result.valid:
            return f"invalid: {result.reason}"
        return f"SCORES {result.weighted:g}" if result.weighted > 0 else "score 0"

    def _neighbour_harmed(self) -> list[str]:
        fault = None
        for _ in range(_LOOKS):
            try:
                said = self._neighbour.exec("cat /srv/word; kill -0 $(cat /srv/pid) && echo alive", timeout=20).stdout
                break
            except SandboxFault as error:
                fault = error
        else:
            return [f"another sandbox ended ({fault})"]
        return (
            [] if said.decode(errors="replace").split("\n")[:2] == [_WORD, "alive"] else ["another sandbox was changed"]
        )


def _graded(task: SmallTask, sandbox: Sandbox, seconds: float) -> Score:
    names = tuple(test.name for test in task.tests.tests)
    return score(task.tests, sandbox.grade(GradeRequest(task.tests.source, names, seconds)))


def attack_table(engine: Engine, attacks: Sequence[Attack], users: Sequence[str] = USERS) -> Iterator[Row]:
    """A row for each attack and user, as each becomes known."""
    with Range(engine) as place:
        for attack in attacks:
            for user in users:
                yield place.fire(attack, user)
