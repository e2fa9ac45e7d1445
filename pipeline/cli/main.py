"""The `termforge` command.

Exit codes: 0 done; 1 a task failed a gate or scored below 1; 2 wrong usage (recipe, family, split, task); 3 the machine lacks
something; 4 a file could not be read or written; 5 infrastructure failed, try again; 6 a ceiling of money or tokens was reached;
130 interrupted.
"""

from __future__ import annotations

import sys

import click

from pipeline.cli import attacks, attempt, build, export, inspect, judge, overlap, prove, train, trajectories
from pipeline.cli.output import guarded


@click.group(
    help=(__doc__ or "").replace("\n\n", "\n\n\b\n", 1), context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(package_name="termforge", prog_name="termforge")
def cli() -> None:
    """Group of all commands."""


for command in (
    build.build,
    export.export,
    inspect.show,
    prove.prove,
    prove.solve,
    inspect.families,
    inspect.doctor,
    attacks.attacks,
    attempt.attempt_command,
    trajectories.analyze,
    trajectories.trajectory,
    judge.judge,
    train.train_command,
    train.evaluate,
    train.report,
    overlap.overlap,
    prove.clean,
    inspect.schema,
):
    cli.add_command(command)


def main() -> None:
    """Entry point."""
    sys.exit(guarded(lambda: cli.main(standalone_mode=False)))
