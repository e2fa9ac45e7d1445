"""The cases, and how good a judge is on them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import yaml

from agent.trajectory import End
from generators.errors import RecipeError, UsageError
from trainer.judge.cases import Case, load_cases
from trainer.judge.evaluation import CaseResult, Evaluation, evaluate, plot, ranking
from trainer.judge.rules import RuleJudge
from trainer.judge.transcript import seen_by_judge
from trainer.judge.verdict import Judged, Verdict

CASES = load_cases()


class Scripted:
    """A judge with these scores, in turn, for every case."""

    name = "scripted"

    def __init__(self, *scores: float | None) -> None:
        self.scores = scores

    async def judge(self, judged: Judged, sample: int = 0) -> Verdict:
        score = self.scores[sample]
        return Verdict(
            judge=self.name, score=score, reason="" if score is not None else "no answer", disagreements=("x",)
        )

    async def close(self) -> None:
        pass


def case(name: str, low: float, high: float) -> Case:
    return CASES[0].model_copy(update={"name": name, "low": low, "high": high})


def test_there_are_many_and_varied_cases() -> None:
    assert len(CASES) >= 24 and len({one.name for one in CASES}) == len(CASES)
    assert {one.trajectory.style for one in CASES} == {"structured", "minimal"}
    assert len({one.trajectory.task_id for one in CASES}) >= 4
    assert {End.FINISHED, End.TOKENS, End.TURNS, End.TIME, End.FORMAT} <= {one.trajectory.end for one in CASES}
    assert len({seen_by_judge(one.judged)[0] for one in CASES}) == len(CASES)
    for one in CASES:
        assert 0 <= one.low < one.high <= 1 and one.high - one.low <= 0.5 and one.dockerfile.startswith("FROM")
    assert sum(one.high <= 0.45 for one in CASES) >= 8 and sum(one.low >= 0.7 for one in CASES) >= 8
    assert sum(one.name.startswith("injection") for one in CASES) >= 4


def test_no_case_tells_the_judge_what_is_expected_of_it() -> None:
    for one in CASES:
        assert one.why not in seen_by_judge(one.judged)[0] and one.name not in seen_by_judge(one.judged)[0]


def test_the_rule_judge_is_right_most_of_the_time_and_always_the_same() -> None:
    result = asyncio.run(evaluate(RuleJudge(), CASES, 2))
    row = result.row()
    assert row["pass_rate"] >= 0.7 and row["spread"] == 0 and row["failed"] == 0 and row["mean_error"] < 0.05
    assert row["too_high"] + row["too_low"] + row["pass_rate"] == pytest.approx(1)


def test_errors_are_measured_to_the_nearer_end_of_the_range() -> None:
    told: list[tuple[int, int]] = []
    result = asyncio.run(
        evaluate(Scripted(0.5, 0.9, None, 0.1), [case("a", 0.4, 0.6)], 4, lambda *now: told.append(now))
    )
    (one,) = result.cases
    assert one.errors == pytest.approx([0, 0.3, -0.3]) and one.mean == pytest.approx(0.5) and one.reason == "no answer"
    row = result.row()
    assert (row["pass_rate"], row["too_high"], row["too_low"], row["failed"]) == (0.25, 0.25, 0.25, 0.25)
    assert (row["mean_error"], row["disagreements"]) == (pytest.approx(0.2), 4)
    assert row["spread"] == pytest.approx(one.spread) and one.spread > 0.3
    assert told[-1] == (4, 4)


def test_a_judge_that_never_answers_has_no_error_but_no_pass_either() -> None:
    row = asyncio.run(evaluate(Scripted(None), [case("a", 0.4, 0.6)])).row()
    assert (row["pass_rate"], row["mean_error"], row["failed"], row["spread"]) == (0, None, 1, 0)
    for cases, attempts in (([], 1), ([case("a", 0, 1)], 0)):
        with pytest.raises(UsageError):
            asyncio.run(evaluate(Scripted(None), cases, attempts))


def test_ranking_goes_by_pass_rate_and_then_by_the_lower_error() -> None:
    def judged(name: str, *scores: float | None) -> Evaluation:
        cases = tuple(CaseResult(name=str(at), low=0.4, high=0.6, scores=(score,)) for at, score in enumerate(scores))
        return Evaluation(judge=name, attempts=1, cases=cases)

    several = [judged("none", None, None), judged("far", 0.5, 1.0), judged("near", 0.5, 0.7), judged("best", 0.5, 0.6)]
    assert [one.judge for one in ranking(several)] == ["best", "near", "far", "none"]
    assert plot(several).startswith(b"\x89PNG")


def wrong(path: Path, **changes: Any) -> Path:
    """A file of one case with these changes."""
    one = {
        "why": "It is for a test.",
        "expected": [0.1, 0.3],
        "task": "t",
        "turns": [{"do": [{"bash": "ls"}]}],
    } | changes
    path.write_text(
        yaml.safe_dump({"tasks": {"t": {"instruction": "Do.", "dockerfile": "FROM x"}}, "cases": {"a": one}})
    )
    return path


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"expected": [0.4, 0.3]}, "ascend"),
        ({"expected": [0.4, 1.3]}, "cases.a.expected.1"),
        ({"task": "other"}, "no such task: other"),
        ({"turns": [{"do": [{"bash": "ls", "read": "/a"}]}]}, "one action each"),
        ({"turns": [{"do": [{"jump": "high"}]}]}, "not jump"),
        ({"turns": [{"do": [{"todo": ["finish it"]}]}]}, "write `add TEXT`"),
        ({"end": "bored"}, "cases.a.end"),
        ({"why": ""}, "cases.a.why"),
    ],
)
def test_cases_that_are_wrong_are_refused_with_the_place(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(RecipeError, match=r"cases\.yaml") as caught:
        load_cases(wrong(tmp_path / "cases.yaml", **changes))
    assert said in str(caught.value)


def test_own_cases_are_read(tmp_path: Path) -> None:
    (one,) = load_cases(wrong(tmp_path / "cases.yaml"))
    assert (one.name, one.low, one.trajectory.steps[0].reply) == ("a", 0.1, "<bash>\ncmd: ls\n</bash>")
