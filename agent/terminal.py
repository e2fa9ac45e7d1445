"""Commands: in the foreground of the agent's shell, or in a session of their own that outlives timeouts."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from agent.actions import Bash
from agent.observation import LIMIT, SMALLEST, Observation, shown
from agent.prepared import ActionFailure, PreparedShell, Ran
from containers.sandbox import Sandbox

KEPT = 1 << 23  # bytes of a command's output; of more, the middle is lost
JOBS = "/tmp/.jobs"
_START_SECONDS, _STATUS_CHARS = 10.0, 250

# nothing opens a pager or an editor, nothing asks
_EDITOR = "echo 'no editor can be used here: give the text as an argument or write the file' >&2; false"
ENVIRONMENT = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "LESS": "-FRX",
    "EDITOR": _EDITOR,
    "VISUAL": _EDITOR,
    "GIT_TERMINAL_PROMPT": "0",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
    "TERM": "dumb",
    "PYTHONUNBUFFERED": "1",
}
_PREPARATION = "export " + " ".join(f"{name}={shlex.quote(value)}" for name, value in ENVIRONMENT.items())
# a session of its own: what kills the shell's session at a timeout does not reach it
_JOB = 'exec 9>&1 >"$0" 2>&1 </dev/null || exit; echo $$ >&9; exec 9>&-; exec /bin/bash -c "$1"'


@dataclass(frozen=True)
class Job:
    """A command in the background: its process id is that of its group, its output goes to a file in the sandbox."""

    number: int
    pid: int
    command: str
    output: str


class Terminal:
    """The agent's shell. `seconds` are what a command gets that asks for nothing else, `limit` characters are shown of it."""

    def __init__(self, sandbox: Sandbox, user: str | None, seconds: int, limit: int = LIMIT) -> None:
        self.shell = PreparedShell(sandbox, user, _PREPARATION)
        self.seconds, self.limit = seconds, max(limit, 2 * SMALLEST)
        self.jobs: list[Job] = []

    def run(self, action: Bash, seconds_left: float) -> Observation:
        """Run a command, or start it where it is not to block.

        Raises:
            ActionFailure: it is too long, or did not start in the background.
            SandboxFault: the sandbox is gone.
        """
        if not action.block:
            return self._start(action, seconds_left)
        allowed = max(0.1, min(action.timeout_secs or self.seconds, seconds_left))
        return self._observation(self.shell.run(action.cmd, allowed, KEPT), allowed)

    def _observation(self, ran: Ran, allowed: float) -> Observation:
        result = ran.result
        output, chars = shown(result.stdout, self.limit - _STATUS_CHARS, more=result.truncated)
        said = [output.rstrip("\n")] if output.strip() else []
        said += _status(ran, allowed) or ([] if said else ["[no output]"])
        return Observation(
            tag=Bash.tag,
            text="\n".join(said),
            failed=result.exit_code != 0,
            exit_code=result.exit_code,
            timed_out=result.timed_out,
            chars=chars,
        )

    def _start(self, action: Bash, seconds_left: float) -> Observation:
        number = len(self.jobs) + 1
        output = f"{JOBS}/{number}.log"
        job = f"command setsid -f /bin/bash -c {shlex.quote(_JOB)} {output} {shlex.quote(action.cmd)}"
        ran = self.shell.run(
            f'mkdir -p {JOBS} && builtin echo "[job:$({job})]"', min(_START_SECONDS, max(0.1, seconds_left))
        )
        said = ran.result.stdout.decode(errors="replace").strip()
        told = re.search(r"\[job:(\d+)\]", said)  # others in the shell's background may say something too
        if told is None:
            raise ActionFailure(
                f"the command did not start in the background: {shown(said, SMALLEST)[0] or 'no answer'}"
            )
        pid = told.group(1)
        self.jobs.append(Job(number, int(pid), action.cmd, output))
        text = f"[job {number} runs in the background as process {pid}; output: {output}; to end it: kill -- -{pid}]"
        return Observation(tag=Bash.tag, text=text, chars=len(text))


def _status(ran: Ran, allowed: float) -> list[str]:
    """What is said below the output: nothing about a command that went well."""
    lost = "its directory, variables and functions are lost"
    if ran.result.timed_out:
        kept = (
            f"the shell was started again, {lost}" if ran.restarted else "the shell and its directory are as they were"
        )
        return [f"[killed after {allowed:g} s, with all that ran in this shell; {kept}]"]
    code = ran.result.exit_code
    said = [f"[exit code {code}]"] if code else []
    return said + ([f"[the shell ended and was started again, {lost}]"] if ran.restarted else [])
