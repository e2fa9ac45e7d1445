"""What the warden's children do. Each runs in a forked child and answers on `reply`; an exception becomes {"error": ...}."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import signal
import socket
import stat
import termios
from collections.abc import Callable
from io import FileIO

from containers.linux import syscalls
from containers.warden import MAPPED, inside
from containers.warden.protocol import USUAL_SIGNALS, Request, answer, namespaces_of

_NOT_STARTED = 127  # as shells say it


def grade(request: Request, reply: socket.socket, fds: list[int]) -> None:
    """See containers/warden/grading.py: a grader has that in memory, and a keeper does without."""
    from containers.warden import grading

    grading.grade(request, reply, fds)


def execute(request: Request, reply: socket.socket, fds: list[int]) -> None:
    """Run a program in a sandbox. `fds`: stdin, stdout, stderr, then the namespaces. Answers {"exit": code}. No descriptor but
    the three passes an exec: Python's do not, nor do those that came with the request.

    Whatever arrives on `reply`, and its end, kills the program's process group.
    """
    stdio, spaces = fds[:3], namespaces_of(request, fds[3:])
    with inside.open_oom_score() as score:
        syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)  # and nothing of this process is open to its own user
        inside.enter(spaces)
        pid = _forked(request, stdio) if request["tty"] else _spawned(request, stdio, score)
    for fd in fds:
        os.close(fd)
    if pid is None:
        answer(reply, {"exit": _NOT_STARTED})
        return
    ended = os.pidfd_open(pid)
    ready = select.select([ended, reply], [], [])[0]
    if ended not in ready:
        for sign in (-pid, pid):
            with contextlib.suppress(OSError):
                os.kill(sign, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    answer(reply, {"exit": code if code >= 0 else 128 - code})  # a signal as shells report it


def _spawned(request: Request, stdio: list[int], score: FileIO) -> int | None:
    """Start the program without copying this process (a copy costs more than the program). So this process itself takes on
    the user, the limits and the call filter first; it stays outside the sandbox's process list. None if it did not start."""
    actions = [(os.POSIX_SPAWN_DUP2, fd, wanted) for wanted, fd in enumerate(stdio)]
    try:
        inside.set_limits(request["max_processes"])
        os.umask(0o022)
        inside.become(request["uid"], request["gid"], request["groups"])
        os.chdir(request["cwd"])
        os.environ["PATH"] = request["env"].get("PATH", "")  # where the C library looks for the program
        inside.lock_down()
        inside.set_oom_score(score, 1000)
        return os.posix_spawnp(
            request["argv"][0],
            request["argv"],
            request["env"],
            file_actions=actions,
            setsid=True,
            setsigdef=USUAL_SIGNALS,
        )
    except OSError as error:
        if (
            error.errno == errno.ENOMEM
        ):  # so it is too where the sandbox's first process has ended: no fault of the program
            raise
        os.write(stdio[2], f"{request['argv'][0]}: {error.strerror}\n".encode())
        return None
    finally:
        inside.set_oom_score(score, 0)


def _forked(request: Request, stdio: list[int]) -> int:
    """Start the program on a terminal, which only the leader of a session can make its own."""
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            inside.redirect(*stdio)
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            inside.set_limits(request["max_processes"])
            os.umask(0o022)
            inside.become(request["uid"], request["gid"], request["groups"])
            os.chdir(request["cwd"])
            for number in USUAL_SIGNALS:
                signal.signal(number, signal.SIG_DFL)
            inside.lock_down()
            os.execvpe(request["argv"][0], request["argv"], request["env"])
        except OSError as error:
            os.write(2, f"{request['argv'][0]}: {error.strerror}\n".encode())
        finally:
            os._exit(_NOT_STARTED)
    return pid


def put(request: Request, reply: socket.socket, fds: list[int]) -> None:
    """Write files. `fds`: a memory file with all contents in a row, then the namespaces."""
    data, spaces = fds[0], namespaces_of(request, fds[1:])
    inside.enter(spaces)
    inside.become(0, 0, [])
    offset = 0
    for entry in request["entries"]:
        path: str = entry["path"]
        if entry["kind"] == "directory":
            os.makedirs(path, exist_ok=True)
        else:
            if entry["into"] and os.path.isdir(path):
                path = os.path.join(path, entry["into"])
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if os.path.islink(path):
                os.unlink(path)
            with open(path, "wb", opener=_for_writing) as file:
                file.write(os.pread(data, entry["size"], offset))
            offset += entry["size"]
        os.chown(path, entry["uid"], entry["gid"])
        if entry["mode"] is not None:
            os.chmod(path, entry["mode"])
    answer(reply, {"done": True})


