"""The warden's loop: receive a request and its descriptors, fork, let the child serve it.

Run as `python -m containers.warden.server CONTROL_FD ROLE`. A request is one message: the descriptors of a memory file with JSON
and of a reply socket come first, then those the operation needs.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import signal
import socket
import sys
import traceback
from typing import Any

from containers.linux import syscalls
from containers.linux.identity import IdMap
from containers.warden import operations

# What tests may import. Loaded before the first fork: inside a sandbox nothing can be imported any more.
_TEST_MODULES = [
    "argparse",
    "array",
    "ast",
    "asyncio",
    "base64",
    "binascii",
    "bisect",
    "bz2",
    "calendar",
    "cmath",
    "codecs",
    "collections",
    "collections.abc",
    "colorsys",
    "concurrent.futures",
    "configparser",
    "contextlib",
    "copy",
    "csv",
    "ctypes",
    "dataclasses",
    "datetime",
    "decimal",
    "difflib",
    "email",
    "email.message",
    "email.mime.multipart",
    "email.mime.text",
    "email.parser",
    "email.policy",
    "enum",
    "errno",
    "fcntl",
    "filecmp",
    "fnmatch",
    "fractions",
    "ftplib",
    "functools",
    "getpass",
    "glob",
    "grp",
    "gzip",
    "hashlib",
    "heapq",
    "hmac",
    "html",
    "html.parser",
    "http",
    "http.client",
    "http.cookies",
    "http.server",
    "imaplib",
    "inspect",
    "io",
    "ipaddress",
    "itertools",
    "json",
    "locale",
    "logging",
    "lzma",
    "mailbox",
    "math",
    "mimetypes",
    "mmap",
    "multiprocessing",
    "netrc",
    "numbers",
    "operator",
    "os",
    "os.path",
    "pathlib",
    "pickle",
    "platform",
    "plistlib",
    "poplib",
    "posixpath",
    "pprint",
    "pty",
    "pwd",
    "queue",
    "random",
    "re",
    "resource",
    "sched",
    "secrets",
    "select",
    "selectors",
    "shlex",
    "shutil",
    "signal",
    "smtplib",
    "socket",
    "socketserver",
    "sqlite3",
    "ssl",
    "stat",
    "statistics",
    "string",
    "struct",
    "subprocess",
    "sys",
    "tarfile",
    "tempfile",
    "termios",
    "textwrap",
    "threading",
    "time",
    "timeit",
    "tokenize",
    "tomllib",
    "traceback",
    "tty",
    "types",
    "typing",
    "unicodedata",
    "urllib",
    "urllib.error",
    "urllib.parse",
    "urllib.request",
    "uuid",
    "wave",
    "weakref",
    "xml",
    "xml.dom.minidom",
    "xml.etree.ElementTree",
    "xmlrpc.client",
    "zipfile",
    "zlib",
    "zoneinfo",
    "_strptime",
    "pytest",
]


GRADER, KEEPER = "grader", "keeper"


def preload() -> None:
    """Import all that tests may use, and every codec, so that nothing is looked up inside a sandbox."""
    encodings = importlib.import_module("encodings")
    names = [f"encodings.{entry.name}" for entry in pkgutil.iter_modules(encodings.__path__)]
    for name in [*_TEST_MODULES, *(name for name in names if not name.endswith(("mbcs", "oem")))]:
        importlib.import_module(name)
    " ".encode("idna")
    compile("x = 1", "warm-up", "exec")


def serve(control: socket.socket, role: str) -> None:
    """Serve requests until the owner goes. Only a grader carries what tests may import: a fork's cost grows with memory."""
    if role == GRADER:
        preload()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children are reaped by the kernel
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is for the owner to handle
    gc.collect()
    gc.freeze()
    try:
        control.send(b"ready")
    except BrokenPipeError:  # the owner is gone already
        return
    while True:
        message, fds, _, _ = socket.recv_fds(control, 64, 32)
        if not message:
            return
        try:
            dispatch(message.decode(), fds, control)
        finally:
            for fd in fds:
                os.close(fd)


def dispatch(name: str, fds: list[int], control: socket.socket) -> None:
    """Fork a child for one request. A request that needs a new user namespace has its map written from here."""
    maps = name in operations.IN_NEW_NAMESPACE
    pipes = [*os.pipe(), *os.pipe()] if maps else []
    pid = os.fork()
    if pid == 0:
        try:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            control.close()
            payload, reply = fds[0], socket.socket(fileno=fds[1])
            request: dict[str, Any] = json.loads(os.pread(payload, os.fstat(payload).st_size, 0))
            os.close(payload)
            try:
                if maps:
                    _ask_for_map(request["id_map"], pipes[1], pipes[2])
                for fd in pipes:
                    os.close(fd)
                operations.OPERATIONS[name](request, reply, fds[2:])
            except Exception as error:
                where = traceback.extract_tb(error.__traceback__)[-1]
                text = f"{type(error).__name__}: {error} ({where.name}:{where.lineno})"
                reply.send(json.dumps({"error": text}).encode())
        finally:
            os._exit(0)
    if maps:
        _write_map(pid, *pipes)


def _ask_for_map(id_map: dict[str, Any], tell_unshared: int, mapped: int) -> None:
    """In the child: make the user namespace, then wait until its parent has mapped it."""
    syscalls.unshare(syscalls.CLONE_NEWUSER)
    os.write(tell_unshared, json.dumps(id_map).encode())
    if os.read(mapped, 1) != b"y":
        raise OSError("the id map could not be written")


def _write_map(pid: int, unshared: int, tell_unshared: int, mapped: int, tell_mapped: int) -> None:
    """In the parent: wait for the namespace (or the child's end), and map it."""
    for fd in (tell_unshared, mapped):
        os.close(fd)
    note = os.read(unshared, 4096)
    if note:
        try:
            IdMap(**json.loads(note)).write(pid)
            os.write(tell_mapped, b"y")
        except Exception:
            os.write(tell_mapped, b"n")
    os.close(unshared)
    os.close(tell_mapped)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2])
