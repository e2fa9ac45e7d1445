"""Watches over the process that trains: measures, stops it with a reason, ends all that it started, and says how it went.

The first Ctrl-C lets the step end and be saved, the second ends it at once. Whatever happens, no process and no folder of Ray is left;
after kill -9 of the supervisor itself the processes end by themselves, and the next run sweeps up the folder.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from pathlib import Path

from containers.engines.registry import open_engine
from generators.errors import TermforgeError
from trainer import signals
from trainer.follow import Follower
from trainer.launch import Order, command, environment
from trainer.processes import descendants, end_descendants, take_in_orphans
from trainer.report import rollouts_table, write_report
from trainer.run import RunFolder, RunState, Status
from trainer.temporary import SharedMemory, temporary_folder
from trainer.watchdog import Watchdog

_LOOK_SECONDS = 0.5
_GONE_SECONDS = 30.0
_WORKERS = ("ray::WorkerDict", "ray::AgentLoopWorker", "ray::TaskRunner", "VLLM::EngineCore", "ray::vLLMHttpServer")
_ERROR = re.compile(
    r"^(?:\x1b\[\d+m\(.*?\)\x1b\[0m )?(?:[\w.]+\.)?([A-Z]\w*(?:Error|Exception|Fault|Exit)\b:? .*|[A-Z]\w+Error)$"
)


@dataclass
class Supervisor:
    """One run of the training process."""

    run: RunFolder
    order: Order
    say: Callable[[str], None] = print
    reason: str = ""
    _asked: int = 0
    _seen: dict[int, str] = field(default_factory=dict[int, str])
    _gone_since: float | None = None
    _stop_by: float = float("inf")

    def train(self) -> RunState:
        """Until it is finished, stopped or failed."""
        signals.forget(self.run)
        self.run.save_state(self._state(Status.STARTING))
        others = frozenset(process.pid for process in descendants(os.getpid()))
        take_in_orphans()
        follower = Follower(self.run, self.say)  # before anything is written
        with temporary_folder() as folder, self._signals(), open(self.run.log, "ab") as log:
            process = subprocess.Popen(
                command(self.run, self.order),
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                cwd=self.run.path,
                env=environment(self.run, self.order.preset, folder),
                start_new_session=True,
            )
            try:
                code = self._watch(process, follower, folder)
            finally:
                left = end_descendants(os.getpid(), others)
                for one in left:
                    self.say(f"process {one.pid} ({one.name}) did not end")
                self._reap()
        return self._ended(code)

    def _reap(self) -> None:
        """What the sandboxes of workers have left, which Ray kills: an engine that opens removes it."""
        with contextlib.suppress(TermforgeError):
            open_engine(self.order.preset.loop.engine).close()

    def _watch(self, process: subprocess.Popen[bytes], follower: Follower, folder: Path) -> int | None:
        """Follow it to its end; None where it was ended by us."""
        watchdog = Watchdog.replay(follower.lines, self.order.preset.watchdog)
        alive, seen, memory = time.monotonic(), (0, ""), SharedMemory(folder)
        while (code := process.poll()) is None:
            time.sleep(_LOOK_SECONDS)
            for line in follower.look():
                self.run.save_state(self._state(Status.RUNNING, int(line["step"])))
                if (reason := watchdog.step(line)) and not self.reason:
                    self._give_up(reason)
            phase = signals.noted_phase(self.run)
            if (now := (follower.size(), phase)) != seen:
                alive, seen = time.monotonic(), now
            memory.look(process.pid)
            found = watchdog.silence(time.monotonic() - alive, phase) or self._dead(process.pid, watchdog)
            if (found and not self.reason) or self._asked > 1 or time.monotonic() > self._stop_by:
                self.reason = self.reason or found or ""
                return None
        for line in follower.look(last=True):
            self.run.save_state(self._state(Status.RUNNING, int(line["step"])))
        return code

    def _give_up(self, reason: str) -> None:
        """The watchdog's word: what is broken beyond use is ended at once, all else after the step, with a checkpoint."""
        self.reason = reason
        self.say(f"watchdog: {reason}")
        if reason.startswith("non_finite"):
            self._asked = 2
        else:
            signals.ask_to_stop(self.run)
            self._stop_by = time.monotonic() + self.order.preset.watchdog.stop_seconds

    def _dead(self, root: int, watchdog: Watchdog) -> str | None:
        """Workers that were there and are gone, while the process that started them goes on for longer than an orderly end takes."""
        below = {process.pid: process.name for process in descendants(root)}
        self._seen |= {pid: name for pid, name in below.items() if name.startswith(_WORKERS)}
        found = watchdog.dead({f"{name.partition('.')[0]} ({pid})": pid in below for pid, name in self._seen.items()})
        if not found:
            self._gone_since = None
            return None
        self._gone_since = self._gone_since or time.monotonic()
        return found if time.monotonic() - self._gone_since > _GONE_SECONDS else None

    def _ended(self, code: int | None) -> RunState:
        """Write state and report."""
        step = self.run.state().step
        finished = step >= self.order.preset.steps
        if code == 0 and finished:
            state = self._state(Status.FINISHED, step)
        elif code == 0 or code is None:
            self.reason = self.reason or ("stopped by its user" if self._asked else "it ended before its last step")
            state = self._state(Status.STOPPED, step)
        else:
            self.reason = self.reason or last_error(self.run.log) or f"the training process ended with code {code}"
            state = self._state(Status.FAILED, step)
        self.run.save_state(state)
        rollouts_table(self.run)
        write_report(self.run)
        return state

    def _state(self, status: Status, step: int | None = None) -> RunState:
        if step is None:
            step = self.run.last_checkpoint()
        return RunState(status=status, reason=self.reason, step=step, steps=self.order.preset.steps, pid=os.getpid())

    @contextlib.contextmanager
    def _signals(self) -> Generator[None]:
        """Ctrl-C and SIGTERM ask; twice, they insist."""

        def asked(number: int, frame: object) -> None:
            self._asked += 1
            if self._asked == 1:
                signals.ask_to_stop(self.run)
                self.say("stopping after this step, with a checkpoint; once more stops now")

        old = {number: signal.signal(number, asked) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in old.items():
                signal.signal(number, handler)


def last_error(log: Path) -> str:
    """The last line of a log that names an error, for whoever does not read logs."""
    with contextlib.suppress(OSError):
        lines = log.read_text(errors="replace").splitlines()[-400:]
        for line in reversed(lines):
            if found := _ERROR.match(line.strip()):
                return f"{found[1][:300]} (all of it: {log})"
    return ""
