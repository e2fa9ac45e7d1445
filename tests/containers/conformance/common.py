"""The image that the conformance tests share, and small helpers."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import TypeVar

from containers.sandbox import Sandbox
from generators.task import ContextFile, Image, Limits
from tests.toys import dockerfile

LIMITS = Limits(memory_mb=128, disk_mb=32, pids=64)
BODY = """
ARG GREETING=hello
ENV WORD=$GREETING-there MORE="two words"
RUN useradd -m -u 1000 ada && groupadd -g 1500 crew && usermod -aG crew ada
COPY --chown=ada:ada --chmod=640 tool data/ /srv/app/
ADD tool /usr/local/bin/tool
RUN mkdir /srv/old && touch /srv/old/one /srv/old/two && ln -s tool /srv/app/link && chmod 1777 /srv
WORKDIR /srv/app
WORKDIR logs
CMD ["sleep", "1"]
USER ada
"""
FILES = (
    ContextFile.of("tool", "#!/bin/sh\necho ran\n", 0o755),
    ContextFile.of("data/x.bin", bytes(range(256)), 0o600),
)
IMAGE = Image(dockerfile=dockerfile(BODY), files=FILES)
_Value = TypeVar("_Value")


def said(sandbox: Sandbox, command: str, user: str | None = None) -> str:
    """What a command prints, without the last line's end."""
    return sandbox.exec(command, timeout=20, user=user).stdout.decode().strip()


def soon(work: Callable[[], _Value], seconds: float = 20.0) -> _Value:
    """The outcome of something that must not hang; fails if it takes longer than this."""
    outcome: Future[_Value] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return outcome.result(seconds)


def await_sleeps(count: int) -> str:
    """A command that waits until so many `sleep` run inside: a shell that has forked one may end before it is there."""
    return f"until [ $(pgrep -xc sleep) = {count} ]; do :; done"


def on_host(command: bytes) -> list[str]:
    """Process ids on this machine, those in sandboxes included, whose command line contains this."""
    found: list[str] = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            found += [pid] if command in Path(f"/proc/{pid}/cmdline").read_bytes() else []
        except OSError:  # it ended in between
            continue
    return found
