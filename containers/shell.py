"""A persistent shell in a sandbox: directory, variables and functions live from one command to the next.

Commands go in on one pipe and exit codes come back on another that no program inherits, so output cannot be taken for an end
marker, whatever it says. (The shell itself is the agent's: a command may redefine what it says, and fools only itself.) A mark in
the output says up to where it belongs to a command: a daemon carries the two pipes at different speeds. Commands read from
/dev/null: nothing waits for a person. Where a command sends the shell's own output (`exec > file`) holds for that command alone.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from typing import Self

from containers.sandbox import OUTPUT_LIMIT, ExecResult, Sandbox
from containers.streams import Collector, Descriptor, readable
from generators.errors import SandboxFault

_LOOP = r"""
exec 3<&0 0</dev/null 4>&2 2>&1 61>&1
trap : INT
printf '%d\0' "$$" >&4
while IFS= read -r -d '' -u 3 TERMFORGE_COMMAND; do
  eval "$TERMFORGE_COMMAND" 3<&- 4>&- 61>&-
  printf '%d\0' "$?" >&4; exec 1>&61 2>&1; printf '\0%s\0' MARK
done
"""
_PAUSES = (0.0, 0.3, 1.0)  # seconds before each try: a flood of processes that ends may leave no room for another yet
_START_SECONDS, _KILL_SECONDS, _LATE_SECONDS = 20.0, 2.0, 2.0


class NoShellError(Exception):
    """The sandbox lives, but no shell starts in it: what was done to it took that away. No fault of the infrastructure."""


class Shell:
    """A bash that outlives its commands. Standard output and error arrive together, in order."""

    def __init__(self, sandbox: Sandbox, user: str | None = None) -> None:
        self.sandbox, self.user = sandbox, user
        self.restarts, self._closed = -1, True
        self._open()

    def _open(self) -> None:
        self.restarts += 1
        for pause in _PAUSES:
            time.sleep(pause)
            if self._started(None) or self._started("/"):  # the folder it would begin in may be gone
                return
        raise NoShellError("no shell starts in the sandbox any more")

    def _started(self, folder: str | None) -> bool:
        """Start it in a folder (None: the image's own); False if it ended at once.

        Raises:
            SandboxFault: the sandbox is gone, or the shell does not answer.
        """
        stdin, self._commands = os.pipe()
        self._status, status = os.pipe()
        self._output = Collector(OUTPUT_LIMIT)
        mark = secrets.token_hex(8)
        self._mark = f"\0{mark}\0".encode()
        argv = ["/bin/bash", "--norc", "--noprofile", "-c", _LOOP.replace("MARK", mark)]
        self._closed = False
        self._program = self.sandbox.run(argv, (stdin, self._output.write_end, status), user=self.user, cwd=folder)
        self._output.started()
        os.close(stdin)
        os.close(status)
        self._left, self._ended = b"", False
        leader = self._answer(time.monotonic() + _START_SECONDS)
        if leader is None and not self._ended:
            raise SandboxFault("the shell did not start")
        if leader is None:
            self._program.exit_code(_KILL_SECONDS)  # says it if the sandbox was lost
            self.close()
            return False
        self._session = leader
        return True

    def _answer(self, deadline: float) -> int | None:
        """The next number from the shell, taking output meanwhile; None at the deadline or when the shell has ended."""
        status = Descriptor(self._status)
        while b"\0" not in self._left:
            streams = [self._output] if self._output.open else []
            ready = readable([status, *streams], deadline - time.monotonic())
            if not ready:
                return None
            if self._output in ready:
                self._output.take()
            if status in ready:
                piece = os.read(self._status, 4096)
                if not piece:
                    self._ended = True
                    return None
                self._left += piece
        text, _, self._left = self._left.partition(b"\0")
        return int(text)

    def run(self, command: str, timeout: float, output_limit: int = OUTPUT_LIMIT) -> ExecResult:
        """Run a command. At the timeout it and its children are killed; the shell lives on where it can, else it is
        started again (directory and variables are lost then; `restarts` counts that).

        Raises:
            SandboxFault: the sandbox is gone.
            NoShellError: this shell has ended, and no other one starts.
        """
        began = time.monotonic()
        self._output.limit = output_limit
        self._output.reset()
        try:
            os.write(self._commands, command.replace("\0", "").encode() + b"\0")
        except BrokenPipeError:
            self._restart()
            return ExecResult(None, b"", b"", time.monotonic() - began)
        code = self._answer(began + timeout)
        if code is None and not self._ended:
            self.sandbox.kill_session(self._session)
            stuck = self._answer(time.monotonic() + _KILL_SECONDS) is None
        else:
            stuck = False
        if not self._ended and not stuck:
            self._take_rest(time.monotonic() + _LATE_SECONDS)
        self._output.drain()
        if self._ended and code is None:  # the command was `exit`, or it killed the shell
            with contextlib.suppress(SandboxFault):
                code = self._program.exit_code(_KILL_SECONDS)
        result = ExecResult(
            code, self._output.data().replace(self._mark, b""), b"", time.monotonic() - began, self._output.truncated
        )
        if self._ended or stuck:
            self._restart()
        return result

    def _take_rest(self, deadline: float) -> None:
        """Take output up to the mark. Something in the background may write after it, or have closed our stream."""
        self._output.drain()
        while self._output.open and not self._output.ends_near(self._mark):
            if not readable([self._output], deadline - time.monotonic()):
                return
            self._output.take()

    def _restart(self) -> None:
        self.close()
        self._open()

    def close(self) -> None:
        """End the shell and whatever runs in its process group; safe to call twice."""
        if self._closed:
            return
        self._closed = True
        self._program.close()
        self._output.close()
        for fd in (self._commands, self._status):
            os.close(fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
