"""Where things are: the project's folder, and with it datasets/ and Dagster's instance."""

from __future__ import annotations

import os
from pathlib import Path


def project_root() -> Path:
    """Where datasets/ is: $TERMFORGE_ROOT, else this checkout, else the working directory."""
    if named := os.environ.get("TERMFORGE_ROOT"):
        return Path(named).absolute()
    checkout = Path(__file__).resolve().parents[1]
    return checkout if (checkout / "datasets").is_dir() else Path.cwd()
