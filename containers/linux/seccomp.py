"""A seccomp filter for everything that runs in a sandbox: a deny list of calls that reach beyond it.

Denied calls fail with EPERM, so programs see an ordinary refusal. clone3 fails with ENOSYS, so that the C library falls back
to clone, whose flags can be inspected. Foreign architectures (32-bit entry points) get ENOSYS.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from typing import Any

from containers.linux.syscalls import prctl

# name: (x86_64, aarch64)
_DENIED: dict[str, tuple[int, int]] = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "bpf": (321, 280),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "delete_module": (176, 106),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pivot_root": (155, 41),
    "quotactl": (179, 60),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
}
_CLONE, _CLONE3, _IOCTL = (56, 220), (435, 435), (16, 29)
_NAMESPACE_FLAGS = 0x7E020000  # every CLONE_NEW* flag
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}

_MACHINE = os.uname().machine

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_NR, _ARCH, _ARG0, _ARG1 = 0, 4, 16, 24
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2


def _op(code: int, value: int, when_true: int = 0, when_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, when_true, when_false, value)


def _returns(number: int) -> bytes:
    return _op(_RETURN, _ERRNO | number)


def program(machine: str = _MACHINE) -> bytes:
    """The filter as classic BPF for this machine.

    Raises:
        KeyError: the architecture is not known.
    """
    column, arch = _ARCHITECTURES[machine]
    parts = [_op(_LOAD, _ARCH), _op(_EQUAL, arch, 1), _returns(errno.ENOSYS), _op(_LOAD, _NR)]
    if machine == "x86_64":  # the x32 table
        parts += [_op(_AT_LEAST, 0x40000000, 0, 1), _returns(errno.ENOSYS)]
    parts += [_op(_EQUAL, _CLONE3[column], 0, 1), _returns(errno.ENOSYS)]
    for numbers in _DENIED.values():
        parts += [_op(_EQUAL, numbers[column], 0, 1), _returns(errno.EPERM)]
    parts += [_op(_EQUAL, _CLONE[column], 0, 4), _op(_LOAD, _ARG0), _op(_ANY_BIT, _NAMESPACE_FLAGS, 0, 1)]
    parts += [_returns(errno.EPERM), _op(_RETURN, _ALLOW)]
    parts += [
        _op(_EQUAL, _IOCTL[column], 0, 4),
        _op(_LOAD, _ARG1),
        _op(_EQUAL, _TIOCSTI, 1),
        _op(_EQUAL, _TIOCLINUX, 0, 1),
    ]
    parts += [_returns(errno.EPERM), _op(_RETURN, _ALLOW)]
    return b"".join(parts)


def profile() -> dict[str, Any]:
    """The same filter in the form that container runtimes take (OCI runtime specification, `linux.seccomp`)."""
    refused = {"action": "SCMP_ACT_ERRNO", "errnoRet": errno.EPERM}
    flags = [1 << bit for bit in range(32) if _NAMESPACE_FLAGS >> bit & 1]
    masks = [{"index": 0, "value": flag, "valueTwo": flag, "op": "SCMP_CMP_MASKED_EQ"} for flag in flags]
    terminal = [{"index": 1, "value": value, "op": "SCMP_CMP_EQ"} for value in (_TIOCSTI, _TIOCLINUX)]
    return {
        "defaultAction": "SCMP_ACT_ALLOW",
        "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"],
        "syscalls": [
            {"names": sorted(_DENIED), **refused},
            {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": errno.ENOSYS},
            *({"names": ["clone"], "args": [mask], **refused} for mask in masks),
            *({"names": ["ioctl"], "args": [value], **refused} for value in terminal),
        ],
    }


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p)]


_CODE = program() if _MACHINE in _ARCHITECTURES else b""
_BUFFER = ctypes.create_string_buffer(_CODE, len(_CODE)) if _CODE else None


def install() -> bool:
    """Filter this process and all it starts from now on; needs no_new_privs. False where there is no filter for it."""
    if _BUFFER is None:
        return False
    wanted = _Program(len(_CODE) // 8, ctypes.addressof(_BUFFER))
    prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.addressof(wanted))
    return True
