"""What tests of the training environment share: its Python, and a model with a real tokenizer."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def training_python() -> str:
    """A Python that has verl, or a skip."""
    if named := os.environ.get("TERMFORGE_TRAIN_PYTHON"):
        return named
    if (beside := ROOT / ".venv-train" / "bin" / "python").exists():
        return str(beside)
    if find_spec("verl"):
        return sys.executable
    pytest.skip("verl is not installed: neither here, nor in .venv-train, nor at TERMFORGE_TRAIN_PYTHON")


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
