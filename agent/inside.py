"""File work inside a sandbox, with the rights of the user whose shell the agent has: nothing here runs as root unless that does.

A second shell, prepared with a few functions, does it: that is faster than a process per question, and what the agent does to its own
shell (functions, options, redirections) does not reach it. Only bash and coreutils are needed, no Python.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable

from agent.prepared import ActionFailure, PreparedShell
from containers.sandbox import ExecResult, Sandbox

MOST_BYTES = 8 << 20  # of a file that is read, written or edited, and of an answer
MISSING, FOLDER, SPECIAL, UNREADABLE, EXISTS, NO_FOLDER, BAD_PATTERN = range(41, 48)
_SLACK = 4096  # for the shell's own marks
_BRIEF_SECONDS = 20.0
_FEWEST_SECONDS = 0.1

_FUNCTIONS = r"""
export LC_ALL=C.UTF-8
from() { builtin cd -P -- "/proc/$1/cwd"; shift; "$@"; } 2>/dev/null
readable_file() {
  [ -e "$1" ] || return 41
  [ -d "$1" ] && return 42
  [ -f "$1" ] || return 43
  [ -r "$1" ] || return 44
}
readable_folder() {
  [ -e "$1" ] || return 41
  [ -d "$1" ] || return 46
  [ -r "$1" ] && [ -x "$1" ] || return 44
}
file_read() { readable_file "$1" && head -c "$2" -- "$1"; }
file_size() { stat -L -c %s -- "$1"; }
file_facts() {
  local path target lines
  for path; do
    target= lines=
    [ -L "$path" ] && target=$(readlink -- "$path")
    [ -f "$path" ] && [ -r "$path" ] && lines=$(wc -l < "$path")
    stat --printf '%F\0%s\0%a\0%U:%G\0' -- "$path" || printf '\0\0\0\0'
    printf '%s\0%s\0' "$target" "$lines"
  done
}
names() { ls -1AU -- "$1" | head -n 1000; }
find_lines() {
  [ -e "$1" ] || return 41
  [ -r "$1" ] || return 44
  local said
  said=$(grep -qE -e "$3" 2>&1 </dev/null)
  [ $? -le 1 ] || { printf %s "$said"; return 47; }
  find -H "$1" -xdev -type f ${2:+-name "$2"} -print0 | sort -z |
    xargs -0r grep -nHIEs -e "$3" -- | cut -b -2000 | head -n "$4"
}
find_files() {
  readable_folder "$1" || return
  find -H "$1" -xdev -mindepth 1 ${2:+-maxdepth "$2"} \( -type f -o -type l \) -printf '%P\0' | head -c "$3"
}
list_folder() {
  readable_folder "$1" || return
  find -H "$1" -mindepth 1 -maxdepth 1 -printf '%y\0%s\0%f\0%l\0' | head -c "$2"
}
"""
_WRITE = r"""
builtin cd -P -- "/proc/$1/cwd" 2>/dev/null
[ -d "$2" ] && exit 42
if [ -e "$2" ]; then
  [ -f "$2" ] || exit 43
  [ -n "$3" ] || exit 45
else
  folder=${2%/*}
  [ "$folder" = "$2" ] || [ -z "$folder" ] || mkdir -p -- "$folder" || exit 1
fi
cat > "$2"
"""


class Inside:
    """Questions and writes. Paths are the agent's: relative ones start where its shell is now, `~` is its user's home."""

    def __init__(self, sandbox: Sandbox, user: str | None, shell_pid: Callable[[], str]) -> None:
        self.sandbox, self.user = sandbox, user
        self._shell = PreparedShell(sandbox, user, _FUNCTIONS)
        self._shell_pid = shell_pid
        self.seconds = _BRIEF_SECONDS  # for one question

    def allow(self, seconds_left: float) -> None:
        """How long the episode still has."""
        self.seconds = max(_FEWEST_SECONDS, min(_BRIEF_SECONDS, seconds_left))

    def path(self, path: str) -> str:
        """A path that no program takes for an option or an expression."""
        if path == "~" or path.startswith("~/"):
            return self._shell.home + path[1:]
        return path if path == "." or path.startswith("/") else f"./{path}"

    def ask(self, function: str, *words: str) -> ExecResult:
        """Call one of the functions above.

        Raises:
            ActionFailure: it took too long.
            SandboxFault: the sandbox is gone.
        """
        call = shlex.join(["from", self._shell_pid(), function, *words])
        ran = self._shell.run(call, self.seconds, MOST_BYTES + _SLACK)
        if ran.restarted and not ran.result.timed_out:  # it was killed meanwhile
            ran = self._shell.run(call, self.seconds, MOST_BYTES + _SLACK)
        result = ran.result
        if result.timed_out:
            raise ActionFailure(
                f"given up after {self.seconds:g} s: use a narrower path, or a command with a longer timeout"
            )
        return result

    def write(self, path: str, data: bytes, *, overwrite: bool) -> None:
        """Write a file as a whole, with parent folders; one that exists keeps its owner and mode.

        Raises:
            ActionFailure: it cannot be written.
            SandboxFault: the sandbox is gone.
        """
        if len(data) > MOST_BYTES:
            raise ActionFailure(
                f"{path}: {len(data):,} bytes are more than the {MOST_BYTES:,} that a file may have here"
            )
        words = [self._shell_pid(), self.path(path), "yes" if overwrite else ""]
        argv = ["/bin/bash", "-c", _WRITE, "write", *words]
        result = self.sandbox.exec(argv, timeout=self.seconds, user=self.user, cwd="/", stdin=data)
        if result.exit_code != 0:
            raise ActionFailure(refusal(path, result))

    def close(self) -> None:
        """End the shell."""
        self._shell.close()


def refusal(path: str, result: ExecResult) -> str:
    """Why a question or a write came to nothing."""
    reasons = {
        None: "not done in time; the file may be incomplete",
        MISSING: "there is no such file or folder, or it may not be looked for",
        FOLDER: "is a folder",
        SPECIAL: "is neither a file nor a folder",
        UNREADABLE: "may not be read by this user",
        EXISTS: "exists already: set overwrite, or edit it",
        NO_FOLDER: "is not a folder",
    }
    if result.exit_code in reasons:
        return f"{path}: {reasons[result.exit_code]}"
    last = (result.tail().splitlines() or [f"failed with exit code {result.exit_code}"])[-1]
    return f"{path}: {last.rpartition(': ')[2]}"
