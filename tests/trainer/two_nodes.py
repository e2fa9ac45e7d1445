"""Two nodes of Ray on one machine: the trainer on the first, rollouts and their sandboxes on the second.

    python -m tests.trainer.two_nodes

A step of `smoke-cpu`; while it runs, every process is looked up below the node that it belongs to. Exit code 1 and a line where
something does not hold.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator
from pathlib import Path

from tests.trainer.smoke import NotSoError, check, must, nothing_left, smoke
from trainer.launch import training_python
from trainer.processes import descendants, end_group, end_with_parent

RESOURCE = "termforge_sandbox"  # as trainer/verl/manager.py has it, which only a Python with verl can import
HEAD = "127.0.0.1:6391"
TRAINER, ROLLOUTS, SANDBOX = "WorkerDict", "AgentLoopWorker", "bwrap"
_READY_SECONDS = 60.0
_AFTER_SECONDS = 15.0  # idle workers of Ray notice that their node has ended; nodes are the user's, and so are these


@contextlib.contextmanager
def node(folder: Path, *words: str) -> Generator[int]:
    """A node of a cluster; the process below which all of it is."""
    python = training_python()
    ray = Path(python).with_name("ray")
    with open(folder / "ray.txt", "a") as log:
        started = subprocess.Popen(
            [str(ray), "start", "--block", "--num-cpus=16", *words],
            env=os.environ | {"RAY_AUTH_MODE": "disabled"},
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=end_with_parent,
        )
    try:
        yield started.pid
    finally:
        end_group(started)


def started(pid: int, folder: Path) -> None:
    """Wait until a node has its raylet."""
    deadline = time.monotonic() + _READY_SECONDS
    while not any("raylet" in process.name for process in descendants(pid)):
        must(time.monotonic() < deadline, f"a node did not start: {(folder / 'ray.txt').read_text()[-1000:]}")
        time.sleep(0.2)


class Seen:
    """Which programs ran below which node."""

    def __init__(self, **nodes: int) -> None:
        self.names: dict[str, set[str]] = {name: set() for name in nodes}
        self._nodes, self._ended = nodes, threading.Event()
        self._thread = threading.Thread(target=self._look)

    def _look(self) -> None:
        while not self._ended.wait(0.1):
            for name, pid in self._nodes.items():
                self.names[name] |= {process.name for process in descendants(pid)}

    def __enter__(self) -> Seen:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def on(self, program: str) -> list[str]:
        """The nodes on which a program of this name was."""
        return [name for name, seen in self.names.items() if any(program in one for one in seen)]


def main() -> int:
    """Run it in a temporary folder."""
    os.environ["RAY_AUTH_MODE"] = "disabled"
    before = {process.pid for process in descendants(os.getpid())}
    with tempfile.TemporaryDirectory(prefix="two") as name:
        folder = Path(name)
        try:
            with (
                node(
                    folder, "--head", "--port=6391", "--num-gpus=1", f"--temp-dir={name}/r", "--include-dashboard=false"
                ) as first,
                node(folder, f"--address={HEAD}", "--num-gpus=0", f'--resources={{"{RESOURCE}": 1}}') as second,
                Seen(first=first, second=second) as seen,
            ):
                started(first, folder)
                started(second, folder)
                check(smoke("smoke-cpu", 1, folder, "--ray", HEAD), "smoke-cpu", 1)
            for program, where in ((TRAINER, ["first"]), (ROLLOUTS, ["second"]), (SANDBOX, ["second"])):
                must(seen.on(program) == where, f"{program} ran on {seen.on(program)}, not on {where}")
            time.sleep(_AFTER_SECONDS)
            nothing_left(before)
        except NotSoError as error:
            print(f"two nodes: {error}", file=sys.stderr)
            return 1
    print("two nodes: the trainer ran on the first, rollouts and sandboxes on the second; nothing is left")
    return 0


if __name__ == "__main__":
    sys.exit(main())
