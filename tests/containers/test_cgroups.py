"""Control groups, where what other tests start does not already say it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from containers.linux import cgroups

CONTAINER = """
import os, sys
from pathlib import Path
from containers.linux import cgroups, syscalls
group, point = Path(sys.argv[1]), Path(sys.argv[2])
(group / "cgroup.procs").write_text("0")
syscalls.unshare(0x2000000 | syscalls.CLONE_NEWNS)  # CLONE_NEWCGROUP
syscalls.mount("none", "/", "none", syscalls.MS_REC | syscalls.MS_SLAVE)
syscalls.mount("none", str(point / "fs"), "cgroup2", 0)
(point / "mounts").write_text(f"none {point}/fs cgroup2 rw 0 0")
for _ in range(2):
    print(" ".join(cgroups.detect(str(point / "mounts")).roots))
made = cgroups.make(cgroups.detect(str(point / "mounts")), "one", 64, 32, 1.0)
made.add(os.getpid())
print((point / "fs/termforge/one/memory.max").read_text().strip(), len(made.pids()))
"""


def test_processes_of_a_delegated_group_step_aside(tmp_path: Path) -> None:
    """As in a container that may write its groups: there, too, a group with processes passes no controllers on."""
    hierarchy = cgroups.detect()
    if hierarchy.version != 2 or os.getuid():
        pytest.skip("only root can make such a group, and only of version 2")
    group = hierarchy.folders[0] / f"test-{os.getpid()}"
    group.mkdir()
    (tmp_path / "fs").mkdir()
    try:
        ran = subprocess.run(
            [sys.executable, "-c", CONTAINER, str(group), str(tmp_path)], capture_output=True, text=True, check=False
        )
        assert ran.stdout.splitlines() == ["memory pids cpu"] * 2 + ["67108864 1"], ran.stderr
    finally:
        for folder in sorted(group.rglob("*/"), reverse=True):
            folder.rmdir()
        group.rmdir()
