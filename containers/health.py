"""Whether an engine can be worked with now: its daemon answers, and there is room on its disk.

While it is not well, leases wait, for a bounded time. A daemon that restarted or hung while a task was in its hands may have
made it fail: `doubt` says so, and such a failure is not believed.
"""

from __future__ import annotations

import http.client
import socket
import struct
import threading
import time
from collections.abc import Callable
from typing import Protocol, runtime_checkable

from containers import housekeeping
from containers.state import start_time
from containers.turns import Given, StoppedWaitingError, never
from generators.errors import SandboxFault

PATIENCE = 300.0  # seconds for which leases wait for an engine to get well
PULSE_SECONDS = 5.0  # without an answer for so long, a daemon counts as hung
_EVERY_SECONDS = 1.0
_FRESH_SECONDS = 0.05  # without a daemon: a look costs 0.2 ms, and a small task fills no disk sooner


@runtime_checkable
class Watched(Protocol):
    """An engine that depends on a daemon."""

    def pulse(self) -> str:
        """Ask the daemon whether it lives. Who answered: something else after a restart.

        Raises:
            SandboxFault: nobody answers.
        """
        ...


class UnwellError(SandboxFault):
    """It was waited for, and did not get well."""


class Health:
    """Looks at an engine: every second in the background where it has a daemon, else when asked. Safe for threads."""

    def __init__(self, engine: object, patience: float = PATIENCE, every: float = _EVERY_SECONDS) -> None:
        self._engine, self._patience, self._every = engine, patience, every
        self._lock = threading.Lock()
        self._watcher: threading.Thread | None = None
        self._closed = threading.Event()
        self._looked = self._since = self._last = 0.0  # when: last look, begin of the present trouble, latest trouble
        self._trouble = self._latest = ""
        self._who = ""
        self._say: Callable[[str], None] = getattr(engine, "say", lambda _: None)

    def look(self) -> str:
        """Look now; what is wrong, or empty."""
        with self._lock:
            began = time.monotonic()
            trouble = housekeeping.no_room(self._engine) or self._pulse()
            self._looked = time.monotonic()
            if trouble:
                if not self._trouble:
                    self._since = began
                    self._say(f"{trouble}; waiting up to {self._patience:g} s")
                self._last, self._latest = self._looked, trouble
            self._trouble = trouble
            return trouble

    def _pulse(self) -> str:
        if not isinstance(self._engine, Watched):
            return ""
        try:
            who = self._engine.pulse()
        except SandboxFault as fault:
            return str(fault)
        if self._who and who != self._who:
            self._last, self._latest = time.monotonic(), "the daemon was restarted"
        self._who = who
        return ""

    def suspect(self) -> None:
        """Something failed: the next who asks looks anew."""
        self._looked = 0.0

    def wait(self, given_up: Given = never) -> None:
        """Wait until it is well.

        Raises:
            UnwellError: it did not get well in time.
            StoppedWaitingError: who waits has given up.
        """
        self._watch()
        while True:
            age = time.monotonic() - self._looked
            trouble = self._trouble if age < (2 * self._every if self._watcher else _FRESH_SECONDS) else self.look()
            if not trouble:
                return
            if time.monotonic() - self._since >= self._patience:
                raise UnwellError(f"{trouble}; waited {self._patience:g} s for it to get well")
            if given_up():
                raise StoppedWaitingError
            self._closed.wait(min(0.1, self._every))

    def doubt(self, since: float) -> str:
        """Trouble at any time since `since` (monotonic), looked for now too; empty where there was none."""
        self.look()
        return self._latest if self._last >= since else ""

    def _watch(self) -> None:
        with self._lock:
            if self._watcher is None and isinstance(self._engine, Watched) and not self._closed.is_set():
                self._watcher = threading.Thread(target=self._keep_looking, name="health", daemon=True)
                self._watcher.start()

    def _keep_looking(self) -> None:
        while not self._closed.wait(self._every):
            self.look()

    def close(self) -> None:
        """Look no more."""
        self._closed.set()
        if self._watcher is not None:
            self._watcher.join()


class LocalConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str, seconds: float) -> None:
        super().__init__("localhost", timeout=seconds)
        self.path = path

    def connect(self) -> None:
        """Connect to the socket."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def ping(path: str, seconds: float = PULSE_SECONDS) -> str:
    """Ask the daemon at a Unix socket whether it lives; which process answered (id and start time).

    Raises:
        SandboxFault: nobody does within `seconds`.
    """
    connection = LocalConnection(path, seconds)
    try:
        connection.request("GET", "/_ping")
        status = connection.getresponse().status
        pid = struct.unpack("3i", connection.sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
    except TimeoutError as error:
        raise SandboxFault(f"the daemon hangs (no answer within {seconds:g} s)") from error
    except (OSError, http.client.HTTPException) as error:
        raise SandboxFault(f"the daemon is gone ({getattr(error, 'strerror', '') or type(error).__name__})") from error
    finally:
        connection.close()
    if status != 200:
        raise SandboxFault(f"the daemon is not well (it answers {status})")
    return f"{pid}-{start_time(pid)}"
