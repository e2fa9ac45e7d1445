"""What tests of the training environment share: its Python, and a model with a real tokenizer."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from generators.errors import EngineError
from trainer import launch

ROOT = Path(__file__).parents[3]


def training_python() -> str:
    """A Python that has verl, or a skip."""
    try:
        return launch.training_python()
    except EngineError as error:
        pytest.skip(str(error))


def real_model() -> Path:
    """The folder of the small model that slow tests make (tests/small_model.py), or a skip."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "termforge"
    for folder in sorted(cache.glob("small-model-*/model")):
        if (folder / "tokenizer_config.json").is_file():
            return folder
    pytest.skip(f"there is no small model under {cache}: tests/small_model.py makes one")


def run_python(code: str, *words: str, **environment: str) -> str:
    """What a program prints in the training environment, its last line."""
    done = subprocess.run(
        [training_python(), "-c", code, *words],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT), "VERL_PLATFORM": "cpu", "HF_HUB_OFFLINE": "1"} | environment,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip().splitlines()[-1]
