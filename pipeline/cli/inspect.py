"""Commands that look: families, show, doctor, schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from containers import probe
from containers.engines import registry
from containers.sandbox import Capability
from containers.state import default_state
from generators.errors import EngineError, SandboxFault
from generators.evidence import Evidence
from generators.procedural import all_families
from generators.recipe import Recipe
from generators.task import Task
from pipeline.cli.output import Out, json_option
from pipeline.cli.sources import find_task


@click.command()
@json_option
def families(out: Out) -> None:
    """List the families of the procedural writer."""
    rows = [
        (family.name, family.domain, family.verifier.value, ", ".join(family.difficulties), family.capacity)
        for family in all_families().values()
    ]
    heads = ("family", "domain", "verifier", "difficulties", "capacity")
    value = [dict(zip(heads, row, strict=True)) | {"skills": list(all_families()[row[0]].skills)} for row in rows]
    out.result(value, lambda console: console.print(out.table(heads, rows)))


@click.command()
@click.argument("task")
@click.option(
    "--from", "source", type=click.Path(path_type=Path), help="Release folder, parquet or JSON file to look in."
)
@click.option("--privileged", is_flag=True, help="Also show truth, tests, solutions and evidence.")
@json_option
def show(task: str, source: Path | None, privileged: bool, out: Out) -> None:
    """Show TASK (an id or the beginning of one) as its agent sees it."""
    record, evidence = find_task(task, source)
    value: dict[str, Any] = {"id": record.id, "instruction": record.instruction}
    if privileged:
        value = record.model_dump(mode="json") | {"evidence": evidence.model_dump(mode="json") if evidence else None}
    out.result(value, lambda console: _print_task(console, record, evidence if privileged else None, privileged))


def _print_task(console: Console, task: Task, evidence: Evidence | None, privileged: bool) -> None:
    def part(head: str, text: str) -> None:
        console.rule(head, align="left")
        console.print(text.rstrip(), highlight=False, markup=False, soft_wrap=True)

    part(f"{task.id}: instruction", task.instruction)
    if not privileged:
        return
    part("truth", json.dumps(task.truth, indent=1, ensure_ascii=False))
    part("Dockerfile", task.image.dockerfile)
    part(
        "context",
        "\n".join(f"{file.mode:04o} {len(file.data()):>8} {file.path}" for file in task.image.files) or "none",
    )
    weights = "\n".join(
        f"{'guard' if test.guard else test.weight:>6} {test.name}" for test in task.completion_tests.tests
    )
    part("tests", f"{weights}\n\n{task.completion_tests.source}")
    part("solution", task.solution or "none")
    for number, text in enumerate(task.alternatives, 1):
        part(f"alternative {number}", text)
    for miss in task.near_misses:
        part(f"near miss {miss.name}", f"{miss.why}; caught by {', '.join(miss.caught_by)}\n\n{miss.script}")
    part("requirements", "\n".join(f"{need.sentence}  [{', '.join(need.tests)}]" for need in task.requirements))
    if evidence:
        lines = [
            f"{'holds' if verdict.holds else 'FAILS':>6} {verdict.gate:<12} {verdict.seconds:8.3f} s "
            f"{verdict.reason} {verdict.detail} {json.dumps(verdict.figures) if verdict.figures else ''}".rstrip()
            for verdict in evidence.verdicts
        ]
        part(f"evidence ({evidence.engine}, suite {evidence.suite})", "\n".join(lines))


@click.command()
@click.option("--engine", "engine_name", type=click.Choice(list(registry.ENGINES)), help="Only this engine.")
@json_option
def doctor(engine_name: str | None, out: Out) -> None:
    """Say what this machine can do, engine by engine, and what to do about what it cannot.

    Exit code 3 if something needed by the default engine (or by the one asked for) is missing.
    """
    found = {name: _capabilities(name) for name in ([engine_name] if engine_name else registry.ENGINES)}
    rows = [
        (
            name,
            _mark(item, name == (engine_name or registry.DEFAULT)),
            item.name,
            item.detail,
            "" if item.ok else item.remedy,
        )
        for name, items in found.items()
        for item in items
    ]
    value = [{"engine": name, **vars(item)} for name, items in found.items() for item in items]
    heads = ("engine", "", "what", "found", "what to do")
    out.result(value, lambda console: console.print(out.table(heads, rows), markup=False))
    if any(item.needed and not item.ok for item in found[engine_name or registry.DEFAULT]):
        raise click.exceptions.Exit(3)


def _mark(item: Capability, needed: bool) -> str:
    if item.ok:
        return "ok"
    return "limited" if not item.needed else ("MISSING" if needed else "absent")


def _capabilities(name: str) -> list[Capability]:
    """The lines of one engine; one that does not start here is a line of its own."""
    if name == "bubblewrap":
        return probe.bubblewrap(default_state())  # says what is missing even where the engine cannot be opened
    try:
        with registry.open_engine(name) as engine:
            return engine.probe()
    except (EngineError, SandboxFault) as error:
        what, _, remedy = str(error).rpartition("; ")
        return [Capability(name, False, what or remedy, remedy if what else "")]


@click.command()
@click.argument("record", type=click.Choice(["task", "evidence", "recipe"]), default="task")
@json_option
def schema(record: str, out: Out) -> None:
    """Print the JSON Schema of a record."""
    model = {"task": Task, "evidence": Evidence, "recipe": Recipe}[record]
    value = model.model_json_schema()
    out.result(value, lambda console: console.print_json(data=value))
