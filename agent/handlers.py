"""What actions do: a workspace takes them one by one and gives an observation of each.

    with Workspace(sandbox) as workspace:
        seen = workspace.do(Bash(cmd="make"), seconds_left=600)

Everything happens in the sandbox, with the rights of the image's user (or of `user`), but for the list of things to do and the notes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Self

from agent import files, search
from agent.actions import (
    AnyAction,
    Bash,
    FileEdit,
    FileMetadata,
    FileMultiEdit,
    FileRead,
    FileWrite,
    Finish,
    Glob,
    Grep,
    Ls,
    NoteAdd,
    NotesView,
    Think,
    Todo,
)
from agent.inside import Inside
from agent.lists import Notes, TodoList
from agent.observation import LIMIT, SMALLEST, Observation, shown
from agent.prepared import ActionFailure
from agent.terminal import Job, Terminal
from containers.sandbox import Sandbox

COMMAND_SECONDS = 30
_Work = Callable[[Inside, Any, int], str]

_IN_FILES: dict[type[AnyAction], _Work] = {
    FileRead: files.read,
    FileWrite: files.write,
    FileEdit: files.edit,
    FileMultiEdit: files.multi_edit,
    FileMetadata: files.metadata,
    Grep: search.grep,
    Glob: search.glob,
    Ls: search.ls,
}


class Workspace:
    """A sandbox as an agent has it. `command_seconds` are what a command gets that asks for nothing else."""

    def __init__(
        self,
        sandbox: Sandbox,
        *,
        user: str | None = None,
        command_seconds: int = COMMAND_SECONDS,
        observation_chars: int = LIMIT,
    ) -> None:
        self.limit = max(observation_chars, 2 * SMALLEST)
        self.todo, self.notes = TodoList(), Notes()
        self._terminal = Terminal(sandbox, user, command_seconds, self.limit)
        self._inside = Inside(sandbox, user, lambda: self._terminal.shell.pid)
        self._handlers: dict[type[AnyAction], Callable[[Any], str]] = {
            Todo: self.todo.change,
            NoteAdd: lambda action: self.notes.add(action.content),
            NotesView: lambda _: self.notes.rendered(),
            Think: lambda _: "",
            Finish: lambda _: "",
            **{kind: self._in_files(work) for kind, work in _IN_FILES.items()},
        }

    @property
    def jobs(self) -> tuple[Job, ...]:
        """What was started in the background."""
        return tuple(self._terminal.jobs)

    def do(self, action: AnyAction, seconds_left: float) -> Observation:
        """Do it, within the time that is left to the episode.

        Raises:
            SandboxFault: the sandbox is lost.
        """
        began = time.monotonic()
        self._inside.allow(seconds_left)
        try:
            seen = self._done(action, seconds_left)
        except ActionFailure as failure:
            seen = self._seen(action, str(failure), failed=True)
        return seen.model_copy(update={"seconds": time.monotonic() - began})

    def _done(self, action: AnyAction, seconds_left: float) -> Observation:
        if isinstance(action, Bash):
            return self._terminal.run(action, seconds_left)
        return self._seen(action, self._handlers[type(action)](action), failed=False)

    def _seen(self, action: AnyAction, said: str, *, failed: bool) -> Observation:
        text, chars = shown(said, self.limit)
        return Observation(tag=action.tag, text=text, failed=failed, chars=chars)

    def _in_files(self, work: _Work) -> Callable[[Any], str]:
        return lambda action: work(self._inside, action, self.limit)

    def close(self) -> None:
        """End the shells; the sandbox stays, with what runs in the background."""
        self._inside.close()
        self._terminal.shell.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
