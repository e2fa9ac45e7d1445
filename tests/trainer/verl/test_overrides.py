"""A preset in verl's words: what each key of ours becomes. That verl knows the words is test_compose.py's."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators.errors import UsageError
from trainer.presets import load_preset, preset_names
from trainer.run import RunFolder
from trainer.verl.overrides import Cluster, hydra_value, verl_overrides

RUN, MODEL = RunFolder(Path("runs/one")), Path("models/small")


def overrides(name: str, ray: str | None = None, **changes: str) -> dict[str, str]:
    """As a mapping, the "+" of new keys included."""
    cluster = Cluster(ray, {"TERMFORGE_RUN": "/runs/one"}) if ray else None
    lines = verl_overrides(load_preset(name, changes), RUN, MODEL, cluster)
    pairs = [line.split("=", 1) for line in lines]
    assert len({key.lstrip("+") for key, _ in pairs}) == len(pairs), "a key is given twice"
    return {key: value for key, value in pairs}  # noqa: C416  # pairs are lists


@pytest.mark.parametrize("name", preset_names())
def test_paths_are_absolute(name: str) -> None:
    found = overrides(name)
    paths = ["data.train_files", "data.val_files", "actor_rollout_ref.model.path", "trainer.default_local_dir"]
    for key in [*paths, "actor_rollout_ref.rollout.agent.agent_loop_config_path"]:
        assert found[key].startswith("'/"), key
    assert found["actor_rollout_ref.rollout.agent.default_agent_loop"] == "'termforge'"


def test_order_is_the_curriculums_and_logs_are_ours() -> None:
    found = overrides("smoke-cpu")
    assert found["data.shuffle"] == "false"
    assert found["data.custom_cls.name"] == "'TermforgeDataset'"
    assert found["trainer.logger"] == "['console','file','tensorboard']"
    assert overrides("smoke-cpu", wandb="true")["trainer.logger"].endswith(",'wandb']")
    assert found["trainer.resume_mode"] == "'auto'"


def test_group_filtering_is_bounded_by_our_own_buffer() -> None:
    keys = "trainer.v1.sampler."
    without, separate = overrides("smoke-ppo-cpu"), overrides("tmax-dppo")
    sync = overrides("smoke-cpu", most_refills="3")
    assert without[f"+{keys}sampler_kwargs.most_refills"] == "0"
    assert sync[f"+{keys}sampler_kwargs.most_refills"] == "3"
    assert sync[f"{keys}custom_sampler.name"] == "'BoundedReplayBuffer'"
    assert separate[f"{keys}custom_sampler.name"] == "'BoundedReplayBufferAsync'"


def test_a_critic_is_there_for_ppo_alone() -> None:
    assert overrides("smoke-cpu")["critic.enable"] == "false"
    found = overrides("endless-ppo")
    assert (found["critic.enable"], found["algorithm.adv_estimator"]) == ("true", "'gae'")
    assert (found["critic.optim.lr"], found["actor_rollout_ref.actor.optim.lr"]) == ("1e-06", "5e-07")
    assert (found["critic.optim.lr_warmup_steps"], found["critic.cliprange_value"]) == ("10", "0.2")
    assert found["critic.model.path"] == found["actor_rollout_ref.model.path"]


def test_dppo_is_told_by_divergence_with_a_head_in_single_precision() -> None:
    found = overrides("tmax-dppo")
    actor = "actor_rollout_ref.actor."
    assert found[f"{actor}policy_loss.loss_mode"] == "'dppo_tv'"
    assert [found[f"{actor}{key}"] for key in ("clip_ratio_low", "clip_ratio_high", "clip_ratio_c")] == [
        "0.1",
        "0.1",
        "20.0",
    ]
    assert found["algorithm.norm_adv_by_std_in_grpo"] == "false"
    assert found["algorithm.rollout_correction.bypass_mode"] == "true"
    assert found["+actor_rollout_ref.rollout.engine_kwargs.vllm.hf_overrides"] == "{head_dtype:'float32'}"
    assert found["actor_rollout_ref.model.external_lib"] == "'trainer.verl.fp32_head'"


def test_rollouts_on_nodes_of_their_own() -> None:
    found = overrides("tmax-dppo")
    assert found["trainer.v1.trainer_mode"] == "'separate_async'"
    assert found["actor_rollout_ref.hybrid_engine"] == "false"
    assert (found["actor_rollout_ref.rollout.nnodes"], found["trainer.nnodes"]) == ("6", "2")
    assert found["actor_rollout_ref.rollout.checkpoint_engine.backend"] == "'nccl'"
    assert found["trainer.v1.sampler.max_off_policy_threshold"] == "5"


def test_micro_batches_by_sequences_or_by_tokens() -> None:
    actor = "actor_rollout_ref.actor."
    by_sequence, by_tokens = overrides("prod_32b_2x8_h100"), overrides("prod_32b_8_gpus")
    assert by_sequence[f"{actor}ppo_micro_batch_size_per_gpu"] == "1"
    assert by_tokens[f"{actor}use_dynamic_bsz"] == "true"
    assert by_tokens[f"{actor}ppo_max_token_len_per_gpu"] == "4096"  # 32768 over 8 ranks


def test_a_penalty_brings_a_reference_model() -> None:
    key = "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu"
    assert key not in overrides("smoke-cpu")
    found = overrides("smoke-cpu", kl="0.01")
    assert (found[key], found["actor_rollout_ref.actor.use_kl_loss"]) == ("4", "true")


@pytest.mark.parametrize(
    ("offload", "states", "policy"),
    [("none", "false", "false"), ("states", "true", "false"), ("full", "false", "true")],
)
def test_offloading(offload: str, states: str, policy: str) -> None:
    found = overrides("prod_32b_8_gpus", **{"hardware.offload": offload})
    engine = "actor_rollout_ref.actor.fsdp_config."
    assert (found[f"{engine}param_offload"], found[f"{engine}optimizer_offload"]) == (states, states)
    assert found[f"{engine}offload_policy"] == policy


def test_a_processor_is_one_logical_gpu_unless_a_cluster_is_there() -> None:
    own, joined = overrides("smoke-cpu"), overrides("smoke-cpu", ray="127.0.0.1:6379")
    assert (own["trainer.device"], own["+ray_kwargs.ray_init.num_gpus"]) == ("'cpu'", "1")
    assert joined["+ray_kwargs.ray_init.address"] == "'127.0.0.1:6379'"
    assert joined["+ray_kwargs.ray_init.runtime_env.env_vars"] == "{TERMFORGE_RUN:'/runs/one'}"
    assert "+ray_kwargs.ray_init.num_gpus" not in joined


def test_never_saving_and_never_validating() -> None:
    found = overrides("smoke-cpu", save_every="0", validate_every="0")
    assert (found["trainer.save_freq"], found["trainer.test_freq"], found["trainer.val_before_train"]) == (
        "-1",
        "-1",
        "false",
    )


def test_keys_of_verls_own_win() -> None:
    found = overrides("smoke-cpu", **{"verl.trainer.total_epochs": "9", "verl.+trainer.mine": "[1, a]"})
    assert (found["trainer.total_epochs"], found["+trainer.mine"]) == ("9", "[1,'a']")


def test_a_path_that_verl_would_misread_is_refused() -> None:
    with pytest.raises(UsageError, match="name another one"):
        verl_overrides(load_preset("smoke-cpu"), RunFolder(Path("runs/${x}")), MODEL)


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "null"), (True, "true"), (1e-6, "1e-06"), ([1, [False]], "[1,[false]]"), ({"a": "b c"}, "{a:'b c'}")],
)
def test_values(value: object, text: str) -> None:
    assert hydra_value(value) == text


@given(st.text())
def test_text_stays_inside_its_quotes(text: str) -> None:
    """A quote inside has an odd number of backslashes before it, the last one an even number: nothing after it is read as text."""
    quoted = hydra_value(text)
    assert quoted[0] == quoted[-1] == "'"
    inside = quoted[1:-1]
    for place, char in enumerate(inside):
        before = len(inside[:place]) - len(inside[:place].rstrip("\\"))
        assert char != "'" or before % 2 == 1
    assert (len(inside) - len(inside.rstrip("\\"))) % 2 == 0
