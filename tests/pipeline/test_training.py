"""Training as users start it: wrong input is one line, a run is one process, and a data version starts it once."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from dagster import DagsterInstance, RunRequest, SkipReason, build_sensor_context

from generators.errors import EngineError, ProviderFault, SandboxFault, TaskError, TermforgeError, UsageError
from pipeline.cli.main import cli
from pipeline.definitions import build_defs
from pipeline.resources import TRAIN_PRESET, TrainingResource
from pipeline.training import TrainingWish, plan_training, raise_for
from tests.pipeline.conftest import TINY, Floor, floor_in
from tests.trainer.small_folder import write_model
from tests.trainer.test_supervise import STEP
from trainer.preflight import this_machine
from trainer.run import RunFolder, RunState, Status
from trainer.serve import served

STEPS = "for n in 1 2 3; do step $n; done"


ROOMY = pytest.mark.skipif(
    this_machine(Path("/tmp")).memory_free < 10 << 30, reason="the smallest preset asks for 7 GiB of free memory"
)


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """A script where verl's process would be."""
    path = tmp_path / "python"
    path.write_text(f"#!/bin/bash\n{STEP}{STEPS}\nmkdir -p $TERMFORGE_RUN/checkpoints/global_step_3/actor/huggingface\n"
                    "cp $MODEL/model.safetensors $TERMFORGE_RUN/checkpoints/global_step_3/actor/huggingface/\n")  # fmt: skip
    path.chmod(0o755)
    return path


def run_it(*words: str) -> BaseException | None:
    """What a command raises; the command line makes a line and an exit code of it."""
    return CliRunner().invoke(cli, ["train", *words]).exception


def refused(wanted: type[TermforgeError], *words: str) -> str:
    """The one line that wrong input gets."""
    error = run_it(*words)
    assert isinstance(error, wanted), repr(error)
    assert "\n" not in str(error)
    return str(error)


def test_wrong_input_is_one_line(made: Floor, tmp_path: Path) -> None:
    data, model = str(made.folder / "datasets" / "tiny"), str(write_model(tmp_path / "model"))
    where = ("--data", data, "--to", str(tmp_path / "run"))
    there = (*where, "--model", model)
    assert "smoke-cpu" in refused(UsageError, "smoke-cpi", *there)
    assert "--model" in refused(UsageError, "smoke-cpu", *where)
    assert "GPU" in refused(
        EngineError, "test_8b_2_gpus", *there, "--set", "lengths.model=8192", "--set", 'loop.examples=""'
    )
    assert "'steps'" in refused(UsageError, "smoke-cpu", *there, "--set", "stepps=3")
    assert "chat template" in refused(
        UsageError, "smoke-cpu", *where, "--model", str(write_model(tmp_path / "bare", None))
    )
    assert "no such" in refused(UsageError, "smoke-cpu", *where, "--model", str(tmp_path / "nowhere")).lower()
    assert "not a release" in refused(TermforgeError, "smoke-cpu", "--data", str(tmp_path), "--model", model)
    assert "leave --resume out" in refused(UsageError, "smoke-cpu", *there, "--resume")
    assert "say which preset" in refused(UsageError, "--resume")
    assert "bubblewrap" in refused(UsageError, "smoke-cpu", *there, "--set", "loop.engine=foo")
    onto_data = ("smoke-cpu", "--data", data, "--to", data, "--model", model)
    assert "is not of a training run" in refused(UsageError, *onto_data)
    assert not (tmp_path / "run").exists()


def test_a_data_set_that_was_changed_is_refused(made: Floor, tmp_path: Path) -> None:
    data = shutil.copytree(made.folder / "datasets" / "tiny", tmp_path / "tiny")
    (data / "train.parquet").write_bytes((data / "train.parquet").read_bytes() + b"x")
    words = ("--data", str(data), "--model", str(write_model(tmp_path / "model")), "--to", str(tmp_path / "run"))
    assert "not the file that was published" in refused(TaskError, "smoke-cpu", *words)


def wish(made: Floor, folder: Path, python: Path, **more: object) -> TrainingWish:
    sets = {"steps": "3", "batch": "1", "lengths.prompt": "4000", "lengths.model": "8000"}
    model = write_model(folder / "model")
    return TrainingWish(
        "smoke-cpu", made.folder / "datasets" / "tiny", model, folder / "run", sets, python=str(python), **more
    )  # type: ignore[arg-type]


