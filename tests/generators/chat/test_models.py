"""All layers together, against a real server, and across processes that die."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from generators.chat.ledger import Ceiling, Ledger
from generators.chat.limits import Rates
from generators.chat.model import Ask, ChatModel, Reply, Tag
from generators.chat.models import open_model
from generators.chat.prices import Price, Prices
from generators.chat.retry import Patience
from generators.errors import AnswerFault, BudgetError, ProviderFault, TermforgeError, UsageError
from tests.generators.chat.worker import ask_number
from tests.provider import Answer, Asked, Fault, Line, Provider

ROOT = Path(__file__).resolve().parents[3]
PRICES = Prices((Price(models=("openai:*",), input=10.0, cached=1.0, output=100.0),))
QUICK = Patience(tries=4, first=0.01)


def quiet(line: str) -> None:
    """Say nothing."""


def run(model: ChatModel, *asks: Ask) -> list[Reply | TermforgeError]:
    """Ask all at once; replies and faults in order."""

    async def one(ask: Ask) -> Reply | TermforgeError:
        try:
            return await model.ask(ask, Tag("t", "draft", 1))
        except TermforgeError as fault:
            return fault

    async def main() -> list[Reply | TermforgeError]:
        try:
            return await asyncio.gather(*(one(ask) for ask in asks))
        finally:
            await model.close()

    return asyncio.run(main())


def start(*arguments: object) -> subprocess.Popen[str]:
    """A process that asks."""
    command = [sys.executable, "-m", "tests.generators.chat.worker", *(str(argument) for argument in arguments)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str]) -> Counter[str]:
    """How many requests it saw end in which way."""
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return Counter(line.split()[0] for line in out.splitlines())


def texts(provider: Provider) -> Counter[str]:
    return Counter(asked.text for asked in provider.asked)


# --- Speed ------------------------------------------------------------------------------------------------------------


def test_256_requests_are_in_the_works_at_once_and_no_more_than_allowed() -> None:
    with Provider([Line(say="Yes.")], gather=256) as provider:
        answers = run(open_model("openai:tiny", base_url=provider.url), *map(ask_number, range(300)))
        assert provider.peak == 256
    assert all(isinstance(answer, Reply) for answer in answers)
    with Provider([Line(say="Yes.", fault=Fault(delay=0.02))]) as provider:
        run(open_model("openai:tiny", base_url=provider.url, concurrency=3), *map(ask_number, range(12)))
        assert provider.peak == 3


def test_a_storm_of_faults_loses_nothing() -> None:
    kinds = ("drop_before", "truncated", "bad_json", "error_event")
    storm = [Line(fault=Fault("status", status), times=8) for status in (429, 500, 503, 529)]
    storm += [Line(say="Yes. " * 30, fault=Fault(kind), times=8) for kind in kinds]
    with Provider([*storm, Line(say="Yes.")]) as provider:
        patience = Patience(tries=60, first=0.01, most=0.05)
        answers = run(open_model("openai:tiny", base_url=provider.url, patience=patience), *map(ask_number, range(40)))
        assert len(provider.asked) == 40 + 64
    assert [answer.text for answer in answers if isinstance(answer, Reply)] == ["Yes."] * 40


@pytest.mark.parametrize("headers", [{"retry-after": "1"}, {"retry-after-ms": "1000", "retry-after": "60"}])
def test_what_one_request_is_told_to_wait_holds_back_the_others(headers: dict[str, str]) -> None:
    with Provider([Line(fault=Fault("status", 429, headers), times=1), Line(say="Yes.")]) as provider:
        model = open_model("openai:tiny", base_url=provider.url, concurrency=1, patience=QUICK)

        async def main() -> None:
            first = asyncio.create_task(model.ask(ask_number(1)))
            others = open_model("openai:tiny", base_url=provider.url)  # has a pacer of its own: is not held back
            while not provider.asked:
                await asyncio.sleep(0.01)
            await others.ask(ask_number(9))
            await asyncio.gather(first, model.ask(ask_number(2)))

        asyncio.run(main())
        refused, free, *held = provider.asked
        assert "question 9." in free.text and free.at - refused.at < 1
        assert len(held) == 2 and all(asked.at - refused.at >= 1 for asked in held)


def test_a_provider_that_says_when_to_come_again_is_busy_and_not_given_up_after_some_tries() -> None:
    busy = Line(fault=Fault("status", 429, {"retry-after-ms": "5"}), times=3 * QUICK.tries)
    with Provider([busy, Line(say="Yes.")]) as provider:
        (answer,) = run(open_model("openai:tiny", base_url=provider.url, patience=QUICK), ask_number(1))
        assert isinstance(answer, Reply) and len(provider.asked) == 3 * QUICK.tries + 1


def test_a_provider_that_asks_for_more_patience_than_there_is_is_not_waited_for() -> None:
    with Provider([Line(fault=Fault("status", 429, {"retry-after": "3600"}))]) as provider:
        (fault,) = run(open_model("openai:tiny", base_url=provider.url), ask_number(1))
        assert len(provider.asked) == 1
    assert isinstance(fault, ProviderFault) and fault.retry_after == 3600


# --- Cache and ledger -------------------------------------------------------------------------------------------------


def test_the_same_request_is_paid_once_and_booked_as_it_was(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    with Provider([Line(say="Yes.", usage=(1000, 100, 500))]) as provider:

        def model() -> ChatModel:
            return open_model(
                "openai:tiny", base_url=provider.url, cache=tmp_path / "replies", ledger=ledger, prices=PRICES
            )

        first = run(model(), ask_number(1), ask_number(1), ask_number(1).model_copy(update={"sample": 1}))
        again = run(model(), ask_number(1))
        assert len(provider.asked) == 2
    assert [answer.cached for answer in first + again if isinstance(answer, Reply)] in (
        [False, True, False, True],
        [True, False, False, True],
    )
    paid, free = ledger.totals("cached")[::-1] if ledger.totals("cached")[0].by["cached"] else ledger.totals("cached")
    assert (paid.requests, free.requests, free.money, free.input_tokens) == (2, 2, 0.0, 0)
    assert paid.money == pytest.approx(2 * (500 * 10 + 500 * 1 + 100 * 100) / 1e6)
    ledger.close()


@pytest.mark.parametrize("fault", [Fault("refusal"), Fault("length"), Fault("empty"), Fault("status", 500)])
def test_answers_are_kept_whatever_they_are_worth_and_faults_are_not(tmp_path: Path, fault: Fault) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    with Provider(
        [
            Line(say="Ye", fault=fault, usage=(100, 50, 0), times=QUICK.tries if fault.kind == "status" else 1),
            Line(say="Yes.", usage=(100, 10, 0)),
        ]
    ) as provider:

        def model() -> ChatModel:
            return open_model(
                "openai:tiny",
                base_url=provider.url,
                cache=tmp_path / "replies",
                ledger=ledger,
                prices=PRICES,
                patience=QUICK,
            )

        (first,) = run(model(), ask_number(1))
        (second,) = run(model(), ask_number(1))
        asked = len(provider.asked)
    outcomes = {total.by["outcome"]: total for total in ledger.totals("outcome")}
    spent = ledger.spent()[1]
    ledger.close()
    assert isinstance(first, (AnswerFault, ProviderFault))
    wasted = 0 if fault.kind == "status" else (100 * 10 + 50 * 100) / 1e6
    assert outcomes[first.reason].money == pytest.approx(wasted)
    if fault.kind == "status":  # the provider's trouble: asked again
        assert isinstance(first, ProviderFault) and isinstance(second, Reply) and asked == QUICK.tries + 1
        assert set(outcomes) == {"ok", first.reason}
        assert spent == pytest.approx(wasted + (100 * 10 + 10 * 100) / 1e6)
    else:  # an answer of no use, which was paid for: the same again
        assert isinstance(first, AnswerFault) and isinstance(second, AnswerFault) and asked == 1
        assert (first.reason, first.text) == (second.reason, second.text) and set(outcomes) == {first.reason}
        assert outcomes[first.reason].requests == 1 and spent == pytest.approx(wasted)


def test_an_unknown_price_is_said_once_and_no_ceiling_of_money_is_promised(tmp_path: Path) -> None:
    ledger, said = Ledger(tmp_path / "ledger.sqlite"), list[str]()
    with Provider([Line(say="Yes.")]) as provider:
        for number in range(2):
            run(open_model("openai:tiny", base_url=provider.url, ledger=ledger, say=said.append), ask_number(number))
        assert len(said) == 1 and "openai:tiny" in said[0]
        with pytest.raises(UsageError, match="prices file of your own"):
            open_model("openai:tiny", base_url=provider.url, ledger=ledger, ceiling=Ceiling(money=1), say=said.append)
    assert (ledger.totals()[0].unpriced, ledger.totals()[0].money) == (2, 0.0)
    ledger.close()


def worst(ask: Ask) -> int:
    return ask.worst_input_tokens() + ask.max_tokens


def test_the_ceiling_is_never_crossed_and_what_fits_is_answered(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ceiling = Ceiling(money=0.02, tokens=10_000)
    with Provider([Line(say="Yes.", usage=(10, 40, 0), fault=Fault(delay=0.01))]) as provider:
        model = open_model("openai:tiny", base_url=provider.url, ledger=ledger, ceiling=ceiling, prices=PRICES)
        answers = run(model, *map(ask_number, range(20)))
        sent = len(provider.asked)
    stopped = [answer for answer in answers if isinstance(answer, BudgetError)]
    assert len(stopped) + sent == 20 and stopped and sent
    tokens, money = ledger.spent()
    assert money <= 0.02 and tokens == 50 * sent
    assert (
        money + PRICES.table[0].at_most(ask_number(1).worst_input_tokens(), 50) > 0.02
    )  # one more might not have fitted
    ledger.close()


def test_a_request_that_alone_is_over_the_ceiling_is_not_sent(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    with Provider([Line(say="Yes.")]) as provider:
        ceiling = Ceiling(tokens=worst(ask_number(1)) - 1)
        model = open_model("openai:tiny", base_url=provider.url, ledger=ledger, ceiling=ceiling, say=quiet)
        (fault,) = run(model, ask_number(1))
        assert not provider.asked
    assert isinstance(fault, BudgetError) and ledger.totals()[0].requests == 0
    ledger.close()


# --- Processes --------------------------------------------------------------------------------------------------------


def test_two_processes_with_the_same_requests_pay_once(tmp_path: Path) -> None:
    with Provider([Line(say="Yes.", fault=Fault(delay=0.05))]) as provider:
        one, other = start(provider.url, tmp_path, 20), start(provider.url, tmp_path, 20)
        total = ended(one) + ended(other)
        assert set(texts(provider).values()) == {1} and len(provider.asked) == 20
    assert total == {"paid": 20, "cached": 20}
    ledger = Ledger(tmp_path / "ledger.sqlite")
    assert ledger.totals()[0].requests == 40 and ledger.spent()[0] == sum(
        total.input_tokens + total.output_tokens for total in ledger.totals()
    )
    ledger.close()


def test_a_killed_process_goes_on_where_it_was(tmp_path: Path) -> None:
    answered = 10

    def script(asked: Asked) -> Answer:
        """The first ones are answered at once, all others not in time."""
        return Answer("Yes.", Fault(delay=0 if len(provider.asked) <= answered else 600))

    with Provider(script) as provider:
        killed = start(provider.url, tmp_path, 20)
        assert killed.stdout
        paid = {killed.stdout.readline().split()[1] for _ in range(10)}
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
        answered, before = 1000, len(provider.asked)
        assert ended(start(provider.url, tmp_path, 20)) == {"cached": 10, "paid": 10}
        again = {asked.text.split()[1].rstrip(".") for asked in provider.asked[before:]}
        assert len(again) == 10 and not again & paid
    ledger = Ledger(tmp_path / "ledger.sqlite")
    assert ledger.totals()[0].requests == 30  # ten paid, the same ten cached, ten more paid
    assert ledger.reserve(1, 0, Ceiling(tokens=ledger.spent()[0] + 1)) is not None  # nothing of the dead is reserved
    ledger.close()


def test_two_processes_stay_under_one_ceiling(tmp_path: Path) -> None:
    ceiling = worst(ask_number(1)) * 3
    with Provider([Line(say="Yes.", usage=(5, 10, 0), fault=Fault(delay=0.02))]) as provider:
        (tmp_path / "a").mkdir()
        one, other = start(provider.url, tmp_path, 30, ceiling), start(provider.url, tmp_path, 30, ceiling)
        total = ended(one) + ended(other)
        assert total["stopped"] > 0 and len(provider.asked) == total["paid"]
    ledger = Ledger(tmp_path / "ledger.sqlite")
    assert ledger.spent()[0] == 15 * total["paid"] <= ceiling
    ledger.close()


def test_the_key_is_in_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    with Provider(
        [Line(fault=Fault("status", 500, message="sk-very-secret"), times=1), Line(say="Yes.", fault=Fault(delay=0.05))]
    ) as provider:
        process = subprocess.run(
            [sys.executable, "-m", "tests.generators.chat.worker", provider.url, str(tmp_path), "4"],
            cwd=ROOT,
            capture_output=True,
            check=True,
        )
        assert any("sk-very-secret" in value for value in provider.asked[-1].headers.values())
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) >= 5
    assert not any(b"sk-very-secret" in data for data in (*written, process.stdout, process.stderr))


# --- Opening ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", ["gpt-5", "openai:", "mistral:x", "openai: x", "", "openai:a b"])
def test_a_bad_name_is_a_usage_error(spec: str) -> None:
    with pytest.raises(UsageError, match="openai:NAME or anthropic:NAME"):
        open_model(spec, base_url="http://127.0.0.1:9/v1")


def test_limits_that_do_not_fit_are_usage_errors() -> None:
    with pytest.raises(UsageError, match="needs a ledger"):
        open_model("openai:x", base_url="http://127.0.0.1:9/v1", ceiling=Ceiling(money=1))
    with pytest.raises(UsageError, match="concurrency"):
        open_model("openai:x", base_url="http://127.0.0.1:9/v1", concurrency=0)
    with pytest.raises(UsageError, match="per minute"):
        Rates(requests=0)


def test_reasoning_is_a_default_that_a_request_may_replace() -> None:
    with Provider([Line(say="Yes.")]) as provider:
        run(
            open_model("openai:x", base_url=provider.url, reasoning="low", concurrency=1),
            ask_number(1),
            ask_number(2).model_copy(update={"reasoning": "high"}),
        )
        assert sorted(asked.body["reasoning_effort"] for asked in provider.asked) == ["high", "low"]


def test_importing_the_protocol_imports_no_providers_library() -> None:
    code = "import sys, generators.chat.models, generators.chat.ledger; print([m for m in ('openai', 'anthropic', 'httpx2') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_no_request_waits_in_the_loop_of_another(tmp_path: Path) -> None:
    """256 requests for the same reply wait for one, and the loop stays alive."""
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    async def main(model: ChatModel) -> list[Reply]:
        beat = asyncio.create_task(tick())
        replies = await asyncio.gather(*(model.ask(ask_number(1)) for _ in range(256)))
        beat.cancel()
        await model.close()
        return replies

    with Provider([Line(say="Yes.", fault=Fault(delay=0.5))]) as provider:
        started = time.monotonic()
        replies = asyncio.run(main(open_model("openai:tiny", base_url=provider.url, cache=tmp_path)))
        assert len(provider.asked) == 1 and time.monotonic() - started < 60
    assert sum(not reply.cached for reply in replies) == 1 and ticks > 5
