from pathlib import Path


def test_project_is_there():
    assert all(Path(TRUTH["folder"], name).is_file() for name in [*TRUTH["given"], "Makefile"])
