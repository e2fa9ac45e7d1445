"""The owner's side of a warden: start one, send requests, receive answers."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, cast

import containers
from containers.linux import syscalls
from containers.linux.identity import IdMap
from containers.streams import readable
from containers.warden import MOST_ASKED, PLAIN, making
from containers.warden.operations import CHILDREN
from generators.errors import EngineError, SandboxFault

_READY_SECONDS = 60.0
_MESSAGE = 1 << 20
_FULL = "No space left on device"
# Without the site module, which doubles the interpreter's memory.
_START = """
import json, sys
sys.path[:] = sys.argv[4:]
import containers
from containers.linux.identity import IdMap
from containers.warden.making import Making
from containers.warden.server import main
ids, sandboxes = json.loads(sys.argv[3])
main(int(sys.argv[1]), sys.argv[2], IdMap(*ids), sandboxes and Making(*sandboxes))
"""


class OperationError(SandboxFault):
    """An operation was refused by the file system inside: not for want of room, and not for a process that is gone."""


class Reply:
    """The answers to one request. Closing it early tells the child to give up; `on_close` is called then."""

    def __init__(self, channel: socket.socket, on_close: Callable[[], None]) -> None:
        self.channel, self._on_close = channel, on_close

    def wait(self, timeout: float) -> bool:
        """Whether an answer (or the end) arrived in time."""
        return bool(readable([self.channel], timeout))

    def receive(self, timeout: float) -> Any:
        """The next answer.

        Raises:
            SandboxFault: none came in time, the child failed, or the warden is gone.
        """
        value, _ = self.receive_with_fds(timeout)
        return value

    def receive_with_fds(self, timeout: float) -> tuple[Any, list[int]]:
        """The next answer and the descriptors that came with it."""
        text, fds, deadline = b"", list[int](), time.monotonic() + timeout
        while True:
            if not self.wait(deadline - time.monotonic()):
                raise SandboxFault(f"the warden did not answer within {timeout:g} s")
            piece, got = b"", list[int]()
            with contextlib.suppress(ConnectionResetError):
                piece, got = syscalls.receive_fds(self.channel, _MESSAGE, 16)
            fds += got
            if not piece:
                raise SandboxFault("the warden ended before it answered")
            text += piece
            with contextlib.suppress(ValueError):
                value: Any = json.loads(text)
                break
        if isinstance(value, dict) and "fault" in value:
            raise SandboxFault(str(cast(dict[str, object], value)["fault"]))
        if isinstance(value, dict) and "error" in value:
            text = str(cast(dict[str, object], value)["error"])
            raise (SandboxFault if _FULL in text else OperationError)(text)
        return cast(Any, value), fds

    def await_end(self, timeout: float) -> None:
        """Wait until the child has hung up.

        Raises:
            SandboxFault: it did not in time.
        """
        deadline = time.monotonic() + timeout
        while self.wait(deadline - time.monotonic()):
            with contextlib.suppress(ConnectionResetError):
                if self.channel.recv(_MESSAGE):
                    continue
            return
        raise SandboxFault(f"the warden's child did not end within {timeout:g} s")

    def close(self) -> None:
        """Hang up."""
        self.channel.close()
        self._on_close()

    def __enter__(self) -> Reply:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Channel:
    """A socket to a warden, and those to its children that wait for work. Safe for several threads."""

    def __init__(self, control: socket.socket) -> None:
        control.settimeout(_READY_SECONDS)
        self._control = control
        self._asked: set[bytes] = set()
        self._waiting: dict[bytes, socket.socket] = {}
        self._last_begun = b""
        self._lock = threading.Lock()

    def call(self, operation: str, request: Mapping[str, Any], fds: Sequence[int] = ()) -> Reply:
        """Send a request; the answer is read from what is returned.

        Raises:
            SandboxFault: the warden is gone.
        """
        payload = memory_file(json.dumps(request).encode())
        kind = CHILDREN.get(operation, PLAIN)
        try:
            child = self._child(kind)
            # one that has ended said why: it is met where the answer is read
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                socket.send_fds(child, [operation.encode()], [payload, *fds])
            if kind == PLAIN:  # what it is for may last as long as its sandbox
                self._make_next(kind)
        except OSError as error:
            raise SandboxFault(f"the warden is gone ({error.strerror or error})") from error
        finally:
            os.close(payload)
        return Reply(child, partial(self._make_next, kind))

    def sandbox(self, kind: bytes, stands_on: bytes, options: bytes) -> tuple[Reply, bool]:
        """One that was begun (containers/warden/making.py), its first answer has its descriptors; and whether it is a whole one, or
        waits for its options. Where two in a row stand on the same, with the same options, the next one is begun as a whole.

        Raises:
            SandboxFault: the warden is gone.
        """
        told = b"\0".join((kind + stands_on, options))
        with self._lock:
            begun = {asked for asked in (*self._asked, *self._waiting) if asked[:1] == kind}
        following = told if told == self._last_begun and len(told) <= MOST_ASKED else kind
        self._last_begun = told
        try:
            for other in begun - {kind, told}:
                with contextlib.suppress(SandboxFault), Reply(self._child(other), lambda: None) as unwanted:
                    making.give_up(unwanted.receive_with_fds(_READY_SECONDS)[1])
            reply = Reply(self._child(told if told in begun else kind), partial(self._make_next, following))
        except OSError as error:
            raise SandboxFault(f"the warden is gone ({error.strerror or error})") from error
        return reply, told in begun

    def _child(self, kind: bytes) -> socket.socket:
        """The socket to a child that waits."""
        with self._lock:
            while kind not in self._waiting:
                self._ask(kind)
                came, fds = syscalls.receive_fds(self._control, MOST_ASKED, 1)
                if not came:
                    raise ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))
                self._asked.remove(came)
                self._waiting[came] = socket.socket(fileno=fds[0])
            return self._waiting.pop(kind)

    def _make_next(self, kind: bytes) -> None:
        """Have the child made that the next request will find: after one was sent, or, where a child takes namespaces of its own, after
        it was served, so that this does not hold up what was asked for: the kernel has locks, and a machine few processors."""
        with self._lock, contextlib.suppress(OSError):  # the next call meets it
            self._ask(kind)

    def _ask(self, kind: bytes) -> None:
        if kind not in self._asked and kind not in self._waiting:
            self._control.send(kind)
            self._asked.add(kind)

    def branch(self, procs: Sequence[str]) -> Channel | Lane:
        """A copy of this grader that has joined a control group, once for all that it will fork. It ends when what leads to it is
        closed."""
        own, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with self.call("branch", {"procs": list(procs)}, [other.fileno()]) as reply:
                ahead = bool(reply.receive(_READY_SECONDS)["ahead"])
        except BaseException:
            own.close()
            raise
        finally:
            other.close()
        return Lane(own) if ahead else Channel(own)

    def close(self) -> None:
        """Let it end, and what waits for work with it."""
        with self._lock:
            self._control.close()
            for child in self._waiting.values():
                child.close()
            self._waiting.clear()


class Lane:
    """A socket to a grader that serves one request after another (containers/warden/grading.py: `serve`)."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control

    def grade(self, request: Mapping[str, Any], fds: Sequence[int]) -> Reply:
        """Send a request, with memory files for results and log, and the namespaces.

        Raises:
            SandboxFault: the grader is gone.
        """
        payload = memory_file(json.dumps(request).encode())
        own, other = socket.socketpair()
        try:
            socket.send_fds(self._control, [str(request["timeout"]).encode()], [payload, other.fileno(), *fds])
        except OSError as error:
            own.close()
            raise SandboxFault(f"the grader is gone ({error.strerror or error})") from error
        finally:
            os.close(payload)
            other.close()
        return Reply(own, lambda: None)

    def close(self) -> None:
        """Let it end."""
        self._control.close()


