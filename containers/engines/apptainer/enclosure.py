"""An enclosure: the namespaces that Apptainer is run in, with private memory for what it writes.

Its user namespace has the sandbox ids; its process namespace ends with its first process, a shell that waits for its standard
input to close. So all in it ends when the owner lets go or is killed. The folder `mnt` of the state folder is, inside, a memory
file system: `box` (a writable overlay), `home` and `tmp` (Apptainer's own).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

from containers.linux.identity import IdMap
from containers.state import State
from containers.streams import Descriptor, readable
from containers.warden.client import Reply, Warden, memory_file, read_memory_file
from generators.digest import sha256_hex
from generators.errors import EngineError, SandboxFault

_START_SECONDS, _END_SECONDS = 60.0, 30.0
_CREDENTIALS = struct.Struct("3i")  # pid, uid, gid
_CONFIG = """\
allow setuid = no
max loop devices = 0
allow pid ns = yes
allow user ns = yes
config passwd = no
config group = no
config resolv_conf = no
mount proc = yes
mount sys = no
mount dev = minimal
mount devpts = yes
mount home = no
mount tmp = no
mount hostfs = no
mount slave = no
user bind control = yes
enable overlay = yes
enable underlay = no
allow container sif = yes
allow container dir = yes
root default capabilities = full
sessiondir max size = 64
memory fs type = tmpfs
systemd cgroups = no
"""  # none of the host's files come in, whatever the machine's own configuration says

# Arguments: size of the memory file system, its mount point, id of the user, a command.
# The user has to have a name: Apptainer looks it up.
_FIRST = r"""
mount -t tmpfs -o "size=$1,mode=0755" tmpfs "$2" && cd "$2" && mkdir box home tmp || exit 1
printf 'root:x:0:0:root:/root:/bin/sh\ntermforge:x:%s:%s::/:/bin/sh\n' "$3" "$3" >passwd && mount --bind passwd /etc/passwd || exit 1
shift 3
[ $# = 0 ] || "$@" </dev/null >log 2>&1 || { cat log >&2; exit 1; }
echo ready
read -r _
"""


def program() -> str:
    """The path of Apptainer.

    Raises:
        EngineError: there is none.
    """
    found = shutil.which("apptainer") or shutil.which("singularity")
    if found is None:
        raise EngineError("apptainer is missing: install it (https://apptainer.org; 1.2 or newer) and put it on PATH")
    return found


def command(state: State, *arguments: str) -> list[str]:
    """An Apptainer command with our configuration."""
    file = state.folder("tools") / f"apptainer-{sha256_hex(_CONFIG)[:12]}.conf"
    if not file.exists():
        part = state.folder("tmp") / f"{state.owner}-{file.name}"
        part.write_text(_CONFIG)
        part.chmod(0o644)
        part.replace(file)
    return [program(), "--config", str(file), *arguments]


def environment(state: State, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """What Apptainer runs with: nothing of it is kept in the user's home."""
    folder = state.folder("mnt")
    return {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "HOME": f"{folder}/home",
        "APPTAINER_CONFIGDIR": f"{folder}/home/config",
        "APPTAINER_CACHEDIR": f"{folder}/home/cache",
        "APPTAINER_TMPDIR": f"{folder}/tmp",
        **(extra or {}),
    }


class Enclosure:
    """A live enclosure. `first` is its first process (a pidfd), `pid` that one's id on the host."""

    def __init__(self, state: State, warden: Warden, ids: IdMap, size: str, argv: Sequence[str] = ()) -> None:
        """Make it and run a command in it, to its end.

        Raises:
            SandboxFault: it could not be made, or the command failed.
        """
        self.folder = state.folder("mnt")
        self.first = self._stdin = self.pid = -1
        self.killed = False
        stdin, self._stdin = os.pipe()
        near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        near.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)  # the kernel says who writes, by our process ids
        errors = memory_file()
        shell = ["/bin/sh", "-c", _FIRST, "sh", size, str(self.folder), str(ids.uid0), *argv]
        options = ["--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc"]
        request = {"argv": ["unshare", *options, "--", *shell], "env": environment(state)}
        self._reply: Reply | None = None
        try:
            self._reply = warden.call("as_root", request, [stdin, far.fileno(), errors])
            os.close(stdin)
            far.close()
            self._become_ready(near, errors)
        except BaseException:
            self.close()
            raise
        finally:
            near.close()
            os.close(errors)

    def _become_ready(self, near: socket.socket, errors: int) -> None:
        said, ancillary = b"", list[tuple[int, int, bytes]]()
        if readable([near], _START_SECONDS):
            said, ancillary, _, _ = near.recvmsg(64, socket.CMSG_SPACE(_CREDENTIALS.size))
        if said != b"ready\n" or not ancillary:
            lines = read_memory_file(errors).decode(errors="replace").strip().splitlines()
            fatal = [line.removeprefix("FATAL:").strip() for line in lines if line.startswith("FATAL")] or lines[-1:]
            raise SandboxFault(f"apptainer did not start: {fatal[0] if fatal else 'no message'}")
        self.pid = _CREDENTIALS.unpack(ancillary[0][2])[0]
        self.first = os.pidfd_open(self.pid)

    def entering(self) -> list[str]:
        """What to put before a command line to run it inside, as root."""
        return [
            "nsenter",
            "--target",
            str(self.pid),
            "--user",
            "--mount",
            "--pid",
            "--setuid",
            "0",
            "--setgid",
            "0",
            "--",
        ]

    def path(self, inside: str) -> Path:
        """A path in the enclosure's memory, as seen from outside."""
        return Path(f"/proc/{self.pid}/root{self.folder}") / inside

    def instance(self) -> tuple[int, int]:
        """Host ids of the instance's monitor and of its own first process.

        Raises:
            SandboxFault: there is no instance.
        """
        with contextlib.suppress(OSError):
            spaces = os.readlink(f"/proc/{self.pid}/ns/pid")
            for monitor in _children(self.pid):
                for child in _children(monitor):
                    if os.readlink(f"/proc/{child}/ns/pid") != spaces:
                        return monitor, child
        raise SandboxFault("the instance ended as soon as it was started")

    def kill(self) -> None:
        """End all that is in it, and note that this was wanted."""
        self.killed = True
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.first, signal.SIGKILL)

    def close(self) -> None:
        """End all that is in it; safe to call twice."""
        if self._stdin >= 0:
            os.close(self._stdin)
            self._stdin = -1
        if self.first >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.first, signal.SIGKILL)
            gone = readable([Descriptor(self.first)], _END_SECONDS)
            os.close(self.first)
            self.first = -1
            if not gone:
                raise SandboxFault("an enclosure's processes would not end")
        if self._reply is not None:
            with contextlib.suppress(SandboxFault):
                self._reply.receive(_END_SECONDS)  # all of it is reaped
            self._reply.close()
            self._reply = None

    def __enter__(self) -> Enclosure:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
