"""The environment's side of an episode: it takes replies and says what they led to. It knows no model.

    session = Session(style, workspace, EpisodeLimits())
    turn = session.take(reply)      # parse, act in order, show; `turn.end` says that the agent's part is over

Evaluation (agent/episode.py) asks a ChatModel between two turns, training a policy that works on tokens.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from agent.actions import AnyAction, Finish, Malformed, arguments
from agent.limits import EpisodeLimits
from agent.observation import Observation, shown
from agent.styles.style import Said, Style
from agent.trajectory import Call, End, Item

_SOON = 3  # turns before the last that are counted down
_FAILED, _UNREAD = "an earlier action failed", "an earlier action, which must succeed, could not be read"
_UNSEEN = "an earlier action could not be read; send finish again once you have seen its correction"


class Workspace(Protocol):
    """Where actions are done: agent.handlers.Workspace, or a stand-in for another environment."""

    def do(self, action: AnyAction, seconds_left: float) -> Observation:
        """Do it.

        Raises:
            SandboxFault: the sandbox is lost.
        """
        ...


@dataclass(frozen=True)
class Turn:
    """What a reply led to: its items, the next message, and whether the agent's part has ended with it."""

    items: tuple[Item, ...]
    results: tuple[Observation | Malformed, ...]
    shown: str
    end: End | None
    seconds: float


class Session:
    """One episode. Its clock runs from the moment it is made."""

    def __init__(self, style: Style, workspace: Workspace, limits: EpisodeLimits) -> None:
        self.style, self.workspace, self.limits = style, workspace, limits
        self.turns = self.mistakes = 0
        self._began = time.monotonic()

    @property
    def seconds_left(self) -> float:
        """Of the agent's budget."""
        return self.limits.agent_seconds - (time.monotonic() - self._began)

    def take(self, reply: str, used: int = 0) -> Turn:
        """Act on a reply. `used` tokens of the context are taken, the reply included.

        Raises:
            SandboxFault: the sandbox is lost.
        """
        return self.act(self.style.parse(reply), used)

    def act(self, said: Said, used: int = 0, notes: Sequence[str] = ()) -> Turn:
        """Do what was said; `notes` are shown beside what it led to."""
        began = time.monotonic()
        items, results, finished = self._run(said)
        self.turns += 1
        self.mistakes = 0 if said.actions else self.mistakes + 1
        end = self._end(finished)
        text = "" if end else shown(self.style.show(results, [*notes, *self.notes()]), self.limits.shown_chars(used))[0]
        return Turn(tuple(items), tuple(results), text, end, time.monotonic() - began)

    def _run(self, said: Said) -> tuple[list[Item], list[Observation | Malformed], bool]:
        items, results = list[Item](), list[Observation | Malformed]()
        stopped, finished, unread = "", False, False
        for part in said.items:
            if isinstance(part, Malformed):
                items.append(Item(mistake=str(part)))
                results.append(part)
                unread = True
                if part.must_succeed:
                    stopped = stopped or _UNREAD
                continue
            call = Call(tag=part.tag, arguments=arguments(part))
            unseen = _UNSEEN if unread and isinstance(part, Finish) else ""  # an end would hide the correction
            late = "the time is over" if self.seconds_left <= 0 else ""
            if why := "after finish" if finished else stopped or late or unseen:
                items.append(Item(call=call, skipped=True))
                results.append(Observation(tag=part.tag, text=f"not run: {why}", failed=True))
                continue
            seen = self.workspace.do(part, self.seconds_left)
            items.append(Item(call=call, observation=seen))
            results.append(seen)
            stopped = _FAILED if seen.failed and part.must_succeed else ""
            finished = isinstance(part, Finish)
        return items, results, finished

    def _end(self, finished: bool) -> End | None:
        if finished:
            return End.FINISHED
        if self.seconds_left <= 0:
            return End.TIME
        if self.mistakes >= self.limits.mistakes:
            return End.FORMAT
        return End.TURNS if self.turns >= self.limits.turns else None

    def notes(self) -> list[str]:
        """What is said beside results: that the last turns come."""
        left = self.limits.turns - self.turns
        return [f"{left} {'turn is' if left == 1 else 'turns are'} left"] if left <= _SOON else []
