"""Commands that use a sandbox on given tasks: prove, solve, clean."""

from __future__ import annotations

import os
import pty
import select
import shutil
import signal
import sys
import termios
import tty
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from containers import layers
from containers.engines.bubblewrap.engine import BubblewrapEngine
from containers.engines.registry import open_engine
from containers.grading.score import Score, score
from containers.housekeeping import GIB, trim
from containers.proof.batch import Proven, prove_all
from containers.proof.store import ProofStore
from containers.sandbox import Feature, GradeRequest, Sandbox
from generators.errors import UsageError
from generators.task import Task
from pipeline.cli.output import Out, engine_option, json_option
from pipeline.cli.sources import find_task, load_tasks
from pipeline.stages import stoppable


@click.command()
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--task", "names", multiple=True, help="Only tasks whose id begins with this (may be repeated).")
@click.option("--limit", type=click.IntRange(min=1), help="Only the first N tasks.")
@click.option("--again", is_flag=True, help="Prove anew, even what was proven here before.")
@engine_option
@json_option
def prove(source: Path, names: tuple[str, ...], limit: int | None, again: bool, engine_name: str, out: Out) -> None:
    """Take the tasks of SOURCE (release folder, parquet, JSON file or folder) through the gates.

    Exit code 1 if a task fails a gate, 5 if infrastructure failed.
    """
    tasks = [task for task, _ in load_tasks(source) if not names or task.id.startswith(names)][:limit]
    if not tasks:
        raise UsageError(f"no task of {source} matches {', '.join(names)}")
    results: list[Proven] = []
    with open_engine(engine_name, say=out.say) as engine, stoppable() as stop, out.progress() as report:
        store = None if again else ProofStore.of(engine.state, engine.name)
        for proven in prove_all(engine, tasks, store, stop=stop.is_set):
            results.append(proven)
            report("proven", len(results), len(tasks))
    results.sort(key=lambda proven: proven.task.id)
    out.result([_verdict(proven) for proven in results], lambda console: _print_proofs(console, out, results))
    if any(not proven.evidence.valid for proven in results):
        raise click.exceptions.Exit(5)
    if any(not proven.evidence.proven for proven in results):
        raise click.exceptions.Exit(1)


def _verdict(proven: Proven) -> dict[str, Any]:
    return {"id": proven.task.id, "proven": proven.evidence.proven, **proven.evidence.model_dump(mode="json")}


def _print_proofs(console: Console, out: Out, results: list[Proven]) -> None:
    rows = [
        (proven.task.id, failure.gate.value, failure.reason, failure.detail)
        for proven in results
        if (failure := proven.evidence.failure)
    ]
    rows += [(p.task.id, "infrastructure", "invalid", p.evidence.fault) for p in results if not p.evidence.valid]
    if rows:
        console.print(out.table(("task", "gate", "reason", "detail"), rows), markup=False)
    proven = sum(result.evidence.proven for result in results)
    console.print(f"{proven} of {len(results)} proven ({sum(result.cached for result in results)} from earlier runs)")


@click.command()
@click.argument("task")
@click.option(
    "--from", "source", type=click.Path(path_type=Path), help="Release folder, parquet or JSON file to look in."
)
@click.option("--shell", is_flag=True, help="Open a shell in the sandbox; leaving it grades what you did.")
@click.option(
    "--script", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="Run this script, then grade."
)
@engine_option
@json_option
def solve(task: str, source: Path | None, shell: bool, script: Path | None, engine_name: str, out: Out) -> None:
    """Work on TASK yourself in a fresh sandbox, and be graded. Exit code 1 unless the score is 1."""
    if shell == bool(script):
        raise UsageError("say either --shell (work by hand) or --script FILE")
    record, _ = find_task(task, source)
    with open_engine(engine_name, say=out.say) as engine:
        if shell and (gap := next((gap for gap in engine.gaps() if gap.feature is Feature.TERMINAL), None)):
            raise UsageError(f"--shell needs a terminal: {gap.why}; leave --engine out")
        built = engine.build(record.image, record.limits)
        with engine.start(built, record.limits) as sandbox:
            if script:
                ran = sandbox.exec(script.read_text(errors="replace"), timeout=record.limits.solve_seconds)
                ended = "ran out of time" if ran.timed_out else f"exit code {ran.exit_code}"
                out.say(f"{ran.tail()}\n[{ended}, {ran.seconds:.1f} s]".lstrip())
            else:
                out.say(record.instruction)
                interactive(sandbox)
            tests = record.completion_tests
            request = GradeRequest(tests.source, tuple(test.name for test in tests.tests), record.limits.grade_seconds)
            outcome = score(tests, sandbox.grade(request))
    out.result(_score(record, outcome), lambda console: _print_score(console, out, record, outcome))
    if not outcome.binary:
        raise click.exceptions.Exit(1 if outcome.valid else 5)


