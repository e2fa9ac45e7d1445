"""What would fail in the middle of a run is refused before it: each in one line that says what to do."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from generators.digest import digest_of
from generators.errors import EngineError, StorageError, TaskError, TermforgeError, UsageError
from pipeline.exchange.rows import from_row
from pipeline.release import file_digest, load_release
from tests.trainer.small_folder import TEMPLATE, write_model, write_weights
from trainer.machine import Gpu, Machine, gpus_from
from trainer.memory import GIB, Shape, checkpoint_bytes, need
from trainer.model_folder import read_model
from trainer.preflight import check, this_machine
from trainer.presets import Preset, preset_names
from trainer.presets import load_preset as load

MAIN = Path(__file__).parents[2] / "datasets" / "main"
SPLITS = ("train", "validation")
H100 = Gpu(name="NVIDIA H100 80GB HBM3", memory=80 * GIB)
BIG = Machine(gpus=(H100,) * 8, cores=64, memory=2048 * GIB, memory_free=2000 * GIB, disk_free=100_000 * GIB)
QWEN_32B = Shape(32_760_000_000, 64, 5120, 64, 8, 128, 151_936, 40_960)
ROWS = 6


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set of a few tasks of the published one, with a manifest of its own."""
    folder = tmp_path_factory.mktemp("data")
    for split in SPLITS:
        pl.read_parquet(MAIN / f"{split}.parquet").head(ROWS).write_parquet(folder / f"{split}.parquet")
    publish_again(folder)
    return folder


@pytest.fixture
def data(shared: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(shared, tmp_path / "data"))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_model(tmp_path / "model")


def publish_again(folder: Path) -> None:
    """A manifest for the files as they are."""
    frames = {f"{split}.parquet": pl.read_parquet(folder / f"{split}.parquet") for split in SPLITS}
    rows = [row for frame in frames.values() for row in frame.iter_rows(named=True)]
    manifest = {
        "digest": digest_of(sorted([row["split"], row["id"], row["digest"]] for row in rows)),
        "files": {name: {"rows": frame.height, "sha256": file_digest(folder / name)} for name, frame in frames.items()},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))


