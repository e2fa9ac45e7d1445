"""What `--dry-run` says of recipes that language models write: priors, measured figures, what is kept, and what it refuses."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from generators.chat.ledger import Entry, Ledger
from generators.chat.model import Tag, Usage
from tests.pipeline.test_writing import GOOD, command, environment, run, script
from tests.provider import Provider

NOWHERE = "http://127.0.0.1:9/v1"  # nobody listens
PRICES = "- {models: ['openai:scripted'], input: 1, cached: 1, output: 4}\n"


def dry(folder: Path, *more: str, url: str = NOWHERE, **changed: str) -> subprocess.CompletedProcess[str]:
    argv = [*command(folder, url), "--dry-run", *more]
    return subprocess.run(
        argv, env=environment(folder) | changed, capture_output=True, text=True, timeout=120, check=False
    )


def book(folder: Path, task: str, *stages: str, seconds: float = 6.0) -> None:
    """An earlier recipe's ledger: each of these stages asked once more for a task, 1,000 tokens in and 200 out."""
    ledger = Ledger(folder / "models" / "ledgers" / "earlier.db")
    for number, stage in enumerate(stages):
        tag = Tag(task, stage, stages[:number].count(stage))
        usage = Usage(input_tokens=1000, output_tokens=200)
        ledger.book(Entry(tag, "openai:scripted", "ok", usage, 0.0, seconds))
    ledger.close()


