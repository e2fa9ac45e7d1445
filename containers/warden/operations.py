"""What the warden's children do. Each runs in a forked child and answers on `reply`; an exception becomes {"error": ...}."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import select
import signal
import socket
import stat
import termios
import time
from collections.abc import Callable
from typing import Any, TextIO

from containers.linux import syscalls
from containers.warden import ISOLATED, MAPPED, inside

Request = dict[str, Any]
_NOT_STARTED = 127  # as shells say it
# What is, or may be, ignored here (by Python, or by whoever started it: nohup), and is not to be ignored by programs.
_USUAL = tuple(number for number in range(1, 32) if number not in (signal.SIGKILL, signal.SIGSTOP))
_MOST_RESULTS = 16 << 20  # bytes


def _answer(reply: socket.socket, value: object) -> None:
    reply.sendall(json.dumps(value).encode())


def _namespaces(request: Request, fds: list[int]) -> dict[str, int]:
    return dict(zip(request["kinds"], fds, strict=True))


def create(request: Request, reply: socket.socket, fds: list[int]) -> None:
    """Become bubblewrap, in namespaces made ahead. `fds`: keeper's stdin and stdout, its stderr, the info pipe.

    With `scratch` the writable layer is a private tmpfs of `disk_mb`, seen by no other process and gone with the sandbox; a
    descriptor of it is sent to the owner, for looking at what changed.
    """
    stdin, stdout, stderr, info = fds
    os.setgroups([])
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    if request["hostname"]:
        socket.sethostname(request["hostname"])
    if request["scratch"]:
        scratch = request["scratch"]
        syscalls.mount("tmpfs", scratch, "tmpfs", syscalls.MS_NOSUID, f"size={request['disk_mb']}m,mode=0755")
        os.mkdir(f"{scratch}/upper")
        os.mkdir(f"{scratch}/work")
        upper = os.open(f"{scratch}/upper", os.O_PATH | os.O_DIRECTORY)
        socket.send_fds(reply, [b'{"upper": true}'], [upper])
    os.dup2(info, 200)
    os.dup2(stdin, 0)
    os.dup2(stdout, 1)
    os.dup2(stderr, 2)
    os.closerange(3, 200)
    os.closerange(201, 300)
    os.set_inheritable(200, True)
    syscalls.die_with_parent()
    os.execve(request["argv"][0], request["argv"], request["env"])


def execute(request: Request, reply: socket.socket, fds: list[int]) -> None:
    """Run a program in a sandbox. `fds`: stdin, stdout, stderr, then the namespaces. Answers {"exit": code}. No descriptor but
    the three passes an exec: Python's do not, nor do those that came with the request.

    Whatever arrives on `reply`, and its end, kills the program's process group.
    """
    stdio, spaces = fds[:3], _namespaces(request, fds[3:])
    with open("/proc/self/oom_score_adj", "w") as score:  # later, /proc is another's
        syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)  # and nothing of this process is open to its own user
        inside.enter(spaces)
        pid = _forked(request, stdio) if request["tty"] else _spawned(request, stdio, score)
    for fd in fds:
        os.close(fd)
    if pid is None:
        _answer(reply, {"exit": _NOT_STARTED})
        return
    ended = os.pidfd_open(pid)
    ready = select.select([ended, reply], [], [])[0]
    if ended not in ready:
        for sign in (-pid, pid):
            with contextlib.suppress(OSError):
                os.kill(sign, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    _answer(reply, {"exit": code if code >= 0 else 128 - code})  # a signal as shells report it


def _spawned(request: Request, stdio: list[int], score: TextIO) -> int | None:
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
            setsigdef=_USUAL,
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
            for number in _USUAL:
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
    data, spaces = fds[0], _namespaces(request, fds[1:])
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
            with open(path, "wb") as file:
                file.write(os.pread(data, entry["size"], offset))
            offset += entry["size"]
        os.chown(path, entry["uid"], entry["gid"])
        if entry["mode"] is not None:
            os.chmod(path, entry["mode"])
    _answer(reply, {"done": True})


def get(request: Request, reply: socket.socket, fds: list[int]) -> None:
    """Read a regular file into a memory file. `fds`: that file, then the namespaces."""
    out, spaces = fds[0], _namespaces(request, fds[1:])
    inside.enter(spaces)
    inside.become(0, 0, [])
    fd = os.open(request["path"], os.O_RDONLY | os.O_NONBLOCK)  # a pipe must not make us wait
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        raise OSError(f"{request['path']} is not a regular file")
    left: int = request["limit"]
    while left > 0 and (piece := os.read(fd, min(left, 1 << 20))):
        os.write(out, piece)
        left -= len(piece)
    _answer(reply, {"mode": stat.S_IMODE(os.fstat(fd).st_mode), "truncated": left <= 0 and bool(os.read(fd, 1))})


def changed(request: Request, reply: socket.socket, fds: list[int]) -> None:
    """List what a writable layer holds. `fds`: the layer, then the user namespace. Whiteouts are deletions."""
    upper, spaces = fds[0], _namespaces(request, fds[1:])
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
    _answer(reply, sorted(found, key=lambda entry: str(entry["path"])))


def signal_children(request: Request, reply: socket.socket, fds: list[int]) -> None:
    """Kill every process of session `session` (an id inside the sandbox) but its leader."""
    inside.enter(_namespaces(request, fds))
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
    _answer(reply, {"done": True})


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
    _answer(reply, {"exit": os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])})


def grade(request: Request, reply: socket.socket, fds: list[int]) -> None:
    """Run a test module over a sandbox's file system. `fds`: a memory file for the log, then user, mnt and uts namespaces.

    The agent's processes are gone before this is asked for. The tests run as process 1 of fresh pid, net and ipc namespaces:
    nothing started by them can signal them, and all of it ends with them. Results leave on a pipe that no exec inherits.
    """
    from containers.grading import runner  # a grader has it in memory; a keeper does without

    log, spaces = fds[0], _namespaces(request, fds[1:])
    score = open("/proc/self/oom_score_adj", "w")  # noqa: SIM115 - later, /proc is another's
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)
    inside.enter(spaces)
    syscalls.unshare(syscalls.CLONE_NEWPID | syscalls.CLONE_NEWNET | syscalls.CLONE_NEWIPC)
    results, tell = socket.socketpair()  # not a pipe: a link to this descriptor opens nothing
    inside.set_oom_score(score, 1000)  # inherited
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            results.close()
            inside.mount_proc()
            inside.loopback_up()
            os.setsid()
            for number in set(_USUAL) - {signal.SIGPIPE}:  # or what tests start would ignore what our caller did
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
            inside.lock_down()
            outcome = runner.run(request["source"], request["names"], request["env"], request["seed"], request["user"])
            tell.sendall(runner.seal(outcome, request["key"]))
            code = 0
        finally:
            os._exit(code)
    tell.close()
    inside.set_oom_score(score, 0)
    _answer(reply, _collect(pid, results, reply, request["timeout"], request["key"]))


def _collect(pid: int, results: socket.socket, reply: socket.socket, timeout: float, key: str) -> Request:
    """Wait for the tests, for the deadline, or for the owner to give up; then end everything they started."""
    from containers.grading import runner

    began, ended, text = time.monotonic(), os.pidfd_open(pid), b""
    reason = ""
    while not reason:
        left = timeout - (time.monotonic() - began)
        ready = select.select([results, ended, reply], [], [], max(0.0, left))[0]
        if results in ready:
            piece = results.recv(65536)
            text += piece
            if not piece:
                break
            if len(text) > _MOST_RESULTS:
                reason = "grader_flooded"
        elif ended in ready:
            break
        else:
            reason = "grader_deadline" if reply not in ready else "grader_abandoned"
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    if reason:
        return {"reason": reason}
    outcome = runner.unseal(text, key)
    if outcome is None:
        return {"reason": f"grader_killed_{status & 127}" if status & 127 else "grader_crashed"}
    return {"outcome": outcome}


def rehearse(request: Request, reply: socket.socket, fds: list[int]) -> None:
    """Nothing, in the way in which others do something."""
    with open("/proc/self/oom_score_adj", "w"):
        inside.enter(_namespaces(request, fds))
    for refused in (
        lambda: syscalls.mount("", "", "", 0, ""),
        lambda: syscalls.setns(-1, 0),
        lambda: inside.limit(-1, 0),
    ):
        with contextlib.suppress(OSError, ValueError):
            refused()
    with contextlib.suppress(OSError):
        os.posix_spawnp("", [""], {}, file_actions=[], setsigdef=_USUAL)
    select.select([reply], [], [], 0)
    _answer(reply, {"done": True})


OPERATIONS: dict[str, Callable[[Request, socket.socket, list[int]], None]] = {
    "create": create,
    "create_networked": create,
    "execute": execute,
    "put": put,
    "get": get,
    "changed": changed,
    "signal_children": signal_children,
    "as_root": as_root,
    "grade": grade,
    "rehearse": rehearse,
}
CHILDREN = {"create": ISOLATED, "create_networked": MAPPED, "as_root": MAPPED}  # the others: PLAIN
