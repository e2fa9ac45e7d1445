# pyright: reportMissingImports=false, reportUnknownMemberType=false
"""The process that trains: verl's own entry point, in the environment of a run (`python -m trainer.verl.main OVERRIDES`).

It is the leader of its session, so that all that it starts can be ended with it, and it ends when the process that supervises it does.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def _end_with_parent() -> None:
    """Ray's processes on this machine end with the one that called ray.init, so nothing outlives the supervisor."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() == 1:
        sys.exit("the process that supervises this one has gone")


def main() -> None:
    """Train."""
    _end_with_parent()
    from verl.trainer.main_ppo import main as train

    train()


if __name__ == "__main__":
    main()
