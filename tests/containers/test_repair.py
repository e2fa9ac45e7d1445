"""Every scripted conversation, through the real SDK, real sandboxes and all gates: what is proven, what is repaired, where it falls."""

from __future__ import annotations

import asyncio
from functools import cache
from pathlib import Path

import pytest

from containers.pool import Pool
from containers.proof.store import ProofStore
from containers.repair import Outcome, Workshop, problem_of
from containers.sandbox import Engine
from generators.axes import Cell, load_space, sample
from generators.chat.models import open_model
from generators.evidence import SUITE, Evidence, Gate, Verdict
from generators.task import Difficulty
from generators.written.draft import Order
from generators.written.problems import Round
from generators.written.writer import Models
from tests.conversations import Conversation, Conversations, load
from tests.provider import Provider

AXES = Path(__file__).resolve().parents[2] / "datasets" / "axes"
ALWAYS = {"toll_ledger", "build_fails_once", "hostile_network"}  # the others are for the slow tests
PLAYS = [pytest.param(item, id=item.name, marks=() if item.name in ALWAYS else pytest.mark.slow) for item in load()]


@cache
def cells() -> list[Cell]:
    return sample(load_space(AXES), 5, 120, {Difficulty.MEDIUM: 60, Difficulty.HARD: 40})


async def play(item: Conversation, url: str, pool: Pool, proofs: Path, provider: str) -> Outcome:
    model = open_model(f"{provider}:scripted", base_url=url)
    workshop = Workshop(pool, ProofStore(proofs))
    judge = model if "judge" in item.says else None
    writer = workshop.writer(Models(model, model, model, judge, structured=provider == "openai"))
    cell = next(cell for cell in cells() if cell.fixture == item.fixture)
    try:
        return await workshop.make(writer, Order(cell, 5, 0, model.name))
    finally:
        workshop.close()
        await model.close()


@pytest.mark.parametrize("item", PLAYS)
def test_a_conversation_ends_as_it_has_to(
    item: Conversation, pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    with Provider(Conversations([item])) as server:
        outcome = asyncio.run(play(item, server.url, pool, tmp_path, "openai"))
    fell = {"gate": outcome.gate, "reason": outcome.reason}
    assert fell == {"gate": "", "reason": "", **item.expect}, outcome.detail
    assert [[done.stage, done.reason] for done in outcome.rounds] == [list(done) for done in item.rounds]
    if not outcome.gate:
        assert outcome.task and outcome.evidence and outcome.evidence.proven
        assert outcome.task.provenance.writer == "model"


def test_a_gate_tells_a_solver_which_test_fails_and_not_what_it_compared() -> None:
    verdict = Verdict(
        gate=Gate.ORACLE,
        holds=False,
        reason="solution_fails",
        detail="0 of 3 runs; test_dearest: AssertionError: assert 'Wren' == 'Kestrel-7741'",
    )
    evidence = Evidence(
        task_id="a", task_digest="b", suite=SUITE, engine="c", base_digest="", image_digest="", verdicts=(verdict,)
    )
    first = problem_of(evidence, ())
    assert (
        first and first.stage == "solution" and "test_dearest fails" in first.detail and "Kestrel" not in first.detail
    )
    second = problem_of(evidence, (Round("solution", 1, "solution_fails", ""),))
    assert second and second.stage == "tests" and "Kestrel-7741" in second.detail


def test_what_was_proven_once_is_not_proven_again(
    engine: Engine, pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test")
    item = load(["toll_ledger"])[0]
    with Provider(Conversations([item])) as server:
        first = asyncio.run(play(item, server.url, pool, tmp_path, "anthropic"))
        again = asyncio.run(play(item, server.url, Pool(_Unused(engine), 1), tmp_path, "anthropic"))
    assert first.evidence and again.evidence
    assert first.evidence == again.evidence and first.task == again.task


class _Unused:
    """An engine that must not be used."""

    def __init__(self, engine: Engine) -> None:
        self.name, self.state = engine.name, engine.state

    def gaps(self) -> tuple[()]:
        return ()
