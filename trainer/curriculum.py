"""Which tasks a step is made of: by how often the policy has solved them so far. Pure functions over records.

    state = update(settings, state, outcomes(rollouts of a step), step)
    places = choose(settings, state, tasks, step, batch, seed)          # indexes into tasks

A task's difficulty is its pass rate, with a Beta prior, so that few rollouts say little. A task teaches most where it is solved half of
the time: its signal is p (1 - p). A task that was always solved is retired and only rehearsed; one that never was is parked and tried
again later, after longer and longer pauses. In the first steps easy tasks come first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, NamedTuple, Self

from pydantic import Field, model_validator

from generators.errors import UsageError
from generators.seeds import stream
from generators.task import Record
from trainer.records import RolloutRecord

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Above = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1)]
_GRAINS = 1 << 32  # weights are compared as whole numbers of this, so that a draw is the same on any machine


class CurriculumSettings(Record):
    """What is preferred. Off, every task comes once an epoch in a shuffled order.

    prior_passed, prior_failed   the Beta prior: rollouts that are taken for granted, of each outcome
    known        how much an attempt counts that another model made before training (0: not at all)
    memory       share of what was counted that stays when a task is played again: an old pass rate is another policy's
    floor        least weight of a task that is neither retired nor parked, as a share of the most
    easy_steps   steps until ease no longer matters; before, a task's weight is also its pass rate to a power that falls to 0
    retire_after, park_after     groups in a row that were all solved, or none
    rehearsal    share of a batch for retired tasks
    park_steps   first pause of a parked task, in steps; each time in vain it becomes `park_factor` times as long, up to `park_most`
    judge_start, judge_end, judge_steps     weight of the judge in the reward, on a line from the one to the other
    weak         mean pass rate under which more tasks of a family and difficulty are asked for, `ask` in all
    """

    enabled: bool = False
    prior_passed: Above = 1.0
    prior_failed: Above = 1.0
    known: Share = 0.25
    memory: Share = 0.9
    floor: Share = 0.05
    easy_steps: Annotated[int, Field(ge=0)] = 0
    retire_after: Count = 3
    park_after: Count = 3
    rehearsal: Share = 0.05
    park_steps: Count = 10
    park_factor: Annotated[float, Field(ge=1, le=10)] = 2.0
    park_most: Count = 200
    judge_start: Share | None = None
    judge_end: Share = 0.0
    judge_steps: Count = 100
    weak: Share = 0.4
    ask: Count = 16

    @model_validator(mode="after")
    def _pauses(self) -> Self:
        if self.park_most < self.park_steps:
            raise ValueError(f"park_most ({self.park_most}) is less than park_steps ({self.park_steps})")
        return self


class Practice(Record):
    """What is known of a task. `passed` and `failed` are rollouts, faded by `memory`; `again` the step from which a parked one returns."""

    passed: float = 0.0
    failed: float = 0.0
    groups: int = 0
    solved_in_row: int = 0
    failed_in_row: int = 0
    retired: bool = False
    again: int = 0
    parked: int = 0  # how often


class CurriculumState(Record):
    """All tasks that were played, by digest. `step` is the last one that was counted; `known` what other models' attempts gave:
    (passed, failed)."""

    step: int = 0
    known: dict[str, tuple[int, int]] = Field(default_factory=dict[str, tuple[int, int]])
    tasks: dict[str, Practice] = Field(default_factory=dict[str, Practice])


class CurriculumTask(NamedTuple):
    """A task that can be chosen."""

    digest: str
    family: str = ""
    domain: str = ""
    difficulty: str = ""


class Outcome(NamedTuple):
    """How a task's rollouts of one step ended."""

    digest: str
    passed: int
    failed: int


def outcomes(rollouts: Iterable[RolloutRecord]) -> tuple[Outcome, ...]:
    """The outcomes of training rollouts by task; those that say nothing of the policy are left out."""
    counts: dict[str, list[int]] = {}
    for rollout in rollouts:
        if rollout.split == "train" and rollout.reward.get("valid"):
            counts.setdefault(rollout.task_digest, [0, 0])[not rollout.reward.get("binary")] += 1
    return tuple(Outcome(digest, *counts[digest]) for digest in sorted(counts))


def begin(settings: CurriculumSettings, known: Iterable[Outcome] = ()) -> CurriculumState:
    """The state before training: what other models' attempts at the tasks say, weakly."""
    counts = {digest: (passed, failed) for digest, passed, failed in sorted(known) if passed + failed}
    tasks = {
        digest: Practice(passed=settings.known * passed, failed=settings.known * failed)
        for digest, (passed, failed) in counts.items()
        if settings.known
    }
    return CurriculumState(known=counts, tasks=tasks)


