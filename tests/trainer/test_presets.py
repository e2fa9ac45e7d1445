"""Presets: the shipped ones say what the recipes say that they stand for, and a mistake in one is a clear line."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from generators.errors import UsageError
from trainer.presets import FOLDER, Preset, known_keys, load_preset, nearest_key, parse_sets, preset_names

TERMINAL_BENCH = {  # sequence, n, batch, TP, SP, steps, GPUs
    "test_8b_2_gpus": (8192, 4, 1, 2, 1, 30, 2),
    "test_32b_2_gpus": (32768, 2, 1, 2, 2, 30, 2),
    "runway_32b_4_gpus": (32768, 10, 1, 2, 4, 50, 4),
    "prod_32b_8_gpus": (32768, 12, 1, 4, 8, 100, 8),
    "prod_32b_2x8_h100": (32768, 16, 1, 8, 16, 100, 16),
    "prod_32b_4x8_h100": (32768, 16, 2, 8, 32, 100, 32),
}
OTHERS = ("endless-ppo", "tmax-dppo", "smoke-cpu", "smoke-ppo-cpu", "smoke-dppo-cpu", "learn-cpu")


def test_these_are_shipped() -> None:
    assert set(preset_names()) == {*TERMINAL_BENCH, *OTHERS}


@pytest.mark.parametrize("name", [*TERMINAL_BENCH, *OTHERS])
def test_each_is_whole(name: str) -> None:
    preset = load_preset(name)
    assert preset.name == name
    assert preset.lengths.prompt + preset.lengths.response <= preset.lengths.model
    assert preset.loop.limits.context_tokens == preset.lengths.model


@pytest.mark.parametrize("name", TERMINAL_BENCH)
def test_terminal_bench(name: str) -> None:
    preset = load_preset(name)
    hardware = preset.hardware
    found = (
        preset.lengths.model,
        preset.group,
        preset.batch,
        hardware.tensor,
        hardware.sequence,
        preset.steps,
        hardware.ranks,
    )
    assert found == TERMINAL_BENCH[name]
    assert (preset.algorithm, preset.lr, preset.clip_high, preset.kl, preset.entropy) == ("grpo", 1e-6, 0.28, 0.0, 0.0)
    assert (preset.temperature, preset.top_p, preset.update_batch) == (1.2, 0.9, preset.batch)
    assert (preset.loop.reward.mode, preset.loop.reward.tests, preset.loop.reward.judge) == ("mixed", 0.65, 0.35)


def test_ppo_has_a_critic_and_one_bit_of_reward() -> None:
    preset = load_preset("endless-ppo")
    assert (preset.algorithm, preset.ppo.gamma, preset.ppo.lam, preset.ppo.value_clip) == ("ppo", 1.0, 1.0, 0.2)
    assert (preset.lr, preset.ppo.critic_lr, preset.warmup_steps, preset.epochs) == (5e-7, 1e-6, 10, 2)
    assert (preset.batch, preset.group, preset.clip_low, preset.clip_high) == (16, 16, 0.2, 0.28)
    assert preset.loop.reward.mode == "binary"


def test_dppo_masks_by_divergence_from_the_rollout_engine() -> None:
    preset = load_preset("tmax-dppo")
    assert (preset.clip_low, preset.clip_high, preset.clip_max, preset.old_logprobs) == (0.1, 0.1, 20.0, "rollout")
    assert (preset.batch, preset.group, preset.normalize, preset.fp32_head) == (8, 32, False, True)
    assert preset.trainer_mode == "separate_async" and preset.stale.steps == 5  # four steps behind, its own included
    assert preset.filter_groups and preset.most_refills > 0


def test_overrides_replace_keys() -> None:
    preset = load_preset("smoke-cpu", {"steps": "7", "lr": "1e-4", "hardware.micro": "2", "loop.limits.turns": "1"})
    assert (preset.steps, preset.lr, preset.hardware.micro, preset.loop.limits.turns) == (7, 1e-4, 2, 1)
    assert preset.loop.limits.reply_tokens == load_preset("smoke-cpu").loop.limits.reply_tokens


def test_verls_own_keys_are_passed_on_with_numbers_as_numbers() -> None:
    preset = load_preset(
        "smoke-cpu", {"verl.trainer.log_val_generations": "3", "verl.actor_rollout_ref.actor.tau_pos": "1e-3"}
    )
    assert preset.verl == {"trainer.log_val_generations": 3, "actor_rollout_ref.actor.tau_pos": 0.001}


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("stepz", "steps"),
        ("tensor", "hardware.tensor"),
        ("hardware.tensr", "hardware.tensor"),
        ("loop.limits.turn", "loop.limits.turns"),
        ("critic_lrr", "ppo.critic_lr"),
        ("watchdogs", "watchdog"),
    ],
)
def test_an_unknown_key_names_the_nearest(key: str, near: str) -> None:
    with pytest.raises(UsageError, match=f"unknown key '{key}'; the nearest is '{near}'") as caught:
        load_preset("smoke-cpu", {key: "1"})
    assert "\n" not in str(caught.value)


def test_a_key_like_no_other_says_what_can_be_done() -> None:
    with pytest.raises(UsageError, match=r"unknown key 'zzzzqqqq'; `verl\.KEY` passes one on to verl"):
        load_preset("smoke-cpu", {"zzzzqqqq": "1"})


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"steps": "0"}, "preset smoke-cpu: steps: "),
        ({"lr": ".nan"}, "lr: "),
        ({"algorithm": "reinforce"}, "algorithm: .*'grpo', 'ppo' or 'dppo'"),
        ({"steps": "{a"}, "--set 'steps': the value '{a' is not valid YAML"),
        ({"loop.data": "/data"}, "set when a run is made"),
        ({"hardware.gpus_per_node": "2"}, "a processor has one rank"),
        ({"algorithm": "dppo", "top_p": "0.9"}, "top_p must be 1"),
        ({"device": "gpu", "trainer_mode": "separate_async"}, "rollout_nodes and trainer_mode"),
        ({"group": "1"}, "group must be at least 2"),
        ({"filter_groups": "true", "most_refills": "0"}, "needs a bound"),
        ({"hardware": "3"}, "hardware: "),
    ],
)
def test_values_that_are_refused(changes: dict[str, str], says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        load_preset("smoke-cpu", changes)
    assert "\n" not in str(caught.value)


def test_separate_rollouts_need_whole_batches() -> None:
    with pytest.raises(UsageError, match=r"batch must be stale\.sync_every times mini_batch"):
        load_preset("tmax-dppo", {"stale.sync_every": "3"})


def test_an_unknown_name_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="no preset is called 'smoke_cpu'; the nearest is 'smoke-cpu'"):
        load_preset("smoke_cpu")


def test_a_file_may_extend_a_shipped_one(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("extends: smoke-cpu\nname: mine\nlr: 1e-4\nloop: {limits: {turns: 1}}\n")
    mine, shipped = load_preset(str(path)), load_preset("smoke-cpu")
    assert (mine.name, mine.lr, mine.loop.limits.turns) == ("mine", 1e-4, 1)
    assert mine.loop.limits.reply_tokens == shipped.loop.limits.reply_tokens


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("extends: mine\n", "extends itself"),
        ("extends: 3\n", "extends: say the name"),
        ("extends: nothing-like-it\n", "no preset is called"),
        ("lr: 1\nlr: 2\n", "given twice"),
        ("- a\n", "must be a mapping"),
        ("lr: [\n", "not valid YAML"),
    ],
)
def test_a_file_that_is_refused(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(UsageError, match=says):
        load_preset(str(path))


def test_a_missing_file_is_a_clear_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        load_preset(str(tmp_path / "gone.yaml"))


def test_shipped_files_use_only_known_keys() -> None:
    """Hidden ones too, and none hides a value by giving it twice in one file."""
    top = set(Preset.model_fields) | {"extends"}
    for path in FOLDER.glob("*.yaml"):
        assert set(yaml.safe_load(path.read_text())) <= top, path


keys = st.text(st.characters(blacklist_characters="=", blacklist_categories=["Cs", "Cc", "Zs"]), min_size=1)


@given(st.dictionaries(keys.filter(str.strip), st.text(), max_size=5))
def test_pairs_come_back(pairs: dict[str, str]) -> None:
    stripped = {key.strip(): value for key, value in pairs.items()}
    assert parse_sets(f"{key}={value}" for key, value in stripped.items()) == stripped


@given(st.text().filter(lambda text: "=" not in text))
def test_what_is_no_pair_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="say key=value"):
        parse_sets([text])


@given(st.sampled_from(known_keys()))
def test_a_known_key_is_nearest_to_itself(key: str) -> None:
    assert nearest_key(key) == key


@given(st.text(max_size=30), st.text(max_size=30))
def test_any_override_is_taken_or_refused_in_one_line(key: str, value: str) -> None:
    try:
        load_preset("smoke-cpu", {key: value})
    except UsageError as error:
        assert len(str(error).splitlines()) == 1
