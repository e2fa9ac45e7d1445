"""How good a judge is: our transcripts, each judged N times, against the range its score should lie in."""

from __future__ import annotations

import asyncio
import io
import statistics
from collections.abc import Callable, Sequence
from typing import Any

from generators.errors import UsageError
from generators.task import Record
from trainer.judge.cases import Case
from trainer.judge.verdict import Judge, Verdict


class CaseResult(Record):
    """One case: its range, and a score for every attempt (None where the judge failed)."""

    name: str
    low: float
    high: float
    scores: tuple[float | None, ...]
    disagreements: int = 0
    reason: str = ""  # of the first failure

    @property
    def given(self) -> list[float]:
        """The scores that there are."""
        return [score for score in self.scores if score is not None]

    @property
    def errors(self) -> list[float]:
        """How far each score is from the range: above it positive, below it negative, inside it 0."""
        return [max(score - self.high, 0.0) + min(score - self.low, 0.0) for score in self.given]

    @property
    def pass_rate(self) -> float:
        """The share of attempts inside the range; a failure is none."""
        return sum(error == 0 for error in self.errors) / len(self.scores)

    @property
    def mean(self) -> float | None:
        """The mean score."""
        return statistics.fmean(self.given) if self.given else None

    @property
    def spread(self) -> float:
        """The standard deviation over attempts."""
        return statistics.pstdev(self.given) if self.given else 0.0

    def row(self) -> dict[str, Any]:
        """As JSON."""
        values = {"case": self.name, "low": self.low, "high": self.high, "scores": list(self.scores), "mean": self.mean}
        rest = {
            "spread": self.spread,
            "pass_rate": self.pass_rate,
            "disagreements": self.disagreements,
            "reason": self.reason,
        }
        return values | rest


class Evaluation(Record):
    """A judge over all cases."""

    judge: str
    attempts: int
    cases: tuple[CaseResult, ...]

    @property
    def pass_rate(self) -> float:
        """The share of all attempts inside their range."""
        return statistics.fmean(case.pass_rate for case in self.cases)

    @property
    def errors(self) -> list[float]:
        """The distance of every score from its range, with its sign."""
        return [error for case in self.cases for error in case.errors]

    @property
    def mean_error(self) -> float | None:
        """The mean absolute distance; None where there is no score."""
        return statistics.fmean(map(abs, self.errors)) if self.errors else None

    @property
    def failed(self) -> int:
        """Attempts without a score."""
        return sum(score is None for case in self.cases for score in case.scores)

    def row(self) -> dict[str, Any]:
        """The whole in numbers, as JSON: shares of all attempts, errors in points of score."""
        total = self.attempts * len(self.cases)
        return {
            "judge": self.judge,
            "cases": len(self.cases),
            "attempts": self.attempts,
            "pass_rate": self.pass_rate,
            "mean_error": self.mean_error,
            "too_high": sum(error > 0 for error in self.errors) / total,
            "too_low": sum(error < 0 for error in self.errors) / total,
            "failed": self.failed / total,
            "spread": statistics.fmean(case.spread for case in self.cases),
            "disagreements": sum(case.disagreements for case in self.cases),
        }


async def evaluate(
    judge: Judge, cases: Sequence[Case], attempts: int = 1, tell: Callable[[int, int], None] | None = None
) -> Evaluation:
    """Judge every case so many times, all at once as far as the judge bears; `tell` hears how many of how many are done.

    Raises:
        UsageError: no case, or no attempt.
    """
    if not cases or attempts < 1:
        raise UsageError("a judge is evaluated on at least one case with at least one attempt")
    total, done = len(cases) * attempts, 0

    async def one(case: Case, sample: int) -> Verdict:
        nonlocal done
        verdict = await judge.judge(case.judged, sample)
        done += 1
        if tell:
            tell(done, total)
        return verdict

    verdicts = await asyncio.gather(*(one(case, sample) for case in cases for sample in range(attempts)))
    grouped = [verdicts[at : at + attempts] for at in range(0, total, attempts)]
    return Evaluation(judge=judge.name, attempts=attempts, cases=tuple(map(_result, cases, grouped)))


def ranking(evaluations: Sequence[Evaluation]) -> list[Evaluation]:
    """The best first: by pass rate, then by the lower mean error, then by name."""
    return sorted(
        evaluations, key=lambda one: (-one.pass_rate, 2.0 if one.mean_error is None else one.mean_error, one.judge)
    )


def plot(evaluations: Sequence[Evaluation]) -> bytes:
    """A PNG: the ranges of all cases as bars, the scores of each judge as marks on them."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    names = [case.name for case in evaluations[0].cases]
    figure = Figure(figsize=(8.5, 1.2 + 0.26 * len(names)))
    axes = figure.add_subplot()
    for at, case in enumerate(evaluations[0].cases):
        axes.barh(at, max(case.high - case.low, 0.004), left=case.low, color="#c9d2de", height=0.7)
    for judge, mark in zip(evaluations, "ods^vPX*" * len(evaluations), strict=False):
        points = [(score, at) for at, case in enumerate(judge.cases) for score in case.given]
        label = f"{judge.judge}  {judge.pass_rate:.0%}"
        axes.scatter(
            [x for x, _ in points], [y for _, y in points], marker=mark, s=22, alpha=0.75, label=label, zorder=3
        )
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(-0.02, 1.02)
    axes.set_title("Scores against expected ranges", loc="left", fontsize=10)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, loc="lower center", bbox_to_anchor=(0.7, 1.0), ncols=3)
    figure.tight_layout()
    target = io.BytesIO()
    FigureCanvasAgg(figure).print_figure(target, format="png", dpi=90)
    return target.getvalue()


def _result(case: Case, verdicts: Sequence[Verdict]) -> CaseResult:
    return CaseResult(
        name=case.name,
        low=case.low,
        high=case.high,
        scores=tuple(verdict.score for verdict in verdicts),
        disagreements=sum(len(verdict.disagreements) for verdict in verdicts),
        reason=next((verdict.reason for verdict in verdicts if verdict.score is None), ""),
    )
