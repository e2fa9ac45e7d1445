"""A driver proves tasks while daemon, keepers, graders and the driver itself are killed at random. Nothing is lost, nothing is
judged wrongly, nothing is left. TERMFORGE_CHAOS_SECONDS (60 for each engine) and TERMFORGE_CHAOS_SEED can be set."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from containers.engines.bubblewrap.engine import BubblewrapEngine
from containers.linux import cgroups
from containers.proof.prove import plan_name
from containers.proof.store import ProofStore
from containers.state import default_state, start_time
from generators.task import Task
from tests.containers.daemon import PrivateDocker, private_docker
from tests.toys import SOLUTION, toy

pytestmark = [pytest.mark.slow, pytest.mark.long]

SECONDS = float(os.environ.get("TERMFORGE_CHAOS_SECONDS", "60"))
SEED = int(os.environ.get("TERMFORGE_CHAOS_SEED", "1"))
ROUND = 12  # tasks that come when the ones before are proven
DRIVER = """
import sys
from containers.engines.bubblewrap.engine import BubblewrapEngine
from containers.engines.docker.engine import DockerEngine
from containers.proof.batch import prove_all
from containers.proof.store import ProofStore
from generators.errors import TermforgeError
from tests.containers.test_chaos import tasks

name, socket, store, count, log = sys.argv[1:]
try:
    with (DockerEngine(socket=socket) if socket else BubblewrapEngine()) as engine, open(log, "a") as out:
        for proven in prove_all(engine, tasks(name, int(count)), ProofStore.of(engine.state, store), 3, attacked=set(), patience=60):
            evidence = proven.evidence
            word = "cached" if proven.cached else "proven" if evidence.proven else "judged" if evidence.valid else "invalid"
            print(word, proven.task.digest, evidence.failure, evidence.fault, file=out, flush=True)
except TermforgeError as error:
    print(error, file=sys.stderr)
    sys.exit(10 + error.exit_code)