def _search_path() -> list[str]:
    """Where we find modules, this project's own first (an editable install is found by a hook, not by a path)."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(containers.__file__)))
    return list(dict.fromkeys([root, *(os.path.abspath(path) for path in sys.path)]))


class Warden(Channel):
    """A warden process and the socket to it. Safe for several threads.

    A "keeper" makes sandboxes (where it is told with what) and enters them; a "grader" has pytest and the standard library in
    memory, and a hash seed.
    """

    def __init__(
        self, role: Literal["keeper", "grader"], ids: IdMap, hash_seed: int = 0, sandboxes: making.Making | None = None
    ) -> None:
        own, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        env = {
            "PATH": os.environ.get("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"),
            "LANG": "C.UTF-8",
            "PYTHONHASHSEED": str(hash_seed),
            "OPENSSL_CONF": "/dev/null",  # the library must not read a configuration from a sandbox later
        }
        super().__init__(own)
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-s",
                "-P",
                "-S",
                "-c",
                _START,
                str(other.fileno()),
                role,
                json.dumps([ids, sandboxes]),
                *_search_path(),
            ],
            pass_fds=[other.fileno()],
            env=env,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        other.close()
        try:
            ready = own.recv(16) == b"ready"
        except TimeoutError:
            self.close()
            raise EngineError(f"the warden was not ready within {_READY_SECONDS:g} s") from None
        except OSError:
            ready = False
        if not ready:
            self.close()
            raise EngineError("the warden did not start; run `termforge doctor`")

    def close(self) -> None:
        """End the warden and, with it, every sandbox it made."""
        super().close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def memory_file(data: bytes = b"") -> int:
    """An anonymous file in memory with this content; the caller closes it."""
    fd = os.memfd_create("termforge", os.MFD_CLOEXEC)
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
    return fd


def read_memory_file(fd: int, tail: int | None = None) -> bytes:
    """All that is in a memory file, or its last `tail` bytes."""
    size, parts = os.fstat(fd).st_size, list[bytes]()
    offset = 0 if tail is None else max(0, size - tail)
    while offset < size:
        parts.append(os.pread(fd, min(size - offset, 1 << 24), offset))
        offset += len(parts[-1])
    return b"".join(parts)