def change(folder: Path, edit: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    """Another train split, published as it should be."""
    edit(pl.read_parquet(folder / "train.parquet")).write_parquet(folder / "train.parquet")
    publish_again(folder)


ROOM = {"lengths.prompt": "1024", "lengths.response": "256", "lengths.model": "1280"}


def load_preset(name: str, changes: dict[str, str] | None = None) -> Preset:
    """A preset; those for a processor with room for the prompts of real tasks."""
    room = ROOM if name.endswith("-cpu") else {}
    whole = {"batch": "4", "filter_groups": "false", "most_refills": "0"} if name == "smoke-cpu" else {}
    return load(name, {**room, **whole, **(changes or {})})


def refused(kind: type[TermforgeError], says: str, *arguments: Any) -> None:
    with pytest.raises(kind, match=says) as caught:
        check(*arguments)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_fits_on_what_it_is_for(name: str, data: Path, model: Path) -> None:
    preset = load_preset(name, {"batch": "2"} if name == "endless-ppo" else {})
    if name == "tmax-dppo":
        preset = load_preset(name, {"batch": "6"})
    warnings = check(preset, data, model, BIG)
    several = preset.hardware.nodes + preset.hardware.rollout_nodes > 1
    assert [line for line in warnings if "only this one was looked at" in line] == warnings[: 1 if several else 0]


def test_the_records_are_read_as_pipeline_reads_them(data: Path, model: Path) -> None:
    def read(folder: Path) -> list[Any]:
        return [from_row(row) for row in load_release(folder)]

    assert check(load_preset("smoke-cpu"), data, model, BIG, read) == []


def test_a_published_data_set_is_taken(model: Path) -> None:
    assert check(load_preset("smoke-cpu"), MAIN, model, BIG) == []


# The machine


def test_no_gpu(data: Path, model: Path) -> None:
    bare = BIG.model_copy(update={"gpus": ()})
    refused(EngineError, "has none that can be used.*smoke-cpu", load_preset("test_8b_2_gpus"), data, model, bare)


def test_too_few_gpus(data: Path, model: Path) -> None:
    one = BIG.model_copy(update={"gpus": (H100,)})
    refused(EngineError, "needs 2 GPUs a node, and this machine has 1", load_preset("test_8b_2_gpus"), data, model, one)


def test_too_little_memory_for_a_processor(data: Path, model: Path) -> None:
    small = BIG.model_copy(update={"memory_free": 2 * GIB})
    refused(EngineError, "2.0 GiB is free", load_preset("smoke-cpu"), data, model, small)


def test_too_little_memory_of_gpus(data: Path, model: Path) -> None:
    tiny = BIG.model_copy(update={"gpus": (Gpu(name="small", memory=2 * GIB),) * 2})
    refused(EngineError, "a GPU of this machine has 2.0 GiB", load_preset("test_8b_2_gpus"), data, model, tiny)


def test_a_large_model_needs_its_state_elsewhere() -> None:
    """32 billion parameters are 488 GiB of training state: too much for eight GPUs of 80 GiB, unless it stays in host memory."""
    states, full = (load_preset("prod_32b_8_gpus", {"hardware.offload": offload}) for offload in ("states", "full"))
    assert need(states, QWEN_32B, H100.memory).update > 60 * GIB
    assert need(full, QWEN_32B, H100.memory).update < 40 * GIB
    assert need(full, QWEN_32B, H100.memory).host > 488 * GIB


@pytest.mark.parametrize("name", [name for name in preset_names() if "32b" in name])
def test_the_large_presets_fit_on_h100(name: str) -> None:
    preset = load_preset(name)
    needed = need(preset, QWEN_32B, H100.memory)
    assert max(needed.update, needed.rollout) < H100.memory
    assert needed.engine < preset.hardware.gpu_memory * H100.memory


def test_more_gpus_never_need_more() -> None:
    sizes = [need(load_preset(f"prod_32b_{n}x8_h100"), QWEN_32B, H100.memory).update for n in (2, 4)]
    assert sizes[0] > sizes[1] > 0


def test_no_room_for_checkpoints(data: Path, model: Path) -> None:
    preset = load_preset("smoke-cpu")
    assert checkpoint_bytes(preset, read_model(model).shape) == 64 * 64 * 16
    full = BIG.model_copy(update={"disk_free": 64 * 64 * 16})
    refused(StorageError, "keeps 2 checkpoints", preset, data, model, full)


def test_nothing_saved_is_a_warning(data: Path, model: Path) -> None:
    assert "cannot be resumed" in check(load_preset("smoke-cpu", {"save_every": "0"}), data, model, BIG)[0]


def test_this_machine_has_memory_and_a_disk(tmp_path: Path) -> None:
    machine = this_machine(tmp_path / "not" / "made" / "yet")
    assert machine.cores > 0 and machine.disk_free > 0
    assert 0 < machine.memory_free <= machine.memory


def test_the_list_of_gpus() -> None:
    text = "NVIDIA H100 80GB HBM3, 81559\nOdd, name, 1024\nNo devices were found\n"
    assert [(gpu.name, gpu.memory >> 20) for gpu in gpus_from(text)] == [
        ("NVIDIA H100 80GB HBM3", 81559),
        ("Odd, name", 1024),
    ]


# Arithmetic


@pytest.mark.parametrize(
    ("name", "changes", "says"),
    [
        ("test_8b_2_gpus", {"group": "3"}, "3 rollouts, which 2 GPUs do not share evenly"),
        ("prod_32b_8_gpus", {"hardware.micro": "1"}, "12 rollouts, which 8 GPUs do not share evenly"),
        ("test_8b_2_gpus", {"hardware.tensor": "3"}, "hardware.tensor .3. does not divide the 2 GPUs of a node"),
        ("test_8b_2_gpus", {"hardware.sequence": "3"}, "hardware.sequence .3. does not divide its 2 GPUs"),
        ("smoke-cpu", {"mini_batch": "3"}, "mini_batch .3. does not divide batch .4."),
        ("smoke-cpu", {"hardware.micro": "5"}, "16 rollouts a rank, which hardware.micro .5. does not divide"),
        ("smoke-cpu", {"lengths.prompt": "2000"}, "2256 tokens, more than lengths.model .1280."),
        ("smoke-cpu", {"lengths.model": "200000"}, "131072 positions"),
        ("smoke-cpu", {"loop.limits.reply_tokens": "500"}, "is more than lengths.response .256."),
    ],
)
def test_numbers_that_do_not_fit(name: str, changes: dict[str, str], says: str, data: Path, model: Path) -> None:
    refused(UsageError, f"preset {name}: .*{says}", load_preset(name, changes), data, model, BIG)


def test_heads_are_dealt_to_ranks(data: Path, tmp_path: Path) -> None:
    odd = write_model(tmp_path / "odd", num_attention_heads=9, num_key_value_heads=3)
    refused(UsageError, "does not divide the model's 9 attention heads", load_preset("test_8b_2_gpus"), data, odd, BIG)


# The model


def without(*names: str) -> Callable[[Path], None]:
    return lambda folder: [(folder / name).unlink() for name in names] and None


def listing(*files: str) -> Callable[[Path], None]:
    text = json.dumps({"weight_map": dict(enumerate(files))})
    return lambda folder: (folder / "model.safetensors.index.json").write_text(text) and None


def config(**values: Any) -> Callable[[Path], None]:
    return lambda folder: write_model(folder, **values) and None


def tokenizer(**values: Any) -> Callable[[Path], None]:
    return lambda folder: (folder / "tokenizer_config.json").write_text(json.dumps(values)) and None


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (shutil.rmtree, "there is no such folder"),
        (without("config.json"), "it has no config.json"),
        (without("model.safetensors"), "it has no weights"),
        (
            listing("model.safetensors", "model-2.safetensors"),
            "1 of 2 files of weights are missing, model-2.safetensors",
        ),
        (without("tokenizer.json"), "it has no tokenizer"),
        (lambda folder: (folder / "chat_template.jinja").write_bytes(b"\xff"), "chat_template.jinja: cannot be read"),
        (without("tokenizer_config.json"), "it has no tokenizer_config.json"),
        (without("chat_template.jinja"), "the model has no chat template"),
        (tokenizer(chat_template=TEMPLATE), "names no eos_token"),
        (config(hidden_size=None), "not the configuration of a language model"),
        (lambda folder: (folder / "config.json").write_text("{"), "config.json: cannot be read"),
        (lambda folder: write_weights(folder / "model.safetensors", {"a": [8]}, cut=1), "it is cut off"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"abc"), "not a whole safetensors file"),
        (lambda folder: (folder / "chat_template.jinja").write_text("{% for"), "refuses a conversation"),
        (lambda folder: (folder / "chat_template.jinja").write_text("{{ raise_exception('no system') }}"), "no system"),
    ],
)
def test_a_model_that_is_not_whole(damage: Callable[[Path], Any], says: str, data: Path, model: Path) -> None:
    damage(model)
    refused(UsageError, says, load_preset("smoke-cpu"), data, model, BIG)


