"""A persistent shell that is prepared before its first command and again after each restart."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from dataclasses import dataclass

from containers.sandbox import OUTPUT_LIMIT, ExecResult, Sandbox
from containers.shell import NoShellError, Shell
from generators.errors import SandboxFault

MOST_COMMAND = 60_000  # bytes: what a pipe takes at once, whatever state the shell is in
_PREPARE_SECONDS = 20.0
_TELL = 'builtin printf \'%s\\0%s\' "$$" "${HOME-}"'


class ActionFailure(Exception):
    """An action could not be done, for a reason that the agent is told. Never infrastructure's fault."""


@dataclass(frozen=True)
class Ran:
    """How a command ended, and whether the shell that ran it is another one now."""

    result: ExecResult
    restarted: bool


class PreparedShell:
    """A shell, opened at its first use. `preparation` is run in it first; its process id and home are known then."""

    def __init__(self, sandbox: Sandbox, user: str | None, preparation: str) -> None:
        self.sandbox, self.user, self._preparation = sandbox, user, preparation
        self._shell: Shell | None = None
        self._prepared = -1  # the number of restarts after which it was prepared last
        self._pid, self._home = "", ""

    @property
    def pid(self) -> str:
        """The shell's process id in the sandbox."""
        with self._told():
            self._ready()
        return self._pid

    @property
    def home(self) -> str:
        """The user's home folder, as the sandbox has it."""
        with self._told():
            self._ready()
        return self._home

    def run(self, command: str, timeout: float, output_limit: int = OUTPUT_LIMIT) -> Ran:
        """Run a command. A shell that had been killed since the last one is replaced first.

        Raises:
            ActionFailure: the command is too long, or no shell starts any more.
            SandboxFault: the sandbox is gone.
        """
        if len(command.encode()) > MOST_COMMAND:
            raise ActionFailure(f"this is too long for a command ({MOST_COMMAND:,} bytes): do it in parts")
        with self._told():
            return self._ran(command, timeout, output_limit)

    @contextlib.contextmanager
    def _told(self) -> Generator[None]:
        """That no shell starts any more is the agent's to know."""
        try:
            yield
        except NoShellError as error:
            self.close()
            raise ActionFailure(str(error)) from error

    def _ran(self, command: str, timeout: float, output_limit: int) -> Ran:
        shell = self._ready()
        result = shell.run(command, timeout, output_limit)
        died = shell.restarts != self._prepared
        if died and result.exit_code is None and result.seconds < timeout and not result.stdout:
            self._ready()  # it was gone before the command reached it
            result = shell.run(command, timeout, output_limit)
        return Ran(result, died or shell.restarts != self._prepared)

    def _ready(self) -> Shell:
        shell = self._shell = self._shell or Shell(self.sandbox, self.user)
        for _ in range(2):
            if self._prepared == shell.restarts:
                return shell
            result = shell.run(f"{self._preparation}\n{_TELL}", _PREPARE_SECONDS)
            if result.exit_code == 0 and b"\0" in result.stdout:
                self._prepared = shell.restarts
                told = result.stdout.decode(errors="replace").split("\0")
                self._pid, self._home = told[-2].rpartition("\n")[2], told[-1]
        if self._prepared != shell.restarts:
            raise NoShellError("a new shell does not answer")
        return shell

    def close(self) -> None:
        """End the shell."""
        if self._shell is not None:
            with contextlib.suppress(SandboxFault):
                self._shell.close()
            self._shell, self._prepared = None, -1
