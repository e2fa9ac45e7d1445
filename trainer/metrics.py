"""One line of figures a step: verl's own measurements and what the rollouts of that step left, under fixed names.

    line = {"step": 3, **step_metrics(verl_line, rollouts)}
    append_line(run, line)
    print(console_line(line, 30))      # step 3/30  reward 0.42 (tests 0.51)  pass 38%  mixed 5/8 ...

Flat, finite, and a figure that was not measured has no key. What verl measured and is no finite number is left out, counted in
`non_finite`, and named by a key `non_finite/<name>` of 1. Rewards, lengths and turns are means over valid rollouts, all that were
played for the step: also those of groups that were replaced because their rewards tie (`reward/trained` is the mean of what was
trained on). Lengths are in tokens.

Times under `time/` are wall seconds of the step, those under `rollout/` of one rollout. A step is the sum of its disjoint PARTS;
validation comes after it. `time/rollouts` is the wall time for which training waited for rollouts. They run side by side, so this has
no exact split: each part of it is taken to have the share that it has in the time of all rollouts together (`time/model` is the share
of generation). A rollout that waits for its turn at the rollout engine counts as model.

`time/outside_share` is the share of a step, without its checkpoint, that is neither model (generation, log probabilities, updates) nor
weight sync. It is an upper bound of what faster sandboxes and graders could save: while one rollout is outside the model, others use it.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from agent.trajectory import End
from trainer.records import RolloutRecord
from trainer.run import RunFolder

PARTS = (
    *("time/model", "time/old_log_prob", "time/update", "time/sync", "time/sandbox", "time/waiting"),
    *("time/grader", "time/judge", "time/checkpoint", "time/other"),
)
_VERL = {
    "actor/loss": "actor/loss",
    "actor/pg_loss": "actor/pg_loss",
    "actor/grad_norm": "actor/grad_norm",
    "actor/entropy": "actor/entropy",
    "actor/kl": "actor/ppo_kl",
    "actor/reference_kl": "actor/kl_loss",
    "actor/clip_share": "actor/pg_clipfrac",
    "actor/lr": "actor/lr",
    "actor/correlation": "training/rollout_actor_probs_pearson_corr",
    "actor/difference": "training/rollout_probs_diff_mean",
    "actor/rollout_kl": "rollout_corr/kl",
    "critic/loss": "critic/vf_loss",
    "critic/grad_norm": "critic/grad_norm",
    "critic/explained": "critic/vf_explained_var",
    "reward/trained": "critic/score/mean",
    "groups/replaced": "training/filter_groups/evicted_samples",
    "groups/failed": "training/rollout_failure/evicted_samples",
    "staleness": "training/off_policy/trajectory_staleness/mean",
    "throughput": "perf/throughput",
    "memory/gb": "actor/perf/max_memory_allocated_gb",
}
# the same mean, measured by the update: all there is with old_logprobs: rollout
_ELSE = {"actor/entropy": "actor/entropy_loss"}
_TIMES = {  # ours: verl's timers, which are summed
    "time/step": ("step",),
    "time/rollouts": ("gen",),
    "time/old_log_prob": ("old_log_prob", "ref", "values"),
    "time/update": ("update_actor", "update_critic"),
    "time/sync": ("update_weights",),
    "time/checkpoint": ("save_checkpoint",),
    "time/validation": ("testing",),
}
_TRAINER_TIMES = ("time/old_log_prob", "time/update", "time/sync")
_ROLLOUT_PARTS = {
    "time/model": "model",
    "time/sandbox": "tools",
    "time/waiting": "waiting",
    "time/grader": "grading",
    "time/judge": "judge",
}
_DIGITS = 7  # of a figure


def step_metrics(verl: Mapping[str, Any], rollouts: Sequence[RolloutRecord]) -> dict[str, float]:
    """Our line of a step, of its training and of its validation rollouts, without the key `step`."""
    train = [one for one in rollouts if one.split == "train"]
    held_out = [one for one in rollouts if one.split == "validation"]
    verl = {theirs: verl[other] for theirs, other in _ELSE.items() if other in verl} | dict(verl)
    line = {ours: _number(verl[theirs]) for ours, theirs in _VERL.items() if theirs in verl}
    for ours, timers in _TIMES.items():
        if found := [_number(verl[f"timing_s/{timer}"]) for timer in timers if f"timing_s/{timer}" in verl]:
            line[ours] = sum(found)
    line |= _rewards(train) | _sizes(train) | _rollout_times(train)
    line |= _split(line, train)
    line |= {f"val/{_short(name)}": value for name, value in (_rewards(held_out) | _sizes(held_out)).items()}
    return _finite(line)


def append_line(run: RunFolder, line: Mapping[str, float]) -> None:
    """Add a line to metrics.jsonl."""
    with open(run.metrics, "a") as lines:
        lines.write(json.dumps(line, sort_keys=True, allow_nan=False) + "\n")


def console_line(line: Mapping[str, float], steps: int) -> str:
    """The same for a person."""
    validation = f"validation pass {_shown(line, 'val/pass_rate', '.0%')}" if "val/pass_rate" in line else ""
    if "time/step" not in line:
        return f"step {line['step']:.0f}/{steps}  {validation or 'no figures'}"
    parts = [
        f"step {line['step']:.0f}/{steps}",
        f"reward {_shown(line, 'reward/mean', '.3f')} (tests {_shown(line, 'reward/tests', '.3f')})",
        f"pass {_shown(line, 'pass_rate', '.0%')}",
        f"mixed {line.get('mixed_groups', 0):.0f}/{line.get('groups', 0):.0f}",
        f"entropy {_shown(line, 'actor/entropy', '.2f')}",
        f"gradient {_shown(line, 'actor/grad_norm', '.3g')}",
        f"tokens {_shown(line, 'tokens/response', '.0f')}",
        f"invalid {line['invalid_share']:.0%}" if line.get("invalid_share") else "",
        f"{line['time/step']:.0f} s",
        validation,
    ]
    return "  ".join(part for part in parts if part)


def _shown(line: Mapping[str, float], key: str, form: str) -> str:
    return format(line[key], form) if key in line else "-"


def _short(name: str) -> str:
    """Of a validation figure: val/reward, val/tests, val/pass_rate ..."""
    return "reward" if name == "reward/mean" else name.removeprefix("reward/")


def _number(value: object) -> float:
    """verl's log writes what is no finite number as null."""
    return float(value) if isinstance(value, int | float) else math.nan


