from pathlib import Path


def test_installation_is_there():
    folder = Path(TRUTH["folder"])
    assert all((folder / name).is_file() for name in TRUTH["files"])
