"""An estimate of the memory that a run needs, from the shape of its model; on the safe side, and never exact.

With P parameters, R ranks that train, one copy of everything for the actor and one for a critic:

states      weights 4P + gradients 4P + two moments of Adam 8P = 16P bytes, spread over R (computing in half precision does not
            change that: the copy that learns is single). offload "states" frees 12P of them outside of updates, "full" all of
            them always: they are in host memory then
gather      two layers at a time, whole, in the precision of computing
activations tokens / sequence-parallel ranks x (layers x hidden x width + 3 x vocabulary x 4): one checkpoint a layer, and logits
            in single precision with their gradient and one copy; where nothing is checkpointed (processor), 16 times the first part
engine      2P / tensor ranks for weights, and the key-value cache of one full conversation:
            2 x layers x kv heads x head size x 2 bytes x tokens, spread over at most as many ranks as there are kv heads
"""

from __future__ import annotations

from dataclasses import dataclass

from trainer.presets import Preset

GIB = 2**30
_STATES, _WEIGHTS_AND_MOMENTS = 16, 12  # bytes a parameter
_LOGITS = 3 * 4  # bytes a token and word
_UNCHECKED = 16  # activations of a layer, in checkpoints of one
_PROCESSES = 7 * GIB  # Ray, verl's workers and the engine, on a processor
_ON_GPU = 2 * GIB  # CUDA's and NCCL's own


@dataclass(frozen=True)
class Shape:
    """Of a model."""

    parameters: int
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_size: int
    vocabulary: int
    positions: int


@dataclass(frozen=True)
class Need:
    """Bytes: of each GPU in an update and while rollouts run, of what the engine takes there at least, and of each node's own memory."""

    update: int
    rollout: int
    engine: int
    host: int


def need(preset: Preset, shape: Shape, gpu_memory: int) -> Need:
    """What the run takes, where a GPU has so many bytes (0 on a processor)."""
    hardware, models = preset.hardware, 2 if preset.algorithm == "ppo" else 1
    states = models * shape.parameters * _STATES
    kept = models * shape.parameters * _WEIGHTS_AND_MOMENTS
    engine = engine_bytes(preset, shape)
    if preset.device == "cpu":
        host = _PROCESSES + states + engine + activations(preset, shape)
        return Need(update=0, rollout=0, engine=engine, host=host)
    share, resting = states // hardware.ranks, kept // hardware.ranks
    working = activations(preset, shape) + _gather(preset, shape) + _ON_GPU
    reserved = 0 if preset.trainer_mode == "separate_async" else int(hardware.gpu_memory * gpu_memory)
    return Need(
        update=working
        + (0 if hardware.offload == "full" else share // (models if hardware.offload == "states" else 1)),
        rollout=reserved + (resting if hardware.offload == "none" else 0),
        engine=engine,
        host={"none": 0, "states": kept, "full": states}[hardware.offload] // hardware.nodes + 2 * shape.parameters,
    )


def activations(preset: Preset, shape: Shape) -> int:
    """Of one forward and backward pass on a rank."""
    sequence = preset.lengths.prompt + preset.lengths.response
    tokens = sequence * max(preset.hardware.micro, 1) // preset.hardware.sequence
    width = 4 if preset.hardware.dtype == "float32" else 2
    layers = shape.layers * shape.hidden * width * (_UNCHECKED if preset.device == "cpu" else 1)
    return tokens * (layers + _LOGITS * shape.vocabulary)


def engine_bytes(preset: Preset, shape: Shape) -> int:
    """The rollout engine's least: its weights and one conversation, on a rank."""
    cache = 2 * shape.layers * shape.kv_heads * shape.head_size * 2 * preset.lengths.model
    return 2 * shape.parameters // preset.hardware.tensor + cache // min(preset.hardware.tensor, shape.kv_heads)


def checkpoint_bytes(preset: Preset, shape: Shape) -> int:
    """Of one checkpoint on disk: weights and moments in single precision, and the model once more where it is saved as such."""
    models = 2 if preset.algorithm == "ppo" else 1
    return shape.parameters * (models * _WEIGHTS_AND_MOMENTS + (4 if preset.save_hf else 0))


def _gather(preset: Preset, shape: Shape) -> int:
    width = 4 if preset.hardware.dtype == "float32" else 2
    embeddings = shape.vocabulary * shape.hidden
    return width * (2 * (shape.parameters // max(shape.layers, 1)) + embeddings)
