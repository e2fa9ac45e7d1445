"""Grading in a warden's child: tests run as process 1 of fresh namespaces, over a sandbox's file system.

Where the warden may, that process is made before it is needed: a copy of a grader costs as much as all the rest of a small
grading. It waits with its process list made, enters the sandbox, and takes the list along. An ordinary user may make
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
from collections.abc import Generator
from typing import NoReturn

from containers.grading import runner
from containers.linux import syscalls
from containers.warden import inside
from containers.warden.protocol import USUAL_SIGNALS, Request, answer, namespaces_of

_MOST_RESULTS = 16 << 20  # bytes
_REHEARSAL = "def test_a():\n    assert 1\n"


class First:
    """Process 1 of a process namespace of its own: told where to go and what to run, it runs it and says the results."""

    def __init__(self, *, ahead: bool, unshared: tuple[socket.socket, ...] = ()) -> None:
        syscalls.unshare(syscalls.CLONE_NEWPID)
        self.channel, far = socket.socketpair()  # not a pipe: a link to this descriptor opens nothing
        self.pid = os.fork()
        if self.pid == 0:
            for other in (self.channel, *unshared):  # what runs here may not answer in its parent's place
                other.close()
            _serve(far, ahead=ahead)
        far.close()

    def send(self, request: Request, fds: list[int]) -> None:
        """What it waits for. `fds`: the log, then the namespaces to enter."""
        payload = os.memfd_create("tests", os.MFD_CLOEXEC)
        os.write(payload, json.dumps(request).encode())
        socket.send_fds(self.channel, [b"t"], [payload, *fds])
        os.close(payload)

    def end(self) -> int:
        """End it, and with it all that it started; its exit status."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        return os.waitpid(self.pid, 0)[1]


_waiting: list[First] = []  # in a child of the warden: the one made ahead


def make_ahead(reply: socket.socket) -> bool:
    """Have one ready, if this process may: whether it does. `reply` is this process's alone."""
    with contextlib.suppress(OSError):
        first = First(ahead=True, unshared=(reply,))
        if first.channel.recv(1):  # it says when it is ready; it may lack a right that making it did not take
            _waiting.append(first)
        else:
            first.end()
    return bool(_waiting)


def grade(request: Request, reply: socket.socket, fds: list[int]) -> None:
    """Run a test module. `fds`: a memory file for the log, then user, mnt and uts namespaces.

    The agent's processes are gone before this is asked for. Nothing that tests start can signal them, and all of it ends with
    them. Results come first; the end of `reply` says that all is gone.
    """
    log, spaces = fds[0], namespaces_of(request, fds[1:])
    if _waiting:
        first = _waiting.pop()
        try:
            first.send(request, fds)
        except OSError:  # it was killed while it waited: what ran in its group took all memory
            first.end()
            with open("/proc/self/ns/pid") as own:
                syscalls.setns(own.fileno(), syscalls.CLONE_NEWPID)  # else there is no making another
            first = First(ahead=True, unshared=(reply,))
            first.channel.recv(1)
            first.send(request, fds)
    else:
        with _oom_score():
            syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)
            inside.enter(spaces)
            first = First(ahead=False, unshared=(reply,))
        first.send({**request, "kinds": []}, [log])
    said, reason = _heard(first, reply, request["timeout"])
    outcome = None if reason else runner.unseal(said, request["key"])
    try:
        if outcome is not None:
            answer(reply, {"outcome": outcome})
    finally:
        status = first.end()
    if outcome is None:
        killed = status & 127 and not said  # one that said something unsealed may have been ended here
        answer(reply, {"reason": reason or (f"grader_killed_{status & 127}" if killed else "grader_crashed")})
    reply.close()


@contextlib.contextmanager
def _oom_score() -> Generator[None]:
    """What is forked within is killed before this process when memory runs out."""
    with open("/proc/self/oom_score_adj", "w") as score:  # later, /proc may be another's
        inside.set_oom_score(score, 1000)
        try:
            yield
        finally:
            inside.set_oom_score(score, 0)


def _heard(first: First, reply: socket.socket, timeout: float) -> tuple[bytes, str]:
    """What the tests said, until they have ended, the deadline is there, or the owner gives up: then with the reason."""
    began, ended, text = time.monotonic(), os.pidfd_open(first.pid), b""
    while True:
        left = timeout - (time.monotonic() - began)
        ready = select.select([first.channel, ended, reply], [], [], max(0.0, left))[0]
        if first.channel in ready:
            with contextlib.suppress(ConnectionResetError):
                if piece := first.channel.recv(65536):
                    text += piece
                    if len(text) > _MOST_RESULTS:
                        return b"", "grader_flooded"
                    continue
            return text, ""
        if ended in ready:
            return text, ""
        return b"", "grader_deadline" if reply not in ready else "grader_abandoned"


def _serve(channel: socket.socket, *, ahead: bool) -> NoReturn:
    """Process 1: get ready, wait, enter, run, tell."""
    code, proc = 1, None
    try:
        syscalls.die_with_parent()
        syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)
        if ahead:
            proc = inside.made_proc()
            runner.run(_REHEARSAL, [], {}, 0)  # pages that a fork shares are copied now, and not while somebody waits
            channel.send(b"r")
        message, fds = syscalls.receive_fds(channel, 1, 8)
        if ahead:  # only now: while it waited, it was not to be killed for what others took
            with open("/proc/self/oom_score_adj", "w") as score:
                inside.set_oom_score(score, 1000)
        if message:
            payload, log, *spaces = fds
            request: Request = json.loads(os.pread(payload, os.fstat(payload).st_size, 0))
            inside.enter(namespaces_of(request, spaces))
            for fd in (payload, *spaces):
                os.close(fd)
            _settle(request, log, inside.made_proc() if proc is None else proc)
            outcome = runner.run(request["source"], request["names"], request["env"], request["seed"], request["user"])
            channel.sendall(runner.seal(outcome, request["key"]))
            channel.shutdown(socket.SHUT_WR)  # its memory is given back before its descriptors are
            code = 0
    finally:
        os._exit(code)


def _settle(request: Request, log: int, proc: int) -> None:
    """Where tests run: no network, a process list of their own, the log as their output, the rights of root inside."""
    syscalls.unshare(syscalls.CLONE_NEWNET | syscalls.CLONE_NEWIPC)  # here, so that they belong to root inside
    inside.mount_proc(proc)
    inside.loopback_up()
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
