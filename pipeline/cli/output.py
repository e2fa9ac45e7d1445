"""How the command line speaks: one clear line for an error, JSON where asked for, progress bars on a terminal."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from containers.engines.registry import DEFAULT, ENGINES
from generators.errors import TermforgeError

P = ParamSpec("P")
INTERRUPTED = 130
_WIDE = 200


@dataclass(frozen=True)
class Out:
    """Where results go: people read tables on standard output, programs read one JSON value."""

    as_json: bool
    console: Console
    notes: Console  # standard error

    def say(self, text: str) -> None:
        """A remark on what is being done."""
        self.notes.print(text, highlight=False, markup=False)

    def result(self, value: Any, show: Callable[[Console], None]) -> None:
        """The answer, in the form that was asked for."""
        if self.as_json:
            click.echo(json.dumps(value, ensure_ascii=False))
        else:
            show(self.console)

    def table(self, heads: Sequence[str], rows: Sequence[Sequence[object]]) -> Table:
        """A plain table."""
        grid = Table(*heads, box=None, header_style="bold", pad_edge=False)
        for row in rows:
            grid.add_row(*(str(cell) for cell in row))
        return grid

    @contextlib.contextmanager
    def progress(self) -> Generator[Callable[[str, int, int], None]]:
        """A bar per stage; on no terminal, a line at every tenth."""
        if not self.notes.is_terminal or self.as_json:
            yield self._lines()
            return
        columns = (TextColumn("{task.description:<13}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=self.notes) as bars:
            known: dict[str, TaskID] = {}

            def report(stage: str, done: int, of: int) -> None:
                if stage not in known or done < bars.tasks[known[stage]].completed:
                    known[stage] = bars.add_task(stage, total=of)
                bars.update(known[stage], completed=done)

            yield report

    def _lines(self) -> Callable[[str, int, int], None]:
        def report(stage: str, done: int, of: int) -> None:
            step = max(1, of // 10)
            if not self.as_json and (done % step == 0 or done == of):
                self.say(f"{stage}: {done} of {of}")

        return report


def out_of(as_json: bool) -> Out:
    """The two consoles of this process."""
    return Out(as_json, _console(sys.stdout.isatty()), _console(sys.stderr.isatty(), stderr=True))


def _console(is_terminal: bool, stderr: bool = False) -> Console:
    """A file or pipe has no width to fold lines at."""
    return Console(stderr=stderr, width=None if is_terminal else _WIDE, emoji=False)


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """The `--json` flag that every command has; the command receives an `out`."""

    @click.option("--json", "as_json", is_flag=True, help="Print one JSON value instead of text.")
    @wraps(command)
    def with_output(*args: Any, as_json: bool, **kwargs: Any) -> Any:
        return command(*args, out=out_of(as_json), **kwargs)

    return with_output


def engine_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """The `--engine` option of commands that use sandboxes."""
    return click.option(
        "--engine",
        "engine_name",
        type=click.Choice(list(ENGINES)),
        default=DEFAULT,
        envvar="TERMFORGE_ENGINE",
        show_default=True,
        show_envvar=True,
        help="Where sandboxes run.",
    )(command)


def guarded(main: Callable[[], object]) -> int:
    """Run the command line; errors become one line and an exit code, never a traceback."""
    try:
        code = main()  # click hands back what `Exit` carried
    except TermforgeError as error:
        _complain(str(error))
        return error.exit_code
    except click.Abort:
        _complain("interrupted; run the same command again to go on where it was")
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return 2
    except KeyboardInterrupt:
        _complain("interrupted; run the same command again to go on where it was")
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except OSError as error:
        _complain(f"{error.strerror or error} ({error.filename or 'no file named'})")
        return 4
    except Exception as error:
        if os.environ.get("TERMFORGE_DEBUG"):
            raise
        _complain(f"{type(error).__name__}: {error} (a fault of Termforge's own; TERMFORGE_DEBUG=1 shows where)")
        return 4 if "disk" in str(error) else 1
    return code if isinstance(code, int) else 0


def _complain(text: str) -> None:
    click.echo(f"termforge: {' '.join(text.split())}", err=True)
