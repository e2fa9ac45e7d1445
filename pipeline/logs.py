"""What steps print, as Dagster keeps it, without a traceback at Ctrl-C.

Dagster follows a step's output by two small programs. A terminal sends Ctrl-C to all of them: its watcher, a Python script, then
prints a traceback of its own into the user's terminal.
"""

from __future__ import annotations

import signal
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager

from dagster import DagsterInstance
from dagster._core.storage.compute_log_manager import CapturedLogContext


def keep_ctrl_c_from_log_programs(instance: DagsterInstance) -> None:
    """Have the programs that follow output not hear of Ctrl-C: they end when the step has, or whoever ran it."""
    manager = instance.compute_log_manager
    capture = manager.capture_logs

    @contextmanager
    def deaf(log_key: Sequence[str]) -> Generator[CapturedLogContext]:
        """A blocked signal stays blocked in what is started here; ours comes a moment later."""
        with ExitStack() as stack:
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                captured = stack.enter_context(capture(log_key))
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
            yield captured

    manager.capture_logs = deaf
