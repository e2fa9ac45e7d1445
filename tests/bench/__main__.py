"""`make bench`: prints a table and writes build/bench.json. With --sample N only N tasks go through the gates."""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from containers import probe
from containers.engines.bubblewrap.engine import BubblewrapEngine
from containers.proof.batch import default_workers, prove_all, tamper_plan
from containers.sandbox import BuiltImage, GradeRequest
from containers.shell import Shell
from containers.state import State, default_state
from generators.bases import Base, preamble
from generators.procedural import find_family, write_task
from generators.recipe import load_recipe, plan
from generators.task import Image, Limits, Task
from tests.bench.agent import agent
from tests.bench.engines import engines
from tests.bench.writing import writing
from tests.toys import toy

ROOT = Path(__file__).resolve().parents[2]
REPEAT = 60


def median_ms(work: Callable[[], object], repeat: int = REPEAT) -> float:
    """Median milliseconds of a call."""
    taken: list[float] = []
    for _ in range(repeat):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return round(1000 * statistics.median(taken), 3)


def interleaved_ms(one: Callable[[], object], other: Callable[[], object], repeat: int = REPEAT) -> tuple[float, float]:
    """Medians of two calls that take turns, so that a noisy machine is noisy for both."""
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeat):
        for work, times in zip((one, other), taken, strict=True):
            began = time.perf_counter()
            work()
            times.append(time.perf_counter() - began)
    return round(1000 * statistics.median(taken[0]), 3), round(1000 * statistics.median(taken[1]), 3)


def bare_bwrap(engine: BubblewrapEngine, built: BuiltImage) -> Callable[[], object]:
    """bubblewrap by itself with the same mounts and namespaces, running `true`."""
    bwrap, libraries = probe.install_bwrap(engine.state)
    argv = [str(bwrap), "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net", "--die-with-parent"]
    for layer in built.layers:
        argv += ["--overlay-src", layer]
    argv += ["--tmp-overlay", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/dev/shm", "true"]
    env = {"PATH": "/usr/bin:/bin", **libraries}
    return lambda: subprocess.run(argv, env=env, check=True)


def sandboxes(engine: BubblewrapEngine) -> dict[str, Any]:
    """Costs of a sandbox's life, a command, and a whole gate of a small task."""
    task = toy()
    built = engine.build(task.image, task.limits)

    def life() -> None:
        with engine.start(built, task.limits) as sandbox:
            sandbox.exec(["/bin/true"], timeout=10)

    def gate() -> None:
        with engine.start(built, task.limits) as sandbox:
            sandbox.exec(task.solution or "", timeout=10)
            sandbox.grade(GradeRequest(task.completion_tests.source, ("test_sum", "test_kept")))

    life()
    ours, bare = interleaved_ms(life, bare_bwrap(engine, built), 3 * REPEAT)
    with engine.start(built, task.limits) as sandbox, Shell(sandbox) as shell:
        command = median_ms(lambda: shell.run(":", 10), 500)
    return {
        "sandbox_create_true_destroy_ms": ours,
        "bare_bwrap_ms": bare,
        "sandbox_to_bare_bwrap": round(ours / bare, 2),
        "shell_command_ms": command,
        "whole_gate_ms": median_ms(gate),
    }


def drafts() -> tuple[dict[str, Any], list[Task]]:
    """How fast tasks are written on one core."""
    recipe = load_recipe(ROOT / "datasets" / "recipes" / "main.yaml")
    orders = plan(recipe)
    began = time.process_time()
    tasks = [write_task(find_family(order.family), recipe.seed, order.serial, order.difficulty) for order in orders]
    seconds = time.process_time() - began
    return {"tasks": len(tasks), "drafts_per_core_second": round(len(tasks) / seconds, 1)}, tasks


def bench_state() -> State:
    """A home of its own that shares base file system and package layers with the real one, so that all else is built anew."""
    real = default_state()
    home = State(real.folder("tmp") / f"{real.owner}-bench")
    home.prepare()
    with BubblewrapEngine(real, say=print) as engine:
        for base in Base:
            built = engine.build(Image(dockerfile=preamble(base)), Limits())
            for layer in built.layers[1:]:
                link = home.folder("layers") / Path(layer).parent.name
                if not link.exists():
                    link.symlink_to(Path(layer).parent)
    for path in real.folder("rootfs").iterdir():
        if path.is_dir() and not (home.folder("rootfs") / path.name).exists():
            (home.folder("rootfs") / path.name).symlink_to(path)
    return home


def gates(tasks: list[Task]) -> dict[str, Any]:
    """The whole road from draft to proof for all tasks."""
    spent: dict[str, float] = defaultdict(float)
    workers, attacked = default_workers(), tamper_plan(tasks)
    with BubblewrapEngine(bench_state()) as engine:
        began = time.monotonic()
        proofs = list(prove_all(engine, tasks, None, workers, attacked=attacked))
        wall = time.monotonic() - began
    for proof in proofs:
        for verdict in proof.evidence.verdicts:
            spent[verdict.gate.value] += verdict.seconds
    total = sum(spent.values())
    return {
        "gated_tasks": len(proofs),
        "proven": sum(proof.evidence.proven for proof in proofs),
        "attacked_tasks": len(attacked),
        "workers": workers,
        "wall_seconds": round(wall, 1),
        "tasks_per_core_minute": round(len(proofs) / (wall * len(os.sched_getaffinity(0)) / 60), 1),
        "driver_peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "share_of_time": {
            gate: round(seconds / total, 3) for gate, seconds in sorted(spent.items(), key=lambda item: -item[1])
        },
    }


def machine() -> dict[str, Any]:
    """What it was measured on."""
    return {"cores": len(os.sched_getaffinity(0)), "kernel": platform.release(), "python": platform.python_version()}


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="make bench")
    parser.add_argument("--sample", type=int, help="only so many tasks through the gates")
    options = parser.parse_args()
    side_by_side = engines()
    with BubblewrapEngine(say=print) as engine:
        result = {"machine": machine(), "engines": side_by_side, "sandbox": sandboxes(engine), "agent": agent(engine)}
    result["drafts"], tasks = drafts()
    result["written_by_an_instant_model"] = writing()
    result["gates"] = gates(tasks[: options.sample])
    for part, figures in result.items():
        print(f"\n{part}")
        for name, value in figures.items():
            print(f"  {name:<34} {value}")
    target = ROOT / "build" / "bench.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(result, indent=1) + "\n")
    print(f"\nwritten to {target.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
