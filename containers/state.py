"""Where Termforge keeps what it can make again: base file systems, layers, proofs. And who owns what is in use.

$TERMFORGE_HOME (default: /var/lib/termforge as root, else ~/.cache/termforge)
├── rootfs/   base file systems        ├── tools/    bubblewrap, where mapped ids can reach it
├── layers/   built image steps        ├── mnt/      mount point of private scratch file systems
└── proofs/   evidence by task digest  └── tmp/      work in progress, named after its owner
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import platform
import re
from collections.abc import Generator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from generators.errors import StorageError

FOLDERS = ("rootfs", "layers", "proofs", "tools", "mnt", "tmp")


def default_home() -> Path:
    """The state folder of whoever runs this."""
    if named := os.environ.get("TERMFORGE_HOME"):
        return Path(named).absolute()
    if os.geteuid() == 0:
        return Path("/var/lib/termforge")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "termforge"


@contextlib.contextmanager
def storage(doing: str) -> Generator[None]:
    """Turn a full disk, a read-only or unreadable place into one clear line."""
    try:
        yield
    except OSError as error:
        hint = {
            errno.ENOSPC: "free some space, or point TERMFORGE_HOME or the output elsewhere",
            errno.EROFS: "the file system is read-only; choose another place",
            errno.EACCES: "check the rights, or choose another place",
        }.get(error.errno or 0, "choose another place")
        raise StorageError(f"{doing}: {error.strerror} ({error.filename or 'no file named'}); {hint}") from error


def start_time(pid: int) -> int | None:
    """When a process started, in clock ticks since boot: with its id, a name that is never used twice."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else int(fields[19])


def _host() -> str:
    """This machine in a name: a home can be shared by several."""
    return "h" + hashlib.sha256(platform.node().encode()).hexdigest()[:6]


def owner_name() -> str:
    """This process, as the prefix of everything it has in use: `<pid>-<start>-<host>`."""
    return f"{os.getpid()}-{start_time(os.getpid())}-{_host()}"


def owner_is_alive(name: str) -> bool:
    """Whether the process that a name begins with still runs; one of another machine counts as running."""
    pid, start, host, *_ = (*name.split("-"), "", "", "")
    if re.fullmatch("h[0-9a-f]{6}", host) and host != _host():
        return True
    return pid.isdigit() and start.isdigit() and start_time(int(pid)) == int(start)


@dataclass(frozen=True)
class State:
    """The folders of one home."""

    home: Path

    @cached_property
    def owner(self) -> str:
        """Prefix of this process's own work in progress."""
        return owner_name()

    def folder(self, name: str) -> Path:
        """One of the folders, made on first use."""
        path = self.home / name
        with storage("preparing the state folder"):
            path.mkdir(parents=True, exist_ok=True)
        return path

    def prepare(self) -> None:
        """Make every folder and let mapped ids pass through."""
        for name in FOLDERS:
            path = self.folder(name)
            if os.geteuid() == 0:
                path.chmod(0o755)

    def blocked_by(self) -> Path | None:
        """A parent that mapped ids cannot pass through, when run as root."""
        if os.geteuid() != 0:
            return None
        return next((path for path in self.home.absolute().parents if not path.stat().st_mode & 0o001), None)


def default_state() -> State:
    """The state of the default home."""
    return State(default_home())
