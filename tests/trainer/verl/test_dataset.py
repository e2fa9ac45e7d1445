"""The order of a run's rows inside verl's own data set class: shuffled epochs, the curriculum, resuming, long prompts."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from generators.procedural import find_family, write_task
from generators.task import Difficulty
from tests.trainer.verl.training import real_model, run_python
from trainer.curriculum_run import load_state
from trainer.records import RolloutRecord
from trainer.reward import KEYS
from trainer.run import RunFolder
from trainer.verl.rows import write_rows

pytestmark = pytest.mark.slow
CODE = """
import json, os, sys
from omegaconf import OmegaConf
from transformers import AutoTokenizer
from torchdata.stateful_dataloader import StatefulDataLoader
from verl.utils.dataset.rl_dataset import collate_fn, get_dataset_class
from verl.trainer.ppo.utils import create_rl_dataset, create_rl_sampler
asked, model = json.loads(sys.argv[1]), sys.argv[2]
config = OmegaConf.create({"max_prompt_length": 4000, "filter_overlong_prompts": True, "filter_overlong_prompts_workers": 1,
    "return_raw_chat": True, "truncation": "error", "cache_dir": sys.argv[3], "shuffle": False, "seed": 1,
    "custom_cls": {"path": "pkg://trainer.verl.dataset", "name": "TermforgeDataset"}})
tokenizer = AutoTokenizer.from_pretrained(model)

def made(limit=4000):
    config.max_prompt_length = limit
    return create_rl_dataset([asked["train"]], config, tokenizer, None)

def loaded(train):
    return StatefulDataLoader(dataset=train, batch_size=asked["batch"], num_workers=0, drop_last=True, collate_fn=collate_fn,
        sampler=create_rl_sampler(config, train))

def digests(batch):
    return [info["task_digest"] for info in batch["extra_info"]]

train = made()
valid = create_rl_dataset([asked["validation"]], config, tokenizer, None, is_train=False)
lengths = sorted(len(tokenizer.apply_chat_template(row["prompt"], add_generation_prompt=True, return_dict=False)) for row in train.dataframe)
loader, batches, states = loaded(train), [], []
for batch in loader:
    batches.append(digests(batch))
    states.append(loader.state_dict())
    for name, text in asked.get("written", {}).get(str(len(batches)), {}).items():
        with open(name, "a") as file: file.write(text)
again = loaded(made())
again.load_state_dict(states[asked["stop"] - 1])
print(json.dumps({"length": len(train), "rows": len(train.tasks), "validation": [valid[place]["index"] for place in range(len(valid))],
    "batches": batches, "resumed": [digests(batch) for batch in again], "lengths": lengths, "short": len(made(lengths[3]).tasks)}))
"""


def ask(tmp_path: Path, preset: dict[str, Any], **asked: Any) -> dict[str, Any]:
    """A run of a preset in the training environment, and the same gone on with after `stop` batches by another loader."""
    run = RunFolder(tmp_path / "run")
    run.path.mkdir(exist_ok=True)
    run.settings.write_text(json.dumps({"preset": preset}))
    family = find_family("ladder")
    tasks = [write_task(family, 3, serial, Difficulty.EASY) for serial in range(10)]
    paths = write_rows({"train": tasks[:7], "validation": tasks[7:]}, run.data, style="minimal")
    asked |= {"train": str(paths["train"]), "validation": str(paths["validation"])}
    asked.setdefault("batch", preset["batch"])
    words = json.dumps(asked), str(real_model()), str(tmp_path / "cache")
    return json.loads(run_python(CODE, *words, TERMFORGE_RUN=str(run.path), HF_DATASETS_CACHE=str(tmp_path / "hf")))


def test_without_a_curriculum_each_epoch_is_shuffled_anew(tmp_path: Path) -> None:
    preset = {"steps": 10, "batch": 3, "seed": 5}
    found = ask(tmp_path, preset, stop=4)
    assert found["length"] == 30 and found["rows"] == 7 and found["validation"] == [0, 1, 2]
    flat = [digest for batch in found["batches"] for digest in batch]
    epochs = [flat[start : start + 7] for start in range(0, 28, 7)]
    assert all(len(set(epoch)) == 7 for epoch in epochs) and len({tuple(epoch) for epoch in epochs}) > 1
    assert found["resumed"] == found["batches"][4:], "goes on where it was"
    shorter = sum(length <= found["lengths"][3] for length in found["lengths"])
    assert found["short"] == shorter < 7, "prompts that are too long are left out"


def lines(batches: list[list[str]], step: int, solved: set[str]) -> str:
    """Rollouts of a step: two of each task."""
    return "".join(
        RolloutRecord(
            step=step,
            split="train",
            task_id="x",
            task_digest=digest,
            group=digest,
            sample=sample,
            reward=dict.fromkeys(KEYS, float(digest in solved)) | {"valid": 1.0},
            turns=1,
            prompt_tokens=1,
            response_tokens=1,
            written_tokens=1,
            end="finished",
        ).model_dump_json()
        + "\n"
        for digest in batches[step - 1]
        for sample in range(2)
    )


def test_with_a_curriculum_it_follows_the_rollouts(tmp_path: Path) -> None:
    """All tasks are played in the first steps: one is always solved, and from then on only rehearsed."""
    curriculum = {"enabled": True, "retire_after": 1, "rehearsal": 0.01, "park_after": 99}
    preset = {"steps": 12, "batch": 7, "seed": 5, "curriculum": curriculum}
    first = ask(tmp_path, preset, stop=1)
    assert Counter(first["batches"][0]).most_common(1)[0][1] == 1, "all before any twice"
    easy = first["batches"][0][0]
    rollouts = tmp_path / "run" / "rollouts"
    rollouts.mkdir()
    written = {"1": {str(rollouts / "a.jsonl"): lines(first["batches"], 1, {easy})}}
    preset["batch"] = 3
    found = ask(tmp_path, preset, written=written, stop=5)
    chosen = Counter(digest for batch in found["batches"][1:] for digest in batch)
    assert chosen[easy] <= 2 and len(chosen) >= 6
    state = load_state(RunFolder(tmp_path / "run"))
    assert state is not None and state.step == 1 and state.tasks[easy].retired
    assert found["resumed"] == found["batches"][5:], "the same as without a break"
