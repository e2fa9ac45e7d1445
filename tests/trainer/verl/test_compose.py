"""Every preset through verl's own configuration and its own checks, in the environment where verl is."""

from __future__ import annotations

import json
import os
import re
import subprocess
from typing import Any

import pytest
import yaml

from tests.trainer.small_folder import write_model
from tests.trainer.verl.training import ROOT, training_python
from trainer.presets import load_preset, preset_names
from trainer.run import RunFolder
from trainer.verl.overrides import verl_overrides

NASTY = "it's a $run \\x \\' \\\\' = [a, {b}: 'c'] # \\\\"
pytestmark = pytest.mark.slow


def composed(asked: dict[str, list[str]]) -> dict[str, dict[str, str]]:
    """Ask the training environment for all of them at once: it takes seconds to load."""
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "VERL_PLATFORM": "cpu",
        "VERL_ENGINE_DEVICE": "cuda",
        "HF_HUB_OFFLINE": "1",
    }
    done = subprocess.run(
        [training_python(), "-m", "trainer.verl.compose"],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """Of every preset, and of some that are wrong."""
    folder = tmp_path_factory.mktemp("compose")
    run, model = RunFolder(folder / NASTY), write_model(folder / "model")

    def asked(name: str, **changes: str) -> list[str]:
        return verl_overrides(load_preset(name, changes), run, model)

    wrong = {
        "unknown": asked("smoke-cpu", **{"verl.trainer.nonsense": "1"}),
        "refused": [*asked("smoke-cpu"), "data.train_batch_size=1"],
        "unreadable": [*asked("smoke-cpu"), "trainer.nnodes=[1"],
    }
    more = {"kl": asked("smoke-cpu", kl="0.01"), "async": asked("smoke-cpu", trainer_mode="colocate_async")}
    return composed({name: asked(name) for name in preset_names()} | wrong | more)


def whole(answers: dict[str, dict[str, str]], name: str) -> dict[str, Any]:
    answer = answers[name]
    assert "error" not in answer, answer
    return yaml.safe_load(answer["yaml"])


@pytest.mark.parametrize("name", preset_names())
def test_verl_takes_every_preset(name: str, answers: dict[str, dict[str, str]]) -> None:
    preset, found = load_preset(name), whole(answers, name)
    actor, rollout = found["actor_rollout_ref"]["actor"], found["actor_rollout_ref"]["rollout"]
    assert float(actor["optim"]["lr"]) == preset.lr
    assert (rollout["n"], rollout["temperature"], rollout["max_model_len"]) == (
        preset.group,
        preset.temperature,
        preset.lengths.model,
    )
    assert (found["trainer"]["nnodes"], found["trainer"]["n_gpus_per_node"]) == (
        preset.hardware.nodes,
        preset.hardware.gpus_per_node,
    )
    assert found["trainer"]["total_training_steps"] == preset.steps
    assert found["trainer"]["v1"]["trainer_mode"] == preset.trainer_mode
    assert actor["checkpoint"]["save_contents"] == ["model", "optimizer", "extra", "hf_model"]


def test_text_arrives_as_it_is(answers: dict[str, dict[str, str]]) -> None:
    assert whole(answers, "smoke-cpu")["trainer"]["experiment_name"] == NASTY


def test_variants_are_taken(answers: dict[str, dict[str, str]]) -> None:
    assert whole(answers, "kl")["actor_rollout_ref"]["actor"]["use_kl_loss"] is True
    assert whole(answers, "async")["trainer"]["v1"]["colocate_async"]["num_warmup_batches"] == 1


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("unknown", "verl's configuration: .*nonsense"),
        ("refused", "verl refuses the configuration: .*train_batch_size"),
        ("unreadable", "verl's configuration: "),
    ],
)
def test_what_verl_refuses_is_one_line(name: str, says: str, answers: dict[str, dict[str, str]]) -> None:
    error = answers[name]["error"]
    assert re.match(says, error) and len(error.splitlines()) == 1
