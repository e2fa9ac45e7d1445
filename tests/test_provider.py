"""The test provider itself: its script by hand, both protocols unstreamed, and the lines' order."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.provider import Line, Provider, read_script

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = """
- when: [ledger, Dockerfile]
  say: "FROM debian"
  times: 1
- when: [ledger]
  fault: {status: 503, headers: {retry-after: "2"}, message: busy}
- when: [other]
  say: "FROM alpine"
"""


def post(url: str, path: str, text: str) -> tuple[int, dict[str, Any]]:
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": text}]}
    request = urllib.request.Request(url + path, json.dumps(body).encode(), {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_a_script_is_served_by_hand(tmp_path: Path) -> None:
    (tmp_path / "script.yaml").write_text(SCRIPT)
    command = [sys.executable, "-m", "tests.provider", "--script", str(tmp_path / "script.yaml")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        url = process.stdout.readline().strip()
        _, whole = post(url, "/chat/completions", "the ledger's Dockerfile")
        status, fault = post(url, "/chat/completions", "the ledger's Dockerfile")
        _, other = post(url, "/messages", "other")
        missing, words = post(url, "/messages", "nothing of this")
        process.kill()
    assert whole["choices"][0]["message"]["content"] == "FROM debian"
    assert (status, fault["error"]["message"]) == (503, "busy")
    assert other["content"] == [{"type": "text", "text": "FROM alpine"}]
    assert missing == 404 and "no line of the script" in words["error"]["message"]


def test_requests_are_recorded() -> None:
    with Provider([Line(say="Yes.")]) as provider:
        post(provider.url, "/chat/completions", "How?")
        assert post(provider.url, "/embeddings", "How?")[0] == 404
    assert [asked.text for asked in provider.asked] == ["How?", "How?"]
    assert provider.asked[0].headers["content-type"] == "application/json" and provider.active == 0


def test_a_key_that_is_not_known_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "script.yaml").write_text("- {wen: [x], say: y}")
    with pytest.raises(TypeError, match="wen"):
        read_script(tmp_path / "script.yaml")
