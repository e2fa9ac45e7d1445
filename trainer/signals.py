"""What the two processes of a run tell one another, by files in its folder: the one that watches asks the one that trains to stop
after the step it is in, and that one says what it is at (trainer/verl/hooks.py)."""

from __future__ import annotations

import contextlib
from typing import cast, get_args

from trainer.run import RunFolder, write_whole
from trainer.watchdog import Phase

_STOP, _PHASE = "stop-after-step", "phase"


def ask_to_stop(run: RunFolder) -> None:
    """The step that runs is finished and saved, then training ends as if it were the last one."""
    write_whole(run.path / _STOP, "")


def asked_to_stop(run: RunFolder) -> bool:
    """Whether it was asked for."""
    return (run.path / _STOP).exists()


def note_phase(run: RunFolder, phase: Phase) -> None:
    """A phase of a step begins."""
    write_whole(run.path / _PHASE, phase)


def noted_phase(run: RunFolder) -> Phase:
    """The phase that began last; `starting` before there was one."""
    with contextlib.suppress(OSError):
        text = (run.path / _PHASE).read_text()
        if text in get_args(Phase):
            return cast("Phase", text)
    return "starting"


def forget(run: RunFolder) -> None:
    """Take back what was said in an earlier life of the run."""
    for name in (_STOP, _PHASE):
        (run.path / name).unlink(missing_ok=True)
