"""A process that chooses judges: python -m tests.trainer.judge.worker FILE NAME TIMES."""

from __future__ import annotations

import sys
from pathlib import Path

from trainer.judge.backend import set_backend

if __name__ == "__main__":
    for number in range(int(sys.argv[3])):
        set_backend(f"openai:{sys.argv[2]}-{number}", path=Path(sys.argv[1]), who=sys.argv[2])
