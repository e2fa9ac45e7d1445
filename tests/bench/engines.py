"""The life of a small sandbox in every engine that this machine has, side by side in one run."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import pytest

from containers.engines.registry import ENGINES
from containers.sandbox import BuiltImage, Engine, GradeRequest
from containers.shell import Shell
from generators.task import ContextFile, Image
from tests.engines import open_engine
from tests.toys import dockerfile, toy

T = TypeVar("T")
ROUNDS = 15
HARBOR_TRIAL_MS = (
    7000.0  # wall time of one trial at 2 workers on a machine of this size; measured once, not in this run
)
_SETTLED = 0.5  # seconds in which daemons tidy up, so that the next engine is not slower for it
LAYERS = "COPY numbers.txt /srv/\nRUN echo {mark} > /srv/mark\nRUN sort -n /srv/numbers.txt > /srv/sorted.txt\n"


class Stopwatch:
    """Milliseconds by name."""

    def __init__(self) -> None:
        self.taken: dict[str, list[float]] = {}

    def time(self, name: str, work: Callable[[], T]) -> T:
        """Do something and note how long it took."""
        began = time.perf_counter()
        try:
            return work()
        finally:
            self.taken.setdefault(name, []).append(1000 * (time.perf_counter() - began))

    def medians(self) -> dict[str, float]:
        """Of each name."""
        return {name: round(statistics.median(times), 2) for name, times in self.taken.items()}


def life(engine: Engine, built: BuiltImage, watch: Stopwatch) -> None:
    """Create, run `true`, run commands in a shell, solve, grade, destroy: once."""
    task = toy()
    sandbox = watch.time("create", lambda: engine.start(built, task.limits))
    watch.time("exec_true", lambda: sandbox.exec(["/bin/true"], timeout=30))
    with Shell(sandbox) as shell:
        for _ in range(10):
            watch.time("shell_command", lambda: shell.run(":", 30))
    watch.time("destroy", sandbox.close)
    began = time.perf_counter()
    with engine.start(built, task.limits) as sandbox:
        sandbox.exec(task.solution or "", timeout=30)
        graded = watch.time(
            "grade", lambda: sandbox.grade(GradeRequest(task.completion_tests.source, ("test_sum", "test_kept")))
        )
        assert graded.valid and all(test.passed for test in graded.tests), graded
    watch.taken.setdefault("whole_gate", []).append(1000 * (time.perf_counter() - began))


def engines() -> dict[str, Any]:
    """Medians in milliseconds of each engine, rounds taking turns so that a noisy machine is noisy for all."""
    opened: dict[str, Engine] = {}
    result: dict[str, Any] = {}
    for name in ENGINES:
        try:
            opened[name] = open_engine(name)
        except pytest.skip.Exception as absent:
            result[name] = f"not here: {absent}"
    watches = {name: Stopwatch() for name in opened}
    try:
        images = {name: engine.build(toy().image, toy().limits) for name, engine in opened.items()}
        for number in range(ROUNDS + 1):
            for name, engine in opened.items():
                time.sleep(_SETTLED)
                life(engine, images[name], watches[name] if number else Stopwatch())  # the first warms up
        for number in range(3):
            for name, engine in opened.items():
                build = partial(engine.build, layered(f"{time.time_ns()}-{number}"), toy().limits)
                watches[name].time("build_3_layers", build)
    finally:
        for engine in opened.values():
            engine.close()
    result |= {name: watch.medians() for name, watch in watches.items()}
    fast = result["bubblewrap"]["whole_gate"]
    ratios = {name: round(watch.medians()["whole_gate"] / fast, 1) for name, watch in watches.items()}
    result["whole_gate_to_bubblewrap"] = ratios | {
        "a Harbor trial (7 s, not of this run)": round(HARBOR_TRIAL_MS / fast)
    }
    return result


def layered(mark: str) -> Image:
    """An image of three small layers that nothing has cached."""
    return Image(dockerfile=dockerfile(LAYERS.format(mark=mark)), files=(ContextFile.of("numbers.txt", "3\n1\n"),))
