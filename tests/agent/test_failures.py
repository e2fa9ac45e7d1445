"""What is flagged, what is not, which label wins; and the tables made of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings

from agent.failure_tables import AXES, LABELS, behaviour, by, findings_frame, flags, report
from agent.failures import Failure, Findings, acts_of, examine, longest_alternation, longest_run
from agent.trajectory import End, Item, Status, Trajectory
from tests.agent.recorded import FINISH, act, bash, recorded, trajectories

LONG = "an error that takes more than forty characters to be told"
WRITE = act("file", action="write", file_path="/srv/x.py", content="1")


def found(*items: Item, **fields: Any) -> Findings:
    return examine(recorded(*items, **fields))


@pytest.mark.parametrize(
    ("items", "repeats", "results", "alternations", "loop"),
    [
        ([bash("ls")] * 3, 3, 0, 0, True),
        ([bash("ls  -l"), bash("ls -l"), bash("ls -l ")], 3, 0, 0, True),
        ([bash("ls")] * 2, 2, 0, 0, False),
        ([bash("ls"), act("think"), bash("ls"), act("todo"), bash("ls")], 3, 0, 0, True),  # notes are no acts
        ([bash("ls"), Item(mistake="?"), bash("ls")], 2, 0, 0, False),
        ([bash(f"try {n}", LONG, 1) for n in range(3)], 1, 3, 0, True),
        ([bash(f"mkdir {n}", "[no output]") for n in range(3)], 1, 0, 0, False),
        ([bash("edit"), bash("test")] * 3, 1, 0, 6, True),
        ([bash("edit"), bash("test")] * 2, 1, 0, 4, False),
        ([item for n in range(3) for item in (bash(f"edit {n}"), bash("test"))], 1, 0, 3, False),
        ([act("search", action="ls", path="/srv")] * 3, 3, 0, 0, True),
        ([], 1, 0, 0, False),
    ],
)
def test_loops(items: list[Item], repeats: int, results: int, alternations: int, loop: bool) -> None:
    seen = found(*items, bash("cat final"), FINISH)
    assert (seen.repeats, seen.alternations, Failure.LOOP in seen.flags) == (repeats, alternations, loop)
    assert seen.same_results == results


def test_runs_and_alternations() -> None:
    assert [longest_run(list(keys)) for keys in ("", "a", "abb", "aabbb", "abab")] == [0, 1, 2, 3, 1]
    assert longest_run(["", "", ""]) == 0
    assert [longest_alternation(list(keys)) for keys in ("", "ab", "aba", "abab", "aaaa", "xabab", "ababcdcdcd")] == [
        0,
        0,
        3,
        4,
        0,
        4,
        6,
    ]


@pytest.mark.parametrize(
    ("items", "premature"),
    [
        ([], True),
        ([act("think"), bash("cd /srv"), bash("echo hello")], True),
        ([WRITE], True),
        ([bash("ls"), WRITE, bash("cd /srv && echo done")], True),
        ([bash("echo 1 > /srv/x")], True),
        ([WRITE, bash("python3 /srv/x.py")], False),
        ([bash("echo 1 > /srv/x && cat /srv/x")], False),
        ([WRITE, act("file", action="read", file_path="/srv/x.py")], False),
        ([WRITE, act("search", action="grep", pattern="x")], False),
        ([WRITE, Item(call=bash("python3 /srv/x.py").call, skipped=True)], True),
        ([bash("ls")], False),
    ],
)
def test_premature_finish(items: list[Item], premature: bool) -> None:
    assert (Failure.PREMATURE in found(*items, FINISH).flags) is premature
    assert Failure.PREMATURE not in found(*items, FINISH, status=Status.PASSED).flags
    assert Failure.PREMATURE not in found(*items, end=End.TURNS).flags


@pytest.mark.parametrize(
    ("after", "ignored"),
    [
        ([FINISH], 1),
        ([bash("ls"), FINISH], 1),
        ([bash("ls"), bash("pwd"), bash("cat x"), bash("make")], 1),
        ([bash("ls"), bash("cat x"), bash("make -B")], 0),
        ([bash("cd /srv && ls"), FINISH], 1),  # `cd` is no retry
        ([act("file", action="edit", file_path="/srv/Makefile"), FINISH], 0),  # the error names it
        ([act("file", action="edit", file_path="/srv/other"), FINISH], 1),
    ],
)
def test_ignored_errors(after: list[Item], ignored: int) -> None:
    seen = found(bash("cd /srv && make", "/srv/Makefile:3: missing separator", 2), *after)
    assert (seen.errors, seen.ignored, Failure.IGNORED in seen.flags) == (1, ignored, bool(ignored))


def test_an_error_at_an_end_that_was_no_choice_is_not_ignored() -> None:
    assert found(bash("make", "no", 2), bash("ls"), end=End.TURNS).ignored == 0


def test_what_is_an_error() -> None:
    answers = [bash("grep -q x f", code=1), bash("ls; diff a b", code=1), bash("[ -f x ]", code=1)]
    assert found(*answers, act("file", action="read"), bash("true")).errors == 0
    assert (
        found(
            bash("grep x f", code=2), bash("diff a b | tail", code=1), bash("sleep 9", code=None, timed_out=True)
        ).errors
        == 3
    )


def test_half_of_the_errors_are_a_flag() -> None:
    three = [bash("make", code=2), bash("make", code=2), bash("make", code=2)]
    assert Failure.IGNORED not in found(*three, FINISH).flags  # the last alone
    assert Failure.IGNORED in found(*three[:1], bash("make"), bash("gcc", code=1), FINISH).flags


def test_diversity_after_an_error() -> None:
    seen = found(
        bash("make", code=2), bash("ls"), bash("ls -l"), bash("cat x | sort"), bash("ls"), bash("make"), bash("never")
    )
    assert (seen.programs_after_error, seen.commands_after_error) == (4, 4)
    assert found(bash("ls")).programs_after_error is None
    assert found(bash("make", code=2)).commands_after_error == 0


@pytest.mark.parametrize(("end", "label"), [(end, end.value) for end in End if end not in (End.FINISHED, End.BROKEN)])
def test_what_ended_a_run_is_its_label(end: End, label: str) -> None:
    assert found(bash("ls"), end=end).label == label


def test_the_order_of_labels() -> None:
    loop = [bash("make", "no", 2)] * 3
    assert found(*loop, end=End.TURNS).label is Failure.LOOP
    assert found(*loop, end=End.FORMAT).label is Failure.FORMAT
    assert found(*loop, end=End.TURNS).flags == (Failure.LOOP, Failure.TURNS)
    assert found(bash("make", code=2), WRITE, FINISH).flags == (Failure.PREMATURE, Failure.IGNORED)
    assert found(WRITE, bash("cat x"), FINISH).label is Failure.WRONG
    assert found(*loop, status=Status.PASSED).label is None and found(*loop, status=Status.INVALID).label is None


def test_counts() -> None:
    seen = found(bash("ls"), Item(mistake="?"), act("think"), FINISH)
    assert (seen.turns, seen.acts, seen.mistakes, seen.input_tokens, seen.seconds, seen.cost) == (
        4,
        1,
        1,
        400,
        6.0,
        None,
    )
    assert len(acts_of(recorded(act("bash"), act("search")))) == 2  # also with arguments of another making


@given(trajectories)
@settings(deadline=None)
def test_any_trajectory_can_be_examined(run: Trajectory) -> None:
    seen = examine(run)
    assert (seen.label is not None) == (run.status is Status.FAILED)
    assert findings_frame([seen]).height == 1 and json.dumps(report(findings_frame([seen])))


RUNS = [
    recorded(*[bash("make", "no", 2)] * 3, FINISH, attempt=0),
    recorded(WRITE, FINISH, attempt=1, domain="security", skills=("shell",)),
    recorded(
        bash("make", code=2), bash("ls"), bash("make"), FINISH, attempt=2, status=Status.PASSED, binary=1, weighted=1.0
    ),
    recorded(attempt=3, status=Status.INVALID, end=End.BROKEN, model="other"),
]
FRAME = findings_frame([examine(run) for run in RUNS])


def test_tables_by_axis() -> None:
    model = {row["model"]: row for row in by(FRAME, "model").to_dicts()}
    row = model["scripted:x"]
    assert (row["runs"], row["passed"], row["failed"], row["invalid"], row["rate"]) == (
        3,
        1,
        2,
        0,
        pytest.approx(1 / 3),
    )
    assert (row["loop"], row["premature_finish"], sum(row[label] for label in LABELS)) == (1, 1, 2)
    assert (model["other"]["runs"], model["other"]["invalid"], model["other"]["rate"]) == (0, 1, None)
    assert by(FRAME, "domain")["domain"].to_list() == ["debugging", "security"]
    skills = {row["skill"]: row["runs"] for row in by(FRAME, "skill").to_dicts()}
    assert skills == {"arithmetic": 2, "shell": 3}


def test_flags_of_failed_and_passed_runs() -> None:
    rows = {row["failure"]: row for row in flags(FRAME).to_dicts()}
    assert tuple(rows) == LABELS
    assert (rows["loop"]["main"], rows["loop"]["main_share"], rows["loop"]["passed_share"]) == (1, 0.5, 0.0)
    assert (rows["premature_finish"]["main"], rows["premature_finish"]["failed_share"]) == (1, 1.0)  # `make` is no look
    assert sum(row["main"] for row in rows.values()) == 2


def test_failed_against_passed_runs() -> None:
    failed, passed = behaviour(FRAME).to_dicts()
    assert (failed["outcome"], failed["runs"], failed["with_errors"], passed["outcome"]) == ("failed", 2, 1, "passed")
    assert (passed["programs_after_error"], passed["commands_after_error"], passed["ignored"]) == (2, 2, 0)
    assert failed["programs_after_error"] == pytest.approx(2 / 3)  # 1, 1 and 0 of three errors


def test_nothing_at_all() -> None:
    empty = findings_frame([])
    assert all(by(empty, axis).is_empty() for axis in AXES) and flags(empty)["main"].sum() == 0
    assert behaviour(empty)["runs"].to_list() == [0, 0]
