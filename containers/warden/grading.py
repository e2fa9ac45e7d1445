"""Grading in a warden's child: tests run as process 1 of fresh namespaces, over a sandbox's file system.

A grader with a control group of its own makes that process before it is needed: a copy of a grader costs as much as all the rest
of a small grading. It waits with its process list made, enters the sandbox, and takes the list along. An ordinary user may make
process namespaces only inside the sandbox's user namespace, so there it is made when the request has come.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import time
from typing import NoReturn

from containers.grading import runner
from containers.linux import syscalls
from containers.warden import inside
from containers.warden.protocol import USUAL_SIGNALS, Request, answer, namespaces_of

_MOST_RESULTS = 16 << 20  # bytes
_READY_SECONDS = 30.0
_MOST_DESCRIPTORS = 4096  # as `inside.set_limits` has it
_REHEARSAL = "def test_a():\n    assert 1\n"


class First:
    """Process 1 of a process namespace of its own: told where to go and what to run, it runs it and says the results."""

    def __init__(self, *, ahead: bool) -> None:
        self.channel, far = socket.socketpair()  # not a pipe: a link to this descriptor opens nothing
        self._said_ready = False
        self.pid = _forked_as_first(again=ahead)
        if self.pid == 0:
            _close_all_but(far)
            _serve(far, ahead=ahead)
        far.close()
        self.channel.settimeout(_READY_SECONDS)

    def ready(self) -> bool:
        """Whether one that is made ahead lives and waits; it may lack a right that making it did not take."""
        self._said_ready = self._said_ready or bool(self.channel.recv(1))
        return self._said_ready

    def send(self, payload: int, fds: list[int]) -> None:
        """What it waits for. `payload`: a memory file with the request; `fds`: the log, then the namespaces to enter.

        Raises:
            OSError: it was killed, or never got so far.
        """
        if not self.ready():
            raise BrokenPipeError
        socket.send_fds(self.channel, [b"t"], [payload, *fds])

    def end(self) -> int:
        """End it, and with it all that it started; its exit status."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self.channel.close()
        return os.waitpid(self.pid, 0)[1]


def _forked_as_first(*, again: bool) -> int:
    """Fork process 1 of a new process list. Once in a process's life, or `again`, where it has the right to go back."""
    own = os.open("/proc/self/ns/pid", os.O_RDONLY) if again else -1
    syscalls.unshare(syscalls.CLONE_NEWPID)
    pid = os.fork()
    if again:
        if pid:
            syscalls.setns(own, syscalls.CLONE_NEWPID)
        os.close(own)
    return pid


def made_ahead() -> First | None:
    """One that waits, if this process has the rights that it takes."""
    with contextlib.suppress(OSError):
        first = First(ahead=True)
        if first.ready():
            return first
        first.end()
    return None


def serve(control: socket.socket, first: First) -> None:
    """Grade for one owner, one grading after another. A request is the seconds that it may take, with descriptors: a memory file
    with all else of it, the socket for the answers, the memory file for results, that for the log, then the namespaces.

    Neither tests nor results are read here: what the next grading runs could find them in the memory that it has a copy of.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    while True:
        timeout, fds = syscalls.receive_fds(control, 64, 32)
        if not timeout:
            return
        payload, answers, results, *to_enter = fds
        gives_up = contextlib.suppress(BrokenPipeError)  # the owner
        with socket.socket(fileno=answers) as reply, gives_up:
            first, told = _told(first, payload, to_enter)
            for fd in (payload, *to_enter):
                os.close(fd)
            if told:
                _hear_out(first, float(timeout), reply, results)
            else:
                answer(reply, {"reason": "grader_lost"})
        os.close(results)
        first = First(ahead=True)
        _rehearse()


def _rehearse() -> None:
    """Pass on a request for nothing, and hear it out: after a fork this process copies every page that it writes to, so let that be
    now, and not while somebody waits."""
    (channel, far), (reply, owner) = socket.socketpair(), socket.socketpair()
    results = os.memfd_create("rehearsal")
    with channel, far, reply, owner:
        _asked_for_nothing(far, channel)
        far.shutdown(socket.SHUT_WR)
        _heard(channel, os.getpid(), reply, 1.0, results)
        answer(reply, {"reason": ""})
    os.close(results)


def _asked_for_nothing(far: socket.socket, near: socket.socket) -> None:
    """Send a request over these sockets, and take it."""
    payload = os.memfd_create("rehearsal")
    os.write(payload, b'{"kinds": [], "source": ""}')
    socket.send_fds(far, [b"t"], [payload])
    os.close(payload)
    taken = _taken(near)
    if taken is not None:
        request, fds = taken
        inside.enter(namespaces_of(request, fds))
    far.send(b"r")


def _taken(channel: socket.socket) -> tuple[Request, list[int]] | None:
    """The next request and the descriptors that came with it; None if there will be none."""
    message, fds = syscalls.receive_fds(channel, 1, 8)
    if not message:
        return None
    payload, *rest = fds
    request: Request = json.loads(os.pread(payload, os.fstat(payload).st_size, 0))
    os.close(payload)
    return request, rest


def _told(first: First, payload: int, fds: list[int]) -> tuple[First, bool]:
    """Give the one that was made ahead its request; or another, where what ran in its group took all memory, and it was killed."""
    for more in (1, 0):
        try:
            first.send(payload, fds)
        except OSError:
            first.end()
            if more:
                first = First(ahead=True)
        else:
            return first, True
    return first, False


def _close_all_but(channel: socket.socket) -> None:
    """Close what this process has by descent, and has no use for: a test may open what an agent made a link to one of them, and
    code in a test's own process may write to them. Objects that hold them live as long as this process does."""
    os.closerange(3, channel.fileno())
    os.closerange(channel.fileno() + 1, _MOST_DESCRIPTORS)


