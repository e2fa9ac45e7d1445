"""Data sets that language models write, by the command and by Dagster, against a server that speaks the providers' protocols."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from dagster import DagsterInstance

from containers.proof.store import ProofStore
from containers.state import State, default_state
from generators.chat.ledger import Ledger
from generators.chat.model import Ask, Message
from generators.errors import UsageError
from generators.recipe import Recipe, plan
from pipeline.exchange.rows import from_row
from pipeline.release import load_release
from pipeline.stages import write_batch
from pipeline.writing import WriterSettings, opened
from tests.conversations import Conversations, load
from tests.pipeline.conftest import floor_in
from tests.provider import Answer, Asked, Line, Provider

ROOT = Path(__file__).resolve().parents[2]
KEY = "sk-secret-4711-do-not-keep"
GOOD = ("toll_ledger", "unmapped_test", "build_fails_once")


def slowly(names: Sequence[str], seconds: float) -> Callable[[Asked], Answer]:
    """Conversations whose every answer takes its time."""
    conversations = Conversations(load(names))

    def script(asked: Asked) -> Answer:
        answer = conversations(asked)
        return replace(answer, fault=replace(answer.fault, delay=seconds))

    return script


def script(*names: str) -> Conversations:
    return Conversations(load(names))


def command(folder: Path, url: str, *more: str, provider: str = "openai") -> list[str]:
    recipe = folder / "few.yaml"
    # the first three cells of this seed need no fixture
    recipe.write_text("name: few\nseed: 4\ncount: 3\nwriter: model\nsplits: {train: 100}\n")
    base = [
        str(Path(sys.executable).parent / "termforge"),
        "build",
        "--recipe",
        str(recipe),
        "--to",
        str(folder / "out"),
    ]
    return [*base, "--writer", f"{provider}:scripted", "--base-url", url, "--json", *more]


def environment(folder: Path) -> dict[str, str]:
    """Replies, ledgers and frames of this test's own; sandboxes and layers are shared."""
    (folder / "dagster").mkdir(exist_ok=True)
    shutil.copy(ROOT / "dagster.yaml", folder / "dagster")
    own = {"TERMFORGE_MODELS": str(folder / "models"), "DAGSTER_HOME": str(folder / "dagster")}
    return {**os.environ, **own, "OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}


def run(folder: Path, argv: Sequence[str], timeout: float = 300) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, env=environment(folder), capture_output=True, text=True, timeout=timeout, check=False)


def whole_command(folder: Path, url: str, provider: str) -> list[str]:
    """The recipe `written`, 24 tasks, as the README has it."""
    base = [str(Path(sys.executable).parent / "termforge"), "build", "--count", "24", "--to", str(folder / "out")]
    return [*base, "--writer", f"{provider}:scripted", "--base-url", url, "--json"]


