"""Steps that a forked child of the warden takes on its way into a sandbox. Order matters; each function says why."""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
import socket
import struct
from collections.abc import Mapping, Sequence
from io import FileIO

from containers.linux import seccomp, syscalls
from containers.linux.syscalls import KINDS

_FLAGS = {
    "user": syscalls.CLONE_NEWUSER,
    "mnt": syscalls.CLONE_NEWNS,
    "pid": syscalls.CLONE_NEWPID,
    "net": syscalls.CLONE_NEWNET,
    "ipc": syscalls.CLONE_NEWIPC,
    "uts": syscalls.CLONE_NEWUTS,
}
FOR_GRADING = ("net", "ipc")  # kinds of namespaces that tests get of their own
_READ_ONLY = ("sys", "sysrq-trigger", "irq", "bus", "fs")
_HIDDEN = ("kcore", "keys", "timer_list")
_SIOCSIFFLAGS, _IFF_UP_RUNNING = 0x8914, 0x41


def join_groups(procs_files: Sequence[str]) -> None:
    """Join control groups: first of all, while the host's file system and rights are still there."""
    for file in procs_files:
        with open(file, "w") as handle:
            handle.write("0")


def enter(namespaces: Mapping[str, int]) -> None:
    """Enter namespaces; the user namespace first, since it gives the right to enter the others."""
    for kind in KINDS:
        if kind in namespaces:
            syscalls.setns(namespaces[kind], _FLAGS[kind])


def become(uid: int, gid: int, groups: Sequence[int]) -> None:
    """Take on a user of the sandbox. By way of its root, so that leaving root drops every capability."""
    os.setgroups([])
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    syscalls.drop_capabilities()
    if uid or gid or groups:
        os.setgroups(list(groups))
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)


def lock_down() -> None:
    """No new privileges and the call filter: last of all, since both forbid what comes before."""
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    seccomp.install()


def limit(kind: int, value: int) -> None:
    """Lower a resource limit (never raise one)."""
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(kind, (value, value))


def set_limits(max_processes: int | None) -> None:
    """No core files, a sane number of descriptors, and a process limit where no control group gives one."""
    limit(resource.RLIMIT_CORE, 0)
    limit(resource.RLIMIT_NOFILE, 4096)
    if max_processes is not None:
        limit(resource.RLIMIT_NPROC, max_processes)


def open_oom_score() -> FileIO:
    """Of this process. Opened before it enters another's /proc."""
    return open("/proc/self/oom_score_adj", "wb", buffering=0)


def set_oom_score(score: FileIO, value: int) -> None:
    """When memory runs out, programs (1000) are killed before the processes that keep the sandbox.

    Only once the user namespace was entered: what the host's root sets cannot be lowered from inside.
    """
    with contextlib.suppress(OSError):
        score.write(b"%d" % value)


def redirect(stdin: int, stdout: int, stderr: int) -> None:
    """Make three descriptors the standard ones and close all others that an exec would keep."""
    for wanted, fd in enumerate([os.dup(fd) for fd in (stdin, stdout, stderr)]):
        os.dup2(fd, wanted, inheritable=True)
    os.closerange(3, 256)


def made_proc() -> int:
    """A process list of this pid namespace's own, mounted nowhere yet."""
    flags = syscalls.MOUNT_ATTR_NOSUID | syscalls.MOUNT_ATTR_NODEV | syscalls.MOUNT_ATTR_NOEXEC
    return syscalls.made_mount("proc", flags)


def mount_proc(made: int) -> None:
    """Put it in place, with the kernel's settings read-only: where the sandbox shares the host's user namespace, its root could
    write them."""
    flags = syscalls.MS_NOSUID | syscalls.MS_NODEV | syscalls.MS_NOEXEC
    syscalls.move_mount(made, "/proc")
    os.close(made)
    for name in _READ_ONLY:
        path = f"/proc/{name}"
        if os.path.exists(path):
            syscalls.mount(path, path, "", syscalls.MS_BIND)
            syscalls.mount("", path, "", flags | syscalls.MS_BIND | syscalls.MS_REMOUNT | syscalls.MS_RDONLY)
    for name in _HIDDEN:
        path = f"/proc/{name}"
        if os.path.exists(path):
            syscalls.mount("/dev/null", path, "", syscalls.MS_BIND)


def made_for_grading() -> list[int]:
    """Descriptors of new namespaces, of the kinds FOR_GRADING, that nothing is in: making them takes as long as small tests do."""
    syscalls.unshare(syscalls.CLONE_NEWNET | syscalls.CLONE_NEWIPC)
    loopback_up()
    return [os.open(f"/proc/self/ns/{kind}", os.O_RDONLY) for kind in FOR_GRADING]


def loopback_up() -> None:
    """Bring up `lo` in a fresh network namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        fcntl.ioctl(handle, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", _IFF_UP_RUNNING))
