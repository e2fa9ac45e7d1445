"""The attacks command: try to cheat and to break out of an engine, and say what came of it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import click
from rich.console import Console

from containers.attacks.library import ATTACKS, ENGINE_ATTACKS, TASK_ATTACKS, named
from containers.attacks.table import Row, attack_table
from containers.attacks.tasks import USERS
from containers.engines.registry import open_engine
from generators.errors import UsageError
from pipeline.cli.output import Out, engine_option, json_option

_SCOPES = {"all": ATTACKS, "task": TASK_ATTACKS, "engine": ENGINE_ATTACKS}


@click.command()
@click.option("--only", help="Comma-separated names of attacks.")
@click.option("--scope", type=click.Choice(list(_SCOPES)), default="all", show_default=True, help="Which attacks.")
@click.option("--user", "users", type=click.Choice(USERS), multiple=True, help="As this user (default: each).")
@engine_option
@json_option
def attacks(only: str | None, scope: str, users: tuple[str, ...], engine_name: str, out: Out) -> None:
    """Run the library of attacks against an engine: each must score 0 or be invalid, and leave everything else as it was.

    Exit code 1 if one scores or does harm.
    """
    try:
        chosen = named(only) if only else _SCOPES[scope]
    except KeyError as error:
        raise UsageError(f"{error.args[0]}; `termforge attacks --json` lists them") from None
    users = users or tuple(USERS)
    rows: list[Row] = []
    with open_engine(engine_name, say=out.say) as engine, out.progress() as report:
        for row in attack_table(engine, chosen, users):
            rows.append(row)
            report("attacks", len(rows), len(chosen) * len(users))
    out.result([_value(row) for row in rows], lambda console: _print(console, out, rows))
    if not all(row.held for row in rows):
        raise click.exceptions.Exit(1)


def _value(row: Row) -> dict[str, Any]:
    return {**vars(row), "held": row.held}


def _print(console: Console, out: Out, rows: list[Row]) -> None:
    cells = [
        ("held" if row.held else "BROKEN", row.attack, row.user, row.outcome, row.breaks, "; ".join(row.harm))
        for row in rows
    ]
    console.print(out.table(("", "attack", "as", "outcome", "property", "harm"), cells), markup=False)
    kinds = Counter(row.outcome.split(":")[0].split()[0] for row in rows)
    counts = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    console.print(f"{sum(row.held for row in rows)} of {len(rows)} held ({counts})")