"""


def tasks(name: str, count: int) -> list[Task]:
    return [toy(solution=f"{SOLUTION} # {name} {number}") for number in range(count)]


def children(pid: int) -> list[int]:
    found: list[int] = []
    for other in filter(str.isdigit, os.listdir("/proc")):
        try:
            if int(Path(f"/proc/{other}/stat").read_text().rsplit(")", 1)[1].split()[1]) == pid:
                found.append(int(other))
        except OSError:  # it ended in between
            continue
    return found


def below(pid: int) -> list[int]:
    return [found for child in children(pid) for found in (child, *below(child))]


class Drivers:
    """One driver after the other, and a note of every process that came of them."""

    def __init__(self, daemon: PrivateDocker | None) -> None:
        self.name = f"chaos-{uuid.uuid4().hex[:8]}"
        self.socket = daemon.address if daemon else ""
        self.state = default_state()
        self.store = ProofStore.of(self.state, self.name)
        self.folder = Path(tempfile.mkdtemp(prefix="termforge-chaos-"))
        self.log, self.said = self.folder / "log", (self.folder / "said").open("w+")
        self.count, self.owners, self.processes = ROUND, list[str](), set[tuple[int, int | None]]()
        self.now = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        argv = [sys.executable, "-c", DRIVER, self.name, self.socket, self.store.folder.name, str(self.count), self.log]
        started = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=self.said, stderr=self.said)
        self.owners.append(f"{started.pid}-{start_time(started.pid)}")
        return started

    def look(self) -> None:
        """Start another where the last one has ended; with more tasks where it had done all."""
        code = self.now.poll()
        if code is not None:
            assert code in (0, -signal.SIGKILL, 13, 14, 15), f"a driver ended with {code}:\n{self.words()}"
            self.count += ROUND if code == 0 else 0
            self.now = self._start()

    def note(self) -> None:
        """Remember what lives below the driver."""
        self.processes |= {(pid, start_time(pid)) for pid in below(self.now.pid)}

    def kill(self) -> None:
        self.note()
        self.now.kill()
        self.now.wait()

    def kill_warden(self, chance: random.Random) -> None:
        self.note()
        if found := children(self.now.pid):
            os.kill(chance.choice(found), signal.SIGKILL)

    def finish(self) -> None:
        """Let one that nobody disturbs do what is left."""
        self.kill()
        self.now = self._start()
        assert self.now.wait(240) == 0, self.words()

    def words(self) -> str:
        self.said.seek(0)
        return self.said.read()[-3000:]

    def close(self) -> None:
        self.kill()
        self.said.close()
        shutil.rmtree(self.folder)
        shutil.rmtree(self.store.folder)


@pytest.fixture(params=["bubblewrap", "docker"])
def daemon(request: pytest.FixtureRequest) -> Iterator[PrivateDocker | None]:
    if request.param == "docker":
        yield from private_docker()
    else:
        yield None


@pytest.fixture
def drivers(daemon: PrivateDocker | None) -> Iterator[Drivers]:
    opened = Drivers(daemon)
    yield opened
    opened.close()


def test_nothing_is_lost_and_nothing_is_left(daemon: PrivateDocker | None, drivers: Drivers) -> None:
    chance, until, done = random.Random(SEED), time.monotonic() + SECONDS, Counter[str]()
    while time.monotonic() < until:
        time.sleep(chance.uniform(0.2, 2.0 if daemon is None else 5.0))
        drivers.look()
        act = chance.choice(_acts(daemon, drivers, chance))
        act()
        done[getattr(act, "__name__", "")] += 1
    print(f"{drivers.count} tasks, {len(drivers.owners)} drivers, {dict(done)}")
    drivers.finish()
    _must_have_proven_each_once(drivers)
    _must_have_left_nothing(daemon, drivers)


def _acts(daemon: PrivateDocker | None, drivers: Drivers, chance: random.Random) -> list[Callable[[], None]]:
    def kill_driver() -> None:
        drivers.kill()

    def kill_warden() -> None:
        drivers.kill_warden(chance)

    def restart_daemon() -> None:
        assert daemon is not None
        daemon.restart(chance.choice([signal.SIGTERM, signal.SIGKILL]))

    def freeze_daemon() -> None:
        assert daemon is not None
        daemon.send(signal.SIGSTOP)
        time.sleep(chance.uniform(0.5, 7))
        daemon.send(signal.SIGCONT)

    ours = [kill_driver, kill_warden, kill_warden, kill_warden]
    return ours if daemon is None else [kill_driver, kill_warden, restart_daemon, restart_daemon, freeze_daemon]


def _must_have_proven_each_once(drivers: Drivers) -> None:
    lines = [line.split(" ", 2) for line in drivers.log.read_text().splitlines()]
    assert not [line for line in lines if line[0] == "judged"], "every toy is right: whatever failed was not its fault"
    again = {digest: n for digest, n in Counter(line[1] for line in lines if line[0] == "proven").items() if n > 1}
    assert not again
    wanted = tasks(drivers.name, drivers.count)
    kept = [drivers.store.load(task.digest, plan_name(False)) for task in wanted]
    assert all(evidence is not None and evidence.proven for evidence in kept)
    assert len(list(drivers.store.folder.iterdir())) == len(wanted)


def _must_have_left_nothing(daemon: PrivateDocker | None, drivers: Drivers) -> None:
    deadline = time.monotonic() + 20
    while left := [pid for pid, started in drivers.processes if started and start_time(pid) == started]:
        assert time.monotonic() < deadline, [Path(f"/proc/{pid}/cmdline").read_bytes()[:200] for pid in left]
        time.sleep(0.1)
    with BubblewrapEngine():  # the next start of any kind clears what the kernel could not
        pass
    hierarchy = cgroups.detect()
    for owner in drivers.owners:
        assert not [group for root in hierarchy.folders for group in root.glob(f"{owner}-*")]
        assert not list(drivers.state.folder("tmp").glob(f"{owner}-*"))
        assert f"{owner}" not in Path("/proc/self/mountinfo").read_text()
    assert daemon is None or not daemon.containers()
