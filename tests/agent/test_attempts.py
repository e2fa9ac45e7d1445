"""Many attempts: plans, what is kept, what is tried again, stops, and 24 at once."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent import attempts as module
from agent.actions import Bash, Finish
from agent.attempts import Attempts, Plan
from agent.limits import EpisodeLimits
from agent.models import Player, ScriptedModel, identity, replay, scripted
from agent.store import AttemptStore, run_key
from agent.styles.minimal import Minimal
from agent.styles.structured import Structured
from agent.styles.style import Style
from agent.trajectory import Status
from containers.engines.bubblewrap.engine import BubblewrapEngine
from generators.chat.model import UNTAGGED, Ask, Reply, Tag
from generators.errors import BudgetError, ProviderFault, SandboxFault, UsageError
from generators.task import Limits, Task
from tests.toys import SOLUTION, dockerfile, toy


def playing(player: Player) -> Callable[[], contextlib.AbstractAsyncContextManager[Player]]:
    @contextlib.asynccontextmanager
    async def opened() -> AsyncGenerator[Player]:
        yield player

    return opened


class Now(ScriptedModel):
    """Fails where its attempt is not one of those that pass; counts what it is asked."""

    def __init__(self, style: Style, passing: set[int], log: list[int]) -> None:
        super().__init__("scripted:now", [style.render([Bash(cmd=SOLUTION), Finish()]), style.render([Finish()])])
        self.passing, self.log = passing, log

    async def ask(self, ask: Ask, tag: Tag = UNTAGGED) -> Reply:
        self.log.append(ask.sample)
        reply = await super().ask(ask, tag)
        return reply if ask.sample in self.passing else reply.model_copy(update={"text": self.replies[1]})


def now(passing: set[int], log: list[int]) -> Callable[[], contextlib.AbstractAsyncContextManager[Player]]:
    return playing(lambda _, style: Now(style, passing, log))


@given(st.lists(st.booleans(), max_size=40), st.integers(1, 40), st.sampled_from(["all", "until_pass", "adaptive"]))
def test_plans_end_and_never_exceed_k(passed: list[bool], k: int, mode: str) -> None:
    plan, made = Plan.model_validate({"k": k, "mode": mode}), 0
    while count := plan.wave(passed[:made]):
        assert count > 0
        made += count
        passed += [False] * count
    assert made <= k and (mode != "all" or made == k)


def test_plans_stop_when_enough_is_known(engine: BubblewrapEngine) -> None:
    for mode, passing, made in (
        ("until_pass", {2}, 4),
        ("until_pass", set[int](), 8),
        ("adaptive", {1}, 8),
        ("all", {1}, 8),
    ):
        log: list[int] = []
        plan = Plan.model_validate({"k": 8, "mode": mode})
        found = Attempts(engine, now(passing, log), Structured(), plan).run([toy()])
        assert [trajectory.attempt for trajectory in found] == list(range(made)), mode
        assert {trajectory.attempt for trajectory in found if trajectory.binary} == passing
    log = []
    assert len(Attempts(engine, now(set(), log), Structured(), Plan(k=16, mode="adaptive")).run([toy()])) == 8


def test_what_was_attempted_is_not_attempted_again(engine: BubblewrapEngine, tmp_path: Path) -> None:
    style, log = Structured(), list[int]()
    store = AttemptStore(tmp_path, run_key("m", "", style, False, EpisodeLimits(), None))
    first = Attempts(engine, now({0}, log), style, Plan(k=2), store=store).run([toy()])
    asked = len(log)
    again = Attempts(engine, now({0}, log), style, Plan(k=3), store=store).run([toy()])
    assert again[:2] == first and len(again) == 3 and set(log[asked:]) == {2}
    other = AttemptStore(tmp_path, run_key("m", "", style, False, EpisodeLimits(turns=3), None))
    assert other.load(toy(), 0) is None and store.load(toy(limits=Limits(pids=99)), 0) is None
    for file in tmp_path.rglob("0.json"):
        file.write_bytes(file.read_bytes()[:-9])
    assert store.load(toy(), 0) is None


def test_invalid_attempts_are_tried_again_and_not_kept(
    engine: BubblewrapEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PAUSE", 0.0)
    store = AttemptStore(tmp_path, "k" * 24)

    class Shaky(ScriptedModel):
        failures = 2

        async def ask(self, ask: Ask, tag: Tag = UNTAGGED) -> Reply:
            if self.failures:
                type(self).failures -= 1
                raise SandboxFault("lost")
            return await super().ask(ask, tag)

    lines = [Structured().render([Bash(cmd=SOLUTION), Finish()])]
    (found,) = Attempts(engine, playing(lambda *_: Shaky("m", lines)), Structured(), Plan(k=1), store=store).run(
        [toy()]
    )
    assert found.status is Status.PASSED
    Shaky.failures = 99
    (found,) = Attempts(engine, playing(lambda *_: Shaky("m", lines)), Minimal(), Plan(k=1)).run([toy()])
    assert found.status is Status.INVALID and Shaky.failures == 96
    log: list[int] = []

    class Down(ScriptedModel):
        async def ask(self, ask: Ask, tag: Tag = UNTAGGED) -> Reply:
            log.append(ask.sample)
            raise ProviderFault("gone", "connection_lost")

    down = playing(lambda *_: Down("m", lines))
    (found,) = Attempts(engine, down, Minimal(), Plan(k=1)).run([toy()])
    assert found.status is Status.INVALID and log == [0], "its own layers have tried again already"
    broken = toy(image=toy().image.model_copy(update={"dockerfile": dockerfile("RUN exit 3\n")}))
    (found,) = Attempts(engine, playing(replay), Structured(), Plan(k=1), store=store).run([broken])
    assert found.status is Status.INVALID and found.reason.startswith("build: ")
    assert store.load(broken, 0) is None


def test_a_ceiling_ends_the_run_and_keeps_what_was_done(engine: BubblewrapEngine, tmp_path: Path) -> None:
    store = AttemptStore(tmp_path, "k" * 24)

    class Poor(Now):
        async def ask(self, ask: Ask, tag: Tag = UNTAGGED) -> Reply:
            if ask.sample == 2:
                raise BudgetError("the ceiling of 1 dollar")
            return await super().ask(ask, tag)

    players = playing(lambda _, style: Poor(style, {0}, []))
    with pytest.raises(BudgetError):
        Attempts(engine, players, Structured(), Plan(k=3), store=store, workers=1).run([toy()])
    assert store.load(toy(), 0) and store.load(toy(), 1)


def test_a_stop_ends_the_run(engine: BubblewrapEngine) -> None:
    done: list[object] = []
    attempts = Attempts(engine, now({0}, []), Structured(), Plan(k=50), workers=1, stop=lambda: len(done) >= 2)
    with pytest.raises(KeyboardInterrupt):
        attempts.run([toy()], tell=done.append)
    assert 2 <= len(done) < 6


def test_twenty_four_at_once(engine: BubblewrapEngine) -> None:
    tasks: list[Task] = [toy(solution=f"sleep 0.3; {SOLUTION} # {number}") for number in range(24)]
    found = Attempts(engine, playing(replay), Structured(), Plan(k=1), workers=24).run(tasks)
    assert [trajectory.task_id for trajectory in found] == [task.id for task in tasks]
    assert all(trajectory.status is Status.PASSED for trajectory in found)


def test_another_script_is_another_player(tmp_path: Path) -> None:
    file = tmp_path / "script.yaml"
    file.write_text("replies: [x]")
    first = identity(f"scripted:{file}")
    file.write_text("replies: [y]")
    assert identity(f"scripted:{file}") != first and identity("openai:m") == "openai:m"
    with pytest.raises(UsageError, match="scripted:idle"):
        scripted("scripted:")