def test_before_anything_was_measured_the_prompts_themselves_are_counted(tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text(PRICES)
    short = json.loads(dry(tmp_path, "--prices", str(tmp_path / "prices.yaml")).stdout)
    longer = json.loads(dry(tmp_path, "--count", "6", "--prices", str(tmp_path / "prices.yaml")).stdout)
    assert short["basis"] == short["proving_basis"] == "assumed" and short["measured_tasks"] == 0
    assert {row["basis"] for row in short["by_stage"]} == {"assumed"}
    assert short["input_tokens"] > 3 * 6 * 500 and short["output_tokens"] > 3 * 6 * 200
    assert short["dollars"] == pytest.approx((short["input_tokens"] + 4 * short["output_tokens"]) / 1e6, rel=0.01)
    assert 1.8 < longer["output_tokens"] / short["output_tokens"] < 2.2
    assert short["minutes"] == pytest.approx(short["writing_minutes"] + short["proving_minutes"], abs=0.11)
    assert short["proving_minutes"] > 0
    assert not (tmp_path / "out").exists() and not list((tmp_path / "models").rglob("*.json"))


def test_what_ledgers_measured_takes_the_place_of_the_prior(tmp_path: Path) -> None:
    book(tmp_path, "a", "describe", "environment")
    book(tmp_path, "b", "describe", "describe", "describe", "describe")  # used up its rounds: never got further
    value = json.loads(dry(tmp_path).stdout)
    rows = {row["stage"]: row for row in value["by_stage"]}
    assert value["basis"] == "partly assumed" and value["measured_tasks"] == 2
    assert rows["describe"]["basis"] == "measured" and rows["describe"]["input_tokens"] == 3 * 2500
    assert rows["environment"]["basis"] == "measured" and rows["environment"]["input_tokens"] == 1500, "half get there"
    assert rows["tests"]["basis"] == "assumed"


def test_rates_of_the_account_make_it_longer(tmp_path: Path) -> None:
    value = json.loads(dry(tmp_path, "--requests-per-minute", "1").stdout)
    assert value["writing_minutes"] == pytest.approx(value["requests"], rel=0.1)


@pytest.mark.slow
def test_what_is_kept_is_not_counted_again(tmp_path: Path) -> None:
    with Provider(script(*GOOD)) as server:
        stopped = run(tmp_path, command(tmp_path, server.url, "--max-tokens", "30000"))
        asked = len(server.asked)
        half = json.loads(dry(tmp_path, url=server.url).stdout)
        assert len(server.asked) == asked, "nothing is sent"
        done = run(tmp_path, command(tmp_path, server.url))
        whole = json.loads(dry(tmp_path, url=server.url).stdout)
        asked = len(server.asked) - asked
    assert stopped.returncode == 6 and done.returncode == 0, done.stderr
    assert half["finished"] < 3 and half["requests"] > 0 and half["to_prove"] > 0
    rows = {row["stage"]: row["tasks"] for row in half["by_stage"]}
    assert sum(rows.values()) < 18, (
        "three tasks of six stages, less what is kept"
    )  # requests count expected repairs too
    assert rows["describe"] == 0 < rows["near_misses"], "what was asked first is there already"
    assert (whole["finished"], whole["requests"], whole["to_prove"], whole["minutes"]) == (3, 0, 0, 0)
    assert whole["basis"] == whole["proving_basis"] == "measured" and whole["measured_proofs"] == 3


@pytest.mark.parametrize(
    ("more", "changed", "says"),
    [
        (("--tester", "gpt"), {}, "write openai:NAME or anthropic:NAME"),
        (("--judge", "local:x"), {}, "write openai:NAME or anthropic:NAME"),
        (("--base-url", "ftp://there"), {}, "is no address for OpenAI"),
        (("--max-dollars", "2"), {}, "no price is known for openai:scripted"),
    ],
)  # fmt: skip
def test_models_are_looked_at_as_for_a_real_run(
    tmp_path: Path, more: tuple[str, ...], changed: dict[str, str], says: str
) -> None:
    done = dry(tmp_path, *more, **changed)
    assert done.returncode == 2 and says in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr


HOME = ("--base-url", "https://api.openai.com/v1")
KEYLESS = {"OPENAI_API_KEY": "", "ANTHROPIC_API_KEY": "", "ANTHROPIC_BASE_URL": ""}


def test_an_estimate_needs_no_key(tmp_path: Path) -> None:
    done = dry(tmp_path, "--judge", "anthropic:x", *HOME, **KEYLESS)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["requests"] > 0


@pytest.mark.parametrize(
    ("more", "missing"),
    [(HOME, "OPENAI_API_KEY"), (("--judge", "anthropic:x"), "ANTHROPIC_API_KEY")],
)
def test_a_missing_key_is_said_before_anything_is_made(tmp_path: Path, more: tuple[str, ...], missing: str) -> None:
    unable = {"TERMFORGE_BWRAP": "/nowhere/bwrap"}  # what an engine would complain about first
    done = subprocess.run(
        [*command(tmp_path, NOWHERE), *more],
        env=environment(tmp_path) | KEYLESS | unable, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 2 and f"set {missing}" in done.stderr and "--base-url" in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) == 1 and not (tmp_path / "out").exists()
    assert not (tmp_path / "models" / "ledgers").exists()


@pytest.mark.parametrize("option", [("--tester", "openai:x"), ("--max-dollars", "2"), ("--concurrency", "256")])
def test_options_of_models_without_a_writer_are_refused(tmp_path: Path, option: tuple[str, str]) -> None:
    argv = command(tmp_path, NOWHERE)
    words = [*argv[:2], "--dry-run", *option]
    done = subprocess.run(words, env=environment(tmp_path), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2 and option[0] in done.stderr and "--writer" in done.stderr
    assert len(done.stderr.splitlines()) == 1 and not done.stdout


@pytest.mark.slow
def test_a_batch_of_which_nothing_is_published_shows_why(tmp_path: Path) -> None:
    with Provider(script("hostile_network", "always_pass", "imports_missing")) as server:
        done = run(tmp_path, command(tmp_path, server.url))
        told = run(tmp_path, [word for word in command(tmp_path, server.url) if word != "--json"])
    assert done.returncode == told.returncode == 1
    value = json.loads(done.stdout)
    assert value["folder"] is None and value["funnel"]["requested"] == 3 and value["funnel"]["published"] == 0
    assert {row["reason"] for row in value["dropped"]} == {
        "environment_network", "tests_check_nothing", "tests_import_missing",
    }  # fmt: skip
    assert "none of its 3 tasks passed every gate" in done.stderr and "Traceback" not in done.stderr
    assert "environment_network" in told.stdout and "published in" not in told.stdout
    assert not list((tmp_path / "out").rglob("*.parquet"))
