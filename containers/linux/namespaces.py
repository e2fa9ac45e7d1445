"""Holding on to another process's namespaces, so that they outlive it and can be entered."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

from containers.linux.syscalls import KINDS
from containers.streams import Descriptor, readable
from generators.errors import SandboxFault

_END_SECONDS = 30.0


class Entrance:
    """Descriptors of a container's first process and of its namespaces (those that are not our own)."""

    def __init__(self, process: int, namespaces: dict[str, int]) -> None:
        self.process, self.namespaces = process, namespaces

    @classmethod
    def of(cls, pid: int, container: str = "") -> Entrance | None:
        """Of the first process of a sandbox of ours, or of the one that a daemon names as the first of `container`.

        None if it has ended, or is not for us to enter. A daemon elsewhere (in a virtual machine, remote) names processes that
        are not this machine's: one counts only if its mounts name the container.
        """
        try:
            process = os.pidfd_open(pid)
        except OSError:
            return None
        found: dict[str, int] = {}
        try:
            if container and container not in Path(f"/proc/{pid}/mountinfo").read_text():
                raise PermissionError
            for kind in KINDS:
                if os.readlink(f"/proc/{pid}/ns/{kind}") != os.readlink(f"/proc/self/ns/{kind}"):
                    found[kind] = os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY)
        except OSError:
            for fd in (process, *found.values()):
                os.close(fd)
            return None
        return cls(process, found)

    def some(self, *kinds: str) -> dict[str, int]:
        """Those of these kinds that are not our own."""
        return {kind: self.namespaces[kind] for kind in kinds if kind in self.namespaces}

    @property
    def ended(self) -> bool:
        """Whether the first process has ended."""
        return bool(readable([Descriptor(self.process)], 0))

    def end(self) -> None:
        """Kill the first process; the kernel ends all others before it counts as gone.

        Raises:
            SandboxFault: it would not go.
        """
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.process, signal.SIGKILL)
        if not readable([Descriptor(self.process)], _END_SECONDS):
            raise SandboxFault("the sandbox's processes would not end")

    def close(self) -> None:
        """Let go."""
        for fd in (self.process, *self.namespaces.values()):
            os.close(fd)
        self.namespaces = {}
