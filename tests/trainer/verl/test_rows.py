"""Rows for verl: the prompts that the agent would get, nothing that tells the answer, the same bytes each time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from agent.styles import open_style
from agent.styles.examples import first_messages, parse_examples
from generators.errors import UsageError
from generators.procedural import find_family, write_task
from generators.task import Task
from pipeline.cli.main import cli
from tests.trainer.verl.training import real_model, run_python
from trainer.examples import worked_examples
from trainer.verl.rows import SCHEMA, write_rows

FAMILIES = ("ladder", "intrusion_triage", "slow_report", "ledger_reconciliation", "config_parser")


def written(name: str, count: int = 3) -> list[Task]:
    family = find_family(name)
    return [write_task(family, 5, serial, family.difficulties[0]) for serial in range(count)]


@pytest.fixture(scope="module")
def splits() -> dict[str, list[Task]]:
    tasks = [written(name) for name in FAMILIES]
    return {
        "train": [task for part in tasks for task in part[:2]],
        "validation": [part[2] for part in tasks],
        "test": [],
    }


def rows(path: Path) -> list[dict[str, Any]]:
    return pq.read_table(path).to_pylist()


@pytest.mark.parametrize("style", ["minimal", "structured"])
@pytest.mark.parametrize("examples", ["", "ladder"])
def test_prompts_are_those_of_the_style(
    tmp_path: Path, splits: dict[str, list[Task]], style: str, examples: str
) -> None:
    text = worked_examples(examples) if examples else ""
    paths = write_rows(splits, tmp_path, style=style, examples=text)
    assert sorted(paths) == ["train", "validation"]
    spoken = open_style(style)
    for split, path in paths.items():
        tasks = {task.digest: task for task in splits[split]}
        found = rows(path)
        assert [row["extra_info"]["index"] for row in found] == list(range(len(tasks)))
        assert [row["extra_info"]["task_id"] for row in found] == sorted(task.id for task in tasks.values())
        for row in found:
            task = tasks[row["extra_info"]["task_digest"]]
            told = first_messages(spoken, task.instruction, text)
            assert row["prompt"] == [{"role": one.role, "content": one.content} for one in told]
            assert row["prompt"][0] == {"role": "system", "content": spoken.system_prompt()}
            assert row["prompt"][-1] == {"role": "user", "content": spoken.opening(task.instruction)}
            assert len(row["prompt"]) == (12 if text else 2)
            assert row["reward_model"] == {"style": "rule", "ground_truth": task.digest}
            assert (row["data_source"], row["agent_name"], row["ability"]) == (
                "termforge",
                "termforge",
                task.axes.domain,
            )
            assert row["extra_info"]["split"] == split and row["extra_info"]["family"] == task.provenance.family


def test_types_and_bytes_do_not_depend_on_what_is_in_it(tmp_path: Path, splits: dict[str, list[Task]]) -> None:
    one = write_rows(splits, tmp_path / "one")
    turned = {split: tasks[::-1] for split, tasks in splits.items()}
    other = write_rows(turned, tmp_path / "other")
    for split, path in one.items():
        assert path.read_bytes() == other[split].read_bytes()
        assert pq.read_schema(path).equals(SCHEMA)


def secrets(task: Task) -> Iterator[str]:
    """Strings that a row must not hold: values of truth, sources of tests, solutions, files of the image."""

    def strings(value: Any) -> Iterator[str]:
        if isinstance(value, dict | list):
            for item in [*value, *value.values()] if isinstance(value, dict) else value:
                yield from strings(item)
        elif value is not None:
            yield value if isinstance(value, str) else json.dumps(value)

    yield from (text for text in strings(task.truth) if len(text) > 4)
    sources = [task.completion_tests.source, task.initial_tests, task.solution or "", *task.alternatives]
    sources += [miss.script for miss in task.near_misses] + [task.image.dockerfile]
    sources += [file.content for file in task.image.files]
    yield from (line.strip() for source in sources for line in source.splitlines() if len(line.strip()) > 12)


def test_no_row_tells_an_answer(tmp_path: Path, splits: dict[str, list[Task]]) -> None:
    """What stands in the instruction, or in the words of the style, is known to the agent anyway."""
    paths = write_rows(splits, tmp_path, style="minimal")
    for split, path in paths.items():
        held = json.dumps(rows(path), ensure_ascii=False)
        raw = path.read_bytes()
        said = " ".join([open_style("minimal").system_prompt(), *(task.instruction for task in splits[split])])
        metadata = " ".join(json.dumps(row["extra_info"]) for row in rows(path))
        looked_for = 0
        for task in splits[split]:
            for secret in set(secrets(task)):
                if secret in said or secret in metadata:
                    continue
                looked_for += 1
                assert secret not in held and json.dumps(secret, ensure_ascii=False)[1:-1] not in held, secret
                assert len(secret) < 12 or secret.encode() not in raw, secret
        assert looked_for > 500


def test_nothing_but_earlier_rows_is_written_over(tmp_path: Path, splits: dict[str, list[Task]]) -> None:
    paths = write_rows(splits, tmp_path)
    assert write_rows(splits, tmp_path) == paths
    pq.write_table(pq.read_table(paths["train"], columns=["prompt"]), paths["train"])  # as a release: other columns
    before = paths["train"].read_bytes()
    with pytest.raises(UsageError, match=r"train\.parquet, which is no file of rows"):
        write_rows(splits, tmp_path)
    assert paths["train"].read_bytes() == before


def test_an_unknown_style_and_missing_examples_are_said(tmp_path: Path, splits: dict[str, list[Task]]) -> None:
    with pytest.raises(UsageError, match="no style"):
        write_rows(splits, tmp_path, style="none")
    with pytest.raises(UsageError, match="ladder"):
        worked_examples("nowhere")


def test_the_worked_examples_are_replies_that_are_understood() -> None:
    examples = parse_examples(worked_examples("ladder"))
    assert len(examples) == 5
    for _, reply in examples:
        said = open_style("minimal").parse(reply)
        assert len(said.actions) == 1 and not said.mistakes
    words = {word for task in written("ladder", 110) for word in task.instruction.split() if "." in word[:-1]}
    named = {word for text, _ in examples for word in text.split() if "." in word[:-1]}
    assert named and not words & named, "no example uses the name of a task's file"


def test_export_writes_them(tmp_path: Path) -> None:
    source = tmp_path / "tasks"
    source.mkdir()
    for task in written("ladder", 20):
        (source / f"{task.id}.json").write_text(task.canonical())
    words = ["export", "--all", "--from", str(source), "--format", "verl", "--to", str(tmp_path / "out")]
    done = CliRunner().invoke(cli, [*words, "--style", "minimal", "--examples", "ladder"])
    assert done.exit_code == 0, done.output
    files = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert files == ["test.parquet", "train.parquet", "validation.parquet"]
    assert len(rows(tmp_path / "out" / "train.parquet")[0]["prompt"]) == 12
    refused = CliRunner().invoke(cli, ["export", "--to", str(tmp_path / "x"), "--style", "minimal"])
    assert refused.exit_code != 0 and isinstance(refused.exception, UsageError | SystemExit)


READ = """
import json, sys
from omegaconf import OmegaConf
from transformers import AutoTokenizer
from verl.utils.dataset.rl_dataset import RLHFDataset, collate_fn
paths, model = json.loads(sys.argv[1]), sys.argv[2]
config = OmegaConf.create({"max_prompt_length": 4000, "filter_overlong_prompts": True, "filter_overlong_prompts_workers": 1,
                           "return_raw_chat": True, "truncation": "error", "cache_dir": sys.argv[3]})
