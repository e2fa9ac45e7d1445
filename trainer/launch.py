"""Makes the folder of a training run, and the command and environment of the process that trains in it.

run = prepare(RunFolder(path), Order(preset, splits, model, ...))
outcome = supervise(run, order)          # trainer/supervise.py
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent.styles import open_style
from generators.errors import EngineError, UsageError
from generators.evidence import Evidence
from generators.task import Task
from trainer.curriculum import begin
from trainer.curriculum_run import known_outcomes, save_state
from trainer.examples import worked_examples
from trainer.presets import Preset
from trainer.run import RUN, RunFolder, RunState, Status, write_whole
from trainer.settings import LoopSettings
from trainer.tasks import write_tasks
from trainer.verl.overrides import Cluster, verl_overrides
from trainer.verl.rows import write_rows

PYTHON = "TERMFORGE_TRAIN_PYTHON"
_KEPT_MEMORY = (  # large tensors are made and dropped all the time: memory that is given back costs as much as the arithmetic
    "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=100000000000:glibc.malloc.arena_max=1"
)
_LOOP_CLASS = "trainer.verl.agent_loop.TerminalAgentLoop"


@dataclass(frozen=True)
class Order:
    """What is to be trained: a preset, tasks by split, a model folder, and what is said of them in run.json."""

    preset: Preset
    splits: Mapping[str, Sequence[Task]]
    model: Path
    facts: Mapping[str, object] = field(default_factory=dict[str, object])
    ray_address: str = ""
    python: str = ""
    proofs: Sequence[Evidence] = ()


def prepare(run: RunFolder, order: Order) -> RunFolder:
    """Write rows, tasks and settings. The folder may hold a run that is to go on; then it must be the same one.

    Raises:
        UsageError: another run lies there.
    """
    run.path.mkdir(parents=True, exist_ok=True)
    loop = loop_settings(run, order.preset)
    open_style(loop.style)
    for split, tasks in order.splits.items():
        write_tasks(tasks, run.path / "tasks")
        if not tasks:
            raise UsageError(f"the data set has no tasks in its {split} split")
    write_rows(order.splits, run.data, style=loop.style, examples=loop.examples)
    write_whole(run.path / "loop.json", loop.model_dump_json(indent=1) + "\n")
    line = {"name": "termforge", "_target_": _LOOP_CLASS, "settings": str(run.path / "loop.json")}
    write_whole(run.path / "loops.yaml", json.dumps([line], indent=1) + "\n")
    facts = {"preset": order.preset.model_dump(mode="json"), "model": str(order.model), **order.facts}
    write_whole(run.settings, json.dumps(facts, indent=1, sort_keys=True) + "\n")
    if not (run.path / "state.json").exists():
        if order.preset.curriculum.enabled:
            save_state(run, begin(order.preset.curriculum, known_outcomes(order.proofs)))
        run.save_state(RunState(status=Status.STARTING, steps=order.preset.steps))
    return run


def loop_settings(run: RunFolder, preset: Preset) -> LoopSettings:
    """The preset's, for this run."""
    examples = worked_examples(preset.loop.examples)
    return preset.loop.model_copy(update={"data": str(run.path / "tasks"), "run": str(run.path), "examples": examples})


def command(run: RunFolder, order: Order) -> list[str]:
    """What is started."""
    return [training_python(order.python), "-m", "trainer.verl.main", *overrides(run, order)]


def overrides(run: RunFolder, order: Order) -> list[str]:
    """The run in verl's words."""
    cluster = Cluster(order.ray_address, _of_every_process(run, order.preset)) if order.ray_address else None
    return verl_overrides(order.preset, run, order.model, cluster)


def training_python(named: str = "") -> str:
    """The Python that has verl: the one named, this one, or the one that `make train-setup` made.

    Raises:
        EngineError: there is none.
    """
    made = Path(__file__).resolve().parents[1] / ".venv-train" / "bin" / "python"
    if chosen := named or os.environ.get(PYTHON, ""):
        if shutil.which(chosen) is None:
            raise EngineError(
                f"{chosen} is no Python that can be started; name one that has verl (--python, or {PYTHON})"
            )
        return chosen
    if importlib.util.find_spec("verl"):
        return sys.executable
    if made.exists():
        return str(made)
    raise EngineError(
        "verl is not installed here: run `make train-setup` (processor) or `pip install 'termforge[train-gpu]'`,"
        f" or name a Python that has it in {PYTHON}"
    )


def missing_parts(python: str, preset: Preset) -> list[str]:
    """What a run will want of that Python and not find, a line each."""
    wanted = {"vllm": "vllm", "transfer_queue": "TransferQueue"}
    if preset.device == "gpu" and "sdpa" not in map(str, preset.verl.values()):
        wanted["flash_attn"] = "flash-attn --no-build-isolation"
    if preset.wandb:
        wanted["wandb"] = "wandb"
    program = "import importlib.util as u, sys; print(*[name for name in sys.argv[1:] if not u.find_spec(name)])"
    done = subprocess.run([python, "-c", program, *wanted], capture_output=True, text=True, check=False)
    missing = [name for name in wanted if name in done.stdout.split()]
    return [f"{name} is missing where verl is ({python}): pip install {wanted[name]}" for name in missing]


def environment(run: RunFolder, preset: Preset, temporary: Path) -> dict[str, str]:
    """Of the process that trains, and of the Ray that it starts."""
    kept = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "PYTHONHOME")}
    here = {"RAY_TMPDIR": str(temporary), "TMPDIR": str(temporary)}
    return kept | here | _of_every_process(run, preset)


def _of_every_process(run: RunFolder, preset: Preset) -> dict[str, str]:
    """On every node: where it measures to, and that it asks nobody outside for anything it was not told to."""
    quiet = {"RAY_USAGE_STATS_ENABLED": "0", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "HYDRA_FULL_ERROR": "1"}
    places = {
        RUN: str(run.path.absolute()),
        "VERL_FILE_LOGGER_PATH": str(run.verl_metrics.absolute().with_suffix(".part.jsonl")),
        "TENSORBOARD_DIR": str(run.path.absolute() / "tensorboard"),
    }
    cpu = {
        "VERL_PLATFORM": "cpu",
        "VERL_ENGINE_DEVICE": "cuda",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # lets the engine do its own work: one process less that imports all
        "GLIBC_TUNABLES": _KEPT_MEMORY,
        "TORCH_COMPILE_DISABLE": "1",  # compiling takes longer than it saves in a short run
        "OMP_WAIT_POLICY": "PASSIVE",  # threads that spin would take the processor from the sandboxes
        "RAY_memory_usage_threshold": "0.98",
        "OMP_NUM_THREADS": str(len(os.sched_getaffinity(0))),
        "HF_HUB_OFFLINE": "1",
        "RAY_DEDUP_LOGS": "0",
    }
    return quiet | places | (cpu if preset.device == "cpu" else {})
