"""A program in a container, run by the daemon: its streams are carried between our descriptors and the daemon's connection."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Self

from containers.engines.docker.client import faults
from containers.streams import Descriptor, readable
from generators.errors import SandboxFault

_HEADER = struct.Struct(">BxxxL")
_PIECE = 1 << 16
_LOOK_SECONDS = 0.05  # how long a quiet stream is trusted before the daemon is asked whether the program still runs
_LOOK_AT_MOST = 0.5


class Connection:
    """A hijacked connection to the daemon: multiplexed output in one direction, raw input in the other."""

    def __init__(self, opened: Any) -> None:
        self._opened = opened
        self.socket: socket.socket = getattr(opened, "_sock", opened)
        self.socket.settimeout(None)
        self._buffer = bytearray()

    def frames(self, seconds: float) -> list[tuple[int, bytes]] | None:
        """Pieces of output (1 standard output, 2 standard error) that come within `seconds`; None at the end."""
        if not readable([self.socket], seconds):
            return []
        try:
            piece = self.socket.recv(_PIECE)
        except ConnectionError:
            piece = b""
        if not piece:
            return None
        self._buffer += piece
        found: list[tuple[int, bytes]] = []
        while len(self._buffer) >= _HEADER.size:
            stream, size = _HEADER.unpack_from(self._buffer)
            if len(self._buffer) < _HEADER.size + size:
                break
            found.append((stream, bytes(self._buffer[_HEADER.size : _HEADER.size + size])))
            del self._buffer[: _HEADER.size + size]
        return found

    def send(self, data: bytes) -> None:
        """Give the program input."""
        self.socket.sendall(data)

    def end_input(self) -> None:
        """Tell the program that no more input comes."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Hang up."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        response = getattr(self._opened, "_response", None)  # the SDK keeps it open for us
        for held in (self._opened, response):
            with contextlib.suppress(OSError, ValueError):  # either closes the other
                if held is not None:
                    held.close()


class Program:
    """One `exec` of a container. `kill` is called with the program's id inside."""

    def __init__(self, api: Any, exec_id: str, stdio: Sequence[int], kill: Callable[[int], None]) -> None:
        self._api, self._id, self._kill = api, exec_id, kill
        self._read_end, self._write_end = os.pipe()
        self._code: int | None = None
        self._fault = ""
        self.pid = 0
        self._named = threading.Event()
        self._killed = False
        with faults("starting a program"):
            self._connection = Connection(api.exec_start(exec_id, socket=True))
        fds = [os.dup(fd) for fd in stdio]
        null = os.fstat(fds[0]).st_rdev == os.stat("/dev/null").st_rdev
        threading.Thread(target=self._feed, args=(fds[0], null), daemon=True).start()
        threading.Thread(target=self._carry, args=(fds[1], fds[2]), daemon=True).start()

    def _feed(self, source: int, null: bool) -> None:
        """Carry input until it ends or the program has."""
        stopped = Descriptor(self._read_end)
        try:
            while not null:
                ready = readable([Descriptor(source), stopped], 3600)
                piece = os.read(source, _PIECE) if Descriptor(source) in ready else b""
                if not piece:
                    break
                self._connection.send(piece)
        except OSError:
            pass
        finally:
            self._connection.end_input()
            os.close(source)

    def _carry(self, out: int, err: int) -> None:
        """Carry output until the program has ended: its streams may live on in a background process."""
        try:
            self._code = self._carried(out, err)
        except (SandboxFault, OSError) as error:
            self._fault = str(error)
        finally:
            os.close(out)
            os.close(err)
            self._named.set()
            os.close(self._write_end)

    def _carried(self, out: int, err: int) -> int:
        told, quiet, ended = bytearray(), _LOOK_SECONDS, None
        while True:
            frames = self._connection.frames(_LOOK_SECONDS if self._killed or ended is not None else quiet)
            if frames is None or (not frames and ended is not None):
                code = ended if ended is not None else self._exit_code()
                if not self._named.is_set():  # Podman, when busy, at times drops all that a short program says
                    raise SandboxFault("the daemon lost what a program said")
                return code
            for stream, data in frames:
                if stream == 2 and not self._named.is_set():
                    data = self._first_line(told, data)
                _write(out if stream == 1 else err, data)
            if frames:
                quiet = _LOOK_SECONDS
            else:
                state = self._inspect()
                ended = None if state["Running"] else int(state["ExitCode"])
                quiet = min(2 * quiet, _LOOK_AT_MOST)

    def _first_line(self, told: bytearray, data: bytes) -> bytes:
        """The program's id comes first on standard error; what follows is its own."""
        told += data
        line, found, rest = bytes(told).partition(b"\n")
        if not found:
            return b""
        self.pid = int(line) if line.isdigit() else 0
        self._named.set()
        return rest if self.pid else bytes(told)

    def _inspect(self) -> dict[str, Any]:
        with faults("looking at a program"):
            return self._api.exec_inspect(self._id)

    def _exit_code(self) -> int:
        """Asked for when the streams have ended: the daemon may take a moment to know."""
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            state = self._inspect()
            if not state["Running"] and state["ExitCode"] is not None:
                return int(state["ExitCode"])
            time.sleep(0.005)
        raise SandboxFault("the daemon does not say how a program ended")

    def fileno(self) -> int:
        """Readable when it has ended."""
        return self._read_end

    def exit_code(self, timeout: float) -> int | None:
        """Wait for its end."""
        if not readable([self], timeout):
            return None
        if self._code is None:
            raise SandboxFault(self._fault or "a program was lost")
        return self._code

    def kill(self) -> None:
        """Kill its process group."""
        if self._named.wait(5) and self.pid:
            self._kill(self.pid)
            self._killed = True

    def close(self) -> None:
        """Kill it if it still runs, and let go of it."""
        if not readable([self], 0):
            with contextlib.suppress(SandboxFault):
                self.kill()
        self._connection.close()
        readable([self], 5)
        os.close(self._read_end)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _write(fd: int, data: bytes) -> None:
    view = memoryview(data)
    with contextlib.suppress(BrokenPipeError):
        while view:
            view = view[os.write(fd, view) :]
