"""Watches the host while an attack runs: what changed, and where its mark turned up."""

from __future__ import annotations

import contextlib
import glob
import os
import secrets
import socket
import subprocess
import time
import zlib
from pathlib import Path
from typing import Self

# Files whose text must be the same afterwards. Where an attack could change one, it is put back.
_SETTINGS = (
    *(f"/proc/sys/kernel/{name}" for name in ("core_pattern", "modprobe", "hotplug", "poweroff_cmd", "panic", "sysrq")),
    *(f"/proc/sys/kernel/{name}" for name in ("hostname", "domainname", "printk_ratelimit")),
    *(f"/proc/sys/vm/{name}" for name in ("swappiness", "overcommit_memory")),
    "/proc/sys/fs/protected_symlinks",
    "/sys/kernel/uevent_helper",
    "/sys/power/wake_lock",
)
# Folders in which no name may hold the mark.
_FOLDERS = (
    *("/", "/tmp", "/var/tmp", "/root", "/home", "/etc", "/srv", "/dev/shm", "/dev/mqueue", "/proc/sys/fs/binfmt_misc"),
    *("/sys/fs/cgroup", "/sys/fs/cgroup/*", "/sys/fs/bpf", "/sys/kernel/config", "/sys/kernel/debug"),
)
_MOUNT_POINTS = frozenset({"/srv", "/tests", "/usr", "/mnt", "/tmp/cg"})
_CLOCK_TOLERANCE = 20.0  # seconds


class Witness:
    """Take notes, let something happen, and ask for `changes()`."""

    def __init__(self) -> None:
        self.mark = f"tf-mark-{secrets.token_hex(6)}"

    def __enter__(self) -> Self:
        self._open = contextlib.ExitStack()
        self._sockets = [self._listen(socket.AF_UNIX, f"\0{self.mark}"), self._listen(socket.AF_INET, ("127.0.0.1", 0))]
        self.port = int(self._sockets[1].getsockname()[1])
        self._process = subprocess.Popen(
            [f"{self.mark}-witness", "600"], executable="/bin/sleep", stdin=subprocess.DEVNULL, start_new_session=True
        )
        self._open.callback(self._process.wait)
        self._open.callback(self._process.kill)
        self._log = self._kernel_log()
        self._settings = _settings()
        self._mounts = _mounts()
        self._clock = time.time() - time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def changes(self) -> tuple[str, ...]:
        """What is not as it was, in words; empty where nothing reached the host."""
        found = [f"{path} was changed" for path, text in _settings().items() if self._settings.get(path) != text]
        self._restore()
        found += [f"{name} was made" for name in self._marked_files()]
        found += [f"{path} was mounted" for path in sorted(_mounts() - self._mounts)]
        found += [f"process {pid} is left" for pid in self._marked_processes()]
        found += [f"{path} holds the mark" for path, needle in self._tables() if needle in _text(path)]
        found += ["a listener of the host was reached"] if any(_reached(item) for item in self._sockets) else []
        found += ["a process of the host was ended"] if self._process.poll() is not None else []
        found += ["the kernel's log was written"] if self._logged() else []
        drift = abs(time.time() - time.monotonic() - self._clock)
        found += ["the clock was set"] if drift > _CLOCK_TOLERANCE else []
        return tuple(found)

    def _listen(self, family: int, address: str | tuple[str, int]) -> socket.socket:
        listener = self._open.enter_context(socket.socket(family, socket.SOCK_STREAM))
        listener.bind(address)
        listener.listen()
        listener.setblocking(False)
        return listener

    def _kernel_log(self) -> int:
        """A descriptor at the end of the kernel's log; -1 where it cannot be read."""
        try:
            fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            return -1
        self._open.callback(os.close, fd)
        os.lseek(fd, 0, os.SEEK_END)
        return fd

    def _logged(self) -> bool:
        needles = (self.mark.encode(), b"sysrq: HELP")
        while self._log >= 0:
            try:
                record = os.read(self._log, 8192)
            except BrokenPipeError:  # records were overwritten before they were read
                continue
            except OSError:
                return False
            if any(needle in record for needle in needles):
                return True
        return False

    def _restore(self) -> None:
        for path, text in _settings().items():
            before = self._settings.get(path, text)
            if before != text:
                with contextlib.suppress(OSError):
                    Path(path).write_text(before)

    def _marked_files(self) -> list[str]:
        return [
            name
            for folder in _FOLDERS
            for name in glob.glob(f"{glob.escape(folder) if '*' not in folder else folder}/*{self.mark}*")
        ]

    def _marked_processes(self) -> list[int]:
        found: list[int] = []
        for entry in os.listdir("/proc"):
            if entry.isdigit() and int(entry) not in (self._process.pid, os.getpid()):
                with contextlib.suppress(OSError), open(f"/proc/{entry}/cmdline", "rb") as handle:
                    if self.mark.encode() in handle.read():
                        found.append(int(entry))
        return found

    def _tables(self) -> list[tuple[str, str]]:
        """Tables of the kernel, and how the mark would show in them."""
        key = str(zlib.crc32(self.mark.encode()) & 0x7FFFFFFF)
        return [("/proc/keys", self.mark), *((f"/proc/sysvipc/{kind}", f" {key} ") for kind in ("shm", "msg", "sem"))]


def _text(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""


def _settings() -> dict[str, str]:
    agents = glob.glob("/sys/fs/cgroup/*/release_agent") + glob.glob("/sys/fs/cgroup/release_agent")
    return {path: _text(path) for path in (*_SETTINGS, *agents)}


def _mounts() -> set[str]:
    return {line.split()[4] for line in _text("/proc/self/mountinfo").splitlines()} & _MOUNT_POINTS


def _reached(listener: socket.socket) -> bool:
    try:
        listener.accept()[0].close()
    except OSError:
        return False
    return True
