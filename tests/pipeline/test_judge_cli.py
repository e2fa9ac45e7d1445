"""The judge commands as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli.judge import judge
from pipeline.cli.output import guarded
from tests.provider import Fault, Line, Provider
from trainer.judge.backend import read_backend
from trainer.judge.rubric import load_rubric

ANSWER = json.dumps({"components": [{"name": name, "score": 0.5} for name in load_rubric().components], "findings": []})


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of the choice; replies and costs are kept beside it; no provider of this machine is known."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERMFORGE_JUDGE", str(tmp_path / "judge.json"))
    monkeypatch.setenv("TERMFORGE_MODELS", str(tmp_path / "models"))
    return tmp_path / "judge.json"


def termforge(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str, str]:
    """Exit code, output and complaint of `termforge judge`."""
    capsys.readouterr()
    code = guarded(lambda: judge.main([str(word) for word in words], "termforge judge", standalone_mode=False))
    said = capsys.readouterr()
    return code, said.out, said.err


def test_a_judge_is_chosen_and_shown(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = termforge(capsys, "show", "--json")
    assert (code, json.loads(out)["judge"]["backend"], json.loads(out)["changes"]) == (0, "rules", [])
    code, out, _ = termforge(capsys, "use", "openai:qwen", "--base-url", "http://127.0.0.1:8000/v1")
    assert code == 0 and "judge openai:qwen (change 1)" in out
    code, out, err = termforge(capsys, "use", "rules", "--json")
    assert (code, err, json.loads(out)["version"], read_backend(file).backend) == (0, "", 2, "rules")
    code, out, _ = termforge(capsys, "show")
    assert code == 0 and "judge rules" in out and "openai:qwen" in out and "8000" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("use", "gpt-5"), "write rules, openai:NAME or anthropic:NAME"),
        (("use", "openai:gpt-x"), "set OPENAI_API_KEY"),
        (("use", "openai:x", "--base-url", "nowhere"), "address"),
        (("use", "openai:sk-ant-api03-0123456789abcdef0123"), "keys belong in the environment"),
        (("use", "openai:x", "--base-url", "http://h/sk-secret-0123456789abcdef/v1"), "keys belong in the environment"),
        (("eval", "--judge", "magic"), "write rules"),
        (
            ("eval", "--judge", "openai:x", "--judge", "anthropic:x", "--base-url", "nowhere"),
            "openai and anthropic",
        ),
        (("eval", "--case", "nothing"), "no case 'nothing'"),
    ],
)
def test_what_is_wrong_is_one_line_and_nothing_is_chosen(
    file: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    code, out, err = termforge(capsys, *words)
    assert (code, out, err.count("\n")) == (2, "", 1) and said in err
    assert not file.exists()


def test_check_sends_one_request_before_anything_changes(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Provider([Line(fault=Fault("status", 401, message="no such key"), times=1), Line(say=ANSWER)]) as provider:
        words = ("use", "anthropic:x", "--base-url", provider.url, "--check")
        code, _, err = termforge(capsys, *words)
        assert code == 2 and err.count("\n") == 1 and not file.exists()
        assert termforge(capsys, *words)[0] == 0 and len(provider.asked) == 2
    assert read_backend(file).backend == "anthropic:x"


def test_a_broken_file_is_shown_as_such(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text("{")
    code, out, _ = termforge(capsys, "show", "--json")
    value = json.loads(out)
    assert code == 2 and value["judge"] is None and "cannot be read" in value["problem"]
    assert "cannot be read" in termforge(capsys, "show")[1]


def test_the_rule_judge_is_evaluated_with_a_table_a_plot_and_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "plot.png"
    code, out, err = termforge(capsys, "eval", "--json", "--attempts", "2", "--plot", picture)
    value: dict[str, Any] = json.loads(out)
    (row,) = value["ranking"]
    assert (code, err, row["judge"], row["attempts"], row["spread"]) == (0, "", "rules", 2, 0)
    assert row["cases"] == len(value["cases"]["rules"]) >= 24 and row["pass_rate"] > 0.7
    assert picture.read_bytes().startswith(b"\x89PNG")
    code, out, _ = termforge(capsys, "eval")
    assert code == 0 and "pass rate" in out and f"{row['pass_rate']:.3f}" in out
    assert not (tmp_path / "models").exists(), "no ledger where no model is asked"


def test_judges_are_ranked_and_what_models_cost_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Provider([Line(say=ANSWER)]) as provider:
        words = (
            "eval",
            "--judge",
            "openai:x",
            "--judge",
            "rules",
            "--base-url",
            provider.url,
            "--case",
            "perfect",
            "--case",
            "loop",
            "--json",
        )
        code, out, _ = termforge(capsys, *words)
        assert code == 0 and [row["judge"] for row in json.loads(out)["ranking"]] == ["rules", "openai:x"]
        asked = len(provider.asked)
        assert asked == 2
        assert termforge(capsys, *words)[0] == 0 and len(provider.asked) == asked
    assert (tmp_path / "models" / "ledgers" / "judge.db").is_file()


def test_a_judge_that_gives_no_score_at_all_is_a_fault_and_no_row_of_zeros(capsys: pytest.CaptureFixture[str]) -> None:
    with Provider([Line(fault=Fault("status", 400, message="no such model"))]) as provider:
        words = ("eval", "--judge", "openai:x", "--base-url", provider.url, "--case", "perfect")
        code, out, err = termforge(capsys, *words)
        assert (code, out) == (5, "") and "no score came from openai:x" in err
        code, out, err = termforge(capsys, *words, "--judge", "rules", "--json")
    assert code == 5 and [row["judge"] for row in json.loads(out)["ranking"]] == ["rules", "openai:x"]
    assert "no score came from openai:x" in err
