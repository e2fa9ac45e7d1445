"""What a run needs beside this package is looked for before it starts."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from generators.errors import EngineError
from trainer.launch import PYTHON, missing_parts, training_python
from trainer.presets import load_preset


def test_a_python_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=PYTHON):
        training_python(str(tmp_path / "python"))
    assert training_python(sys.executable) == sys.executable


def test_what_is_missing_beside_verl_is_said() -> None:
    preset = load_preset("test_8b_2_gpus")
    assert any("flash-attn" in line for line in missing_parts(sys.executable, preset))
    by_sdpa = {"verl.actor_rollout_ref.model.override_config.attn_implementation": "sdpa"}
    assert not any("flash" in line for line in missing_parts(sys.executable, load_preset("test_8b_2_gpus", by_sdpa)))
    assert not any("flash" in line for line in missing_parts(sys.executable, load_preset("smoke-cpu")))
