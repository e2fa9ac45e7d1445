# pyright: reportMissingImports=false, reportUnknownMemberType=false
"""verl's replay buffer with a bound of our own: how many groups may be thrown away for one batch.

verl 0.9.1 replaces a group whose rewards are all equal by two fresh ones, without end: where the policy always fails, or always succeeds,
a step would never be over (its `max_num_gen_batches` is not read). Past the bound, groups are taken as they are.

The buffer is also the way to verl's trainer (hooks.py): verl makes it early, and hands it one of its trainer's methods.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer, ReplayBufferAsync

from trainer.verl.hooks import follow

_REWARD = "reward"


def _options(kwargs: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """What verl's own buffer is made with, and the bound. verl leaves filtering to a custom buffer, so its settings come with it."""
    own = dict(kwargs["sampler_kwargs"])
    bound = int(own.get("most_refills", 0))
    batch = int(own["batch"])
    given = {
        "filter_groups_metric": _REWARD if bound else None,
        "train_batch_size": batch,
        "gen_batch_size": 1,
        "max_inflight_gen_batches": 1 + -(-bound // batch),  # so many may be played at once
        "sync_refill_failed_groups": True,
    }
    return {**kwargs, **given}, bound


class _Bounded(ReplayBuffer):
    """Counts what was thrown away since the last batch. `most_refills` 0: no group is thrown away for its rewards."""

    def __init__(self, **kwargs: Any) -> None:
        options, self._most = _options(kwargs)
        self._thrown = 0
        super().__init__(**options)
        if (trainer := getattr(self.refill_fn, "__self__", None)) is not None:
            follow(trainer)

    def _terminal_eviction_reasons(
        self, global_steps: int, partition_id: str
    ) -> tuple[set[str], set[str], set[str], Any]:
        """As many tied groups as may still be thrown away, the first by name; the rest is sampled as it is."""
        stale, tied, failed, counts = super()._terminal_eviction_reasons(global_steps, partition_id)
        kept = set(sorted(tied)[: max(0, self._most - self._thrown)])
        return stale, kept, failed, counts if kept == tied else Counter()

    def _evict_terminal_groups(self, global_steps: int, partition_id: str, eviction_reasons: Any) -> Any:
        self._thrown += len(eviction_reasons[1])
        return super()._evict_terminal_groups(global_steps, partition_id, eviction_reasons)

    def sample(self, global_steps: int, partition_id: str, batch_size: int) -> Any:
        """A batch; the count begins anew with it."""
        self._thrown = 0
        return super().sample(global_steps, partition_id, batch_size)


class BoundedReplayBuffer(_Bounded):
    """For the synchronous trainer."""


class BoundedReplayBufferAsync(_Bounded, ReplayBufferAsync):
    """For the asynchronous trainers."""
