"""Which ids a sandbox's 65,536 users stand for on this machine, and how the mapping is written.

As root, id 0 of a sandbox is an unprivileged high id. As an ordinary user it is that user, and the rest come from the
ranges in /etc/subuid and /etc/subgid, written by newuidmap and newgidmap (Debian: package uidmap).
"""

from __future__ import annotations

import errno
import os
from typing import NamedTuple

from generators.errors import EngineError

COUNT = 65536
ROOT_FIRST = 200_000


class IdMap(NamedTuple):
    """Host ids behind sandbox ids. `helper` says that newuidmap has to write the map."""

    uid0: int
    gid0: int
    first: int
    first_gid: int
    helper: bool

    def lines(self, own: int, first: int) -> list[str]:
        """The lines of uid_map or gid_map. Root has a line of its own: Apptainer takes such a namespace for unprivileged."""
        return [f"0 {own} 1", f"1 {first if self.helper else first + 1} {COUNT - 1}"]

    def write(self, pid: int) -> None:
        """Map the new user namespace of process `pid`.

        Raises:
            OSError: it has ended, or this map is refused.
        """
        uid_lines, gid_lines = self.lines(self.uid0, self.first), self.lines(self.gid0, self.first_gid)
        if not self.helper:
            for name, lines in (("uid_map", uid_lines), ("gid_map", gid_lines)):
                with open(f"/proc/{pid}/{name}", "w") as file:
                    file.write("\n".join(lines))
            return
        import subprocess  # by need, as all here: a keeper is copied for every operation, and is kept small

        for tool, lines in (("newuidmap", uid_lines), ("newgidmap", gid_lines)):
            words = [word for line in lines for word in line.split()]
            done = subprocess.run([tool, str(pid), *words], capture_output=True, text=True)
            if done.returncode:
                raise OSError(errno.EPERM, f"{tool}: {done.stderr.strip() or done.returncode}")


def _range(file: str, user: str) -> int:
    try:
        with open(file) as given:
            lines = given.read().splitlines()
    except OSError:
        lines = []
    for line in lines:
        name, first, count = (*line.split(":"), "", "")[:3]
        if name in (user, str(os.getuid())) and count.isdigit() and int(count) >= COUNT - 1:
            return int(first)
    raise EngineError(
        f"{file} gives {user} no range of {COUNT} ids; add one with `sudo usermod --add-subuids 100000-165535 "
        f"--add-subgids 100000-165535 {user}`"
    )


def id_map() -> IdMap:
    """The mapping for whoever runs this.

    Raises:
        EngineError: an ordinary user without id ranges or without newuidmap.
    """
    if os.geteuid() == 0:
        return IdMap(ROOT_FIRST, ROOT_FIRST, ROOT_FIRST, ROOT_FIRST, helper=False)
    import pwd
    import shutil

    user = pwd.getpwuid(os.getuid()).pw_name
    if not shutil.which("newuidmap") or not shutil.which("newgidmap"):
        raise EngineError("newuidmap is missing: an ordinary user needs it to map ids; install the package uidmap")
    return IdMap(os.getuid(), os.getgid(), _range("/etc/subuid", user), _range("/etc/subgid", user), helper=True)
