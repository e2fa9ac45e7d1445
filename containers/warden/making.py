"""Bubblewrap, begun ahead: what does not depend on what a sandbox is for is there before one is asked for.

Where the last two in a place were alike, the next one is told the same at once, and is a whole sandbox before it is asked for.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
from collections.abc import Sequence
from typing import NamedTuple

from containers.linux import syscalls
from containers.warden import inside

_ALIVE_FD, _OPTIONS_FD = 200, 201
_FIRST = (
    "cat"  # the first process: nothing inside can kill it, it echoes a line when it is there, and ends with its input
)


class Making(NamedTuple):
    """What a keeper begins with: bubblewrap and its environment, and a folder in which each gets a writable layer of `disk_mb`."""

    bwrap: str
    env: dict[str, str]
    scratch: str
    disk_mb: int


class Begun(NamedTuple):
    """Descriptors by which a sandbox is held from its beginning."""

    monitor: int  # bubblewrap itself, to end it by
    alive: int  # a socket that ends when what bubblewrap started has ended
    keeper: int  # the first process's input, with a line in it
    ready: int  # its output, a socket that says who wrote
    errors: int  # a memory file with what bubblewrap says
    upper: int  # the writable layer


def begin(owner: socket.socket, making: Making, options: bytes, *, isolated: bool, keeper: int) -> None:
    """In user, mount and process namespaces of its own: become a bubblewrap with these options, or one that waits for them, in
    further namespaces of its own (the network's only where isolated), with a writable layer that no other process sees and that
    goes with it. It ends with the keeper (a pidfd).

    The owner gets what a sandbox is held by, a pipe for options that are to come, and, where isolated, the namespaces for grading.

    Children are ignored from here on, in bubblewrap too: so the first process is born with it, and the kernel reaps what is
    orphaned inside.
    """
    for_grading = inside.made_for_grading() if isolated else []
    syscalls.unshare(syscalls.CLONE_NEWIPC | (syscalls.CLONE_NEWNET if isolated else 0))
    if isolated:
        inside.loopback_up()
    os.setgroups([])
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    scratch = making.scratch
    syscalls.mount("tmpfs", scratch, "tmpfs", syscalls.MS_NOSUID, f"size={making.disk_mb}m,mode=0755")
    os.mkdir(f"{scratch}/upper")
    os.mkdir(f"{scratch}/work")
    first, first_in = os.pipe()
    os.write(first_in, b"\n")
    (alive_out, alive), (ready_out, ready) = socket.socketpair(), socket.socketpair()
    ready_out.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    source, to_come = _source(options)
    errors = os.memfd_create("errors", os.MFD_CLOEXEC)
    upper = os.open(f"{scratch}/upper", os.O_PATH | os.O_DIRECTORY)
    begun = Begun(os.pidfd_open(os.getpid()), alive_out.fileno(), first_in, ready_out.fileno(), errors, upper)
    socket.send_fds(owner, [b"{}"], [*begun, *to_come, *for_grading])
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    syscalls.die_with_parent()
    if select.select([keeper], [], [], 0)[0]:  # it ended before that
        os._exit(0)
    for fd, wanted in (
        (source, _OPTIONS_FD),
        (alive.fileno(), _ALIVE_FD),
        (first, 0),
        (ready.fileno(), 1),
        (errors, 2),
    ):
        os.dup2(fd, wanted)
    os.closerange(3, _ALIVE_FD)
    os.closerange(_OPTIONS_FD + 1, 300)
    os.execve(making.bwrap, [making.bwrap, "--args", str(_OPTIONS_FD), _FIRST], making.env)


def _source(options: bytes) -> tuple[int, list[int]]:
    """What bubblewrap reads its options from and, where they are to come, the pipe to it, to be closed behind them."""
    if not options:
        source, pipe = os.pipe()
        return source, [pipe]
    source = os.memfd_create("options", os.MFD_CLOEXEC)
    os.write(source, options)
    os.lseek(source, 0, os.SEEK_SET)
    return source, []


def give_up(fds: Sequence[int]) -> None:
    """End one that nobody wants, by the descriptors that the owner got."""
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(Begun(*fds[: len(Begun._fields)]).monitor, signal.SIGKILL)
    for fd in fds:
        os.close(fd)
