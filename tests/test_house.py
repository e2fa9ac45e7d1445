"""Rules of the house that no other tool checks."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_datasets_holds_no_python_file() -> None:
    """An importable `datasets` here would shadow HuggingFace's, which verl imports."""
    assert not [
        path for path in (ROOT / "datasets").rglob("*") if path.suffix in {".py", ".pyc"} or path.name == "__pycache__"
    ]


def test_importing_a_floor_does_not_import_the_floors_above_or_heavy_packages() -> None:
    code = (
        "import sys, generators.procedural as p, containers.proof.batch, containers.engines.bubblewrap; p.all_families(); "
        "print([m for m in ('dagster', 'torch', 'ray', 'pipeline', 'trainer', 'agent', 'polars') if m in sys.modules])"
    )
    found = subprocess.run([".venv/bin/python", "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
