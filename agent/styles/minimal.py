"""The minimal style: a thought, then one shell command in a fence; a marker submits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from agent.actions import AnyAction, Bash, Finish, Malformed
from agent.observation import Observation
from agent.styles.style import Said

MARKER = "TASK_DONE"
_FENCE = re.compile(r"^(`{3,}|~{3,})[ \t]*(bash|sh|shell)?[ \t]*\n(.*?)^\1[ \t]*$", re.DOTALL | re.MULTILINE)
_FORM = "a few words of thought, then\n```bash\nls -l /srv\n```\nor, when all is done, the single line\n" + MARKER
_CALL = 'bash {"cmd": "ls -l /srv"}\nor, when all is done\nsubmit {}'
_SYSTEM = f"""You work in a Linux terminal, by yourself, on one task. Nobody answers questions.

Each of your replies is a short thought and then exactly one shell command, in a fence:

I look at what is there first.
```bash
ls -l /srv
```

You are shown its output and exit code, then reply again. All commands run in the same bash: directory and variables stay.
Programs that wait for a person get no input. A command that takes too long is ended. Long output is cut in the middle.
Look before you change something, and check your result before you say that it is done.
When the task is done, reply with the single line {MARKER} and no command. What you left is then graded."""


class Minimal:
    """Thought + one command."""

    name = "minimal"

    def system_prompt(self) -> str:
        """The rules of this style."""
        return _SYSTEM

    def opening(self, instruction: str) -> str:
        """The task."""
        return f"The task:\n\n{instruction.strip()}"

    def parse(self, reply: str) -> Said:
        """One fenced command, or the marker on a line of its own outside of fences."""
        text = reply.replace("\r\n", "\n")
        fences = list(_FENCE.finditer(text))
        words = _FENCE.sub("", text)
        marked = any(line.strip() == MARKER for line in words.splitlines())
        thought = "\n".join(line for line in words.splitlines() if line.strip() != MARKER).strip()
        if len(fences) == 1 and not marked:
            command = fences[0][3].strip("\n")
            if command.strip():
                return Said((Bash(cmd=command),), thought)
            return Said((_mistake(text, fences[0].start(), "the command is empty"),), thought)
        if marked and not fences:
            return Said((Finish(message=thought),), thought)
        if marked:
            return Said((_mistake(text, fences[0].start(), f"a command and {MARKER} in one reply"),), thought)
        if fences:
            problem = f"{len(fences)} commands in one reply; send one"
            return Said((_mistake(text, fences[1].start(), problem),), thought)
        at = max(text.find("```"), 0)
        problem = "the fence is not closed" if "```" in text else "neither a command in a fence nor the marker"
        return Said((_mistake(text, at, problem),), thought)

    def show(self, results: Sequence[Observation | Malformed], notes: Sequence[str] = ()) -> str:
        """The output as it is; how the command ended stands below it."""
        parts = [_shown(result) for result in results]
        return "\n\n".join([*parts, *(f"[{note}]" for note in notes)])

    def render(self, actions: Sequence[AnyAction], thought: str = "") -> str:
        """A reply with one command or the marker.

        Raises:
            ValueError: it is not exactly one of these.
        """
        match actions:
            case [Bash(block=True, timeout_secs=None, must_succeed=False) as action]:
                fence = "```"
                while re.search(rf"^{fence}[ \t]*$", action.cmd, re.MULTILINE):
                    fence += "`"
                reply = f"{thought}\n{fence}bash\n{action.cmd}\n{fence}".lstrip("\n")
            case [Finish() as action]:
                reply = f"{action.message or thought}\n{MARKER}".lstrip("\n")
            case _:
                raise ValueError("the minimal style says one command, or that it is done")
        if self.parse(reply).items != tuple(actions):
            raise ValueError("this command or these words cannot be said in the minimal style")
        return reply

    def tools(self) -> Sequence[Mapping[str, Any]]:
        """Two tools: bash and submit."""
        command = {"type": "object", "properties": {"cmd": {"type": "string"}}, "required": ["cmd"]}
        nothing: dict[str, Any] = {"type": "object", "properties": {}}
        return (
            {"name": "bash", "description": "Run a command in the shell that stays open.", "parameters": command},
            {"name": "submit", "description": "Say that the task is done.", "parameters": nothing},
        )

    def parse_call(self, name: str, values: Mapping[str, Any]) -> AnyAction | Malformed:
        """A tool call."""
        if name == "submit":
            return Finish()
        if name != "bash":
            return _call_mistake(name, f"there is no tool {name!r}; bash and submit are")
        try:
            return Bash(cmd=values.get("cmd", ""))
        except ValidationError as error:
            return _call_mistake(name, f"cmd: {error.errors()[0]['msg']}")


def _call_mistake(name: str, problem: str) -> Malformed:
    return Malformed(tag=name, line=1, column=1, problem=problem, expected=_CALL)


def _mistake(text: str, at: int, problem: str) -> Malformed:
    before = text[:at]
    return Malformed(
        tag="",
        line=before.count("\n") + 1,
        column=at - (before.rfind("\n") + 1) + 1,
        problem=problem,
        echo=text[at : at + 60].split("\n")[0],
        expected=_FORM,
    )


def _shown(result: Observation | Malformed) -> str:
    if isinstance(result, Malformed):
        return f"Your reply could not be read: {result}"
    return result.text if result.failed else f"{result.text.rstrip()}\n[exit code 0]".lstrip("\n")  # a failure says how
