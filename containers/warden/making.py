"""Bubblewrap, begun ahead: what does not depend on what a sandbox is for is there before one is asked for.

Where the last two in a place were alike, the next one is told the same at once, and is a whole sandbox before it is asked for.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import Sequence
from typing import NamedTuple

from containers.linux import syscalls
from containers.warden import inside

INFO_FD, _OPTIONS_FD = 200, 201
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
    info: int  # a pipe with what --info-fd asks for
    keeper: int  # the first process's input
    ready: int  # its output
    errors: int  # a memory file with what bubblewrap says
    upper: int  # the writable layer


def begin(owner: socket.socket, making: Making, options: bytes, *, isolated: bool) -> None:
    """In user and mount namespaces of its own: become a bubblewrap with these options, or one that waits for them, in further
    namespaces of its own (the network's only where isolated), with a writable layer that no other process sees and that goes with
    it.

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
    (info_out, info), (keeper, keeper_in), (ready_out, ready) = (os.pipe() for _ in range(3))
    source, to_come = _source(options)
    errors = os.memfd_create("errors", os.MFD_CLOEXEC)
    upper = os.open(f"{scratch}/upper", os.O_PATH | os.O_DIRECTORY)
    begun = Begun(os.pidfd_open(os.getpid()), info_out, keeper_in, ready_out, errors, upper)
    socket.send_fds(owner, [b"{}"], [*begun, *to_come, *for_grading])
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for fd, wanted in ((source, _OPTIONS_FD), (info, INFO_FD), (keeper, 0), (ready, 1), (errors, 2)):
        os.dup2(fd, wanted)
    os.closerange(3, INFO_FD)
    os.closerange(_OPTIONS_FD + 1, 300)
    syscalls.die_with_parent()
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
