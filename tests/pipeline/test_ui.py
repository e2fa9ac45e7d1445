"""The Dagster UI's own server: the graph is there, and a batch launched as the UI does it is materialized."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conversations import Conversations, load
from tests.provider import Provider

ROOT = Path(__file__).resolve().parents[2]
TINY = "name: tiny\nseed: 5\ncount: 2\nfamilies: [ledger_reconciliation]\ndifficulty: {easy: 50, medium: 50}\nsplits: {train: 100}\n"
# the first three cells of this seed need no fixture
FEW = "name: few\nseed: 4\ncount: 3\nwriter: model\nsplits: {train: 100}\n"
KEY = "sk-secret-4712-do-not-keep"
ASSETS = {
    *("drafts", "environments", "proven", "attempts", "solvable", "candidate_dataset", "published_dataset"),
    *("grpo_run", "checkpoint", "evaluation"),
}
LAUNCH = """
mutation($params: ExecutionParams!) { launchPipelineExecution(executionParams: $params) {
  __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }
"""


def ask(url: str, query: str, **variables: Any) -> dict[str, Any]:
    body = json.dumps({"query": query, "variables": variables}).encode()
    request = urllib.request.Request(f"{url}/graphql", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        data: dict[str, Any] = json.load(answer)["data"]
    return data


def wait_for(what: str, seconds: float, look: Any) -> Any:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            if found := look():
                return found
        time.sleep(0.5)
    raise AssertionError(f"{what} did not come within {seconds} s")


@contextlib.contextmanager
def serving(tmp_path: Path, recipe: str, text: str) -> Iterator[str]:
    """`dagster dev` on a project with this recipe."""
    (tmp_path / "datasets" / "recipes").mkdir(parents=True)
    (tmp_path / "datasets" / "recipes" / f"{recipe}.yaml").write_text(text)
    for data in ("axes", "prices.yaml"):
        (tmp_path / "datasets" / data).symlink_to(ROOT / "datasets" / data)
    shutil.copy(ROOT / "dagster.yaml", tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [
        str(Path(sys.executable).parent / "dagster"),
        "dev",
        "-m",
        "pipeline.definitions",
        "-h",
        "127.0.0.1",
        "-p",
        str(port),
    ]
    own = {"DAGSTER_HOME": str(tmp_path), "TERMFORGE_ROOT": str(tmp_path), "TERMFORGE_MODELS": str(tmp_path / "models")}
    env = {**os.environ, **own, "OPENAI_API_KEY": KEY}
    with open(tmp_path / "log", "w") as log:
        process = subprocess.Popen(command, env=env, cwd=tmp_path, stdout=log, stderr=log, start_new_session=True)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for("the server", 120, lambda: urllib.request.urlopen(f"{url}/server_info", timeout=5).status == 200)
        yield url
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def launch(server: str, batch: str, config: dict[str, Any]) -> str:
    """Launch a batch as the launchpad does; how it ended."""
    selector = {
        "repositoryLocationName": "pipeline.definitions",
        "repositoryName": "__repository__",
        "jobName": "build_batch",
    }
    tags = [{"key": "dagster/partition", "value": batch}]
    params = {"selector": selector, "mode": "default", "runConfigData": config, "executionMetadata": {"tags": tags}}
    launched = ask(server, LAUNCH, params=params)["launchPipelineExecution"]
    assert launched["__typename"] == "LaunchRunSuccess", launched
    query = "query($id: ID!) { runOrError(runId: $id) { ... on Run { status } } }"

    def ended() -> str | None:
        status: str = ask(server, query, id=launched["run"]["runId"])["runOrError"]["status"]
        return status if status in {"SUCCESS", "FAILURE", "CANCELED"} else None

    status: str = wait_for("the end of the run", 300, ended)
    return status


@pytest.mark.slow
def test_a_batch_is_materialized_from_the_ui_and_published_by_itself(tmp_path: Path) -> None:
    with serving(tmp_path, "tiny", TINY) as server:
        nodes = ask(server, "{ assetNodes { assetKey { path } } }")["assetNodes"]
        assert {node["assetKey"]["path"][-1] for node in nodes} == ASSETS
        assert launch(server, "tiny.000", {}) == "SUCCESS"
        manifest = tmp_path / "datasets" / "tiny" / "manifest.json"
        wait_for("the release", 240, manifest.exists)
    assert json.loads(manifest.read_text())["tasks"] == 2


@pytest.mark.slow
def test_the_writer_is_chosen_in_the_launchpad(tmp_path: Path) -> None:
    """Language models write a batch that was launched from the UI: its tasks are proven, and it is published by itself."""
    with Provider(Conversations(load(("toll_ledger", "refused_once", "hostile_network")))) as models:
        writer = {"writer": "openai:scripted", "base_url": models.url}
        with serving(tmp_path, "few", FEW) as server:
            assert launch(server, "few.000", {"resources": {"writer": {"config": writer}}}) == "SUCCESS"
            manifest = tmp_path / "datasets" / "few" / "manifest.json"
            wait_for("the release", 240, manifest.exists)
        assert len(models.asked) > 10
    assert json.loads(manifest.read_text())["tasks"] == 2
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
