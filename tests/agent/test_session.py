"""The environment's side: order, failures, budgets and ends, with a workspace that only says what it is told to."""

from __future__ import annotations

import time

import pytest

from agent.actions import AnyAction, Bash, Finish
from agent.limits import MIN_REPLY, EpisodeLimits
from agent.observation import Observation
from agent.session import Session
from agent.styles import open_style
from agent.styles.minimal import MARKER, Minimal
from agent.styles.structured import Structured
from agent.trajectory import End
from generators.errors import UsageError


class Desk:
    """Does nothing; a command `false` fails, `sleep` takes its time."""

    def __init__(self) -> None:
        self.done: list[AnyAction] = []

    def do(self, action: AnyAction, seconds_left: float) -> Observation:
        self.done.append(action)
        if isinstance(action, Bash) and action.cmd.startswith("sleep"):
            time.sleep(0.05)
        failed = isinstance(action, Bash) and action.cmd == "false"
        return Observation(tag=action.tag, text="x" * 50_000, failed=failed, exit_code=int(failed))


def session(**limits: float) -> tuple[Session, Desk]:
    desk = Desk()
    return Session(Structured(), desk, EpisodeLimits.model_validate(limits)), desk


def said(*actions: AnyAction) -> str:
    return Structured().render(actions)


def test_actions_run_in_order_and_finish_ends() -> None:
    one, desk = session()
    turn = one.take(said(Bash(cmd="a"), Bash(cmd="false"), Bash(cmd="b"), Finish(), Bash(cmd="c")))
    assert [getattr(action, "cmd", "finish") for action in desk.done] == ["a", "false", "b", "finish"]
    assert (
        turn.end is End.FINISHED and turn.shown == "" and [item.skipped for item in turn.items] == [False] * 4 + [True]
    )


def test_what_must_succeed_stops_the_rest_and_the_end() -> None:
    one, desk = session()
    turn = one.take(said(Bash(cmd="false", must_succeed=True), Bash(cmd="b"), Finish()))
    assert len(desk.done) == 1 and turn.end is None
    assert turn.shown.count("not run: an earlier action failed") == 2


BROKEN = "<bash>\ncmd: [\n</bash>\n"
STRICT = "<bash>\ncmd: [\nmust_succeed: true\n</bash>\n"


def test_an_end_waits_until_the_correction_of_what_could_not_be_read_is_seen() -> None:
    one, desk = session()
    turn = one.take(BROKEN + said(Bash(cmd="a"), Finish()))
    assert [action.tag for action in desk.done] == ["bash"], "other actions are done"
    assert turn.end is None and [item.skipped for item in turn.items] == [False, False, True]
    assert "<mistake>" in turn.shown and "could not be read; send finish again" in turn.shown
    assert one.take(said(Finish())).end is End.FINISHED
    assert session()[0].take(said(Finish()) + BROKEN).end is End.FINISHED, "what comes later is no matter"


@pytest.mark.parametrize(
    "broken",
    [STRICT, STRICT.replace("</bash>\n", ""), "<bash>\nmust_succeed: yes\n</bash>\n", "<shell>\n" + STRICT[7:]],
)
def test_what_must_succeed_and_cannot_be_read_stops_the_rest(broken: str) -> None:
    one, desk = session()
    turn = one.take(broken + said(Bash(cmd="b"), Finish()))
    assert not desk.done and turn.end is None
    assert turn.shown.count("not run: an earlier action, which must succeed, could not be read") == 2
    assert not session()[0].take(BROKEN + said(Bash(cmd="b", must_succeed=True))).items[1].skipped


def test_mistakes_in_a_row_end_it_and_one_valid_action_forgives() -> None:
    one, _ = session(mistakes=2)
    assert one.take("hm").end is None
    assert one.take(said(Bash(cmd="a")) + "\n<bash>\n]\n</bash>").end is None
    assert one.take("hm").end is None
    turn = one.take("<bash>\ncmd: [\n</bash>")
    assert turn.end is End.FORMAT and turn.items[0].mistake.startswith("<bash> line ")


def test_turns_are_counted_down_and_end() -> None:
    one, _ = session(turns=2)
    assert "1 turn is left" in one.take(said(Bash(cmd="a"))).shown
    assert one.take(said(Bash(cmd="a"))).end is End.TURNS


def test_time_ends_it_and_what_comes_later_does_not_run() -> None:
    one, desk = session(agent_seconds=0.02)
    turn = one.take(said(Bash(cmd="sleep"), Bash(cmd="b")))
    assert turn.end is End.TIME and len(desk.done) == 1 and turn.items[1].skipped


def test_what_is_shown_leaves_room_for_a_reply() -> None:
    one, _ = session(context_tokens=4096)
    assert len(one.take(said(Bash(cmd="a")), used=3000).shown) <= (4096 - 3000 - MIN_REPLY) * 3 + 200


def test_one_rule_for_a_full_context() -> None:
    limits = EpisodeLimits(context_tokens=4096, reply_tokens=1024, output_tokens=2000)
    assert [limits.reply_allowance(used, 0) for used in (0, 3500, 3840, 3841)] == [1024, 596, 256, None]
    assert limits.reply_allowance(0, 1900) is None


def test_styles_by_name() -> None:
    assert isinstance(open_style("minimal"), Minimal)
    assert open_style("minimal").parse(MARKER).actions == (Finish(),)
    with pytest.raises(UsageError, match="there are structured, minimal"):
        open_style("telepathic")
