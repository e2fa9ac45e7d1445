"""The bound on sandboxes, and proving many tasks with it."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from containers.engines.bubblewrap.engine import BubblewrapEngine
from containers.pool import Pool
from containers.proof.batch import prove_all, tamper_plan
from containers.proof.store import ProofStore
from generators.errors import SandboxFault
from generators.task import Limits
from tests.toys import SOLUTION, toy


def test_no_more_than_its_size_at_once(engine: BubblewrapEngine) -> None:
    built, pool, alive, most = engine.build(toy().image, Limits()), Pool(engine, 2), 0, 0
    lock = threading.Lock()

    def use() -> None:
        nonlocal alive, most
        with pool.lease(built, Limits()):
            with lock:
                alive += 1
                most = max(most, alive)
            time.sleep(0.05)
            with lock:
                alive -= 1

    threads = [threading.Thread(target=use) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 2


def test_waiting_too_long_is_a_fault_not_a_score(engine: BubblewrapEngine) -> None:
    built, pool = engine.build(toy().image, Limits()), Pool(engine, 1, patience=0.1)
    with pool.lease(built, Limits()), pytest.raises(SandboxFault, match="pool of 1"), pool.lease(built, Limits()):
        pass


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
