"""A preset in verl's words: the hydra overrides of its trainer (verl 0.9.1, verl/trainer/config/ppo_trainer.yaml).

Plain strings, made without verl. A key in front of which stands "+" is one that verl's YAML does not list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from generators.errors import UsageError
from trainer.presets import Preset
from trainer.run import RunFolder

Values = dict[str, Any]
_ACTOR, _ROLLOUT, _MODEL, _REF = (f"actor_rollout_ref.{part}" for part in ("actor", "rollout", "model", "ref"))
_SAVED = ["model", "optimizer", "extra"]
_GIGABYTE = 10**9


@dataclass(frozen=True)
class Cluster:
    """A Ray that is there already, and what the run's processes on its nodes have in their environment."""

    address: str
    environment: Mapping[str, str]


def verl_overrides(preset: Preset, run: RunFolder, model: Path, cluster: Cluster | None = None) -> list[str]:
    """All overrides for a run. Without a cluster, verl starts its own.

    Raises:
        UsageError: a path holds "${", which verl's configuration would take for a reference.
    """
    for path in (run.path.absolute(), model.absolute()):
        if "${" in str(path):
            raise UsageError(f"{path}: verl cannot work in a folder with '${{' in its name; name another one")
    values = (
        _algorithm(preset)
        | _data(preset, run)
        | _model(preset, _MODEL, model)
        | _actor(preset)
        | _reference(preset)
        | _critic(preset, model)
        | _rollout(preset, run)
        | _trainer(preset, run)
        | _ray(preset, cluster)
    )
    return [f"{key}={hydra_value(value)}" for key, value in (values | preset.verl).items()]


