"""ATIF 1.8: the format's rules, checked here by hand and, where Python 3.12 is there, by the real parser of Harbor."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from agent.atif import from_atif, save_atif, to_atif
from agent.trajectory import Item, Trajectory
from generators.errors import StorageError, UsageError
from tests.agent.recorded import FINISH, act, bash, recorded, trajectories
from tests.harbor import open_harbor

ALLOWED = {
    "document": "schema_version session_id trajectory_id agent steps final_metrics extra notes",
    "agent": "name version model_name tool_definitions extra",
    "system": "step_id source message extra",
    "user": "step_id source message extra",
    "step": "step_id source message reasoning_content tool_calls observation metrics llm_call_count extra",
    "call": "tool_call_id function_name arguments extra",
    "result": "source_call_id content extra",
    "metrics": "prompt_tokens completion_tokens cached_tokens cost_usd extra",
    "final": "total_prompt_tokens total_completion_tokens total_cached_tokens total_cost_usd total_steps extra",
}
RUN = recorded(
    bash("make", "cannot", 2),
    Item(mistake="<bash> line 1, column 2: what"),
    Item(call=act("bash", cmd="ls").call, skipped=True),
    act("file", action="write", file_path="/srv/x", content="é"),
    FINISH,
)


def only(kind: str, value: dict[str, Any]) -> None:
    assert set(value) <= set(ALLOWED[kind].split()), kind
    assert None not in value.values()


def check(document: dict[str, Any]) -> None:
    """The rules of the format."""
    only("document", document)
    only("agent", document["agent"])
    only("final", document["final_metrics"])
    assert document["schema_version"] == "ATIF-v1.8"
    assert [step["step_id"] for step in document["steps"]] == list(range(1, len(document["steps"]) + 1))
    assert document["final_metrics"]["total_steps"] == len(document["steps"])
    for step in document["steps"]:
        only("step" if step["source"] == "agent" else step["source"], step)
        assert isinstance(step["message"], str)
        calls, results = step.get("tool_calls", []), step.get("observation", {"results": []})["results"]
        for call in calls:
            only("call", call)
        for result in results:
            only("result", result)
            assert isinstance(result["content"], str)
        names = [call["tool_call_id"] for call in calls]
        assert len(set(names)) == len(names)
        assert {result["source_call_id"] for result in results if "source_call_id" in result} <= set(names)
        if step["source"] == "agent":
            only("metrics", step["metrics"])


@given(trajectories)
@settings(deadline=None)
def test_any_trajectory_keeps_the_rules_and_comes_back(run: Trajectory) -> None:
    document = json.loads(json.dumps(to_atif(run)))
    check(document)
    assert from_atif(document) == run


def test_what_stands_where() -> None:
    document = to_atif(RUN)
    check(document)
    system, user, failed, mistake, skipped, *_ = document["steps"]
    assert (system["message"], user["message"]) == (RUN.system, RUN.instruction)
    assert failed["tool_calls"][0]["function_name"] == "bash" and failed["tool_calls"][0]["arguments"] == {
        "cmd": "make"
    }
    (result,) = failed["observation"]["results"]
    assert result["source_call_id"] == failed["tool_calls"][0]["tool_call_id"] and result["content"] == "cannot"
    assert result["extra"]["observation"]["exit_code"] == 2
    assert "tool_calls" not in mistake and mistake["observation"]["results"][0]["content"].startswith("<bash>")
    assert "observation" not in skipped
    assert failed["metrics"]["prompt_tokens"] == 100 and document["final_metrics"]["total_completion_tokens"] == 50


def test_a_file_is_written_whole_and_without_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "never-to-be-written-1")
    save_atif(recorded(bash("echo never-to-be-written-1")), tmp_path / "run.json")
    assert "never-to-be-written-1" not in (tmp_path / "run.json").read_text()
    assert [file.name for file in tmp_path.iterdir()] == ["run.json"]
    with pytest.raises(StorageError):
        save_atif(RUN, tmp_path / "nowhere" / "run.json")


@pytest.mark.parametrize("change", [{"extra": None}, {"steps": []}, {"extra": {"termforge": {"task_id": "x"}}}])
def test_documents_of_others_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="not an ATIF document of Termforge"):
        from_atif(to_atif(RUN) | change)


PARSE = """
import json, sys
from harbor.models.trajectories import Trajectory
for name in sys.argv[1:]:
    parsed = Trajectory.model_validate_json(open(name).read())
    json.dump(parsed.model_dump(mode="json", exclude_none=False), open(name, "w"))
"""


@pytest.mark.slow
@pytest.mark.long
def test_harbor_itself_reads_it_and_what_it_writes_comes_back(tmp_path: Path) -> None:
    harbor = open_harbor()
    runs = [RUN, recorded(), recorded(bash("x"), reason="é", limits={"turns": 3, "note": [1.5, None]})]
    files = [tmp_path / f"{number}.json" for number in range(len(runs))]
    for run, file in zip(runs, files, strict=True):
        save_atif(run, file)
    harbor.python(PARSE, *map(str, files), cwd=tmp_path)
    assert [from_atif(json.loads(file.read_text())) for file in files] == runs
