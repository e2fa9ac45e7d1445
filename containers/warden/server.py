"""The warden's loop: receive a request and its descriptors, and let a forked child serve it.

Nothing is imported in a child: it may be inside a sandbox. A request is one message: the descriptors of a memory file
with JSON and of a reply socket come first, then those the operation needs.

After each request the next child is forked ahead (with its user and mount namespaces made and mapped, for operations that need them),
so that a request finds one waiting: a fork takes about as long as the work it is for.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
from typing import Any, NoReturn

from containers.linux import syscalls
from containers.linux.identity import IdMap
from containers.warden import inside, operations

GRADER, KEEPER = "grader", "keeper"


class Server:
    """One warden: its control socket, the id map of the namespaces it makes, and the children that wait."""

    def __init__(self, control: socket.socket, ids: IdMap) -> None:
        self.control, self.ids = control, ids
        self.waiting: dict[bool, socket.socket] = {}  # by whether the child is in a mapped user namespace

    def serve(self) -> None:
        """Serve requests until the owner goes; the waiting children then see their sockets close."""
        while True:
            name, fds, _, _ = socket.recv_fds(self.control, 64, 32)
            if not name:
                return
            mapped = name.decode() in operations.IN_NEW_NAMESPACE
            try:
                with self.waiting.pop(mapped, None) or self.child(mapped) as channel:
                    socket.send_fds(channel, [name], fds)
            except OSError:  # the child is gone; the owner sees its reply socket close
                pass
            finally:
                for fd in fds:
                    os.close(fd)
            self.waiting[mapped] = self.child(mapped)

    def child(self, mapped: bool) -> socket.socket:
        """Fork a child that waits for one request on the other end of this socket."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        pid = os.fork()
        if pid == 0:
            try:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for other in (ours, self.control, *self.waiting.values()):
                    other.close()
                if mapped:
                    syscalls.unshare(syscalls.CLONE_NEWUSER)
                    theirs.send(b"unshared")
                    if theirs.recv(8) != b"mapped":
                        os._exit(0)
                    syscalls.unshare(syscalls.CLONE_NEWNS)  # what the host unmounts later is not held on to
                    syscalls.mount("none", "/", "none", syscalls.MS_REC | syscalls.MS_SLAVE)
                _serve_one(theirs)
            finally:
                os._exit(0)
        theirs.close()
        if mapped and ours.recv(8):
            self.ids.write(pid)
            ours.send(b"mapped")
        return ours


def _serve_one(channel: socket.socket) -> None:
    """In a child: wait for a request and serve it. What goes wrong is answered, never raised."""
    name, fds, _, _ = socket.recv_fds(channel, 64, 32)
    channel.close()
    if not name:
        return
    reply = socket.socket(fileno=fds[1])
    try:
        request: dict[str, Any] = json.loads(os.pread(fds[0], os.fstat(fds[0]).st_size, 0))
        os.close(fds[0])
        if name == b"branch":
            _branch(request, reply, fds[2])
        operations.OPERATIONS[name.decode()](request, reply, fds[2:])
    except Exception as error:
        where = error.__traceback__
        while where is not None and where.tb_next is not None:
            where = where.tb_next
        place = f" ({where.tb_frame.f_code.co_name}:{where.tb_lineno})" if where is not None else ""
        text = f"{type(error).__name__}: {error}{place}"
        reply.send(json.dumps({"error": text}).encode())


def _branch(request: dict[str, Any], reply: socket.socket, control_fd: int) -> NoReturn:
    """In a child: be a warden of its own, in a control group. A branch makes no mapped namespaces."""
    inside.join_groups(request["procs"])
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    reply.send(b'{"ready": true}')
    reply.close()
    Server(socket.socket(fileno=control_fd), IdMap(0, 0, 0, 0, helper=False)).serve()
    os._exit(0)


def main(control_fd: int, role: str, ids: IdMap) -> None:
    """Get ready, say so, serve. Only a grader carries what tests may import: a fork's cost grows with memory."""
    if role == GRADER:
        from containers.grading import modules, runner

        modules.preload()
        assert runner
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children are reaped by the kernel
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is for the owner to handle
    gc.collect()
    gc.freeze()
    control = socket.socket(fileno=control_fd)
    try:
        control.send(b"ready")
    except BrokenPipeError:  # the owner is gone already
        return
    Server(control, ids).serve()
