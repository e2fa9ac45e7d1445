"""How a run is asked to stop after the step it is in: a file in its folder, looked for by trainer/verl/replay.py in every step."""

from __future__ import annotations

from trainer.run import RunFolder, write_whole

_NAME = "stop-after-step"


def ask_to_stop(run: RunFolder) -> None:
    """The step that runs is finished and saved, then training ends as if it were the last one."""
    write_whole(run.path / _NAME, "")


def forget(run: RunFolder) -> None:
    """Take it back."""
    (run.path / _NAME).unlink(missing_ok=True)


def asked_to_stop(run: RunFolder) -> bool:
    """Whether it was asked for."""
    return (run.path / _NAME).exists()