def grade(request: Request, reply: socket.socket, fds: list[int]) -> None:
    """Run a test module. `fds`: memory files for results and log, then user, mnt and uts namespaces.

    The agent's processes are gone before this is asked for. Nothing that tests start can signal them, and all of it ends with
    them. Results come first; the end of `reply` says that all is gone.
    """
    results, log, *rest = fds
    with inside.open_oom_score() as score:
        syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)
        inside.enter(namespaces_of(request, rest))
        inside.set_oom_score(score, 1000)  # what is forked now is killed before this process when memory runs out
        first = First(ahead=False)
        inside.set_oom_score(score, 0)
    payload = os.memfd_create("tests", os.MFD_CLOEXEC)
    os.write(payload, json.dumps({**request, "kinds": []}).encode())
    first.send(payload, [log])
    os.close(payload)
    _hear_out(first, request["timeout"], reply, results)
    reply.close()


def _hear_out(first: First, timeout: float, reply: socket.socket, results: int) -> None:
    """Answer when there are results, or why there are none; return when all has ended."""
    try:
        size, reason = _heard(first.channel, first.pid, reply, timeout, results)
        if size and not reason:
            answer(reply, {"reason": ""})
    finally:
        status = first.end()
    if reason or not size:
        answer(reply, {"reason": reason or (f"grader_killed_{status & 127}" if status & 127 else "grader_crashed")})


def _heard(channel: socket.socket, first: int, reply: socket.socket, timeout: float, results: int) -> tuple[int, str]:
    """Put what the tests say into a memory file until they have ended, the deadline is there, or the owner gives up: how many
    bytes, and the reason where it was cut short."""
    began, size, room = time.monotonic(), 0, bytearray(65536)
    ended = os.pidfd_open(first)
    try:
        while True:
            left = timeout - (time.monotonic() - began)
            ready = select.select([channel, ended, reply], [], [], max(0.0, left))[0]
            if channel in ready:
                with contextlib.suppress(ConnectionResetError):
                    if count := channel.recv_into(room):
                        size += os.write(results, memoryview(room)[:count])
                        if size > _MOST_RESULTS:
                            return size, "grader_flooded"
                        continue
                return size, ""
            if ended in ready:
                return size, ""
            return size, "grader_deadline" if reply not in ready else "grader_abandoned"
    finally:
        os.close(ended)
        room[:] = bytes(len(room))


def _serve(channel: socket.socket, *, ahead: bool) -> NoReturn:
    """Process 1: get ready, wait, enter, run, tell."""
    code, proc = 1, None
    try:
        syscalls.die_with_parent()
        syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)
        if ahead:
            proc = inside.made_proc()
            near, far = socket.socketpair()
            with near, far:
                _asked_for_nothing(far, near)
            runner.run(_REHEARSAL, [], {}, 0)  # pages that a fork shares are copied now, and not while somebody waits
        channel.send(b"r")
        taken = _taken(channel)
        if ahead:  # only now: while it waited, it was not to be killed for what others took
            with inside.open_oom_score() as score:
                inside.set_oom_score(score, 1000)
        if taken is not None:
            request, (log, *spaces) = taken
            inside.enter(namespaces_of(request, spaces))
            _settle(request, log, inside.made_proc() if proc is None else proc)
            _close_all_but(channel)
            _end_with(channel)
            outcome = runner.run(request["source"], request["names"], request["env"], request["seed"], request["user"])
            channel.sendall(runner.seal(outcome, request["key"]))
            channel.shutdown(socket.SHUT_WR)  # its memory is given back before its descriptors are
            code = 0
    finally:
        os._exit(code)


def _end_with(channel: socket.socket) -> None:
    """End if what this was made for has ended: while credentials changed, nothing told this process."""
    with contextlib.suppress(BlockingIOError):
        if not channel.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT):
            os._exit(1)


def _settle(request: Request, log: int, proc: int) -> None:
    """Where tests run: no network, a process list of their own, the log as their output, the rights of root inside."""
    if not request["isolated"]:
        syscalls.unshare(syscalls.CLONE_NEWNET | syscalls.CLONE_NEWIPC)  # here, so that they belong to root inside
        inside.loopback_up()
    inside.mount_proc(proc)
    os.setsid()
    for number in set(USUAL_SIGNALS) - {signal.SIGPIPE}:  # or what tests start would ignore what our caller did
        signal.signal(number, signal.SIG_DFL)
    null = os.open("/dev/null", os.O_RDONLY)
    for wanted, fd in ((0, null), (1, log), (2, log)):
        os.dup2(fd, wanted)
    inside.set_limits(request["max_processes"])
    os.umask(0o022)
    os.chdir("/")
    inside.become(0, 0, [])
    syscalls.limit_own_capabilities()
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)
    syscalls.die_with_parent()  # changes of credentials have undone it
    inside.lock_down()
