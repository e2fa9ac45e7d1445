"""Whole episodes in real sandboxes: scripted models, models behind both providers' protocols, and everything that can end one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import pytest

from agent.actions import AnyAction, Bash, Finish, NoteAdd
from agent.episode import Episode, StoppedError
from agent.limits import EpisodeLimits
from agent.models import ScriptedModel, replay, scripted
from agent.styles import Style, open_style
from agent.styles.minimal import Minimal
from agent.styles.structured import Structured
from agent.trajectory import End, Status, Trajectory
from containers.pool import Pool
from generators.chat.model import UNTAGGED, Ask, ChatModel, Reply, Tag
from generators.chat.models import open_model
from generators.chat.retry import Patience
from generators.errors import AnswerFault, ProviderFault
from generators.task import Task
from tests.provider import Answer, Asked, Fault, Provider
from tests.toys import SOLUTION, toy

SOLVE, DONE = Bash(cmd=SOLUTION), Finish(message="done")


def play(
    pool: Pool, model: ChatModel, style: Style | None = None, task: Task | None = None, **limits: float
) -> Trajectory:
    task = task or toy()
    built = pool.engine.build(task.image, task.limits)
    episode = Episode(task, style or Structured(), EpisodeLimits.model_validate(limits))
    return asyncio.run(episode.run(pool, built, model))


def saying(*replies: str) -> ScriptedModel:
    return ScriptedModel("scripted:test", replies)


def acting(*turns: Sequence[AnyAction]) -> ScriptedModel:
    return saying(*(Structured().render(turn) for turn in turns))


@pytest.mark.parametrize("style", ["structured", "minimal"])
def test_the_replayed_solution_passes(pool: Pool, style: str) -> None:
    task = toy()
    seen = play(pool, replay(task, open_style(style)), open_style(style))
    assert (seen.status, seen.end, seen.weighted, seen.binary) == (Status.PASSED, End.FINISHED, 1.0, 1)
    assert [item.call.tag for step in seen.steps for item in step.items if item.call] == ["bash", "finish"]
    assert {test.name: test.passed for test in seen.tests} == {"test_sum": True, "test_kept": True}
    assert seen.steps[0].shown and not seen.steps[1].shown and seen.seconds.grading > 0


def test_what_ends_an_episode_leads_to_grading(pool: Pool) -> None:
    idle = Bash(cmd=":")
    for limits, model, end in (
        ({}, acting([DONE]), End.FINISHED),
        ({"turns": 2}, acting([idle]), End.TURNS),
        ({"mistakes": 2}, saying("I would rather not act."), End.FORMAT),
        ({"agent_seconds": 0.5}, acting([Bash(cmd="sleep 20")]), End.TIME),
        ({"context_tokens": 4600, "reply_tokens": 300}, acting([Bash(cmd="seq 9999")]), End.CONTEXT),
        ({"output_tokens": 300}, acting([NoteAdd(content="word " * 200)]), End.TOKENS),
    ):
        seen = play(pool, model, **limits)
        assert (seen.status, seen.end, len(seen.tests)) == (Status.FAILED, end, 2), (end, seen.end, seen.reason)


def test_work_done_before_a_budget_ran_out_counts(pool: Pool) -> None:
    seen = play(pool, acting([SOLVE], [Bash(cmd="sleep 20")]), agent_seconds=1.0)
    assert (seen.status, seen.end, seen.binary) == (Status.PASSED, End.TIME, 1)


class Failing:
    """A model whose answers, or whose provider, fail."""

    name = "openai:failing"

    def __init__(self, *faults: Exception | str) -> None:
        self.faults = list(faults)

    async def ask(self, ask: Ask, tag: Tag = UNTAGGED) -> Reply:
        fault = self.faults.pop(0) if len(self.faults) > 1 else self.faults[0]
        if isinstance(fault, Exception):
            raise fault
        return await saying(fault).ask(ask)

    async def close(self) -> None: ...


def test_a_provider_that_fails_is_invalid_never_a_zero(pool: Pool) -> None:
    seen = play(pool, Failing(ProviderFault("it is down", "down")))
    assert (seen.status, seen.end, seen.reason) == (Status.INVALID, End.BROKEN, "provider down: it is down")


def test_useless_answers_are_said_and_end_it_at_last(pool: Pool) -> None:
    cut = AnswerFault("m reached the limit", "cut_off")
    seen = play(pool, Failing(cut, Structured().render([SOLVE, DONE])))
    assert seen.status is Status.PASSED and "of no use" in seen.steps[0].shown
    assert play(pool, Failing(cut)).end is End.ANSWERS
    assert play(pool, Failing(AnswerFault("full", "context_overflow"))).end is End.CONTEXT


def test_what_there_is_of_a_reply_that_was_cut_off_counts(pool: Pool) -> None:
    """As in training, which has its tokens: whole actions are done, and the model sees what it wrote and why it ended."""
    whole, broken = Minimal().render([SOLVE]), "I think\n```bash\ncat /srv/numb"
    faults = [AnswerFault("m reached the limit", "cut_off", text=text) for text in (f"{whole}\nNow it is", broken)]
    seen = play(pool, Failing(*faults, Minimal().render([DONE])), Minimal())
    assert (seen.status, seen.end, len(seen.steps)) == (Status.PASSED, End.FINISHED, 3)
    assert seen.steps[0].reply.endswith("Now it is") and seen.steps[0].items[0].call and seen.steps[0].usage.estimated
    assert seen.steps[1].reply == broken and "the fence is not closed" in seen.steps[1].items[0].mistake
    assert all("cut off" in step.shown for step in seen.steps[:2]) and "cut off" not in seen.steps[2].shown
    assert play(pool, Failing(faults[1]), Minimal()).end is End.FORMAT


def test_a_small_server_is_asked_for_shorter_replies(pool: Pool) -> None:
    """Its context is full at last, which ends the episode as ever."""

    def answer(asked: Asked) -> Answer:
        room = 8192 - len(asked.text) // 4
        words = f"This model's maximum context length is 8192 tokens. You requested {asked.body['max_tokens']} output tokens"
        fits = asked.body["max_tokens"] <= room
        return (
            Answer(Minimal().render([Bash(cmd="seq 9999")]))
            if fits
            else Answer(fault=Fault("status", 400, message=words))
        )

    async def run() -> Trajectory:
        model = open_model("openai:small", base_url=provider.url)
        try:
            return await Episode(task, Minimal()).run(pool, built, model)
        finally:
            await model.close()

    task = toy()
    built = pool.engine.build(task.image, task.limits)
    with Provider(answer) as provider:
        seen = asyncio.run(run())
    assert (seen.status, seen.end) == (Status.FAILED, End.CONTEXT) and len(seen.steps) >= 2


def test_a_sandbox_that_is_lost_is_invalid(pool: Pool) -> None:
    class Killer(ScriptedModel):
        async def ask(self, ask: Ask, tag: Tag = UNTAGGED) -> Reply:
            for sandbox in list(open_sandboxes):
                sandbox.end_processes()
            return await super().ask(ask)

    open_sandboxes: list[object] = []
    start = pool.engine.start
    try:
        pool.engine.start = lambda *given: open_sandboxes.append(found := start(*given)) or found  # type: ignore[method-assign]
        seen = play(pool, Killer("scripted:killer", [Structured().render([SOLVE])]))
    finally:
        pool.engine.start = start  # type: ignore[method-assign]
    assert seen.status is Status.INVALID and seen.reason.startswith("sandbox: ")


def test_stopped_says_nothing_about_the_agent(pool: Pool) -> None:
    task = toy()
    built = pool.engine.build(task.image, task.limits)
    with pytest.raises(StoppedError):
        asyncio.run(Episode(task, Minimal(), stop=lambda: True).run(pool, built, replay(task, Minimal())))


@pytest.mark.parametrize("provider_name", ["openai", "anthropic"])
def test_native_tool_calls(pool: Pool, provider_name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{provider_name.upper()}_API_KEY", "sk-test")

    def answer(asked: Asked) -> Answer:
        turn = sum(message["role"] == "assistant" for message in asked.body["messages"])
        calls = [(("bash", '{"cmd": 5'), ("bash", json.dumps({"cmd": "cat /srv/numbers.txt"})))]
        calls += [(("bash", json.dumps({"cmd": SOLUTION})),), (("submit", "{}"),)]
        return Answer("Next.", calls=calls[turn])

    async def run() -> Trajectory:
        model = open_model(f"{provider_name}:scripted", base_url=provider.url)
        try:
            return await Episode(task, Minimal(), native=True).run(pool, built, model)
        finally:
            await model.close()

    task = toy()
    built = pool.engine.build(task.image, task.limits)
    with Provider(answer) as provider:
        seen = asyncio.run(run())
        asked = provider.asked
    assert (seen.status, seen.style, len(seen.steps)) == (Status.PASSED, "minimal-tools", 3)
    wrong = seen.steps[0].items[0].mistake
    assert "not JSON" in wrong and 'expected:\nbash {"cmd"' in wrong and seen.steps[0].items[1].observation
    assert "600851475000" in asked[1].text and "not JSON" in asked[1].text


def test_a_provider_that_hangs_meets_the_agents_own_budget(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")

    async def run() -> Trajectory:
        model = open_model("openai:scripted", base_url=provider.url, patience=Patience())
        try:
            return await Episode(task, Minimal(), EpisodeLimits(agent_seconds=1.0)).run(pool, built, model)
        finally:
            await model.close()

    task = toy()
    built = pool.engine.build(task.image, task.limits)
    with Provider(lambda _: Answer("x", Fault(delay=5.0))) as provider:
        seen = asyncio.run(run())
    assert (seen.status, seen.end) == (Status.FAILED, End.TIME)


def test_idle_and_unknown_scripts() -> None:
    task, style = toy(), Minimal()
    assert scripted("scripted:idle")(task, style).name == "scripted:idle"


@pytest.mark.parametrize(
    "command",
    [
        "kill -9 -1",
        "pkill -9 cat; kill -9 1",
        "dd if=/dev/zero of=/dev/shm/fill bs=1M count=20000",
        "dd if=/dev/zero of=/fill bs=1M count=20000; dd if=/dev/zero of=/dev/shm/fill bs=1M",
        "dd if=/dev/zero of=/dev/fill bs=1M count=20000",
        "rm -rf /bin/bash /usr/bin/env /bin/sh",
    ],
)
def test_what_an_agent_does_to_its_sandbox_is_a_failure_never_invalid(pool: Pool, command: str) -> None:
    seen = play(pool, acting([Bash(cmd=command)], [Bash(cmd="echo hi"), DONE]))
    assert (seen.status, seen.end, len(seen.tests)) == (Status.FAILED, End.FINISHED, 2), seen.reason


def test_an_agent_that_ended_its_sandbox_is_graded(pool: Pool) -> None:
    started: list[object] = []
    start = pool.engine.start

    class Ending(ScriptedModel):
        async def ask(self, ask: Ask, tag: Tag = UNTAGGED) -> Reply:
            if len(ask.messages) > 2:  # as a fault of the kernel's would
                started[-1]._entrance.end()  # type: ignore[attr-defined]
            return await super().ask(ask, tag)

    try:
        pool.engine.start = lambda *given: started.append(found := start(*given)) or found  # type: ignore[method-assign]
        seen = play(pool, Ending("scripted:ending", [Structured().render([SOLVE]), Structured().render([DONE])][:1]))
    finally:
        pool.engine.start = start  # type: ignore[method-assign]
    assert (seen.status, seen.end, seen.binary) == (Status.PASSED, End.ENDED, 1), seen.reason
