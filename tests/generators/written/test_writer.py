"""The writer: who is asked what in which order, and how an answer that fails is asked for again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence

import pytest

from generators.chat.model import Effort, Tag
from generators.errors import AnswerFault, ProviderFault, RefusedError
from generators.written.answers import render
from generators.written.draft import MOST_ROUNDS, Order, Written, task
from generators.written.problems import STAGES, DroppedError, Problem
from generators.written.records import (
    Completion,
    Judgement,
    Misses,
    Weight,
)
from generators.written.writer import Models, TryEnvironment, Writer
from tests.generators.written.scripted import (
    ALTERNATIVE,
    COMPLETION,
    DESCRIPTION,
    ENVIRONMENT,
    FURNISHED,
    GOOD,
    MISSES,
    ORDER,
    PICTURE_ORDER,
    SCRIPT,
    SOLUTION,
    Says,
    Scripted,
)

OTHER = DESCRIPTION.model_copy(update={"title": "The dearest passage, again"})
RENAMED = Completion.model_validate(
    json.loads(COMPLETION.model_dump_json().replace("test_dearest", "test_ship_is_named"))
)
CAUGHT_ANEW = Misses.model_validate(json.loads(MISSES.model_dump_json().replace("test_dearest", "test_ship_is_named")))
UNWEIGHTED = render(COMPLETION.model_copy(update={"weights": (Weight(test="test_dearest", weight=0.5),)}))


def script(**said: Sequence[Says]) -> Mapping[str, Sequence[Says]]:
    """The good answers, but for some stages."""
    return {stage: said.get(stage, known) for stage, known in SCRIPT.items()}


def alone(model: Scripted, judged: bool = False, structured: bool = False) -> Models:
    return Models(model, model, model, model if judged else None, structured=structured)


def begin(models: Models, try_environment: TryEnvironment | None = None, order: Order = ORDER) -> Written:
    return asyncio.run(Writer(models, try_environment).begin(order))


def revised(model: Scripted, *problems: Problem, judged: bool = False) -> Written:
    """A good draft, revised for each problem in turn."""

    async def write() -> Written:
        writer = Writer(alone(model, judged))
        written = await writer.begin(ORDER)
        for problem in problems:
            written = await writer.revise(written, problem)
        return written

    return asyncio.run(write())


def stages(model: Scripted) -> list[str]:
    return [stage for _, stage in model.log]


def reasons(written: Written | DroppedError) -> list[tuple[str, int, str]]:
    return [(done.stage, done.number, done.reason) for done in written.rounds]


def test_stages_in_order_each_by_its_model() -> None:
    log: list[tuple[str, str]] = []
    writer, tester, solver, judge = (Scripted(name, SCRIPT, log) for name in ("writer", "tester", "solver", "judge"))
    written = begin(Models(writer, tester, solver, judge))
    by = ("writer", "writer", "tester", "solver", "solver", "tester", "judge")
    assert log == list(zip(by, STAGES, strict=True))
    assert dict(written.answers) == dict(GOOD) and not written.rounds
    assert [tag for tag, _ in solver.asked] == [Tag(ORDER.name, "solution", 0), Tag(ORDER.name, "alternative", 0)]
    made = task(written)
    assert (made.solution, made.alternatives) == (SOLUTION.script, (ALTERNATIVE.script,))
    assert made.truth == DESCRIPTION.truth and made.provenance.knobs["model"] == ORDER.model


def test_nobody_judges_where_no_judge_is_named() -> None:
    model = Scripted("all", SCRIPT)
    assert "judge" not in begin(alone(model)).answers and stages(model) == list(STAGES[:-1])


@pytest.mark.parametrize("structured", [True, False])
def test_structured_asks_for_a_schema_and_reads_json(structured: bool) -> None:
    said = {stage: (record.model_dump_json() if structured else render(record),) for stage, record in GOOD.items()}
    model = Scripted("all", said)
    assert dict(begin(alone(model, judged=True, structured=structured)).answers) == dict(GOOD)
    for tag, ask in model.asked:
        schema = ask.answer_schema
        assert (schema is not None) is structured and ask.temperature is not None, tag
        assert schema is None or schema["title"] == type(GOOD[tag.stage]).__name__


def test_fixture_has_a_schema_of_its_own_and_is_kept() -> None:
    model = Scripted("all", script(environment=(render(ENVIRONMENT), render(FURNISHED))))
    written = begin(alone(model, structured=True), order=PICTURE_ORDER)
    assert reasons(written) == [("environment", 1, "malformed")] and written.answers["environment"] == FURNISHED
    assert all("fixtures" in json.dumps(ask.answer_schema) for ask in model.of("environment"))


@pytest.mark.parametrize("effort", [None, "high"])
def test_reasoning_takes_no_temperature_and_has_room(effort: Effort | None) -> None:
    model = Scripted("all", SCRIPT)
    begin(Models(model, model, model, reasoning=effort))
    (ask,) = model.of("describe")
    assert (ask.reasoning, ask.temperature, ask.max_tokens) == ((effort, None, 14000) if effort else (None, 1.0, 6000))


def test_three_rounds_then_dropped_with_all_of_them() -> None:
    said = ("", "<source>x", "<guards>[</guards>", UNWEIGHTED, render(COMPLETION))
    model = Scripted("all", script(tests=said))
    with pytest.raises(DroppedError) as caught:
        begin(alone(model))
    assert (caught.value.problem.stage, caught.value.problem.reason) == ("tests", "weights_sum")
    assert reasons(caught.value) == [("tests", 1, "empty"), ("tests", 2, "unclosed_tag"), ("tests", 3, "invalid_json")]
    assert [tag.round for tag, _ in model.asked if tag.stage == "tests"] == [0, 1, 2, 3]
    assert [ask.sample for ask in model.of("tests")] == [0, 1, 2, 3] and "solution" not in stages(model)


def test_third_round_may_still_succeed() -> None:
    said = ("", "", UNWEIGHTED, render(COMPLETION))
    written = begin(alone(Scripted("all", script(tests=said))))
    assert len(reasons(written)) == MOST_ROUNDS and written.answers["tests"] == COMPLETION


def test_repair_quotes_the_last_answer_and_the_exact_error() -> None:
    model = Scripted("all", script(tests=("<source>first", UNWEIGHTED, render(COMPLETION))))
    begin(alone(model))
    first, second, third = (ask.messages for ask in model.of("tests"))
    assert [message.role for message in third] == ["system", "user", "assistant", "user"]
    assert third[:2] == first == second[:2]
    assert second[2].content == "<source>first" and "(unclosed_tag):\n\n<source> is not closed" in second[3].content
    assert third[2].content == UNWEIGHTED and "(weights_sum):\n\nthe weights sum to 0.5, not to 1" in third[3].content
    assert "unclosed_tag" not in third[3].content


@pytest.mark.parametrize(
    ("fault", "reason"),
    [(RefusedError("openai: declined: no thanks"), "refused"), (AnswerFault("openai: cut", "cut_off"), "cut_off")],
)
def test_reply_of_no_use_is_asked_again_without_a_quote(fault: AnswerFault, reason: str) -> None:
    model = Scripted("all", script(solution=("<script>half", fault, render(SOLUTION))))
    written = begin(alone(model))
    assert reasons(written) == [("solution", 1, "unclosed_tag"), ("solution", 2, reason)]
    again = model.of("solution")[2].messages
    assert [message.role for message in again] == ["system", "user"] and "<script>half" not in again[1].content
    said = "write less" if reason == "cut_off" else str(fault)
    assert again[1].content.startswith(model.of("solution")[0].messages[1].content) and said in again[1].content


def test_provider_faults_are_not_repaired() -> None:
    model = Scripted("all", script(tests=(ProviderFault("openai: 500", "down"),)))
    with pytest.raises(ProviderFault):
        begin(alone(model))
    assert stages(model) == list(STAGES[:3])


def test_environment_is_tried_before_more_is_written_and_not_again() -> None:
    model, tried = Scripted("all", SCRIPT), list[list[str]]()
    problem = Problem("environment", "build_failed", "gate build: no such file", "Mend it.", "build")

    async def attempt(written: Written) -> Problem | None:
        tried.append(list(written.answers))
        return problem if len(tried) == 1 else None

    async def write() -> Written:
        writer = Writer(alone(model), attempt)
        written = await writer.begin(ORDER)
        await writer.revise(written, Problem("solution", "solution_fails", "gate oracle: exit code 1"))
        return written

    written = asyncio.run(write())
    assert tried == [["describe", "environment"]] * 2 and reasons(written) == [("environment", 1, "build_failed")]
    assert stages(model) == ["describe", "environment", *STAGES[1:-1], "solution"]
    assert "gate build: no such file\n\nMend it.\n" in model.of("environment")[1].messages[3].content


def test_revising_the_description_writes_all_that_follows_anew() -> None:
    model = Scripted("all", script(describe=(render(DESCRIPTION), render(OTHER))))
    written = revised(model, Problem("describe", "truth_leaks", "gate leak: in the instruction"), judged=True)
    assert stages(model) == [*STAGES, *STAGES] and written.answers["describe"] == OTHER
    assert OTHER.title in model.of("tests")[1].messages[1].content
    assert [len(ask.messages) for ask in model.of("tests")] == [2, 2]  # there was nothing wrong with it


def test_revising_another_stage_keeps_what_still_fits() -> None:
    model = Scripted("all", script(solution=(render(SOLUTION), render(ALTERNATIVE))))
    written = revised(model, Problem("solution", "solution_fails", "gate oracle: exit code 1"), judged=True)
    assert stages(model) == [*STAGES, "solution", "judge"] and written.answers["solution"] == ALTERNATIVE


def test_near_misses_that_a_revision_made_stale_are_repaired() -> None:
    near_misses = (render(MISSES), render(CAUGHT_ANEW))
    model = Scripted("all", script(tests=(render(COMPLETION), render(RENAMED)), near_misses=near_misses))
    written = revised(model, Problem("tests", "already_solved", "gate no_op: passes untouched"))
    assert reasons(written) == [("tests", 1, "already_solved"), ("near_misses", 1, "tests_missing")]
    assert stages(model) == [*STAGES[:-1], "tests", "near_misses"] and written.answers["near_misses"] == CAUGHT_ANEW
    _, asked, quoted, repair = model.of("near_misses")[1].messages
    assert "test_ship_is_named" in asked.content and quoted.content == near_misses[0]
    assert "what is no goal test: test_dearest" in repair.content


def test_judge_sends_back_to_the_stage_it_names_and_is_asked_again() -> None:
    opinion = Judgement(verdict="revise", stage="tests", reasons="The case of letters is checked, but not said.")
    model = Scripted("all", script(judge=(render(opinion), render(GOOD["judge"]))))
    written = begin(alone(model, judged=True))
    assert stages(model) == [*STAGES, "tests", "judge"] and reasons(written) == [("tests", 1, "judge_objects")]
    assert opinion.reasons in model.of("tests")[1].messages[3].content and written.answers["judge"] == GOOD["judge"]


def test_judge_who_is_never_content_ends_the_task() -> None:
    opinion = Judgement(verdict="revise", stage="environment", reasons="")
    with pytest.raises(DroppedError) as caught:
        begin(alone(Scripted("all", script(judge=(render(opinion),))), judged=True))
    assert reasons(caught.value) == [("environment", number, "judge_objects") for number in (1, 2, 3)]
    assert caught.value.problem.detail == "no reasons"


def test_problem_that_was_solved_is_not_quoted_again() -> None:
    model = Scripted("all", script(describe=(render(DESCRIPTION), render(OTHER)), tests=("", render(COMPLETION))))
    revised(model, Problem("describe", "truth_leaks", "gate leak: in the instruction"))
    assert [len(ask.messages) for ask in model.of("tests")] == [2, 2, 2]
    assert "the answer was empty" not in model.of("tests")[2].messages[-1].content


def test_one_writer_serves_many_tasks_at_once() -> None:
    model = Scripted("all", SCRIPT)
    orders = [Order(ORDER.cell, 5, serial, "scripted:model") for serial in range(20)]

    async def write() -> list[Written]:
        writer = Writer(alone(model))
        return list(await asyncio.gather(*(writer.begin(order) for order in orders)))

    assert [written.order for written in asyncio.run(write())] == orders
    assert {tag.task for tag, _ in model.asked} == {order.name for order in orders} and len(model.asked) == 120