@ROOMY
def test_a_run_goes_on_only_where_it_is_the_same(made: Floor, tmp_path: Path, python: Path) -> None:
    first = wish(made, tmp_path, python)
    run, order, _ = plan_training(first)
    run.path.mkdir()
    run.save_state(RunState())
    run.settings.write_text(json.dumps({"preset": {"algorithm": "grpo"}, "data_digest": "another"}))
    with pytest.raises(UsageError, match="go on with --resume"):
        plan_training(first)
    with pytest.raises(UsageError, match="begun with another data set"):
        plan_training(wish(made, tmp_path, python, resume=True))
    digest = str(order.facts["data_digest"])
    run.settings.write_text(json.dumps({"preset": {"algorithm": "grpo"}, "data_digest": digest, "model": "/other"}))
    with pytest.raises(UsageError, match="begun with the model /other"):
        plan_training(wish(made, tmp_path, python, resume=True))
    assert order.splits["train"] and "test" not in order.splits


@ROOMY
def test_an_engine_that_is_not_there_is_said(
    made: Floor, tmp_path: Path, python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    first = wish(made, tmp_path, python)
    with pytest.raises(EngineError, match="no docker answers"):
        plan_training(replace(first, sets={**first.sets, "loop.engine": "docker"}))
    assert not first.to.exists()


@pytest.mark.parametrize(
    ("state", "error"),
    [
        (RunState(status=Status.FAILED, reason="no memory"), SandboxFault),
        (RunState(status=Status.STOPPED, reason="hang: 9 s"), SandboxFault),
        (RunState(status=Status.STOPPED, reason="stopped by its user"), KeyboardInterrupt),
    ],
)
def test_how_a_run_ended_is_said(state: RunState, error: type[BaseException], tmp_path: Path) -> None:
    with pytest.raises(error):
        raise_for(state, RunFolder(tmp_path))
    raise_for(RunState(status=Status.FINISHED), RunFolder(tmp_path))


@pytest.fixture
def switched_on(
    made: Floor, tmp_path: Path, python: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Floor, TrainingResource]]:
    """A floor with a release of its own and training switched on."""
    model = write_model(tmp_path / "model")
    monkeypatch.setenv("TERMFORGE_TRAIN_PYTHON", str(python))
    monkeypatch.setenv("MODEL", str(model))
    sets = ["steps=3", "batch=1", "lengths.prompt=4000", "lengths.model=8000"]
    training = TrainingResource(preset="smoke-cpu", model=str(model), runs=str(tmp_path / "runs"), sets=sets)
    with DagsterInstance.ephemeral() as instance:
        floor = floor_in(tmp_path, instance, training=training)
        shutil.copytree(made.folder / "frames", tmp_path / "frames")
        floor.run("publish", "tiny")
        yield floor, training


@ROOMY
def test_the_assets_train_once_and_show_it(switched_on: tuple[Floor, TrainingResource]) -> None:
    floor, training = switched_on
    assert floor.run("train", "tiny").success
    shown = floor.metadata("grpo_run")
    run = training.run_of(floor.folder / "datasets" / "tiny")
    assert shown["steps"] == 3 and shown["report"] == str(run.report) and run.report.exists()
    assert "data:image/png" in str(shown["curve"])
    assert floor.metadata("checkpoint")["step"] == 3
    assert floor.version("checkpoint").startswith("checkpoint-")


def test_the_sensor_asks_once_for_a_version_and_only_where_training_is_on(
    switched_on: tuple[Floor, TrainingResource], monkeypatch: pytest.MonkeyPatch
) -> None:
    floor, _ = switched_on
    sensor = floor.defs.resolve_sensor_def("train_on_new_data")

    def asked() -> list[object]:
        context = build_sensor_context(instance=floor.instance, definitions=floor.defs)
        result = sensor(context)
        return list(result)  # type: ignore[arg-type]

    assert all(isinstance(one, SkipReason) for one in asked())
    monkeypatch.setenv(TRAIN_PRESET, "smoke-cpu")
    (first,) = asked()
    assert isinstance(first, RunRequest) and first.partition_key == "tiny"
    floor.run("publish", "tiny")
    (second,) = asked()
    assert isinstance(second, RunRequest) and second.run_key == first.run_key


def test_training_is_off_where_nothing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TRAIN_PRESET, raising=False)
    monkeypatch.delenv("TERMFORGE_TRAIN_MODEL", raising=False)
    with pytest.raises(UsageError, match="training is off"):
        TrainingResource().require()
    assert "grpo_run" in {key.to_user_string() for key in build_defs(tmp_path, [TINY]).resolve_all_asset_keys()}


def test_a_port_that_is_used_and_a_server_that_dies_are_said(tmp_path: Path) -> None:
    model = write_model(tmp_path / "model")
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(UsageError, match=r"port \d+ cannot be used"),
        served(model, "/bin/true", port=taken.getsockname()[1]),
    ):
        pass
    with pytest.raises(ProviderFault, match="did not get ready"), served(model, "/bin/true"):
        pass