def test_weights_in_the_old_form(data: Path, model: Path) -> None:
    (model / "model.safetensors").rename(model / "pytorch_model.bin")
    refused(UsageError, "convert them to safetensors", load_preset("smoke-cpu"), data, model, BIG)


def test_a_template_in_the_configuration_of_the_tokenizer(data: Path, model: Path) -> None:
    without("chat_template.jinja")(model)
    named = [{"name": "tool_use", "template": "x"}, {"name": "default", "template": TEMPLATE}]
    tokenizer(eos_token={"content": "<|im_end|>", "special": True}, chat_template=named)(model)
    assert check(load_preset("smoke-cpu"), data, model, BIG) == []


LAST_MARKED = TEMPLATE.replace("message['content']", "message['content'] + ('!' if loop.last else '')")
COUNTING = "{{ messages | length }}" + TEMPLATE
THINKING = TEMPLATE.replace(
    "message['content']",
    "('<think>\\n\\n</think>\\n\\n' if loop.last and message['role'] == 'assistant' else '') + message['content']",
)
UNENDED = TEMPLATE.replace("<|im_end|>", "")
OTHER_START = TEMPLATE.replace("assistant\n' }}{% endif", "bot\n' }}{% endif")


@pytest.mark.parametrize("template", [LAST_MARKED, COUNTING])
def test_a_template_that_changes_what_was_said(template: str, data: Path, tmp_path: Path) -> None:
    changing = write_model(tmp_path / "model", template)
    refused(UsageError, "changes the first 2 messages", load_preset("smoke-cpu"), data, changing, BIG)


def test_a_template_that_begins_replies_in_another_way(data: Path, tmp_path: Path) -> None:
    other = write_model(tmp_path / "model", OTHER_START)
    refused(UsageError, "begins a reply in another way", load_preset("smoke-cpu"), data, other, BIG)


@pytest.mark.parametrize(("template", "says"), [(THINKING, "drops thoughts"), (UNENDED, "does not end a reply")])
def test_a_template_that_can_be_lived_with(template: str, says: str, data: Path, tmp_path: Path) -> None:
    (warning,) = check(load_preset("smoke-cpu"), data, write_model(tmp_path / "model", template), BIG)
    assert says in warning


# The data set


def test_no_data_set(tmp_path: Path, model: Path) -> None:
    refused(UsageError, "there is no data set .no manifest.json.", load_preset("smoke-cpu"), tmp_path, model, BIG)


def test_a_file_that_was_changed(data: Path, model: Path) -> None:
    pl.read_parquet(data / "train.parquet").head(5).write_parquet(data / "train.parquet")
    refused(TaskError, "is not the file that was published", load_preset("smoke-cpu"), data, model, BIG)


