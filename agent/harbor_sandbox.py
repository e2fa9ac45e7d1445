"""A sandbox on top of Harbor's environments, which only run a command and give its output: enough for an agent's workspace.

    sandbox = HarborSandbox(environment, asyncio.get_running_loop())
    workspace = Workspace(sandbox)      # in a thread: every method waits for the loop

A program that is to go on (the agent's shell) is started detached inside, on a pipe and two files; what is said to it and what it
says is carried over by commands, each of which waits inside until there is something to carry.
"""

from __future__ import annotations

import asyncio
import base64
import os
import secrets
import shlex
import tempfile
import time
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from agent.harbor_program import INLINE, LATE_SECONDS, HarborProgram
from containers.sandbox import OUTPUT_LIMIT, ExecResult
from generators.errors import SandboxFault

T = TypeVar("T")
_KILLED = 137
_BRIEF_SECONDS = 20
_MOST_KIB = 1 << 20  # of a file: what a flood of output may take

_START = r"""
mkdir -m 700 -- "$0" && mkfifo "$0/in" && : > "$0/out" && : > "$0/err" || exit 1
setsid -f bash -c 'ulimit -f "$1"; setsid "${@:2}" 0<>"$0/in" >>"$0/out" 2>>"$0/err"; echo $? > "$0/code"' "$0" "$@" \
  </dev/null >/dev/null 2>&1
"""
_KILL = r"""
for file in /proc/[0-9]*/stat; do
  pid=${file#/proc/} pid=${pid%/stat}
  { read -r said < "$file"; } 2>/dev/null || continue
  set -- ${said##*) }
  if [ "$4" = "$0" ] && [ "$pid" != "$0" ]; then kill -9 "$pid"; fi
done 2>/dev/null; :
"""


class Said(Protocol):
    """What Harbor tells of a command."""

    stdout: str | None
    stderr: str | None
    return_code: int


class Environment(Protocol):
    """The part of Harbor's BaseEnvironment that is needed."""

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> Said:
        """Run a command by bash."""
        ...

    async def upload_file(self, source_path: str, target_path: str) -> None:
        """Place a file."""
        ...


class HarborSandbox:
    """What agent.handlers needs of a sandbox. Its methods belong into threads: the loop that Harbor runs on must be free."""

    def __init__(self, environment: Environment, loop: asyncio.AbstractEventLoop) -> None:
        self.environment, self.loop = environment, loop

    def exec(
        self,
        command: str | Sequence[str],
        *,
        timeout: float,
        user: str | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        output_limit: int = OUTPUT_LIMIT,
    ) -> ExecResult:
        """Run a command and wait; at the timeout it is killed."""
        began = time.monotonic()
        argv = ["/bin/bash", "-c", command] if isinstance(command, str) else list(command)
        program = shlex.join(["timeout", "-s", "KILL", f"{max(0.1, timeout):.1f}", *argv])
        source, uploaded = self._input(stdin)
        said = self._run(
            f"{program} {source}" if uploaded or not stdin else f"{source} | {program}", timeout, user, cwd, env
        )
        if uploaded:
            self._run(f"rm -f {uploaded}", _BRIEF_SECONDS, "root", None, None)
        seconds = time.monotonic() - began
        killed = said.return_code in (_KILLED, 124) and seconds >= timeout
        out, err = ((text or "").encode()[-output_limit:] for text in (said.stdout, said.stderr))
        return ExecResult(None if killed else said.return_code, out, err, seconds)

    def _input(self, data: bytes) -> tuple[str, str]:
        """How a command gets this to read, and the file to remove afterwards."""
        if not data:
            return "</dev/null", ""
        if len(data) <= INLINE:
            return f"printf %s {base64.b64encode(data).decode()} | base64 -d", ""
        path = f"/tmp/.termforge-{secrets.token_hex(8)}"
        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            os.chmod(file.name, 0o644)
            self._await(self.environment.upload_file(file.name, path), LATE_SECONDS + _BRIEF_SECONDS)
        return f"<{path}", path

    def run(
        self,
        argv: Sequence[str],
        stdio: tuple[int, int, int],
        *,
        user: str | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        tty: bool = False,
    ) -> HarborProgram:
        """Start a shell as leader of its own session, on three descriptors that stay the caller's to close."""
        if tty:
            raise SandboxFault("a terminal is not to be had through Harbor")
        folder = f"/tmp/.termforge-{secrets.token_hex(8)}"
        self.script(_START, folder, str(_MOST_KIB), *argv, user=user, cwd=cwd, env=env)
        return HarborProgram(self, folder, stdio, user)

    def kill_session(self, session: int) -> None:
        """Kill every process of a session (an id inside the sandbox) but its leader."""
        self.script(_KILL, str(session))

    def script(self, text: str, *words: str, seconds: float = _BRIEF_SECONDS, **options: Any) -> str:
        """What a script of ours says.

        Raises:
            SandboxFault: it failed.
        """
        argv = ["/bin/bash", "-c", text, *words]
        said = self._run(shlex.join(argv), seconds, *(options.get(key) for key in ("user", "cwd", "env")))
        if said.return_code:
            raise SandboxFault(f"Harbor's environment: {(said.stderr or said.stdout or 'no answer').strip()[-200:]}")
        return said.stdout or ""

    def _run(
        self, command: str, seconds: float, user: str | None, cwd: str | None, env: Mapping[str, str] | None
    ) -> Said:
        limit = int(seconds + LATE_SECONDS)
        asked = self.environment.exec(command, cwd=cwd, env=dict(env or {}) or None, timeout_sec=limit, user=user)
        return self._await(asked, limit + LATE_SECONDS)

    def _await(self, work: Coroutine[Any, Any, T], seconds: float) -> T:
        """Have the loop do something.

        Raises:
            SandboxFault: Harbor failed, or does not answer.
        """
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            return future.result(seconds)
        except Exception as error:  # whatever an environment of Harbor's raises: each has errors of its own
            future.cancel()
            raise SandboxFault(f"Harbor's environment: {type(error).__name__}: {str(error)[:200]}") from error
