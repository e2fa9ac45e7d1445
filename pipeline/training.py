"""Training on a release: checks it against preset, machine and model, makes the run, and watches over it.

The command line and the Dagster asset call the same functions; the asset runs the command in a process of its own.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from containers.engines.registry import open_engine
from containers.state import storage
from generators.errors import EngineError, SandboxFault, UsageError
from generators.evidence import Evidence
from generators.task import Task
from pipeline.exchange.rows import from_row
from pipeline.release import load_release
from trainer import preflight
from trainer.launch import Order, missing_parts, overrides, prepare, training_python
from trainer.presets import Preset, load_preset
from trainer.run import OWN, RunFolder, RunState, Status
from trainer.supervise import Supervisor


@dataclass(frozen=True)
class TrainingWish:
    """What a user asks for."""

    preset: str
    data: Path
    model: Path
    to: Path
    sets: Mapping[str, str] = field(default_factory=dict[str, str])
    resume: bool = False
    ray_address: str = ""
    python: str = ""


def plan_training(wish: TrainingWish) -> tuple[RunFolder, Order, list[str]]:
    """The run and its order, and warnings. Nothing is written yet.

    Raises:
        UsageError, EngineError, StorageError: preset, data, model or machine do not fit.
    """
    run = RunFolder(wish.to.absolute())
    preset = load_preset(wish.preset, wish.sets)
    _right_folder(run, preset, wish)
    rows = load_release(wish.data)
    known = [(*from_row(row), str(row["split"])) for row in rows]
    warnings = preflight.check(
        preset,
        wish.data,
        wish.model,
        preflight.this_machine(run.path),
        lambda _: [(task, proof) for task, proof, _ in known],
    )
    if not wish.ray_address:  # on a cluster other nodes may have the engine
        open_engine(preset.loop.engine).close()
    proofs = [proof for _, proof, _ in known if proof]
    order = Order(preset, _by_split(known), wish.model.absolute(), _facts(wish), wish.ray_address, wish.python, proofs)
    warnings += missing_parts(training_python(order.python), preset)
    return run, order, warnings


def dry_run(run: RunFolder, order: Order) -> str:
    """verl's resolved configuration, as YAML.

    Raises:
        UsageError: verl does not accept it.
        EngineError: verl is not installed.
    """
    done = subprocess.run(
        [training_python(order.python), "-m", "trainer.verl.compose"],
        input=json.dumps({"run": overrides(run, order)}),
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        answer = json.loads(done.stdout.strip().splitlines()[-1])["run"]
    except (ValueError, KeyError, IndexError):
        said = (done.stderr or done.stdout).strip().splitlines()
        raise EngineError(f"verl could not be asked: {said[-1] if said else f'exit code {done.returncode}'}") from None
    if error := answer.get("error"):
        raise UsageError(error)
    return str(answer["yaml"])


def train(run: RunFolder, order: Order, say: Callable[[str], None]) -> RunState:
    """Train to the end, or until it is stopped.

    Raises:
        StorageError: the folder cannot be written.
    """
    with storage(f"preparing {run.path}"):
        prepare(run, order)
    with storage(f"writing {run.path}"):
        return Supervisor(run, order, say).train()


def raise_for(state: RunState, run: RunFolder, say: Callable[[str], None] = print) -> None:
    """Say how a run ended where it did not finish.

    Raises:
        KeyboardInterrupt: its user stopped it.
        SandboxFault: it failed, or the watchdog stopped it; it goes on with --resume.
    """
    if state.status is Status.FINISHED:
        return
    if state.status is Status.STOPPED and state.reason.startswith("stopped by"):
        say(f"stopped after step {state.step} of {state.steps}; report: {run.report}; go on with --resume")
        raise KeyboardInterrupt
    raise SandboxFault(
        f"training {state.status.value} after step {state.step} of {state.steps}: {state.reason}; report: {run.report};"
        " go on with --resume"
    )


def _right_folder(run: RunFolder, preset: Preset, wish: TrainingWish) -> None:
    there = (run.path / "state.json").exists()
    if wish.resume and not there:
        raise UsageError(f"{run.path}: there is no training run to go on with; leave --resume out")
    if there and not wish.resume:
        raise UsageError(
            f"{run.path} holds a training run already; go on with --resume, or name another folder with --to"
        )
    if not there:
        others = sorted(path.name for path in run.path.iterdir()) if run.path.is_dir() else []
        if foreign := [name for name in others if name not in OWN and not name.startswith(".")]:
            raise UsageError(
                f"{run.path} holds {foreign[0]}, which is not of a training run; name another folder with --to"
            )
        return
    try:
        facts = json.loads(run.settings.read_text())
    except (OSError, ValueError) as error:
        raise UsageError(f"{run.settings}: cannot be read: {error}") from None
    if facts.get("data_digest") != _facts(wish)["data_digest"]:
        raise UsageError(
            f"{run.path} was begun with another data set than {wish.data}; name that one, or another folder"
        )
    if facts.get("model") != str(wish.model.absolute()):
        raise UsageError(f"{run.path} was begun with the model {facts.get('model')}; name that one, or another folder")
    if facts.get("preset", {}).get("algorithm") != preset.algorithm:
        raise UsageError(f"{run.path} was begun with preset {facts['preset'].get('name')!r}, not with {preset.name!r}")


def _facts(wish: TrainingWish) -> dict[str, object]:
    manifest = wish.data / "manifest.json"
    try:
        digest = str(json.loads(manifest.read_text())["digest"])
    except (OSError, ValueError, KeyError) as error:
        raise UsageError(f"{wish.data} is not a release: its manifest.json cannot be read ({error})") from None
    return {"data": str(wish.data.absolute()), "data_digest": digest}


def _by_split(known: list[tuple[Task, Evidence | None, str]]) -> dict[str, list[Task]]:
    found: dict[str, list[Task]] = {}
    for task, _, split in known:
        if split in ("train", "validation"):
            found.setdefault(split, []).append(task)
    return found