def holders_of(secret: str, folder: Path) -> list[str]:
    return [str(path) for path in folder.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_data_set_is_written_proven_and_costed(tmp_path: Path, provider: str) -> None:
    with Provider(script("toll_ledger", "refused_once", "hostile_network")) as server:
        done = run(tmp_path, command(tmp_path, server.url, provider=provider))
        asked = len(server.asked)
        again = run(tmp_path, command(tmp_path, server.url, provider=provider))
        assert len(server.asked) == asked, "a second run asks nothing"
    assert done.returncode == again.returncode == 0, done.stderr
    value = json.loads(done.stdout)
    assert dict(value["funnel"])["requested"] == 3 and dict(value["funnel"])["published"] == 2
    assert value["dropped"] == [{"gate": "draft", "reason": "environment_network", "count": 1}]
    assert {row[0] for row in value["by_stage"]} >= {"describe", "environment", "tests", "solution", "near_misses"}
    tasks = [from_row(row)[0] for row in load_release(tmp_path / "out" / f"few-{provider}-scripted")]
    assert {task.provenance.writer for task in tasks} == {"model"} and len(tasks) == 2
    assert not holders_of(KEY, tmp_path) and KEY not in done.stdout + done.stderr
    assert json.loads(again.stdout)["funnel"] == value["funnel"]


@pytest.mark.slow
def test_a_killed_run_goes_on_and_pays_nothing_twice(tmp_path: Path) -> None:
    with Provider(slowly(GOOD, 0.3)) as server:
        argv = command(tmp_path, server.url)
        process = subprocess.Popen(argv, env=environment(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while len(server.asked) < 9 and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        before = len(server.asked)
        done = run(tmp_path, argv)
        bodies = [json.dumps(asked.body["messages"]) for asked in server.asked]
    assert process.returncode == -signal.SIGKILL and 9 <= before < len(bodies)
    assert done.returncode == 0, done.stderr
    assert dict(json.loads(done.stdout)["funnel"])["published"] == 3
    assert len(bodies) - len(set(bodies)) <= 3, "at most what was under way at that moment is asked again"


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["openai", pytest.param("anthropic", marks=pytest.mark.long)])
def test_two_dozen_orders_killed_half_way_end_each_as_it_has_to(tmp_path: Path, provider: str) -> None:
    """Good conversations are published and bad ones fall with their reasons, whichever of their orders asks for a fixture."""
    names = [item.name for item in load() if "judge" not in item.says]  # nobody judges here
    talk = Conversations(load(names))
    with Provider(talk) as server:
        argv = whole_command(tmp_path, server.url, provider)
        process = subprocess.Popen(argv, env=environment(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while len(server.asked) < 90 and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        done = run(tmp_path, argv, timeout=600)
        bodies = [json.dumps(asked.body["messages"]) for asked in server.asked]
    assert process.returncode == -signal.SIGKILL and done.returncode == 0, done.stderr
    value = json.loads(done.stdout)
    wanted = Counter((item.expect["gate"], item.expect["reason"]) for item in talk.begun if item.expect.get("gate"))
    assert len(talk.begun) == 24 and len({item.name for item in talk.begun}) == 24
    assert {(row["gate"], row["reason"]): row["count"] for row in value["dropped"]} == wanted
    assert dict(value["funnel"])["published"] == 24 - wanted.total() == len(load_release(Path(value["folder"])))
    assert len(bodies) - len(set(bodies)) <= 24, "at most what was under way at that moment is asked again"


@pytest.mark.slow
def test_a_ceiling_stops_the_run_before_it_is_crossed(tmp_path: Path) -> None:
    with Provider(script(*GOOD)) as server:
        stopped = run(tmp_path, command(tmp_path, server.url, "--max-tokens", "30000"))
        done = run(tmp_path, command(tmp_path, server.url, "--max-tokens", "900000"))
    assert stopped.returncode == 6 and "ceiling" in stopped.stderr and "Traceback" not in stopped.stderr
    assert done.returncode == 0, done.stderr
    assert dict(json.loads(done.stdout)["funnel"])["published"] == 3


def test_dagster_writes_with_the_model_named_in_the_launchpad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("TERMFORGE_MODELS", str(tmp_path / "models"))
    recipe = Recipe(name="asked", seed=3, count=1, writer="model", splits={"train": 100})
    with Provider(script("toll_ledger")) as server, DagsterInstance.ephemeral() as instance:
        floor = floor_in(tmp_path, instance, recipe)
        config = {"resources": {"writer": {"config": {"writer": "openai:scripted", "base_url": server.url}}}}
        job = floor.defs.resolve_job_def("build_batch")
        assert job.execute_in_process(instance=instance, partition_key="asked.000", run_config=config).success
        assert floor.run("publish", "asked").success
        metadata = floor.metadata("drafts")
    assert "by_axis" in metadata and "written_by_models" in metadata
    assert floor.frame("candidate_dataset", "asked")["proven"].to_list() == [True]


def test_a_key_goes_to_its_own_providers_server_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-own-of-openai")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-own-of-anthropic")
    monkeypatch.setenv("TERMFORGE_MODELS", str(tmp_path / "models"))
    ask = Ask(messages=(Message(role="user", content="Well?"),))

    async def everybody(settings: WriterSettings) -> None:
        ledger = Ledger(tmp_path / "ledger.db")
        async with opened(settings, ledger, default_state(), lambda _: None) as models:
            assert models.judge
            for model in (models.writer, models.tester, models.judge):
                await model.ask(ask)
        ledger.close()

    with Provider([Line(say="Yes.")]) as given, Provider([Line(say="Yes.")]) as other:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", other.url)
        settings = WriterSettings("openai:m", tester="openai:n", judge="anthropic:j", base_url=given.url)
        asyncio.run(everybody(settings))
        seen = [[str(asked.headers) for asked in server.asked] for server in (given, other)]
    assert [len(headers) for headers in seen] == [2, 1]
    assert all("sk-own-of-openai" in text and "sk-own-of-anthropic" not in text for text in seen[0])
    assert "sk-own-of-anthropic" in seen[1][0] and "sk-own-of-openai" not in seen[1][0]


def test_no_engine_is_opened_for_a_model_without_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERMFORGE_MODELS", str(tmp_path / "models"))
    recipe = Recipe(name="keyless", seed=3, count=1, writer="model", splits={"train": 100})
    store = ProofStore.of(State(tmp_path / "home"), "bubblewrap")
    with pytest.raises(UsageError, match="set OPENAI_API_KEY"):
        write_batch(
            recipe, plan(recipe), lambda: pytest.fail("an engine was opened"), store, WriterSettings("openai:m")
        )


def test_without_a_model_one_line_says_what_to_do(tmp_path: Path) -> None:
    recipe = tmp_path / "few.yaml"
    recipe.write_text("name: few\nseed: 3\ncount: 3\nwriter: model\n")
    program = str(Path(sys.executable).parent / "termforge")
    done = run(tmp_path, [program, "build", "--recipe", str(recipe), "--to", str(tmp_path / "out")])
    assert done.returncode == 2 and "--writer openai:MODEL" in done.stderr and len(done.stderr.splitlines()) == 1
