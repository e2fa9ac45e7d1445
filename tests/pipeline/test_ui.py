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

ROOT = Path(__file__).resolve().parents[2]
TINY = "name: tiny\nseed: 5\ncount: 2\nfamilies: [ledger_reconciliation]\ndifficulty: {easy: 50, medium: 50}\nsplits: {train: 100}\n"
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


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "datasets" / "recipes").mkdir(parents=True)
    (tmp_path / "datasets" / "recipes" / "tiny.yaml").write_text(TINY)
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
    env = {**os.environ, "DAGSTER_HOME": str(tmp_path), "TERMFORGE_ROOT": str(tmp_path)}
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


@pytest.mark.slow
def test_a_batch_is_materialized_from_the_ui_and_published_by_itself(server: str, tmp_path: Path) -> None:
    nodes = ask(server, "{ assetNodes { assetKey { path } } }")["assetNodes"]
    names = {node["assetKey"]["path"][-1] for node in nodes}
    assert names == {
        "drafts",
        "environments",
        "proven",
        "attempts",
        "solvable",
        "candidate_dataset",
        "published_dataset",
        "grpo_run",
        "checkpoint",
        "evaluation",
    }
    selector = {
        "repositoryLocationName": "pipeline.definitions",
        "repositoryName": "__repository__",
        "jobName": "build_batch",
    }
    tags = [{"key": "dagster/partition", "value": "tiny.000"}]
    params = {"selector": selector, "mode": "default", "runConfigData": {}, "executionMetadata": {"tags": tags}}
    launched = ask(server, LAUNCH, params=params)["launchPipelineExecution"]
    assert launched["__typename"] == "LaunchRunSuccess", launched
    run = launched["run"]["runId"]
    query = "query($id: ID!) { runOrError(runId: $id) { ... on Run { status } } }"

    def ended() -> str | None:
        status: str = ask(server, query, id=run)["runOrError"]["status"]
        return status if status in {"SUCCESS", "FAILURE", "CANCELED"} else None

    assert wait_for("the end of the run", 300, ended) == "SUCCESS"
    manifest = tmp_path / "datasets" / "tiny" / "manifest.json"
    wait_for("the release", 240, manifest.exists)
    assert json.loads(manifest.read_text())["tasks"] == 2