def update(
    settings: CurriculumSettings, state: CurriculumState, found: Iterable[Outcome], step: int
) -> CurriculumState:
    """The state after a step. A step that was counted already (a run that went on from a checkpoint) changes nothing."""
    if step <= state.step:
        return state
    sums: dict[str, tuple[int, int]] = {}
    for digest, passed, failed in found:
        before = sums.get(digest, (0, 0))
        sums[digest] = before[0] + passed, before[1] + failed
    played = {
        digest: _played(settings, state.tasks.get(digest, Practice()), passed, failed, step)
        for digest, (passed, failed) in sums.items()
        if passed + failed
    }
    return CurriculumState(step=step, known=state.known, tasks=dict(sorted({**state.tasks, **played}.items())))


def _played(settings: CurriculumSettings, old: Practice, passed: int, failed: int, step: int) -> Practice:
    solved_in_row = 0 if failed else old.solved_in_row + 1
    failed_in_row = 0 if passed else old.failed_in_row + 1
    park = failed_in_row >= settings.park_after
    parked = old.parked + 1 if park else 0 if passed else old.parked
    pause = min(settings.park_most, settings.park_steps * settings.park_factor ** min(parked - 1, 64)) if park else 0
    return Practice(
        passed=round(settings.memory * old.passed + passed, 9),
        failed=round(settings.memory * old.failed + failed, 9),
        groups=old.groups + 1,
        solved_in_row=solved_in_row,
        failed_in_row=failed_in_row,
        retired=solved_in_row >= settings.retire_after,
        again=step + 1 + round(pause) if park else 0,
        parked=parked,
    )


def pass_rate(settings: CurriculumSettings, practice: Practice | None) -> float:
    """The mean of the Beta distribution of what was seen."""
    seen = practice or Practice()
    passed, failed = settings.prior_passed + seen.passed, settings.prior_failed + seen.failed
    return passed / (passed + failed)


def weights(
    settings: CurriculumSettings, state: CurriculumState, tasks: Sequence[CurriculumTask], step: int
) -> list[float]:
    """The chance of each task to be drawn first; they sum to 1.

    Retired tasks share `rehearsal`, all others the rest, by their signal; parked ones have none until their pause is over.
    Where one side is empty, the other has it all; where all are parked, they are played all the same.
    """
    practice = [state.tasks.get(task.digest) for task in tasks]
    retired = [bool(known and known.retired) for known in practice]
    parked = [bool(known and known.again > step) for known in practice]
    if all(parked):
        parked = [False] * len(tasks)
    active = [not (out or away) for out, away in zip(retired, parked, strict=True)]
    signals = [_signal(settings, known, step) for known in practice]
    most = max((signal for signal, on in zip(signals, active, strict=True) if on), default=0.0)
    learning = [max(signal, settings.floor * most) * on for signal, on in zip(signals, active, strict=True)]
    share = 1.0 if not any(active) else settings.rehearsal if any(retired) else 0.0
    parts = zip(_shares([float(out) for out in retired]), _shares(learning), strict=True)
    return [share * old + (1 - share) * new for old, new in parts]


def _signal(settings: CurriculumSettings, practice: Practice | None, step: int) -> float:
    """p (1 - p), and more for what is easy in the first steps."""
    rate = pass_rate(settings, practice)
    ease = max(0.0, 1 - step / settings.easy_steps) if settings.easy_steps else 0.0
    return rate * (1 - rate) * rate ** (2 * ease)


def _shares(values: Sequence[float]) -> list[float]:
    total = sum(values)
    return [value / total if total else 0.0 for value in values]


def choose(
    settings: CurriculumSettings,
    state: CurriculumState,
    tasks: Sequence[CurriculumTask],
    step: int,
    batch: int,
    seed: int,
) -> list[int]:
    """The places of a step's tasks. None comes twice before all that have a weight came once.

    Raises:
        UsageError: there are no tasks.
    """
    if not tasks:
        raise UsageError("a curriculum needs at least one task")
    rng = stream("curriculum", seed, step)
    whole = [max(1, round(weight * _GRAINS)) if weight else 0 for weight in weights(settings, state, tasks, step)]
    chosen: list[int] = []
    left: dict[int, int] = {}
    while len(chosen) < batch:
        left = left or {place: grains for place, grains in enumerate(whole) if grains}
        at = rng.randrange(sum(left.values()))
        for place, grains in left.items():
            at -= grains
            if at < 0:
                chosen.append(place)
                del left[place]
                break
    return chosen


def judge_weight(settings: CurriculumSettings, step: int, usual: float) -> float:
    """The judge's weight in the reward of a step; that of the tests is the rest. Without `judge_start`, the usual one."""
    if not settings.enabled or settings.judge_start is None:
        return usual
    way = min(1.0, max(0.0, (step - 1) / settings.judge_steps))
    return settings.judge_start + (settings.judge_end - settings.judge_start) * way
