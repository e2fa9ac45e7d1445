"""What verl's trainer is told at the points of a step: to end when the run is asked to stop, and to say what it is at.

verl 0.9 calls methods of its own trainer at these points. Ours are put around them on the one trainer that there is.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from trainer.run import RUN, RunFolder
from trainer.signals import asked_to_stop, note_phase, noted_phase
from trainer.watchdog import Phase

_PHASES: Mapping[str, tuple[Phase, Phase | None]] = {  # while a method runs, and after it; None: what it was before
    "on_sample_begin": ("rollout", "rollout"),
    "on_sample_end": ("rollout", "update"),
    "on_step_end": ("sync", "step"),
    "_save_checkpoint": ("checkpoint", None),
    "_validate": ("rollout", None),
}


def follow(trainer: Any) -> None:
    """Put ours around a trainer's methods. Outside a run, nothing."""
    if not (folder := os.environ.get(RUN)):
        return
    run = RunFolder(Path(folder))
    trainer.on_step_end = _ending(run, trainer, trainer.on_step_end)
    for name, phases in _PHASES.items():
        setattr(trainer, name, _noted(run, getattr(trainer, name), *phases))


def _ending(run: RunFolder, trainer: Any, end: Callable[[], None]) -> Callable[[], None]:
    """At the end of a step, look whether the run is to stop: then the step is saved and was the last one, and verl ends by itself."""

    def on_step_end() -> None:
        if asked_to_stop(run):
            if trainer.global_steps % max(1, trainer.config.trainer.save_freq) or trainer.config.trainer.save_freq <= 0:
                trainer._save_checkpoint()
            trainer.total_training_steps = trainer.global_steps
        end()

    return on_step_end


def _noted(run: RunFolder, method: Callable[..., Any], during: Phase, after: Phase | None) -> Callable[..., Any]:
    """The method, with its phases written down for the watchdog."""

    @functools.wraps(method)
    def noted(*words: Any, **named: Any) -> Any:
        before = noted_phase(run)
        note_phase(run, during)
        result = method(*words, **named)
        note_phase(run, after or before)
        return result

    return noted
