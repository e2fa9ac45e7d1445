"""The bound on sandboxes, and proving many tasks with it."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from containers.engines.bubblewrap.engine import BubblewrapEngine
from containers.engines.bubblewrap.sandbox import BubblewrapSandbox
from containers.pool import Bounds, Pool, default_size
from containers.proof.batch import prove_all, tamper_plan
from containers.proof.store import ProofStore
from containers.sandbox import BuiltImage, StartOptions
from containers.turns import StoppedWaitingError, Turns
from generators.errors import SandboxFault
from generators.task import Limits
from tests.toys import SOLUTION, toy


class Counting(BubblewrapEngine):
    """The real engine; it notes what it started, and how many starts went on at once."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[BubblewrapSandbox] = []
        self.starting = self.most_starting = 0
        self._count_lock = threading.Lock()

    def start(self, built: BuiltImage, limits: Limits, options: StartOptions | None = None) -> BubblewrapSandbox:
        with self._count_lock:
            self.starting += 1
            self.most_starting = max(self.most_starting, self.starting)
        sandbox = super().start(built, limits, options)
        with self._count_lock:
            self.starting -= 1
            self.started.append(sandbox)
        return sandbox


@pytest.fixture
def counting() -> Iterator[Counting]:
    with Counting() as opened:
        yield opened


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def at_once(count: int, work: Callable[[int], None]) -> None:
    """Run `work(0)`, ... in as many threads; what one raises is raised."""
    with ThreadPoolExecutor(count) as threads:
        for future in [threads.submit(work, number) for number in range(count)]:
            future.result(60)


