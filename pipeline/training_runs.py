"""What the assets of the group `training` do: start the command in its own process, follow it, and show what came of it."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dagster import DataVersion, Failure, MaterializeResult, MetadataValue
from matplotlib.figure import Figure

from pipeline.resources import TrainingResource
from trainer.run import RunFolder, read_lines
from trainer.serve import checkpoint_folder, served_name

_FIGURES = (
    "reward/mean",
    "pass_rate",
    "val/pass_rate",
    "actor/entropy",
    "actor/grad_norm",
    "time/step",
    "time/outside_share",
)


def run_training(training: TrainingResource, data: Path, say: Callable[[str], object]) -> RunFolder:
    """Train on a release; a run that was stopped goes on.

    Raises:
        UsageError: training is off.
        Failure: it did not finish, with the reason.
    """
    training.require()
    run = training.run_of(data)
    command = ["train", training.preset, "--data", str(data), "--model", training.model, "--to", str(run.path)]
    command += [part for pair in training.sets for part in ("--set", pair)]
    command += ["--ray", training.ray_address] if training.ray_address else []
    command += ["--resume"] if (run.path / "state.json").exists() else []
    _follow(command, say)
    return run


def trained(run: RunFolder) -> MaterializeResult:
    """Figures and curves of a run; its version names data, model and settings by what it was started with, and how far it came."""
    lines = read_lines(run.metrics)
    steps = [line for line in lines if "time/step" in line]
    last: dict[str, float] = {}
    for line in lines:
        last |= {key: line[key] for key in _FIGURES if key in line}
    state = run.state()
    metadata: dict[str, Any] = {
        "steps": MetadataValue.int(state.step),
        "report": MetadataValue.path(str(run.report)),
        "log": MetadataValue.path(str(run.log)),
        "metrics": MetadataValue.path(str(run.metrics)),
        "rollouts": MetadataValue.path(str(run.rollouts_table)),
        **{key: MetadataValue.float(round(value, 4)) for key, value in last.items()},
    }
    if steps:
        metadata["curve"] = MetadataValue.md(f"![reward](data:image/png;base64,{_curve(lines)})")
    facts = json.loads(run.settings.read_text())
    return MaterializeResult(metadata=metadata, data_version=DataVersion(f"{facts['data_digest'][:16]}-{state.step}"))


def checkpointed(run: RunFolder) -> MaterializeResult:
    """Where the last checkpoint lies; its version is that of its weights."""
    folder = checkpoint_folder(run)
    size = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
    metadata = {
        "step": MetadataValue.int(run.last_checkpoint()),
        "folder": MetadataValue.path(str(folder)),
        "bytes": MetadataValue.int(size),
    }
    return MaterializeResult(metadata=metadata, data_version=DataVersion(served_name(folder)))


def evaluated(training: TrainingResource, run: RunFolder, say: Callable[[str], object]) -> MaterializeResult:
    """pass@k of the checkpoint on the validation split.

    Raises:
        Failure: the evaluation failed, with the reason.
    """
    text = _follow(["evaluate", str(run.path), "-k", str(training.evaluation_k), "--json"], say)
    result = json.loads(text.strip().splitlines()[-1])
    rates = {f"pass@{row['k']}": row["value"] for row in result["passk"] if row["value"] is not None}
    metadata: dict[str, Any] = {key: MetadataValue.float(round(value, 4)) for key, value in rates.items()}
    return MaterializeResult(metadata={**metadata, "trajectories": MetadataValue.path(result["trajectories"])})


def _follow(arguments: Sequence[str], say: Callable[[str], object]) -> str:
    """Run a command of ours, its remarks to `say`; gives its output. It is stopped when this process is asked to stop."""
    command = [sys.executable, "-m", "pipeline.cli", *arguments]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert process.stdout
    lines: list[str] = []
    try:
        for line in process.stdout:
            lines.append(line)
            say(line.rstrip())
    finally:
        if process.poll() is None and sys.exc_info()[0] is not None:
            _stop(process)
    if code := process.wait():
        raise Failure(f"termforge {arguments[0]} ended with code {code}: {lines[-1].strip() if lines else ''}")
    return "".join(lines)


def _stop(process: subprocess.Popen[str]) -> None:
    """Twice: at once, and all that it started with it."""
    for _ in range(2):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(2)
    process.wait()


def _curve(lines: Sequence[dict[str, Any]]) -> str:
    """Reward and pass rates as a small picture, base64."""
    figure = Figure(figsize=(5, 2.6), layout="constrained")
    axes: Any = figure.subplots()
    for key, label in (("reward/mean", "reward"), ("pass_rate", "pass rate"), ("val/pass_rate", "validation")):
        points = [(line["step"], line[key]) for line in lines if key in line]
        if points:
            axes.plot(*zip(*points, strict=True), label=label, marker=".")
    axes.set_xlabel("step")
    if axes.get_lines():
        axes.legend(fontsize=8, frameon=False)
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=80)
    return base64.b64encode(out.getvalue()).decode()