def _finite(line: Mapping[str, float]) -> dict[str, float]:
    """Without what is no finite number, that is flagged instead; in so many digits that a learning rate stays what it is."""
    whole = {name: float(f"{value:.{_DIGITS}g}") for name, value in line.items() if math.isfinite(value)}
    flags = {f"non_finite/{name}": 1.0 for name in line if name not in whole}
    return dict(sorted((whole | flags | {"non_finite": float(len(flags))}).items()))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan


def _means(columns: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Of each column that has values."""
    return {name: _mean(values) for name, values in columns.items() if values}


def _valid(rollouts: Sequence[RolloutRecord]) -> list[RolloutRecord]:
    return [one for one in rollouts if one.reward.get("valid")]


def _rewards(rollouts: Sequence[RolloutRecord]) -> dict[str, float]:
    """Of valid rollouts; invalid ones only count as such. The judge's mean is over those that it judged."""
    if not rollouts:
        return {}
    valid = _valid(rollouts)
    line = {"invalid_share": 1 - len(valid) / len(rollouts), "faults": float(sum(len(one.faults) for one in rollouts))}
    line |= {"rollouts": float(len(valid)), "groups": 0.0, "mixed_groups": 0.0}
    values = [_part(one, "reward") for one in valid]
    if not values:
        return line
    groups: dict[str, set[float]] = defaultdict(set)
    for one, value in zip(valid, values, strict=True):
        groups[one.group].add(value)
    mean = _mean(values)
    line |= {"reward/mean": mean, "reward/min": min(values), "reward/max": max(values)}
    line["reward/std"] = math.sqrt(_mean([(value - mean) * (value - mean) for value in values]))
    line |= {"groups": float(len(groups)), "mixed_groups": float(sum(len(rewards) > 1 for rewards in groups.values()))}
    line |= {f"reward/{key}": _mean([_part(one, key) for one in valid]) for key in ("tests", "binary", "judged")}
    line["reward/fallback"] = _mean([_part(one, "fallback") for one in valid])
    line["pass_rate"] = line["reward/binary"]
    return line | _means({"reward/judge": [_part(one, "judge") for one in valid if one.reward.get("judged")]})


def _part(one: RolloutRecord, key: str) -> float:
    return one.reward.get(key, 0.0)


def _sizes(rollouts: Sequence[RolloutRecord]) -> dict[str, float]:
    """Lengths and turns of valid rollouts; how all of them ended."""
    if not rollouts:
        return {}
    valid, ends = _valid(rollouts), Counter(one.end for one in rollouts)
    return _means(
        {
            "tokens/prompt": [one.prompt_tokens for one in valid],
            "tokens/response": [one.response_tokens for one in valid],
            "tokens/written": [one.written_tokens for one in valid],
            "turns": [one.turns for one in valid],
            "logprob": [one.logprob for one in valid if one.logprob is not None],
        }
    ) | {f"end/{end.value}": ends[end.value] / len(rollouts) for end in End}


def _rollout_times(rollouts: Sequence[RolloutRecord]) -> dict[str, float]:
    parts = ("model", "tools", "waiting", "grading", "judge", "total")
    return _means({f"rollout/{part}": [getattr(one.seconds, part) for one in rollouts] for part in parts})


def _split(line: Mapping[str, float], rollouts: Sequence[RolloutRecord]) -> dict[str, float]:
    """The step's wall time by what it went to, all PARTS that verl has not measured itself."""
    step, phase = line.get("time/step", 0.0), line.get("time/rollouts", 0.0)
    if step <= 0 or not math.isfinite(step):
        return {}
    sums = {ours: sum(getattr(one.seconds, part) for one in rollouts) for ours, part in _ROLLOUT_PARTS.items()}
    total = max(sum(one.seconds.total for one in rollouts), sum(sums.values()))
    parts = {ours: phase * spent / total for ours, spent in sums.items()} if total > 0 else {}
    known = sum(parts.values()) + sum(line.get(key, 0.0) for key in (*_TRAINER_TIMES, "time/checkpoint"))
    model = parts.get("time/model", 0.0) + sum(line.get(key, 0.0) for key in _TRAINER_TIMES)
    without = step - line.get("time/checkpoint", 0.0)
    share = {"time/outside_share": min(max(0.0, 1 - model / without), 1.0)} if without > 0 and parts else {}
    return parts | share | {"time/other": max(0.0, step - known)}