def test_a_file_that_is_gone(data: Path, model: Path) -> None:
    (data / "validation.parquet").unlink()
    refused(TaskError, "is missing although the manifest lists it", load_preset("smoke-cpu"), data, model, BIG)


def test_another_content_hash(data: Path, model: Path) -> None:
    manifest = json.loads((data / "manifest.json").read_text())
    (data / "manifest.json").write_text(json.dumps(manifest | {"digest": "0" * 64}))
    refused(TaskError, "content hash .* its manifest states 000000000000", load_preset("smoke-cpu"), data, model, BIG)


def test_evidence_of_another_task(data: Path, model: Path) -> None:
    change(data, lambda frame: frame.with_columns(pl.col("digest").str.reverse()))
    refused(TaskError, "evidence of task .* is void", load_preset("smoke-cpu"), data, model, BIG)


def test_a_task_that_was_edited_and_published_again(data: Path, model: Path) -> None:
    """Only the records show it: their digest covers the instruction."""
    change(data, lambda frame: frame.with_columns(pl.col("instruction") + " Hurry."))
    read = lambda folder: [from_row(row) for row in load_release(folder)]  # noqa: E731
    refused(TaskError, "was edited", load_preset("smoke-cpu"), data, model, BIG, read)


@pytest.mark.parametrize("column", ["completion_tests", "instruction", "digest"])
def test_a_column_is_missing(column: str, data: Path, model: Path) -> None:
    pl.read_parquet(data / "train.parquet").drop(column).write_parquet(data / "train.parquet")
    manifest = json.loads((data / "manifest.json").read_text())
    manifest["files"]["train.parquet"]["sha256"] = file_digest(data / "train.parquet")
    (data / "manifest.json").write_text(json.dumps(manifest))
    refused(TaskError, f"it has no .*column {column}", load_preset("smoke-cpu"), data, model, BIG)


def test_no_weights(data: Path, model: Path) -> None:
    specs = (
        pl.col("completion_tests")
        .struct.field("tests")
        .list.eval(
            pl.struct(pl.element().struct.field("name"), pl.lit(0.0).alias("weight"), pl.lit(False).alias("guard"))
        )
    )
    change(data, lambda frame: frame.with_columns(pl.col("completion_tests").struct.with_fields(specs.alias("tests"))))
    refused(TaskError, "have no weights, so it can give no reward", load_preset("smoke-cpu"), data, model, BIG)


def test_no_tests(data: Path, model: Path) -> None:
    empty = pl.col("completion_tests").struct.with_fields(pl.lit("").alias("source"))
    change(data, lambda frame: frame.with_columns(empty))
    refused(TaskError, "has no tests, so it can give no reward", load_preset("smoke-cpu"), data, model, BIG)


def test_fewer_tasks_than_a_batch(data: Path, model: Path) -> None:
    preset = load_preset("smoke-cpu", {"batch": "8", "hardware.micro": "1"})
    refused(UsageError, "has 6 tasks, fewer than one batch", preset, data, model, BIG)


def test_no_validation_split(data: Path, model: Path) -> None:
    frame = pl.read_parquet(data / "validation.parquet").with_columns(pl.lit("test").alias("split"))
    frame.write_parquet(data / "validation.parquet")
    publish_again(data)
    refused(UsageError, "no validation split", load_preset("learn-cpu"), data, model, BIG)


def test_without_proof_is_a_warning(data: Path, model: Path) -> None:
    change(data, lambda frame: frame.drop("evidence"))
    (warning,) = check(load_preset("smoke-cpu"), data, model, BIG)
    assert "6 of 12 tasks come without a proof" in warning


def test_long_prompts_are_refused_or_left_out(data: Path, model: Path) -> None:
    pytest.importorskip("tokenizers")
    long = pl.when(pl.int_range(pl.len()) == 0).then(pl.lit("word " * 2000)).otherwise(pl.col("instruction"))
    change(data, lambda frame: frame.with_columns(long.alias("instruction")))
    refused(UsageError, "1 of 12 prompts are longer than lengths.prompt", load_preset("smoke-cpu"), data, model, BIG)
    (warning,) = check(load_preset("smoke-cpu", {"lengths.overlong": "skip"}), data, model, BIG)
    assert "they are left out" in warning


def test_only_long_prompts_are_refused(data: Path, model: Path) -> None:
    pytest.importorskip("tokenizers")
    preset = load_preset("smoke-cpu", {"lengths.overlong": "skip", "lengths.prompt": "10"})
    refused(UsageError, "12 of 12 prompts are longer", preset, data, model, BIG)
