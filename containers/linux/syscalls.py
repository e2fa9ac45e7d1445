"""Thin typed wrappers around the few system calls that Python lacks. Each raises OSError."""

from __future__ import annotations

import array
import ctypes
import errno
import os
import signal
import socket
import struct

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x4000000, 0x8000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
KINDS = ("user", "mnt", "pid", "net", "ipc", "uts")  # of namespaces, in the order in which they travel and are entered
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC, MS_SLAVE = 32, 0x1000, 0x4000, 0x80000
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 4, 24, 38
MOUNT_ATTR_NOSUID, MOUNT_ATTR_NODEV, MOUNT_ATTR_NOEXEC = 2, 4, 8
_SYS_MOVE_MOUNT, _SYS_FSOPEN, _SYS_FSCONFIG, _SYS_FSMOUNT = 429, 430, 431, 432  # on every architecture
_SYS_CLONE = {"x86_64": 56, "aarch64": 220, "riscv64": 220}
_CLOSE_ON_EXEC, _FSCONFIG_CREATE, _FROM_DESCRIPTOR, _AT_FDCWD = 1, 6, 4, -100
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 47, 4

# What root inside a sandbox keeps: enough for packages, owners and ports below 1024; no mounts, no raw sockets,
# no ptrace of others, no device nodes.
KEPT_CAPABILITIES = frozenset({0, 1, 3, 4, 5, 6, 7, 10, 18, 31})
# chown, dac_override, fowner, fsetid, kill, setgid, setuid, net_bind_service, sys_chroot, setfcap
LAST_CAPABILITY = 40

_libc = ctypes.CDLL(None, use_errno=True)
_interpreter = ctypes.PyDLL(None, use_errno=True)  # whose calls hold the interpreter's lock, as a fork must
_libc.prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]


def _check(result: int, call: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")
    return result


def receive_fds(channel: socket.socket, size: int, most: int) -> tuple[bytes, list[int]]:
    """A message of at most `size` bytes and the descriptors that came with it, none of which passes an exec.

    Not `socket.recv_fds`, which takes flags and does not use them: what it receives would be open in every program in a sandbox.
    """
    room = socket.CMSG_LEN(most * array.array("i").itemsize)
    message, ancillary, _, _ = channel.recvmsg(size, room, socket.MSG_CMSG_CLOEXEC)
    fds = array.array("i")
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
    return message, fds.tolist()


def receive_sender(channel: socket.socket) -> int:
    """The process that sent the next byte, by its number in our process list, wherever it is (`channel` has SO_PASSCRED); 0 at the
    end."""
    size = struct.calcsize("3i")
    _, ancillary, _, _ = channel.recvmsg(1, socket.CMSG_SPACE(size))
    return next((struct.unpack("3i", data)[0] for _, _, data in ancillary if len(data) == size), 0)


def fork(flags: int) -> int:
    """fork(2) with the child in new namespaces, its first process where `flags` have CLONE_NEWPID: clone(2). For a process with a
    single thread, as the C library is not told."""
    if not flags:
        return os.fork()
    machine = os.uname().machine
    if machine not in _SYS_CLONE:
        raise OSError(errno.ENOSYS, f"clone: not known on {machine}")
    _interpreter.PyOS_BeforeFork()
    pid = _interpreter.syscall(_SYS_CLONE[machine], flags | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        _interpreter.PyOS_AfterFork_Child()
    else:
        _interpreter.PyOS_AfterFork_Parent()
    return _check(pid, "clone")


def unshare(flags: int) -> None:
    """unshare(2)."""
    _check(_libc.unshare(flags), "unshare")


def setns(fd: int, kind: int) -> None:
    """setns(2)."""
    _check(_libc.setns(fd, kind), "setns")


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """mount(2)."""
    arguments = (source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), data.encode())
    _check(_libc.mount(*arguments), f"mount {target}")


def made_mount(kind: str, flags: int) -> int:
    """A new file system, mounted nowhere (fsopen(2), fsconfig(2), fsmount(2)), with `flags` as MOUNT_ATTR_*."""
    context = _check(_libc.syscall(_SYS_FSOPEN, kind.encode(), _CLOSE_ON_EXEC), f"open {kind}")
    try:
        _check(_libc.syscall(_SYS_FSCONFIG, context, _FSCONFIG_CREATE, None, None, 0), f"make {kind}")
        return _check(_libc.syscall(_SYS_FSMOUNT, context, _CLOSE_ON_EXEC, flags), f"mount {kind}")
    finally:
        os.close(context)


def move_mount(made: int, target: str) -> None:
    """move_mount(2) of what `made_mount` returned."""
    _check(_libc.syscall(_SYS_MOVE_MOUNT, made, b"", _AT_FDCWD, target.encode(), _FROM_DESCRIPTOR), f"mount {target}")


def prctl(option: int, argument: int, third: int = 0) -> None:
    """prctl(2) with up to two arguments."""
    _check(_libc.prctl(option, argument, third, 0, 0), "prctl")


class _CapHeader(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


class _CapData(ctypes.Structure):
    _fields_ = [("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32)]


def drop_capabilities(kept: frozenset[int] = KEPT_CAPABILITIES) -> None:
    """Drop all but `kept` from the bounding set; nothing is inheritable or ambient."""
    for capability in range(LAST_CAPABILITY + 1):
        if capability not in kept:
            prctl(PR_CAPBSET_DROP, capability)
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)


def limit_own_capabilities(kept: frozenset[int] = KEPT_CAPABILITIES) -> None:
    """Reduce this process's effective and permitted sets to `kept` (for code that does not exec)."""
    header = _CapHeader(0x20080522, 0)
    data = (_CapData * 2)()
    for word in range(2):
        mask = sum(1 << (capability % 32) for capability in kept if capability // 32 == word)
        data[word] = _CapData(mask, mask, 0)
    _check(_libc.capset(ctypes.byref(header), ctypes.byref(data)), "capset")


def die_with_parent(signal_number: int = 9) -> None:
    """Be killed when the parent thread ends. Call after the last change of credentials, which clears it."""
    prctl(PR_SET_PDEATHSIG, signal_number)
