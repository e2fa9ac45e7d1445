"""Before anything starts: does the preset fit together with the data set, the model and this machine?

    warnings = check(preset, Path("datasets/main"), Path("models/small"), this_machine(run_folder))

Every refusal is one line that says what, where, and what to do. A number of bytes is an estimate (trainer/memory.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from containers.engines.registry import ENGINES
from generators.errors import EngineError, StorageError, UsageError
from generators.evidence import Evidence
from generators.task import Task
from trainer.conversations import check_template, longest_prompt
from trainer.dataset_folder import DataSet, read_data
from trainer.machine import Gpu, Machine, this_machine
from trainer.memory import GIB, Shape, checkpoint_bytes, need
from trainer.model_folder import ModelFolder, read_model
from trainer.presets import Preset

Reader = Callable[[Path], Sequence[tuple[Task, Evidence | None]]]

__all__ = ["Gpu", "Machine", "Reader", "check", "this_machine"]


def check(preset: Preset, data: Path, model: Path, machine: Machine, read: Reader | None = None) -> list[str]:
    """Warnings; what would fail later is refused now. `read` gives the records of a data set, each checked against its digest: what
    only pipeline can do (`load_release` and `from_row`).

    Raises:
        UsageError: preset, data set or model do not fit together, or one of them is not whole.
        EngineError: this machine has too little for it.
        StorageError: the disk has no room for the checkpoints.
    """
    check_gpus(preset, machine)
    check_batches(preset)
    check_loop(preset)
    found = read_model(model)
    check_lengths(preset, found.shape, model)
    warnings = check_parallel(preset, found.shape) + check_template(found)
    data_set = read_data(data)
    if read is not None:
        check_records(read(data), data)
    warnings += check_data(preset, data_set)
    warnings += check_prompts(preset, data_set, found)
    warnings += check_machine(preset, found.shape, machine)
    return warnings + check_disk(preset, found.shape, machine)


def check_gpus(preset: Preset, machine: Machine) -> None:
    """Are there any?

    Raises:
        EngineError: a preset for GPUs has none.
    """
    if preset.device == "gpu" and not machine.gpus:
        raise EngineError(
            f"preset {preset.name} trains on GPUs, and this machine has none that can be used (nvidia-smi);"
            " take one of the presets for a processor: learn-cpu, or smoke-cpu"
        )


def check_batches(preset: Preset) -> None:
    """verl cuts batches evenly over ranks and micro batches.

    Raises:
        UsageError: they do not divide.
    """
    hardware, rows = preset.hardware, preset.batch * preset.group
    if hardware.ranks % hardware.sequence:
        raise _misfit(preset, f"hardware.sequence ({hardware.sequence}) does not divide its {hardware.ranks} GPUs")
    if hardware.gpus_per_node % hardware.tensor:
        raise _misfit(
            preset, f"hardware.tensor ({hardware.tensor}) does not divide the {hardware.gpus_per_node} GPUs of a node"
        )
    if preset.batch % preset.update_batch:
        raise _misfit(preset, f"mini_batch ({preset.update_batch}) does not divide batch ({preset.batch})")
    if hardware.micro and rows % hardware.ranks:
        raise _misfit(
            preset,
            f"batch x group is {rows} rollouts, which {hardware.ranks} GPUs do not share evenly; change one of them, or"
            " cut by tokens (hardware.micro: 0)",
        )
    update, parts = preset.update_batch * preset.group, hardware.ranks // hardware.sequence
    if update % parts:
        raise _misfit(preset, f"an update of {update} rollouts does not divide by {parts} (GPUs / hardware.sequence)")
    if hardware.micro and (update // parts) % hardware.micro:
        raise _misfit(
            preset,
            f"an update has {update // parts} rollouts a rank, which hardware.micro ({hardware.micro}) does not divide",
        )


def check_loop(preset: Preset) -> None:
    """The engine that plays rollouts, and the judge.

    Raises:
        UsageError: there is none of that name, or no such file.
    """
    if preset.loop.engine not in ENGINES:
        raise _misfit(preset, f"loop.engine is {preset.loop.engine!r}; there are {', '.join(ENGINES)}")
    if preset.loop.judge and not Path(preset.loop.judge).is_file():
        raise _misfit(
            preset, f"loop.judge is {preset.loop.judge}, and there is no such file; `termforge judge use` chooses one"
        )


def check_lengths(preset: Preset, shape: Shape, model: Path) -> None:
    """prompt + response <= what the engine is given <= what the model knows.

    Raises:
        UsageError: it is longer, or no reply fits.
    """
    lengths, limits = preset.lengths, preset.loop.limits
    whole = lengths.prompt + lengths.response
    if whole > lengths.model:
        raise _misfit(
            preset, f"lengths.prompt + lengths.response is {whole} tokens, more than lengths.model ({lengths.model})"
        )
    if lengths.model > shape.positions:
        raise _misfit(
            preset,
            f"lengths.model is {lengths.model} tokens, but {model} knows {shape.positions} positions"
            " (max_position_embeddings); shorten it, or take a model with a longer context",
        )
    if limits.reply_tokens > lengths.response:
        raise _misfit(
            preset,
            f"loop.limits.reply_tokens ({limits.reply_tokens}) is more than lengths.response ({lengths.response})",
        )


def check_parallel(preset: Preset, shape: Shape) -> list[str]:
    """Attention heads are dealt to ranks.

    Raises:
        UsageError: they do not divide.
    """
    hardware = preset.hardware
    for key, ranks in (("tensor", hardware.tensor), ("sequence", hardware.sequence)):
        if shape.heads % ranks:
            raise _misfit(preset, f"hardware.{key} ({ranks}) does not divide the model's {shape.heads} attention heads")
        if ranks % shape.kv_heads and shape.kv_heads % ranks:
            raise _misfit(
                preset, f"hardware.{key} ({ranks}) and the model's {shape.kv_heads} key-value heads do not divide"
            )
    return []


def check_data(preset: Preset, data: DataSet) -> list[str]:
    """Enough prompts, and a validation split where one is asked for.

    Raises:
        UsageError: there are too few.
    """
    train = [task for task in data.tasks if task.split == "train"]
    if len(train) < preset.batch:
        raise UsageError(
            f"{data.folder}: its train split has {len(train)} tasks, fewer than one batch of preset {preset.name}"
            f" ({preset.batch}); make a larger one, or set batch"
        )
    if preset.validate_every and not any(task.split == "validation" for task in data.tasks):
        raise UsageError(
            f"{data.folder}: it has no validation split; make one (a recipe's splits), or set validate_every=0"
        )
    unproven = sum(not task.proven for task in data.tasks)
    if unproven:
        return [f"{data.folder}: {unproven} of {len(data.tasks)} tasks come without a proof of this version's gates"]
    return []


def check_records(records: Sequence[tuple[Task, Evidence | None]], data: Path) -> None:
    """Tasks as records have their digests by construction; the evidence has to speak of them.

    Raises:
        TaskError: evidence is of another task.
    """
    if not records:
        raise UsageError(f"{data}: there is no task in it")
    for task, evidence in records:
        if evidence is not None:
            evidence.bound_to(task)


def check_prompts(preset: Preset, data: DataSet, model: ModelFolder) -> list[str]:
    """The longest prompt as the policy will see it.

    Raises:
        UsageError: it is too long, or all are.
    """
    prompts = longest_prompt(preset, data.tasks, model)
    if prompts is None or not prompts.over:
        return []
    what = (
        f"{data.folder}: {prompts.over} of {len(data.tasks)} prompts are longer than lengths.prompt ({preset.lengths.prompt}"
        f" tokens); the longest, {prompts.task}, has {prompts.tokens}"
    )
    if preset.lengths.overlong == "refuse" or prompts.over == len(data.tasks):
        raise UsageError(
            f"{what}; raise lengths.prompt" + ("" if prompts.over == len(data.tasks) else ", or lengths.overlong=skip")
        )
    return [f"{what}: they are left out"]


def check_machine(preset: Preset, shape: Shape, machine: Machine) -> list[str]:
    """GPUs and memory of this node.

    Raises:
        EngineError: there is too little.
    """
    hardware = preset.hardware
    if preset.device == "cpu":
        needed = need(preset, shape, 0).host
        if machine.memory_free < needed:
            raise EngineError(
                f"preset {preset.name} takes about {_gib(needed)} of memory with this model, and {_gib(machine.memory_free)} is"
                " free; end other programs, shorten lengths, or take a smaller model"
            )
        return []
    if len(machine.gpus) < hardware.gpus_per_node:
        raise EngineError(
            f"preset {preset.name} needs {hardware.gpus_per_node} GPUs a node, and this machine has {len(machine.gpus)}; take"
            " a smaller preset, or set hardware.gpus_per_node (and group, hardware.tensor and hardware.sequence with it)"
        )
    _check_gpus(preset, shape, machine)
    nodes = hardware.nodes + hardware.rollout_nodes
    return [f"preset {preset.name} runs on {nodes} nodes; only this one was looked at"] if nodes > 1 else []


def _check_gpus(preset: Preset, shape: Shape, machine: Machine) -> None:
    memory = min(gpu.memory for gpu in machine.gpus[: preset.hardware.gpus_per_node])
    needed, reserved = need(preset, shape, memory), int(preset.hardware.gpu_memory * memory)
    size = f"a GPU of this machine has {_gib(memory)}"
    if needed.engine > reserved:
        raise EngineError(
            f"the rollout engine takes at least {_gib(needed.engine)} a GPU for weights and one conversation, and"
            f" hardware.gpu_memory leaves it {_gib(reserved)} ({size}); raise hardware.gpu_memory or hardware.tensor"
        )
    if needed.update > memory or needed.rollout > memory:
        worse = max(needed.update, needed.rollout)
        raise EngineError(
            f"preset {preset.name} takes about {_gib(worse)} a GPU with a model of {shape.parameters / 1e9:.1f} billion"
            f" parameters, and {size}; use more GPUs, hardware.offload=full, a larger hardware.sequence, or a smaller model"
        )
    if machine.memory and needed.host > machine.memory:
        raise EngineError(
            f"preset {preset.name} keeps about {_gib(needed.host)} in a node's own memory (hardware.offload), and this machine"
            f" has {_gib(machine.memory)}; use more nodes, less offloading, or a smaller model"
        )


def check_disk(preset: Preset, shape: Shape, machine: Machine) -> list[str]:
    """Room for the checkpoints that are kept, and for one that is being written.

    Raises:
        StorageError: there is not enough even for one.
    """
    if not preset.save_every:
        return ["save_every is 0: nothing is kept of the run, and it cannot be resumed"]
    one = checkpoint_bytes(preset, shape)
    whole = one * (preset.keep + 1)
    if machine.disk_free < whole:
        raise StorageError(
            f"preset {preset.name} keeps {preset.keep} checkpoints of about {_gib(one)} and writes another, and the disk has"
            f" {_gib(machine.disk_free)} left; free some space, name another folder, or set keep or save_hf=false"
        )
    return []


def _misfit(preset: Preset, what: str) -> UsageError:
    return UsageError(f"preset {preset.name}: {what}")


def _gib(size: int) -> str:
    return f"{size / GIB:.1f} GiB"