def _for_writing(path: str, flags: int) -> int:
    """Open a file that is there, or a new one: never both at once, which the kernel may refuse for another user's file in a folder
    like /tmp (fs.protected_regular). A pipe must not make us wait."""
    try:
        return os.open(path, flags & ~os.O_CREAT | os.O_NONBLOCK)
    except FileNotFoundError:
        return os.open(path, flags | os.O_EXCL, 0o666)


def get(request: Request, reply: socket.socket, fds: list[int]) -> None:
    """Read a regular file into a memory file. `fds`: that file, then the namespaces."""
    out, spaces = fds[0], namespaces_of(request, fds[1:])
    inside.enter(spaces)
    inside.become(0, 0, [])
    fd = os.open(request["path"], os.O_RDONLY | os.O_NONBLOCK)  # a pipe must not make us wait
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        raise OSError(f"{request['path']} is not a regular file")
    left: int = request["limit"]
    while left > 0 and (piece := os.read(fd, min(left, 1 << 20))):
        os.write(out, piece)
        left -= len(piece)
    answer(reply, {"mode": stat.S_IMODE(os.fstat(fd).st_mode), "truncated": left <= 0 and bool(os.read(fd, 1))})


def changed(request: Request, reply: socket.socket, fds: list[int]) -> None:
    """List what a writable layer holds. `fds`: the layer, then the user namespace. Whiteouts are deletions."""
    upper, spaces = fds[0], namespaces_of(request, fds[1:])
    inside.enter(spaces)
    os.setresuid(0, 0, 0)
    found: list[dict[str, object]] = []
    os.fchdir(os.open(f"/proc/self/fd/{upper}", os.O_RDONLY | os.O_DIRECTORY))
    for folder, _, names in os.walk("."):
        for name in [*names, *([] if folder == "." else [""])]:
            path = os.path.normpath(os.path.join(folder, name)) if name else os.path.normpath(folder)
            info = os.lstat(path)
            deleted = stat.S_ISCHR(info.st_mode) and info.st_rdev == 0
            found.append({"path": "/" + path, "mode": info.st_mode, "size": info.st_size, "deleted": deleted})
    answer(reply, sorted(found, key=lambda entry: str(entry["path"])))


def signal_children(request: Request, reply: socket.socket, fds: list[int]) -> None:
    """Kill every process of session `session` (an id inside the sandbox) but its leader."""
    inside.enter(namespaces_of(request, fds))
    pid = os.fork()  # the pid namespace holds from here on
    if pid == 0:
        try:
            inside.become(0, 0, [])
            for entry in os.listdir("/proc"):
                if (
                    entry.isdigit()
                    and int(entry) not in (1, request["session"])
                    and _session(entry) == request["session"]
                ):
                    os.kill(int(entry), signal.SIGKILL)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    answer(reply, {"done": True})


def _session(pid: str) -> int:
    try:
        with open(f"/proc/{pid}/stat") as stat_file:
            return int(stat_file.read().rsplit(")", 1)[1].split()[3])
    except (OSError, IndexError, ValueError):
        return -1


def as_root(request: Request, reply: socket.socket, fds: list[int]) -> None:
    """Run a host program as root of a new user namespace: unpacking and removing trees of mapped ids."""
    os.setgroups([])
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    pid = os.fork()
    if pid == 0:
        try:
            inside.redirect(*fds)
            os.execvpe(request["argv"][0], request["argv"], request["env"])
        finally:
            os._exit(127)
    answer(reply, {"exit": os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])})


def rehearse(request: Request, reply: socket.socket, fds: list[int]) -> None:
    """Nothing, in the way in which others do something."""
    with inside.open_oom_score():
        inside.enter(namespaces_of(request, fds))
    for refused in (
        lambda: syscalls.mount("", "", "", 0, ""),
        lambda: syscalls.setns(-1, 0),
        lambda: inside.limit(-1, 0),
    ):
        with contextlib.suppress(OSError, ValueError):
            refused()
    with contextlib.suppress(OSError):
        os.posix_spawnp("", [""], {}, file_actions=[], setsigdef=USUAL_SIGNALS)
    select.select([reply], [], [], 0)
    answer(reply, {"done": True})


OPERATIONS: dict[str, Callable[[Request, socket.socket, list[int]], None]] = {
    "execute": execute,
    "put": put,
    "get": get,
    "changed": changed,
    "signal_children": signal_children,
    "as_root": as_root,
    "grade": grade,
    "rehearse": rehearse,
}
CHILDREN = {"as_root": MAPPED}  # the others: PLAIN
