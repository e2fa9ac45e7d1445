"""A shell that runs detached inside one of Harbor's environments, and the thread that carries what is said to it and by it."""

from __future__ import annotations

import base64
import os
import threading
import time
from typing import Any, Protocol, Self

from containers.streams import Descriptor, readable
from generators.errors import SandboxFault

INLINE = 60_000  # bytes that fit into a command, as base64
LATE_SECONDS = 30.0  # that a command of ours may take beyond its own time
_WAIT_SECONDS, _AFTER_SECONDS = 5, 1.0

_CARRY = r"""
end=$((SECONDS + $3))
while :; do
  out=$(stat -c %s "$0/out") err=$(stat -c %s "$0/err") || exit 1
  if [ "$err" -gt "$2" ] || [ -s "$0/code" ] || [ $((out - $1)) -gt 65536 ] || [ $SECONDS -ge $end ]; then break; fi
  sleep 0.03
done
code=$(cat "$0/code" 2>/dev/null)
tail -c "+$(($2 + 1))" "$0/err" | base64 -w 0; echo
tail -c "+$(($1 + 1))" "$0/out" | head -c 1048576 | base64 -w 0; echo
echo "$code"
"""
_END = r"""
pattern=$0/in
for folder in /proc/[0-9]*; do
  if [ "$(readlink "$folder/fd/0")" = "$pattern" ] || [ "$(readlink "$folder/fd/3")" = "$pattern" ]; then
    kill -9 -- "-${folder#/proc/}" "${folder#/proc/}"
  fi
done 2>/dev/null
rm -rf -- "$0"
"""


class Scripts(Protocol):
    """Something that runs our scripts inside."""

    def script(self, text: str, *words: str, seconds: float = 20, **options: Any) -> str:
        """What a script says.

        Raises:
            SandboxFault: it failed.
        """
        ...


class HarborProgram:
    """Started in `folder`, on the pipe `in` and the files `out` and `err`; a file `code` says that it ended, and how."""

    def __init__(self, sandbox: Scripts, folder: str, stdio: tuple[int, int, int], user: str | None) -> None:
        self.sandbox, self.folder, self.user = sandbox, folder, user
        self._stdio = tuple(map(os.dup, stdio))
        self._ended, self._closing = threading.Event(), threading.Event()
        self._wake, self._waker = os.pipe()
        self._code: int | None = None
        self._got = [0, 0]  # bytes of the output and of what is said beside it
        self._carrier = threading.Thread(target=self._carry, daemon=True)
        self._carrier.start()

    def fileno(self) -> int:
        """A descriptor that becomes readable when the program has ended, or is closed."""
        return self._wake

    def exit_code(self, timeout: float) -> int | None:
        """Wait for its end."""
        return self._code if self._ended.wait(timeout) else None

    def kill(self) -> None:
        """Kill it and what runs in its group."""
        self.sandbox.script(_END, self.folder, user=self.user)

    def close(self) -> None:
        """Kill it, and let go of it."""
        if not self._closing.is_set():
            self._closing.set()
            os.write(self._waker, b"-")
            self._carrier.join(LATE_SECONDS)
            self.kill()
            os.close(self._wake)
            os.close(self._waker)

    def _carry(self) -> None:
        """Until it ends: wait for words of the caller, hand them over, bring back what they lead to."""
        try:
            self._answers()  # a shell says its number first
            while not self._closing.is_set() and self._code is None and (words := self._words()):
                self._hand_over(words)
                self._answers()
        except SandboxFault:
            pass  # the caller finds its descriptors closed
        finally:
            for fd in self._stdio:
                os.close(fd)
            self._ended.set()

    def _words(self) -> bytes:
        """Whole commands, each ended by a zero byte; empty when there will be none."""
        words, source = b"", Descriptor(self._stdio[0])
        while not words.endswith(b"\0"):
            ready = readable([source, Descriptor(self._wake)], 1e6)
            piece = os.read(self._stdio[0], 1 << 16) if ready == [source] else b""
            if not piece:
                return b""
            words += piece
        return words

    def _hand_over(self, words: bytes) -> None:
        for start in range(0, len(words), INLINE):
            piece = base64.b64encode(words[start : start + INLINE]).decode()
            self.sandbox.script('printf %s "$1" | base64 -d > "$0/in"', self.folder, piece, user=self.user)

    def _answers(self) -> None:
        """Carry until the shell has said how the command ended, and a little longer for what it had said before."""
        told, deadline, last = False, 0.0, b""
        while not self._closing.is_set():
            wait = 0 if told else _WAIT_SECONDS
            words = [self.folder, *map(str, self._got), str(wait)]
            err, out, code = ([*self.sandbox.script(_CARRY, *words, user=self.user).split("\n"), "", "", ""])[:3]
            last = self._pass_on(base64.b64decode(out), 0) or last
            if code:
                self._code = int(code)
            if self._pass_on(base64.b64decode(err), 1) and not told:
                told, deadline = True, time.monotonic() + _AFTER_SECONDS
            if self._code is not None and not out:
                return
            if told and (last.endswith(b"\0") or time.monotonic() > deadline):
                return

    def _pass_on(self, data: bytes, stream: int) -> bytes:
        self._got[stream] += len(data)
        view = memoryview(data)
        while view:
            view = view[os.write(self._stdio[1 + stream], view) :]
        return data

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
