"""A real small model writes a batch: far too weak to write a task, so what is seen is that nothing bad gets through and nothing breaks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from generators.evidence import Evidence
from pipeline.exchange.rows import from_row
from pipeline.release import load_release
from tests.small_model import Served

ROOT = Path(__file__).resolve().parents[2]
COUNT = 3


def environment(folder: Path) -> dict[str, str]:
    """Replies, ledgers and frames of this test's own; sandboxes and layers are shared."""
    (folder / "dagster").mkdir(exist_ok=True)
    shutil.copy(ROOT / "dagster.yaml", folder / "dagster")
    return {
        **os.environ,
        "TERMFORGE_MODELS": str(folder / "models"),
        "DAGSTER_HOME": str(folder / "dagster"),
        "OPENAI_API_KEY": "none",
    }


@pytest.mark.slow
@pytest.mark.long
def test_a_small_model_ends_in_a_funnel_with_reasons(small: Served, tmp_path: Path) -> None:
    program = str(Path(sys.executable).parent / "termforge")
    command = [program, "build", "--count", str(COUNT), "--to", str(tmp_path / "out"), "--json"]
    command += ["--writer", f"openai:{small.model}", "--base-url", small.base_url]
    done = subprocess.run(command, env=environment(tmp_path), capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode in (0, 1) and "Traceback" not in done.stderr, done.stderr
    value = json.loads(done.stdout)
    print(json.dumps({key: value[key] for key in ("funnel", "dropped", "by_stage")}), file=sys.stderr)
    funnel = value["funnel"]
    assert funnel["requested"] == COUNT == funnel["published"] + sum(row["count"] for row in value["dropped"])
    assert all(row["gate"] and row["reason"] for row in value["dropped"])
    assert not [row for row in value["dropped"] if row["gate"] == "infrastructure"], "the model answered every time"
    assert sum(row[2] for row in value["by_stage"] if row[0] == "describe") >= COUNT, "it was really asked"
    assert (done.returncode == 0) == bool(funnel["published"])
    for row in load_release(Path(value["folder"])) if funnel["published"] else []:
        task, evidence = from_row(row)
        assert isinstance(evidence, Evidence) and evidence.bound_to(task).proven
