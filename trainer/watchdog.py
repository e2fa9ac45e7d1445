"""When a training run must not go on: pure rules over the lines of its steps and over silence. Time is handed in, never read.

    watchdog = Watchdog(WatchdogSettings())
    reason = watchdog.step(line)                 # after every step; None: all is well
    reason = watchdog.silence(seconds, "step")   # while nothing happens
    reason = watchdog.dead({"trainer": False})   # processes by name, whether they live

A reason begins with a code that stays the same (`non_finite:`, `hang:` ...), then says the figure and the threshold.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Self

from pydantic import Field

from generators.task import Record

Phase = Literal["starting", "step", "rollout", "update", "sync", "checkpoint"]
VITAL = ("actor/loss", "actor/pg_loss", "actor/grad_norm", "actor/entropy", "critic/loss", "critic/grad_norm")
_LASTED: Mapping[Phase, str] = {
    "step": "time/step",
    "rollout": "time/rollouts",
    "update": "time/update",
    "sync": "time/sync",
    "checkpoint": "time/checkpoint",
}
_SMOOTH = 5  # steps of a moving mean
_TIED = "tied_rewards"
Steps = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class WatchdogSettings(Record):
    """Thresholds. Moving means are over five steps; `patience` is how many steps in a row a rule must be broken.

    start_seconds     without any sign of life until the first step is done; silent_seconds: in a step or in its rollouts;
                      update_seconds, sync_seconds, checkpoint_seconds: where it is known that a step is in that phase
    silent_times      ... or so many times the longest such phase so far, where that is longer
    stop_seconds      for the step to end and be saved, once a run is to stop
    least_entropy     of the policy, nats a token; least_reward: share of its best moving mean
    most_length_change  responses grow or shrink by this factor of the mean of their first steps
    most_kl           of rollout engine and trainer, nats a token; most_difference: of their probabilities, mean of a token;
                      least_correlation: of their probabilities
    most_step_kl      of the policy before and after a step's updates, nats a token
    most_invalid, most_fallbacks   shares of rollouts that infrastructure spoilt, and of rewards without their judge
    most_tied         steps in a row in which no rewards that are compared differ, so that nothing is learnt
    """

    start_seconds: Positive = 1800.0
    silent_seconds: Positive = 1800.0
    update_seconds: Positive = 1800.0
    sync_seconds: Positive = 600.0
    checkpoint_seconds: Positive = 3600.0
    silent_times: Positive = 3.0
    stop_seconds: Positive = 3600.0
    patience: Steps = 5
    least_entropy: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.005
    least_reward: Share = 0.3
    most_length_change: Annotated[float, Field(gt=1, allow_inf_nan=False)] = 8.0
    most_kl: Positive = 0.5
    most_difference: Share = 0.1
    least_correlation: Annotated[float, Field(ge=-1, le=1)] = 0.8
    most_step_kl: Positive = 1.0
    most_invalid: Share = 0.5
    most_fallbacks: Share = 0.25
    most_tied: Steps = 20

    def seconds(self, phase: Phase) -> float:
        """How long a phase may be silent, before any was seen."""
        own = {
            "starting": self.start_seconds,
            "update": self.update_seconds,
            "sync": self.sync_seconds,
            "checkpoint": self.checkpoint_seconds,
        }
        return own.get(phase, self.silent_seconds)


@dataclass
class Watchdog:
    """What was seen so far."""

    settings: WatchdogSettings = field(default_factory=WatchdogSettings)
    _rewards: list[float] = field(default_factory=list[float])
    _lengths: list[float] = field(default_factory=list[float])
    _best: float = 0.0
    _longest: dict[str, float] = field(default_factory=dict[str, float])
    _broken: dict[str, int] = field(default_factory=dict[str, int])

    @classmethod
    def replay(cls, lines: Sequence[Mapping[str, Any]], settings: WatchdogSettings | None = None) -> Self:
        """As it was after these steps: a resumed run remembers its best, and has its patience anew."""
        watchdog = cls(settings or WatchdogSettings())
        for line in lines:
            watchdog.step(line)
        watchdog._broken.clear()
        return watchdog

    def step(self, line: Mapping[str, Any]) -> str | None:
        """Judge a step; the first rule that has been broken long enough."""
        if "time/step" not in line:
            return None  # a validation by itself
        known = {key: float(value) for key, value in line.items() if _finite(value)}
        for phase, key in _LASTED.items():
            self._longest[phase] = max(self._longest.get(phase, 0.0), known.get(key, 0.0))
        if bad := [key for key in VITAL if known.get(f"non_finite/{key}") or (key in line and key not in known)]:
            return f"non_finite: {', '.join(bad)} is no finite number"
        broken = dict(self._rules(known))
        self._broken = {code: self._broken.get(code, 0) + 1 for code in broken}
        for code, text in broken.items():
            if self._broken[code] >= self._patience(code):
                return f"{code}: {text}, {self._broken[code]} steps in a row"
        return None

    def silence(self, seconds: float, phase: Phase) -> str | None:
        """Judge how long nothing was printed, rolled out or finished."""
        limit = max(self.settings.seconds(phase), self.settings.silent_times * self._longest.get(phase, 0.0))
        where = "" if phase == "step" else f" ({phase})"
        return f"hang: no sign of life for {seconds:.0f} s{where}, limit {limit:.0f} s" if seconds > limit else None

    def dead(self, alive: Mapping[str, bool]) -> str | None:
        """Judge which processes live."""
        gone = sorted(name for name, lives in alive.items() if not lives)
        return f"dead_worker: {', '.join(gone)} ended, {len(gone)} of {len(alive)} processes" if gone else None

    def _patience(self, code: str) -> int:
        return self.settings.most_tied if code == _TIED else self.settings.patience

    def _rules(self, line: Mapping[str, float]) -> Iterator[tuple[str, str]]:
        yield from self._reward(line)
        yield from self._length(line)
        yield from self._limits(line)
        if tied(line):
            yield _TIED, f"no rewards that are compared differ (all are {line.get('reward/mean', 0.0):.3g} on average)"

    def _limits(self, line: Mapping[str, float]) -> Iterator[tuple[str, str]]:
        """Figures with a floor or a ceiling."""
        settings = self.settings
        for code, key, limit, sign in (
            ("entropy_collapse", "actor/entropy", settings.least_entropy, -1),
            ("engine_mismatch", "actor/correlation", settings.least_correlation, -1),
            ("engine_mismatch", "actor/difference", settings.most_difference, 1),
            ("kl_explosion", "actor/rollout_kl", settings.most_kl, 1),
            ("kl_explosion", "actor/kl", settings.most_step_kl, 1),
            ("invalid_rollouts", "invalid_share", settings.most_invalid, 1),
            ("judge_fallbacks", "reward/fallback", settings.most_fallbacks, 1),
        ):
            value = line.get(key)
            if value is not None and sign * value > sign * limit:
                yield code, f"{key} is {value:.4g} ({'most' if sign > 0 else 'least'} {limit:g})"

    def _reward(self, line: Mapping[str, float]) -> Iterator[tuple[str, str]]:
        """The mean reward against the best that it was."""
        if "reward/mean" not in line:
            return
        self._rewards = [*self._rewards, line["reward/mean"]][-_SMOOTH:]
        mean = _mean(self._rewards)
        if len(self._rewards) == _SMOOTH:
            self._best = max(self._best, mean)
        least = self.settings.least_reward * self._best
        if mean < least:
            yield (
                "reward_collapse",
                f"the mean reward is {mean:.3f} (least {least:.3f}), after {self._best:.3f} at best",
            )

    def _length(self, line: Mapping[str, float]) -> Iterator[tuple[str, str]]:
        """The length of what the policy writes against that of the first steps."""
        length = line.get("tokens/written", 0.0)
        if length <= 0:
            return
        if len(self._lengths) < _SMOOTH:
            self._lengths.append(length)
        first, most = _mean(self._lengths), self.settings.most_length_change
        if length > most * first:
            yield "length_explosion", f"{length:.0f} tokens a rollout (most {most * first:.0f}), {first:.0f} at first"
        if length < first / most:
            yield "length_collapse", f"{length:.1f} tokens a rollout (least {first / most:.1f}), {first:.0f} at first"


def tied(line: Mapping[str, float]) -> bool:
    """Whether a step's rewards teach nothing: a critic compares all of them, without one only those of a group are compared."""
    if not line.get("groups"):
        return False
    if "critic/loss" in line:
        return line.get("reward/max", 1.0) == line.get("reward/min", 0.0)
    return not line.get("mixed_groups", 1.0)


def _finite(value: object) -> bool:
    return isinstance(value, int | float) and abs(value) < 1e300 and math.isfinite(value)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
