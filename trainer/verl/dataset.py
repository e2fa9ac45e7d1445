# pyright: reportMissingImports=false, reportUnknownMemberType=false
"""verl's data set (0.9.1), with the order of a run: by its curriculum where that is on, else shuffled anew each epoch.

What it relies on in verl: `data.custom_cls`; RLHFDataset(data_files, tokenizer, config, processor, max_samples) with its `dataframe`
(filtered of prompts that are too long) and `__getitem__`; a sampler that counts up (data.shuffle: false); a loader in the trainer's
own process (data.dataloader_num_workers: 0), whose saved place is the position to go on from.

The position decides which step a row is for. What is drawn for a step depends on the rollouts of the steps before, and on the seed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from verl.utils.dataset.rl_dataset import RLHFDataset

from generators.errors import UsageError
from generators.seeds import stream
from trainer.curriculum import CurriculumTask, choose
from trainer.curriculum_run import Practised, RunPlan, run_plan
from trainer.run import RUN, RunFolder


def this_run() -> tuple[RunFolder, RunPlan]:
    """The run that this process works for.

    Raises:
        UsageError: none is named, or what is named is none.
    """
    if not os.environ.get(RUN):
        raise UsageError(f"{RUN} names no run's folder: this data set belongs to a run")
    run = RunFolder(Path(os.environ[RUN]))
    return run, run_plan(run)


class TermforgeDataset(RLHFDataset):
    """Rows of a run. For training as many as it may ask for; for validation those of the file, in their order."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.run, self.plan = this_run()
        super().__init__(*args, **kwargs)
        rows = cast("list[Mapping[str, Any]]", self.dataframe["extra_info"])
        self.training = bool(rows) and rows[0]["split"] == "train"
        self.tasks = [
            CurriculumTask(row["task_digest"], row["family"], row["domain"], row["difficulty"]) for row in rows
        ]
        self._practised: Practised | None = None
        self._chosen: tuple[int, list[int]] = (-1, [])

    def __len__(self) -> int:
        return self.plan.prompts if self.training else super().__len__()

    def __getitem__(self, item: int) -> dict[str, Any]:
        return super().__getitem__(self.place(item) if self.training else item)

    def place(self, position: int) -> int:
        """The row for a position of training."""
        if not self.plan.curriculum.enabled:
            epoch, rest = divmod(position, len(self.tasks))
            return _shuffled(self.plan.seed, epoch, len(self.tasks))[rest]
        number, rest = divmod(position, self.plan.batch)
        if self._chosen[0] != number:
            self._chosen = number, self._draw(number + 1)
        return self._chosen[1][rest]

    def _draw(self, step: int) -> list[int]:
        """The rows of a step, 1 the first."""
        plan = self.plan
        self._practised = self._practised or Practised(self.run, plan.curriculum)
        state = self._practised.advance(step)
        return choose(plan.curriculum, state, self.tasks, step, plan.batch, plan.seed)


@lru_cache(maxsize=4)
def _shuffled(seed: int, epoch: int, count: int) -> list[int]:
    return stream("epoch", seed, epoch).sample(range(count), count)
