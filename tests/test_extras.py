"""The extra for training on GPUs can be installed: a resolver finds versions that fit together, without a download of gigabytes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.11", "3.13"])
def test_train_gpu_resolves(version: str) -> None:
    words = [str(Path(sys.executable).parent / "uv"), "pip", "compile", "--quiet", "--no-header", "--no-annotate"]
    words += ["--extra", "train-gpu", "--python-version", version, "pyproject.toml"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    found = dict(line.split("==", 1) for line in done.stdout.splitlines() if "==" in line)
    assert (
        found["verl"].startswith("0.9.") and found["vllm"].startswith("0.30.") and "ray" in found and "torch" in found
    )
