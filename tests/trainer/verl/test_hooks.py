"""What verl's trainer says and hears at the points of a step, with an object that has its methods."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from trainer.run import RUN, RunFolder
from trainer.signals import ask_to_stop, noted_phase
from trainer.verl.hooks import follow


class Steps:
    """As much of verl's trainer as is called."""

    def __init__(self, run: RunFolder) -> None:
        self.run, self.seen = run, list[tuple[str, str]]()
        self.global_steps, self.total_training_steps = 2, 9
        self.config = SimpleNamespace(trainer=SimpleNamespace(save_freq=4))

    def _see(self, name: str) -> None:
        self.seen.append((name, noted_phase(self.run)))

    def on_sample_begin(self) -> None:
        self._see("begin")

    def on_sample_end(self) -> None:
        self._see("end")

    def on_step_end(self) -> None:
        self._see("sync")

    def _save_checkpoint(self) -> None:
        self._see("save")

    def _validate(self) -> None:
        self._see("validate")


def test_a_step_that_is_asked_to_be_the_last_is_saved_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RUN, str(tmp_path))
    trainer = Steps(RunFolder(tmp_path))
    follow(trainer)
    trainer.on_sample_begin()
    trainer.on_sample_end()
    assert noted_phase(trainer.run) == "update"
    ask_to_stop(trainer.run)
    trainer.on_step_end()
    assert trainer.seen == [("begin", "rollout"), ("end", "rollout"), ("save", "checkpoint"), ("sync", "sync")]
    assert trainer.total_training_steps == 2 and noted_phase(trainer.run) == "step"


def test_outside_a_run_nothing_is_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(RUN, raising=False)
    trainer = Steps(RunFolder(tmp_path))
    follow(trainer)
    trainer.on_step_end()
    assert trainer.seen == [("sync", "starting")]