def hydra_value(value: Any) -> str:
    """A value in the grammar of hydra's overrides. Text is quoted; `${...}` in it still stands for another key's value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}:{hydra_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ",".join(hydra_value(item) for item in value) + "]"
    return _quoted(str(value))


def _quoted(text: str) -> str:
    """In single quotes. Backslashes count only before a quote, the closing one included."""
    out: list[str] = []
    slashes = 0
    for char in text:
        if char == "\\":
            slashes += 1
            continue
        out.append("\\" * (2 * slashes + 1) + char if char == "'" else "\\" * slashes + char)
        slashes = 0
    return "'" + "".join(out) + "\\" * (2 * slashes) + "'"


def _under(prefix: str, values: Values) -> Values:
    """Keys below a prefix; a leading "+" stays in front."""
    return {("+" if key.startswith("+") else "") + f"{prefix}.{key.removeprefix('+')}": v for key, v in values.items()}


def _algorithm(preset: Preset) -> Values:
    return _under(
        "algorithm",
        {
            "adv_estimator": "gae" if preset.algorithm == "ppo" else "grpo",
            "gamma": preset.ppo.gamma,
            "lam": preset.ppo.lam,
            "norm_adv_by_std_in_grpo": preset.normalize,
            "use_kl_in_reward": False,
            "filter_groups.enable": preset.filter_groups,
            "filter_groups.metric": "reward",
            "rollout_correction.bypass_mode": preset.old_logprobs == "rollout",
        },
    )


def _data(preset: Preset, run: RunFolder) -> Values:
    folder = run.data.absolute()
    return _under(
        "data",
        {
            "train_files": str(folder / "train.parquet"),
            "val_files": str(folder / "validation.parquet"),
            "train_batch_size": preset.batch,
            "max_prompt_length": preset.lengths.prompt,
            "max_response_length": preset.lengths.response,
            "filter_overlong_prompts": preset.lengths.overlong == "skip",
            "truncation": "error",
            "return_raw_chat": True,
            "shuffle": False,  # the curriculum orders
            "validation_shuffle": False,
            "seed": preset.seed,
            "dataloader_num_workers": 0,  # it reads what the rollouts of this process left
            "custom_cls.path": "pkg://trainer.verl.dataset",
            "custom_cls.name": "TermforgeDataset",
        },
    )


def _model(preset: Preset, prefix: str, model: Path) -> Values:
    on_gpu = preset.device == "gpu"
    values: Values = {
        "path": str(model.absolute()),
        "use_remove_padding": on_gpu,
        "enable_gradient_checkpointing": on_gpu,
    }
    if not on_gpu:
        values["+override_config.attn_implementation"] = "sdpa"
    if preset.fp32_head and prefix == _MODEL:
        values["external_lib"] = "trainer.verl.fp32_head"
    return _under(prefix, values)


def _engine(preset: Preset) -> Values:
    """Of FSDP, for actor, reference and critic."""
    hardware, precision = preset.hardware, "fp32" if preset.hardware.dtype == "float32" else "bf16"
    return {
        "param_offload": hardware.offload == "states",
        "optimizer_offload": hardware.offload == "states",
        "offload_policy": hardware.offload == "full",
        "dtype": hardware.dtype,
        "seed": preset.seed,
        "use_torch_compile": preset.device == "gpu",
        "+mixed_precision": {"param_dtype": precision, "reduce_dtype": "fp32", "buffer_dtype": "fp32"},
    }


def _optimizer(preset: Preset, lr: float) -> Values:
    return {"lr": lr, "lr_warmup_steps": preset.warmup_steps or -1, "clip_grad": preset.grad_norm}


def _micro(preset: Preset, per_gpu: str, dynamic: str, tokens: str) -> Values:
    """Micro batches by sequences, or (micro 0) by the tokens of one full sequence."""
    lengths, hardware = preset.lengths, preset.hardware
    if hardware.micro:
        return {per_gpu: hardware.micro, dynamic: False}
    return {dynamic: True, tokens: -(-(lengths.prompt + lengths.response) // hardware.sequence)}


def _update(preset: Preset, engine: str, lr: float) -> Values:
    """What actor and critic have in common."""
    return (
        {
            "strategy": "fsdp2",
            "ppo_mini_batch_size": preset.update_batch,
            "ppo_epochs": preset.epochs,
            "data_loader_seed": preset.seed,
            "grad_clip": preset.grad_norm,
            "ulysses_sequence_parallel_size": preset.hardware.sequence,
            "checkpoint.save_contents": _SAVED,
            "checkpoint.load_contents": _SAVED,
        }
        | _under("optim", _optimizer(preset, lr))
        | _under(engine, _engine(preset))
        | _micro(preset, "ppo_micro_batch_size_per_gpu", "use_dynamic_bsz", "ppo_max_token_len_per_gpu")
    )


def _actor(preset: Preset) -> Values:
    values = _update(preset, "fsdp_config", preset.lr) | {
        "clip_ratio": preset.clip_low,
        "clip_ratio_low": preset.clip_low,
        "clip_ratio_high": preset.clip_high,
        "clip_ratio_c": preset.clip_max,
        "entropy_coeff": preset.entropy,
        "calculate_entropy": True,  # the watchdog looks at it
        "use_kl_loss": preset.kl > 0,
        "kl_loss_coef": preset.kl,
        "policy_loss.loss_mode": "dppo_tv" if preset.algorithm == "dppo" else "vanilla",
        "use_torch_compile": preset.device == "gpu",
        "checkpoint.save_contents": [*_SAVED, *(["hf_model"] if preset.save_hf else [])],
    }
    return _under(_ACTOR, values)


def _reference(preset: Preset) -> Values:
    if not preset.kl:
        return {}
    per_gpu, dynamic, tokens = _LOG_PROB
    return _under(_REF, _under("fsdp_config", _engine(preset)) | _micro(preset, per_gpu, dynamic, tokens))


_LOG_PROB = ("log_prob_micro_batch_size_per_gpu", "log_prob_use_dynamic_bsz", "log_prob_max_token_len_per_gpu")


def _critic(preset: Preset, model: Path) -> Values:
    if preset.algorithm != "ppo":
        return {"critic.enable": False}
    values = _update(preset, "fsdp", preset.ppo.critic_lr) | {
        "enable": True,
        "cliprange_value": preset.ppo.value_clip,
    }
    return _under("critic", values) | _model(preset, "critic.model", model)


def _rollout(preset: Preset, run: RunFolder) -> Values:
    lengths, hardware = preset.lengths, preset.hardware
    values: Values = {
        "name": "vllm",
        "mode": "async",
        "n": preset.group,
        "seed": preset.seed,
        "temperature": preset.temperature,
        "top_p": preset.top_p,
        "calculate_log_probs": True,
        "dtype": hardware.dtype,
        "tensor_model_parallel_size": hardware.tensor,
        "gpu_memory_utilization": hardware.gpu_memory,
        "max_model_len": lengths.model,
        "multi_turn.enable": True,
        "agent.agent_loop_config_path": str((run.path / "loops.yaml").absolute()),
        "agent.default_agent_loop": "termforge",
        "+agent.agent_loop_manager_class": "trainer.verl.manager.SandboxNodesManager",
    }
    values |= _validation(preset) | _micro(preset, *_LOG_PROB)
    if preset.fp32_head:
        values["+engine_kwargs.vllm.hf_overrides"] = {"head_dtype": "float32"}
    if hardware.rollout_nodes:
        values |= {"nnodes": hardware.rollout_nodes, "n_gpus_per_node": hardware.gpus_per_node}
        values["checkpoint_engine.backend"] = "nccl"
    if preset.device == "cpu":
        values |= _rollout_on_cpu(lengths.model)
    whole = _under(_ROLLOUT, values)
    return whole | ({"actor_rollout_ref.hybrid_engine": False} if hardware.rollout_nodes else {})


def _validation(preset: Preset) -> Values:
    temperature = preset.temperature if preset.validation_temperature is None else preset.validation_temperature
    values = {"n": preset.validation_n, "do_sample": temperature > 0, "temperature": temperature, "top_p": preset.top_p}
    return _under("val_kwargs", values)


def _rollout_on_cpu(context: int) -> Values:
    return {
        "+engine_kwargs.vllm.distributed_executor_backend": "uni",  # see VLLM_ENABLE_V1_MULTIPROCESSING in trainer/launch.py
        "enforce_eager": True,
        "free_cache_engine": False,
        "+enable_sleep_mode": False,
        "load_format": "auto",
        "max_num_batched_tokens": max(2048, context),
        "max_num_seqs": 96,
        "agent.num_workers": 1,
        "checkpoint_engine.update_weights_bucket_megabytes": 1024,  # tied embeddings must not be split over two
    }


def _trainer(preset: Preset, run: RunFolder) -> Values:
    hardware = preset.hardware
    values: Values = {
        "device": "cpu" if preset.device == "cpu" else "cuda",
        "nnodes": hardware.nodes,
        "n_gpus_per_node": hardware.gpus_per_node,
        "project_name": "termforge",
        "experiment_name": run.path.absolute().name,
        "logger": ["console", "file", "tensorboard", *(["wandb"] if preset.wandb else [])],
        "default_local_dir": str(run.checkpoints.absolute()),
        "resume_mode": "auto",
        "total_training_steps": preset.steps,
        "total_epochs": preset.steps * (1 + preset.most_refills),  # the number of steps ends it
        "critic_warmup": preset.ppo.critic_warmup if preset.algorithm == "ppo" else 0,
        "val_before_train": preset.validate_every > 0,
        "test_freq": preset.validate_every or -1,
        "save_freq": preset.save_every or -1,
        "max_actor_ckpt_to_keep": preset.keep,
        "max_critic_ckpt_to_keep": preset.keep,
        "use_v1": True,
    }
    return _under("trainer", values | _under("v1", _versions(preset)))


def _versions(preset: Preset) -> Values:
    """The first version of verl's trainer: its mode, and our own buffer, which bounds refills."""
    kept = {"most_refills": preset.most_refills if preset.filter_groups else 0, "batch": preset.batch}
    buffer = "BoundedReplayBuffer" + ("" if preset.trainer_mode == "sync" else "Async")
    values: Values = {
        "trainer_mode": preset.trainer_mode,
        "sampler.custom_sampler.path": "pkg://trainer.verl.replay",
        "sampler.custom_sampler.name": buffer,
        "sampler.sync_refill_failed_groups": True,
    } | _under("sampler.sampler_kwargs", {f"+{key}": value for key, value in kept.items()})
    if preset.trainer_mode != "sync":
        values["sampler.max_off_policy_threshold"] = preset.stale.steps
        values[f"{preset.trainer_mode}.num_warmup_batches"] = preset.stale.ahead
    if preset.trainer_mode == "separate_async":
        values["separate_async.parameter_sync_step"] = preset.stale.sync_every
    return values


def _ray(preset: Preset, cluster: Cluster | None) -> Values:
    """A cluster that is there has its own resources; on a processor, a logical GPU stands for the one rank."""
    if cluster is not None:
        init = {"+address": cluster.address, "+runtime_env.env_vars": cluster.environment}
        return _under("ray_kwargs.ray_init", init) | (_small_queue() if preset.device == "cpu" else {})
    values: Values = {"+ray_kwargs.ray_init.include_dashboard": False}
    if preset.device == "cpu":
        values |= {
            "ray_kwargs.ray_init.num_cpus": 16,
            "+ray_kwargs.ray_init.num_gpus": 1,
            "+ray_kwargs.ray_init.object_store_memory": _GIGABYTE,
        } | _small_queue()
    return values


def _small_queue() -> Values:
    store = "transfer_queue.backend.SimpleStorage"
    return {f"{store}.num_data_storage_units": 1, f"{store}.total_storage_size": 10_000, "reward.num_workers": 1}