data = RLHFDataset(paths, AutoTokenizer.from_pretrained(model), config)
batch = collate_fn([data[place] for place in range(len(data))])
print(json.dumps({"prompts": [list(map(dict, prompt)) for prompt in batch["raw_prompt"]], "index": list(batch["index"]),
                  "agents": list(batch["agent_name"]), "truths": [truth["ground_truth"] for truth in batch["reward_model"]]}))
"""


@pytest.mark.slow
def test_verl_reads_the_prompts_that_were_written(tmp_path: Path, splits: dict[str, list[Task]]) -> None:
    """By its own class with a real tokenizer; both files at once, so their types are the same."""
    paths = write_rows(splits, tmp_path / "data", style="minimal", examples=worked_examples("ladder"))
    words = json.dumps([str(path) for path in paths.values()]), str(real_model()), str(tmp_path / "cache")
    read = json.loads(run_python(READ, *words, HF_DATASETS_CACHE=str(tmp_path / "hf")))
    expected = [row for path in paths.values() for row in rows(path)]
    assert read["prompts"] == [row["prompt"] for row in expected]
    assert read["index"] == [row["extra_info"]["index"] for row in expected]
    assert read["truths"] == [row["reward_model"]["ground_truth"] for row in expected]
    assert set(read["agents"]) == {"termforge"}