def _score(task: Task, outcome: Score) -> dict[str, Any]:
    tests = [{"name": test.name, "passed": test.passed, "message": test.message} for test in outcome.tests]
    return {
        "id": task.id,
        "weighted": outcome.weighted,
        "binary": outcome.binary,
        "valid": outcome.valid,
        "reason": outcome.reason,
        "tests": tests,
    }


def _print_score(console: Console, out: Out, task: Task, outcome: Score) -> None:
    kinds = {test.name: "guard" if test.guard else f"{test.weight:g}" for test in task.completion_tests.tests}
    rows = [
        ("pass" if test.passed else "fail", kinds.get(test.name, ""), test.name, test.message) for test in outcome.tests
    ]
    console.print(out.table(("", "weight", "test", "message"), rows), markup=False)
    console.print(f"score {outcome.weighted:g}" if outcome.valid else f"invalid: {outcome.reason}")


def interactive(sandbox: Sandbox) -> None:
    """Connect this terminal to a login shell in the sandbox until it ends."""
    ours, theirs = pty.openpty()
    reply = sandbox.run(
        ["/bin/bash", "-l"], (theirs, theirs, theirs), tty=True, env={"TERM": os.environ.get("TERM", "xterm")}
    )
    os.close(theirs)
    is_terminal = sys.stdin.isatty()
    before = termios.tcgetattr(0) if is_terminal else None
    try:
        if is_terminal:
            tty.setraw(0)
            _resize(ours)
            signal.signal(signal.SIGWINCH, lambda *_: _resize(ours))
        _forward(ours, reply.fileno())
    finally:
        if before is not None:
            termios.tcsetattr(0, termios.TCSADRAIN, before)
        reply.close()
        os.close(ours)


def _resize(terminal: int) -> None:
    """Give the sandbox's terminal the size of ours."""
    size = shutil.get_terminal_size()
    termios.tcsetwinsize(terminal, (size.lines, size.columns))


def _forward(terminal: int, ended: int) -> None:
    sources = [terminal, 0, ended]
    while True:
        ready = select.select(sources, [], [])[0]
        if terminal in ready:
            try:
                data = os.read(terminal, 65536)
            except OSError:
                return
            os.write(1, data)
        elif ended in ready:
            return
        if 0 in ready:
            data = os.read(0, 65536)
            if not data:
                sources.remove(0)
            os.write(terminal, data or b"\x04")


@click.command()
@click.option("--layers", "drop_layers", is_flag=True, help="Also remove every cached image layer.")
@click.option("--all", "everything", is_flag=True, help="Also remove base file systems and kept proofs.")
@click.option("--images", "trimmed", is_flag=True, help="Only remove images of --engine, least recently used first.")
@click.option("--keep-gib", type=click.FloatRange(min=0), default=0.0, help="With --images: as much may stay.")
@engine_option
@json_option
def clean(drop_layers: bool, everything: bool, trimmed: bool, keep_gib: float, engine_name: str, out: Out) -> None:
    """Remove what killed runs left; with options, what can be made again. Nothing in use is removed."""
    if trimmed:
        with open_engine(engine_name, say=out.say) as engine:
            gone = trim(engine, int(keep_gib * GIB))
        text = f"removed: {gone.images} images, {gone.bytes / GIB:.2f} GiB; {gone.left / GIB:.2f} GiB stay"
        out.result(vars(gone), lambda console: console.print(text))
        return
    with BubblewrapEngine(say=out.say) as engine:
        value: dict[str, Any] = {"left_over_groups": engine.reaped.groups, "left_over_folders": engine.reaped.folders}
        for name, wanted in (("layers", drop_layers or everything), ("rootfs", everything), ("proofs", everything)):
            value[name] = len(list(engine.state.folder(name).iterdir())) if wanted else 0
            if wanted:
                layers.clear(engine.state.folder(name), engine)
    text = f"removed: {engine.reaped}; {value['layers']} layers, {value['rootfs']} base files, {value['proofs']} proofs"
    out.result(value, lambda console: console.print(text))