def living() -> int:
    """How many sandboxes descend from this process, by their first processes."""
    found, parents = 0, dict[int, int]()
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        with contextlib.suppress(OSError):
            parents[pid] = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    for pid in parents:
        with contextlib.suppress(OSError):
            first = re.search(r"^NSpid:\t\d+\t1$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
            if first and b"bwrap\0--unshare-pid" in Path(f"/proc/{pid}/cmdline").read_bytes():
                at = pid
                while at in parents and at != os.getpid():
                    at = parents[at]
                found += at == os.getpid()
    return found


def test_no_more_than_its_size_at_once(engine: BubblewrapEngine) -> None:
    built, pool, alive, most = engine.build(toy().image, Limits()), Pool(engine, 2), 0, 0
    lock = threading.Lock()

    def use(_: int) -> None:
        nonlocal alive, most
        with pool.lease(built, Limits()):
            with lock:
                alive += 1
                most = max(most, alive)
            time.sleep(0.05)
            with lock:
                alive -= 1

    at_once(6, use)
    assert most == 2


def test_the_default_size_goes_with_the_cores_up_to_24() -> None:
    cores = len(os.sched_getaffinity(0))
    assert default_size() == min(24, 2 * cores)


def test_waiting_too_long_is_a_fault_not_a_score(engine: BubblewrapEngine) -> None:
    built, pool = engine.build(toy().image, Limits()), Pool(engine, 1, patience=0.1)
    with pool.lease(built, Limits()), pytest.raises(SandboxFault, match="pool of 1"), pool.lease(built, Limits()):
        pass


# --- turns -------------------------------------------------------------------------------------------------------------------


def test_first_come_first_served(engine: BubblewrapEngine) -> None:
    built, served = engine.build(toy().image, Limits()), list[int]()

    def use(number: int) -> None:
        with pool.lease(built, Limits()):
            served.append(number)

    with Pool(engine, 1) as pool, ThreadPoolExecutor(12) as threads:
        with pool.lease(built, Limits()):
            waiting = []
            for number in range(12):
                waiting.append(threads.submit(use, number))
                until(lambda number=number: pool.places.waiting == number + 1)
        for future in waiting:
            future.result(30)
    assert served == list(range(12))


def test_no_place_is_lost_or_made_when_many_come_wait_and_give_up() -> None:
    turns, lock, inside, most, gave_up = Turns(3), threading.Lock(), 0, 0, 0

    def use(number: int) -> None:
        nonlocal inside, most, gave_up
        chance = random.Random(number)
        for _ in range(60):
            try:
                taken = turns.take(chance.choice((0.0, 0.002, 5)), lambda: chance.random() < 0.05)
            except StoppedWaitingError:
                taken = False
            if not taken:
                gave_up += 1
                continue
            with lock:
                inside += 1
                most = max(most, inside)
            time.sleep(chance.random() / 500)
            with lock:
                inside -= 1
            turns.give()

    at_once(24, use)
    assert most == 3 and gave_up > 0 and turns.waiting == 0
    assert [turns.take_now() for _ in range(4)] == [True, True, True, False]


def test_a_waiting_lease_can_be_stopped(engine: BubblewrapEngine) -> None:
    built, stop = engine.build(toy().image, Limits()), threading.Event()

    def wait_for(pool: Pool, stopped: Callable[[], bool]) -> None:
        with pytest.raises(StoppedWaitingError), pool.lease(built, Limits(), stop=stopped):
            pass

    with Pool(engine, 1) as pool, ThreadPoolExecutor(2) as threads, pool.lease(built, Limits()):
        by_event = threads.submit(wait_for, pool, stop.is_set)
        by_close = threads.submit(wait_for, pool, lambda: False)
        until(lambda: pool.places.waiting == 2)
        stop.set()
        by_event.result(10)
        assert not by_close.done()
        pool.close()
        by_close.result(10)


def test_starts_and_commands_have_bounds_of_their_own(counting: Counting) -> None:
    built, periods = counting.build(toy().image, Limits()), list[tuple[int, int]]()

    def use(_: int) -> None:
        with pool.lease(built, Limits()) as sandbox:
            said = sandbox.exec("date +%s%N; sleep 0.05; date +%s%N", timeout=20).stdout.split()
            periods.append((int(said[0]), int(said[1])))

    counting.most_starting = 0
    with Pool(counting, 6, most=Bounds(starts=2, commands=1)) as pool:
        at_once(6, use)
    periods.sort()
    assert all(earlier[1] <= later[0] for earlier, later in itertools.pairwise(periods)) and len(periods) == 6
    assert counting.most_starting <= 2
    with Pool(counting, 6, most=Bounds(starts=None, commands=None)) as pool:
        for _ in range(20):
            at_once(6, use if counting.most_starting <= 2 else bool)
    assert counting.most_starting > 2, "without a bound more start at once: the bound is what held them back"


# --- sandboxes that stand ready ------------------------------------------------------------------------------------------------


def test_a_lease_takes_a_sandbox_that_stands_ready(counting: Counting) -> None:
    built = counting.build(toy().image, Limits())
    with Pool(counting, 3) as pool:
        pool.warm(built, Limits(), 2)
        until(lambda: pool.ready == 2)
        there = list(counting.started[-2:])
        with pool.lease(built, Limits()) as sandbox:
            assert sandbox in there
            assert sandbox.exec("cat /srv/numbers.txt", timeout=10).stdout == b"600851475000\n143\n"
            until(lambda: pool.ready == 2)  # another was made for it
        assert living() <= 3
    assert pool.ready == 0 and living() == 0


def test_one_that_differs_in_limits_or_options_is_never_handed_out(counting: Counting) -> None:
    built, other = counting.build(toy().image, Limits()), Limits(memory_mb=Limits().memory_mb + 64)
    with Pool(counting, 2, warm=2) as pool:
        with pool.lease(built, Limits()):
            pass
        until(lambda: pool.ready == 2)
        with pool.lease(built, Limits(), StartOptions(hostname="elsewhere")) as sandbox:
            assert sandbox.exec("hostname", timeout=10).stdout == b"elsewhere\n"
        with pool.lease(built, other) as sandbox:
            assert isinstance(sandbox, BubblewrapSandbox) and sandbox.limits == other
        until(lambda: pool.ready == 2)  # of the image leased last, now with these limits
        with pool.lease(built, other) as sandbox:
            assert isinstance(sandbox, BubblewrapSandbox) and sandbox.limits == other


def test_what_stands_ready_makes_room_for_who_waits(counting: Counting) -> None:
    built, done = counting.build(toy().image, Limits()), list[int]()

    def use(number: int) -> None:
        for turn in range(10):
            options = StartOptions(hostname=f"h{(number + turn) % 3}")
            with pool.lease(built, Limits(), options) as sandbox:
                assert sandbox.exec("hostname", timeout=10).stdout.decode().strip() == options.hostname
                assert living() <= 2
        done.append(number)

    with Pool(counting, 2, warm=2, patience=30) as pool:
        at_once(4, use)
    assert sorted(done) == [0, 1, 2, 3] and living() == 0


def test_one_that_died_while_it_stood_ready_is_not_handed_out(counting: Counting) -> None:
    built = counting.build(toy().image, Limits())
    with Pool(counting, 2) as pool:
        pool.warm(built, Limits(), 1)
        until(lambda: pool.ready == 1)
        counting.started[-1].slot.warden.process.kill()
        counting.started[-1].slot.warden.process.wait()
        with pool.lease(built, Limits()) as sandbox:
            assert sandbox.exec("echo here", timeout=10).stdout == b"here\n"


# --- proving with it -----------------------------------------------------------------------------------------------------------


def test_what_was_proven_is_not_proven_again(engine: BubblewrapEngine, tmp_path: Path) -> None:
    store = ProofStore(tmp_path)
    tasks = [toy(), toy(solution=SOLUTION + " # other")]
    first = list(prove_all(engine, tasks, store, attacked=set()))
    again = list(prove_all(engine, tasks, store, attacked=set()))
    assert [proven.cached for proven in first] == [False, False] and [proven.cached for proven in again] == [True, True]
    assert {p.evidence.canonical() for p in first} == {p.evidence.canonical() for p in again}


def test_kept_evidence_that_is_cut_off_or_of_fewer_gates_is_not_believed(
    engine: BubblewrapEngine, tmp_path: Path
) -> None:
    store = ProofStore(tmp_path)
    list(prove_all(engine, [toy()], store, attacked=set()))
    assert store.load(toy().digest, "with tamper") is None
    for path in tmp_path.iterdir():
        path.write_text(path.read_text()[:-9])
    assert store.load(toy().digest, "without tamper") is None


def test_stopping_leaves_the_rest_undone(engine: BubblewrapEngine) -> None:
    tasks = [toy(solution=f"{SOLUTION} # {number}") for number in range(9)]
    assert len(list(prove_all(engine, tasks, None, 1, stop=lambda: True, attacked=set()))) == 0


def test_one_task_of_each_family_meets_the_attacks() -> None:
    late, early = (toy(provenance=toy().provenance.model_copy(update={"serial": serial})) for serial in (5, 2))
    other = toy(provenance=toy().provenance.model_copy(update={"family": "other", "serial": 9}), solution="x")
    assert tamper_plan([late, early, other]) == {early.digest, other.digest}
