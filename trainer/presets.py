"""A preset: all that a training run is decided by, in our own words, as one record and one YAML file.

    preset = load_preset("smoke-cpu", {"steps": "2", "hardware.tensor": "2"})

Shipped ones lie in trainer/presets; those whose name begins with "_" are only there for others to extend.
`extends: name` takes another preset's values first; mappings are merged key by key, everything else is replaced.
What verl has and this record has not goes under `verl:`, by verl's dotted key.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, cast, get_args

import yaml
from pydantic import BaseModel, Field, JsonValue, ValidationError, field_validator, model_validator

from generators.errors import UsageError
from generators.problems import one_problem
from generators.strict_yaml import read_mapping
from generators.task import Record, Text
from trainer.curriculum import CurriculumSettings
from trainer.settings import Count, LoopSettings
from trainer.watchdog import WatchdogSettings

FOLDER = Path(__file__).with_name("presets")
_EXPONENT = re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+")  # YAML 1.1 reads 1e-6 as text
_PASSED_ON = "verl"

Natural = Annotated[int, Field(ge=0)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Coefficient = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Lengths(Record):
    """Tokens. `prompt` is the first prompt, `response` all that follows it, observations included; `model` the engine's context.

    A task whose prompt is longer is left out (`overlong: skip`) or refused before the start.
    """

    prompt: Count = 6000
    response: Count = 26768
    model: Count = 32768
    overlong: Literal["skip", "refuse"] = "refuse"


class Hardware(Record):
    """Where it runs. `rollout_nodes` are nodes for rollouts alone (separate_async), as large as the training nodes.

    tensor      ranks that share one rollout engine; `sequence` ranks that share one sequence in training (Ulysses)
    gpu_memory  share of a GPU's memory that the rollout engine may take
    offload     "states": weights and optimizer wait in host memory between their uses; "full": they stay there, and the optimizer's
                step is made there (FSDP2): slower, and the only way where they do not fit on the GPUs; "none"
    micro       sequences of one forward and backward pass on a rank; 0: as many as have the tokens of one full sequence
    """

    nodes: Count = 1
    gpus_per_node: Count = 1
    rollout_nodes: Natural = 0
    tensor: Count = 1
    sequence: Count = 1
    gpu_memory: Annotated[float, Field(gt=0, lt=1)] = 0.8
    offload: Literal["none", "states", "full"] = "states"
    dtype: Literal["bfloat16", "float32"] = "bfloat16"
    micro: Natural = 1

    @property
    def ranks(self) -> int:
        """GPUs that train."""
        return self.nodes * self.gpus_per_node


class Ppo(Record):
    """What only PPO with a critic has."""

    gamma: Share = 1.0
    lam: Share = 1.0
    value_clip: Positive = 0.2
    critic_lr: Positive = 1e-6
    critic_warmup: Natural = 0  # steps in which the critic alone learns


class Stale(Record):
    """How far rollouts may lag behind the weights, in steps (async modes). `ahead` batches are asked for before the first step."""

    steps: Count = 4
    ahead: Coefficient = 1.0
    sync_every: Count = 1  # updates between two synchronizations of weights (separate_async)


class Preset(Record):
    """A training run. Batches count prompts; `group` is rollouts a prompt.

    clip_low, clip_high   of the ratio; for DPPO the divergence above which a token is masked
    clip_max              largest ratio that weighs (verl's clip_ratio_c)
    normalize             divide a group's advantages by their spread
    old_logprobs          the policy that the ratio is taken against: the trainer's own, or the rollout engine as it wrote
    filter_groups         groups whose rewards are all equal are replaced: at most `most_refills` of them a step
    validate_every        steps; 0: never. Else also before the first and after the last
    save_every            steps; the last step is saved too. `keep`: checkpoints that stay; `save_hf`: also as a Hugging Face model
    """

    name: Text
    about: Text
    device: Literal["cpu", "gpu"] = "gpu"
    algorithm: Literal["grpo", "ppo", "dppo"] = "grpo"
    seed: Natural = 42

    steps: Count = 100
    batch: Count = 1
    group: Count = 8
    mini_batch: Count | None = None  # None: the batch
    epochs: Count = 1

    lr: Positive = 1e-6
    warmup_steps: Natural = 0
    grad_norm: Positive = 1.0
    temperature: Positive = 1.0
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    clip_low: Positive = 0.2
    clip_high: Positive = 0.2
    clip_max: Annotated[float, Field(gt=1)] = 3.0
    kl: Coefficient = 0.0
    entropy: Coefficient = 0.0
    normalize: bool = True
    old_logprobs: Literal["trainer", "rollout"] = "trainer"
    ppo: Ppo = Field(default_factory=Ppo)
    fp32_head: bool = False

    trainer_mode: Literal["sync", "colocate_async", "separate_async"] = "sync"
    stale: Stale = Field(default_factory=Stale)
    filter_groups: bool = False
    most_refills: Natural = 0

    lengths: Lengths = Field(default_factory=Lengths)
    hardware: Hardware = Field(default_factory=Hardware)
    loop: LoopSettings = Field(default_factory=LoopSettings)
    curriculum: CurriculumSettings = Field(default_factory=CurriculumSettings)
    watchdog: WatchdogSettings = Field(default_factory=WatchdogSettings)

    validate_every: Natural = 0
    validation_n: Count = 1
    validation_temperature: Coefficient | None = None  # None: that of training
    save_every: Natural = 10
    keep: Count = 2
    save_hf: bool = True
    wandb: bool = False
    verl: dict[str, JsonValue] = Field(default_factory=dict)

    @property
    def update_batch(self) -> int:
        """Prompts of one update."""
        return self.mini_batch or self.batch

    @field_validator("verl", mode="before")
    @classmethod
    def _numbers(cls, value: object) -> object:
        if not isinstance(value, dict):
            return value
        return {key: _number(item) for key, item in cast(dict[str, object], value).items()}

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.loop.data or self.loop.run:
            raise ValueError("loop.data and loop.run are set when a run is made, not in a preset")
        if self.device == "cpu" and (self.hardware.ranks > 1 or self.trainer_mode == "separate_async"):
            raise ValueError(
                "a processor has one rank: hardware.nodes and gpus_per_node are 1, and no mode separate_async"
            )
        if self.algorithm == "dppo" and self.top_p < 1:
            raise ValueError("dppo compares probabilities of two engines: top_p must be 1")
        if (self.hardware.rollout_nodes > 0) != (self.trainer_mode == "separate_async"):
            raise ValueError("hardware.rollout_nodes and trainer_mode separate_async go together")
        if self.trainer_mode == "separate_async" and self.batch != self.stale.sync_every * self.update_batch:
            raise ValueError("separate_async: batch must be stale.sync_every times mini_batch")
        if self.filter_groups != (self.most_refills > 0):
            raise ValueError(
                "filter_groups needs a bound, most_refills, and most_refills is nothing without filter_groups"
            )
        if self.algorithm != "ppo" and self.group == 1:
            raise ValueError(f"{self.algorithm} compares rollouts of a group: group must be at least 2")
        return self


def preset_names() -> tuple[str, ...]:
    """The shipped presets."""
    return tuple(sorted(path.stem for path in FOLDER.glob("[!_]*.yaml")))


def load_preset(name_or_path: str, overrides: Mapping[str, str] | None = None) -> Preset:
    """A shipped preset by name, or one in a .yaml file, with some keys replaced.

    Raises:
        UsageError: there is none, a key is unknown (the nearest known one is named), or a value is not valid.
    """
    path = _find(name_or_path)
    values = _extended(path, ())
    values.setdefault("name", path.stem)
    for key, text in (overrides or {}).items():
        _put(values, key, text)
    try:
        return Preset.model_validate(values)
    except ValidationError as error:
        raise UsageError(f"preset {path.stem}: {_explain(error)}") from None


def parse_sets(pairs: Iterable[str]) -> dict[str, str]:
    """`key=value` pairs as a mapping; a later one wins.

    Raises:
        UsageError: one is no pair.
    """
    found: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"--set {pair!r}: say key=value, for example --set steps=10")
        found[key.strip()] = value
    return found


def known_keys(model: type[BaseModel] = Preset, before: str = "") -> tuple[str, ...]:
    """All dotted keys of a record and of the records in it."""
    keys: list[str] = []
    for name, info in model.model_fields.items():
        keys.append(before + name)
        if inner := _record(info.annotation):
            keys += known_keys(inner, f"{before}{name}.")
    return tuple(keys)


def nearest_key(key: str) -> str | None:
    """The known key that is most like an unknown one; a key of the same last name is nearer than one that looks alike."""
    keys, last = known_keys(), key.rpartition(".")[2]
    if same := [known for known in keys if known.rpartition(".")[2] == last]:
        return difflib.get_close_matches(key, same, 1, 0.0)[0]
    if close := difflib.get_close_matches(key, keys, 1, 0.6):
        return close[0]
    lasts = {known.rpartition(".")[2]: known for known in reversed(keys)}
    return lasts[close[0]] if (close := difflib.get_close_matches(last, lasts, 1, 0.6)) else None


def _find(name: str) -> Path:
    if name.endswith((".yaml", ".yml")):
        return Path(name)
    if name in preset_names():
        return FOLDER / f"{name}.yaml"
    close = difflib.get_close_matches(name, preset_names(), 1, 0.4)
    hint = f"the nearest is {close[0]!r}" if close else f"there are {', '.join(preset_names())}"
    raise UsageError(f"no preset is called {name!r}; {hint}")


def _extended(path: Path, seen: tuple[Path, ...]) -> dict[str, Any]:
    """A file's values over those of the preset that it extends."""
    if path in seen:
        raise UsageError(f"preset {path}: it extends itself")
    values = read_mapping(path, "preset", "keys such as algorithm, batch and lr")
    above = values.pop("extends", None)
    if above is None:
        return values
    if not isinstance(above, str):
        raise UsageError(f"preset {path}: extends: say the name of another preset")
    beside = path.with_name(f"{above}.yaml")
    return _merged(_extended(beside if beside.exists() else _find(above), (*seen, path)), values)


def _merged(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    both = dict(below)
    for key, value in above.items():
        old = both.get(key)
        both[key] = _merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return both


def _put(values: dict[str, Any], key: str, text: str) -> None:
    """Set a dotted key; behind `verl.` the rest is one key of verl's."""
    try:
        value = _number(yaml.safe_load(text))
    except (yaml.YAMLError, ValueError) as error:
        raise UsageError(
            f"--set {key!r}: the value {text!r} is not valid YAML: {' '.join(str(error).split())}"
        ) from None
    head, dot, rest = key.partition(".")
    parts = [head, rest] if dot and head == _PASSED_ON else key.split(".")
    for part in parts[:-1]:
        inner = values.get(part)
        values[part] = dict(inner) if isinstance(inner, dict) else {}
        values = values[part]
    values[parts[-1]] = value


def _number(value: object) -> object:
    return float(value) if isinstance(value, str) and _EXPONENT.fullmatch(value) else value


def _record(annotation: object) -> type[BaseModel] | None:
    """The record that a field holds, if it holds one."""
    for kind in (annotation, *get_args(annotation)):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return kind
    return None


def _explain(error: ValidationError) -> str:
    """The first problem as one line; an unknown key before all others."""
    problems = error.errors()
    problem = next((p for p in problems if p["type"] == "extra_forbidden"), problems[0])
    if problem["type"] != "extra_forbidden":
        return one_problem(problem)
    where = ".".join(str(part) for part in problem["loc"])
    near = nearest_key(where)
    return f"unknown key {where!r}; " + (f"the nearest is {near!r}" if near else "`verl.KEY` passes one on to verl")
