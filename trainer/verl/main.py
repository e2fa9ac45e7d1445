# pyright: reportMissingImports=false, reportUnknownMemberType=false
"""The process that trains: verl's own entry point, in the environment of a run (`python -m trainer.verl.main OVERRIDES`).

It is the leader of its session, so that all that it starts can be ended with it, and it ends when the process that supervises it does.
"""

from __future__ import annotations

import os
import sys

from trainer.processes import end_with_parent


def main() -> None:
    """Train."""
    end_with_parent()  # and Ray's processes on this machine end with the one that called ray.init
    if os.getppid() == 1:
        sys.exit("the process that supervises this one has gone")
    from verl.trainer.main_ppo import main as train

    train()


if __name__ == "__main__":
    main()
