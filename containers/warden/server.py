"""The warden's loop: fork children that wait for a request each, and hand the sockets to them to the owner.

The owner asks for a child of a kind before it needs one (in namespaces of its own, or as it is), so that a request finds one
waiting: a fork takes about as long as the work it is for. Nothing is imported in a child: it may be
inside a sandbox. A request is one message on the child's socket: the operation, with the descriptors of a memory file with JSON
and of what the operation needs. Answers come back on the same socket.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import socket
from typing import Any, NoReturn

from containers.linux import syscalls
from containers.linux.identity import IdMap
from containers.warden import ISOLATED, MAPPED, MOST_ASKED, NETWORKED, inside, making, operations
from containers.warden.protocol import answer

GRADER, KEEPER = "grader", "keeper"
_OWN = syscalls.CLONE_NEWUSER | syscalls.CLONE_NEWNS  # what the host unmounts later is not held on to
# A bubblewrap is process 1 of a process list of its own: when it ends, at whatever point, the kernel ends all that it started.
_NAMESPACES = {MAPPED: _OWN, ISOLATED: _OWN | syscalls.CLONE_NEWPID, NETWORKED: _OWN | syscalls.CLONE_NEWPID}


class Server:
    """One warden: its control socket, the id map of the namespaces it makes, and what it begins sandboxes with."""

    def __init__(self, control: socket.socket, ids: IdMap, sandboxes: making.Making | None = None) -> None:
        self.control, self.ids, self.sandboxes = control, ids, sandboxes
        self._alive = os.pidfd_open(os.getpid())

    def serve(self) -> None:
        """Fork what is asked for until the owner goes; the waiting children then see their sockets close."""
        with contextlib.suppress(ConnectionError):
            while asked := self.control.recv(MOST_ASKED):
                with self.child(asked) as channel:
                    socket.send_fds(self.control, [asked], [channel.fileno()])

    def child(self, asked: bytes) -> socket.socket:
        """Fork a child that waits for one request on the other end of this socket. `asked`: see MOST_ASKED."""
        kind, options = asked[:1], asked.partition(b"\0")[2]
        ours, theirs = socket.socketpair()
        try:
            pid = syscalls.fork(_NAMESPACES.get(kind, 0))
            if pid == 0:
                self._in_child(kind, options, ours, theirs)
            if kind in _NAMESPACES:
                self.ids.write(pid)
                ours.send(b"!")
        except OSError as error:
            answer(theirs, {"fault": str(error)})
        theirs.close()
        return ours

    def _in_child(self, kind: bytes, options: bytes, ours: socket.socket, theirs: socket.socket) -> NoReturn:
        """Wait until the ids are mapped, then for a request, or become a bubblewrap."""
        try:
            syscalls.die_with_parent()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for other in (ours, self.control):
                other.close()
            if kind in _NAMESPACES:
                if not theirs.recv(1):
                    os._exit(0)
                syscalls.mount("none", "/", "none", syscalls.MS_REC | syscalls.MS_SLAVE)
            if kind in (ISOLATED, NETWORKED) and self.sandboxes is not None:
                _begin(theirs, self.sandboxes, options, kind == ISOLATED, self._alive)
            _rehearse()
            _serve_one(theirs)
        finally:
            os._exit(0)


def _begin(owner: socket.socket, sandboxes: making.Making, options: bytes, isolated: bool, keeper: int) -> NoReturn:
    """Become a bubblewrap. What goes wrong is answered."""
    try:
        making.begin(owner, sandboxes, options, isolated=isolated, keeper=keeper)
    except OSError as error:
        answer(owner, {"fault": f"{type(error).__name__}: {error}"})
    os._exit(1)


def _rehearse() -> None:
    """Serve a request for nothing: what a fork shares is copied page by page when it is first written to, so let that be now, and
    not while somebody waits."""
    near, far = socket.socketpair()
    payload = os.memfd_create("rehearsal")
    os.write(payload, b'{"kinds": [], "argv": ["a"], "env": {"A": "b"}}')
    socket.send_fds(near, [b"rehearse"], [payload])
    os.close(payload)
    _serve_one(far)
    near.recv(64)
    near.close()
    far.close()


def _serve_one(reply: socket.socket) -> None:
    """Wait for a request and serve it. What goes wrong is answered, never raised."""
    name, fds = syscalls.receive_fds(reply, 64, 32)
    if not name:
        return
    try:
        request: dict[str, Any] = json.loads(os.pread(fds[0], os.fstat(fds[0]).st_size, 0))
        os.close(fds[0])
        if name == b"branch":
            _branch(request, reply, fds[1])
        operations.OPERATIONS[name.decode()](request, reply, fds[1:])
    except Exception as error:
        where = error.__traceback__
        while where is not None and where.tb_next is not None:
            where = where.tb_next
        place = f" ({where.tb_frame.f_code.co_name}:{where.tb_lineno})" if where is not None else ""
        answer(reply, {"error": f"{type(error).__name__}: {error}{place}"})


def _branch(request: dict[str, Any], reply: socket.socket, control_fd: int) -> NoReturn:
    """In a child: be a grader in a control group, for one grading after another; where the right is missing to make the process
    for the next one ahead, a warden as the first one is, that makes no mapped namespaces."""
    from containers.warden import grading  # a grader has it in memory

    inside.join_groups(request["procs"])
    control = socket.socket(fileno=control_fd)
    first = grading.made_ahead()
    answer(reply, {"ahead": first is not None})
    reply.close()
    if first is not None:
        grading.serve(control, first)
    else:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        Server(control, IdMap(0, 0, 0, 0, helper=False)).serve()
    os._exit(0)


def main(control_fd: int, role: str, ids: IdMap, sandboxes: making.Making | None) -> None:
    """Get ready, say so, serve. Only a grader carries what tests may import: a fork's cost grows with memory."""
    if role == GRADER:
        from containers.grading import modules
        from containers.warden import grading

        modules.preload()
        assert grading
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children are reaped by the kernel
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is for the owner to handle
    os.get_exec_path()  # imports what os.execvpe does: from here, where its file can be read
    gc.collect()
    gc.freeze()
    control = socket.socket(fileno=control_fd)
    try:
        control.send(b"ready")
    except BrokenPipeError:  # the owner is gone already
        return
    Server(control, ids, sandboxes).serve()
