"""What fails around a task: keepers and graders that are killed, a daemon that restarts, hangs or loses what it had. No task is
lost, and none is judged by it. And many sandboxes, one after the other, leave nothing behind."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from docker.errors import APIError

from containers.engines.bubblewrap.engine import BubblewrapEngine
from containers.engines.docker.engine import DockerEngine
from containers.health import Health
from containers.housekeeping import trim
from containers.linux import cgroups
from containers.pool import Pool
from containers.proof.batch import Proven, prove_all
from containers.proof.store import ProofStore
from containers.sandbox import Engine, GradeRequest
from generators.errors import SandboxFault
from generators.task import Limits, Task
from tests.containers.daemon import PrivateDocker, private_docker
from tests.toys import SOLUTION, TESTS, toy


def slow(test: Callable[..., None]) -> Callable[..., None]:
    """Slow and long."""
    return pytest.mark.slow(pytest.mark.long(test))


GROUPS = cgroups.detect().folders
OTHERS = ("/termforge-small-", "/termforge-daemon-")  # mounts of tests that may run beside


def toys(count: int, note: str) -> list[Task]:
    return [toy(solution=f"{SOLUTION} # {note} {number}") for number in range(count)]


def proven(results: list[Proven]) -> list[str]:
    """The tasks that were not proven, with the reason; and that there is one result for each."""
    assert len({result.task.digest for result in results}) == len(results)
    return [
        f"{result.task.id}: {result.evidence.fault or result.evidence.failure}"
        for result in results
        if not result.evidence.proven
    ]


# --- the embedded engine -----------------------------------------------------------------------------------------------------


def wardens(but: Sequence[int] = ()) -> list[int]:
    """Keepers and graders of this process, `but` some."""
    found: list[int] = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            parent = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
            if (
                int(pid) not in but
                and parent == os.getpid()
                and b"containers.warden.server" in Path(f"/proc/{pid}/cmdline").read_bytes()
            ):
                found.append(int(pid))
        except OSError:
            continue
    return found


def test_tasks_are_proven_while_keepers_and_graders_are_killed() -> None:
    tasks, stop = toys(6, "killed"), threading.Event()
    others = wardens()  # of engines that are open for other tests

    def kill() -> None:
        while not stop.wait(0.4):
            for pid in wardens(but=others)[::2]:
                os.kill(pid, signal.SIGKILL)
            if killed.append(1) or len(killed) == 6:
                return

    killed: list[int] = []
    killer = threading.Thread(target=kill)
    with BubblewrapEngine() as engine:
        killer.start()
        try:
            results = list(prove_all(engine, tasks, None, 2, attacked=set()))
        finally:
            stop.set()
            killer.join()
        assert killed and not proven(results)
    assert not wardens(but=others)


def test_a_sandbox_whose_keeper_was_killed_is_not_judged(engine: BubblewrapEngine) -> None:
    request = GradeRequest(TESTS, ("test_sum", "test_kept"))
    with engine.start(engine.build(toy().image, Limits()), Limits()) as sandbox:
        sandbox.slot.warden.process.kill()
        sandbox.slot.warden.process.wait()
        assert sandbox.grade(request).reason == "sandbox_lost"
    with engine.start(engine.build(toy().image, Limits()), Limits()) as sandbox:
        assert sandbox.grade(request).valid


def test_work_outside_sandboxes_goes_on_after_its_keeper_was_killed(engine: BubblewrapEngine) -> None:
    keeper = engine.warden.process
    keeper.kill()
    keeper.wait()
    image = toy().image
    text = f"{image.dockerfile}RUN echo {time.time_ns()} > /srv/new\n"
    assert engine.build(image.model_copy(update={"dockerfile": text}), Limits()).own_layers


# --- a daemon that fails -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def daemon() -> Iterator[PrivateDocker]:
    yield from private_docker()


@pytest.fixture
def docker(daemon: PrivateDocker) -> Iterator[DockerEngine]:
    with DockerEngine(say=print, socket=daemon.address) as opened:
        opened.volume()
        yield opened
    assert not daemon.containers()


def restart(daemon: PrivateDocker) -> None:
    daemon.restart()


def kill(daemon: PrivateDocker) -> None:
    daemon.send(signal.SIGKILL)
    time.sleep(2)
    daemon.start()


def hang(daemon: PrivateDocker) -> None:
    daemon.send(signal.SIGSTOP)
    time.sleep(8)
    daemon.send(signal.SIGCONT)


def lose_the_socket(daemon: PrivateDocker) -> None:
    path = daemon.run / "docker.sock"
    path.rename(daemon.run / "elsewhere")
    time.sleep(3)
    (daemon.run / "elsewhere").rename(path)


def lose_images(daemon: PrivateDocker) -> None:
    lost: list[str] = []
    with DockerEngine(socket=daemon.address) as other:
        for _ in range(10):
            for image in other.client.images.list("termforge/task"):
                with contextlib.suppress(APIError):  # a container stands on it
                    other.client.images.remove(image.id, force=True)
                    lost.append(image.id)
            time.sleep(0.2)
    assert lost


@slow
@pytest.mark.parametrize("fault", [restart, kill, hang, lose_the_socket, lose_images])
def test_tasks_are_proven_whatever_the_daemon_does(
    daemon: PrivateDocker, docker: DockerEngine, fault: Callable[[PrivateDocker], None]
) -> None:
    tasks, struck = toys(4, fault.__name__), threading.Event()

    def strike() -> None:
        while not daemon.containers():
            time.sleep(0.05)
        time.sleep(1)
        fault(daemon)
        struck.set()

    striking = threading.Thread(target=strike)
    striking.start()
    results = list(prove_all(docker, tasks, None, 3, attacked=set()))
    striking.join()
    assert struck.is_set() and len(results) == 4 and not proven(results)


@slow
def test_a_daemon_that_stays_away_makes_tasks_invalid_and_none_is_lost(
    daemon: PrivateDocker, docker: DockerEngine, tmp_path: Path
) -> None:
    store, tasks = ProofStore(tmp_path), toys(4, "away")
    results = prove_all(docker, tasks, store, 2, attacked=set(), patience=3)
    first = next(results)
    daemon.send(signal.SIGKILL)
    rest = list(results)
    daemon.start()
    done = [first, *(result for result in rest if result.evidence.valid)]  # the other worker may have been as quick
    assert not proven(done) and len(rest) == 3 and len(done) < 3
    assert all("daemon" in result.evidence.fault for result in rest if not result.evidence.valid)
    again = list(prove_all(docker, tasks, store, 2, attacked=set()))
    assert not proven(again) and sum(result.cached for result in again) == len(done)


@slow
def test_leases_wait_for_the_daemon(daemon: PrivateDocker, docker: DockerEngine) -> None:
    built = docker.build(toy().image, Limits())
    with Pool(docker, 2) as pool:
        with pool.lease(built, Limits()) as sandbox:
            assert sandbox.exec("echo before", timeout=30).stdout == b"before\n"
        daemon.send(signal.SIGKILL)
        back = threading.Timer(3, daemon.start)
        back.start()
        with pool.lease(built, Limits()) as sandbox:
            assert sandbox.exec("echo after", timeout=30).stdout == b"after\n"
        back.join()


@slow
def test_health_says_what_is_wrong_and_doubts_what_happened_meanwhile(
    daemon: PrivateDocker, docker: DockerEngine
) -> None:
    health, began = Health(docker, patience=0.1), time.monotonic()
    assert health.look() == "" and health.doubt(began) == ""
    daemon.restart()
    assert health.doubt(began) == "the daemon was restarted" and health.doubt(time.monotonic()) == ""
    daemon.send(signal.SIGSTOP)
    try:
        assert "hangs" in health.look()
        with pytest.raises(SandboxFault, match=r"hangs .*; waited 0\.1 s for it to get well"):
            health.wait()
    finally:
        daemon.send(signal.SIGCONT)
        health.close()


@slow
def test_a_container_that_the_daemon_ended_is_not_judged(daemon: PrivateDocker, docker: DockerEngine) -> None:
    with docker.start(docker.build(toy().image, Limits()), Limits()) as sandbox:
        daemon.restart()
        assert sandbox.grade(GradeRequest(TESTS, ("test_sum",))).reason == "sandbox_lost"


@slow
@pytest.mark.parametrize("how", ["gone", "not whole"])
def test_a_lost_grader_volume_is_made_again(daemon: PrivateDocker, docker: DockerEngine, how: str) -> None:
    name = docker.volume()
    docker.client.containers.get(name).remove()
    docker.client.volumes.get(name).remove()
    if how == "not whole":  # a daemon made it, empty, for a container
        docker.client.volumes.create(name)
    assert not proven(list(prove_all(docker, toys(1, how), None, 1, attacked=set())))


@slow
def test_images_of_a_daemon_are_kept_below_a_ceiling(daemon: PrivateDocker, docker: DockerEngine) -> None:
    bodies = [f"RUN head -c 3000000 /dev/urandom > /big{number}\n" for number in range(3)]
    images = [toy().image.model_copy(update={"dockerfile": toy().image.dockerfile + body}) for body in bodies]
    built = [docker.build(image, Limits()) for image in images]
    kept = {image.name: image for image in docker.stock().images()}
    sizes = [kept[image.layers[0]].bytes for image in built]
    assert all(3_000_000 <= size < 3_200_000 for size in sizes)
    shared = sum(image.bytes for image in kept.values() if image.shared)
    with Pool(docker, 1) as pool, pool.lease(built[0], Limits()) as sandbox:
        trimmed = trim(docker, shared)
        names = {image.name for image in docker.stock().images()}
        assert built[0].layers[0] in names and not {image.layers[0] for image in built[1:]} & names
        assert trimmed.images >= 2 and all(image.name in names for image in kept.values() if image.shared)
        assert sandbox.exec("wc -c < /big0", timeout=30).stdout == b"3000000\n"
    assert docker.build(images[1], Limits()).layers[0] in {image.name for image in docker.stock().images()}


# --- many sandboxes ------------------------------------------------------------------------------------------------------------


def footprint() -> dict[str, int]:
    """Processes below this one, mounts of this machine, descriptors, control groups of ours, memory (MiB) of all of them."""
    parents: dict[int, int] = {}
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        try:
            parents[pid] = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
    mine = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in mine} - mine:
        mine |= more
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    memory = 0
    for pid in mine:
        try:
            memory += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except OSError:
            continue
    return {
        "processes": len(mine),
        "mounts": len([line for line in mounts if not any(other in line for other in OTHERS)]),
        "descriptors": len(os.listdir("/proc/self/fd")),
        "groups": len([group for root in GROUPS for group in root.glob(f"{os.getpid()}-*")]),
        "threads": threading.active_count(),
        "memory": memory >> 20,
    }


def settled(want: Callable[[dict[str, int]], bool]) -> dict[str, int]:
    """The footprint once it is as wanted, or after a while."""
    deadline = time.monotonic() + 20
    while not want(now := footprint()) and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.2)
    return now


def open_and_close(engine: Engine, count: int) -> None:
    built = engine.build(toy().image, Limits())
    for number in range(count):
        with engine.start(built, Limits()) as sandbox:
            if number % 10 == 0:
                assert sandbox.exec("echo here", timeout=30).stdout == b"here\n"
            if number % 25 == 0:
                assert sandbox.grade(GradeRequest(TESTS, ("test_kept",))).valid


def must_not_grow(engine: Engine, first: int, all_in_all: int) -> None:
    open_and_close(engine, first)
    time.sleep(1)  # until the children that wait for the next request are there
    before = footprint()
    open_and_close(engine, all_in_all - first)
    after = settled(lambda now: all(now[name] <= before[name] for name in before if name != "memory"))
    grown = {name: (before[name], after[name]) for name in before if after[name] > before[name]}
    memory = grown.pop("memory", (0, 0))
    assert not grown
    assert memory[1] - memory[0] <= 16


def test_500_sandboxes_leave_nothing_behind() -> None:
    with BubblewrapEngine() as engine:
        must_not_grow(engine, 100, 500)


@slow
def test_60_containers_leave_nothing_behind(daemon: PrivateDocker, docker: DockerEngine) -> None:
    must_not_grow(docker, 20, 60)
