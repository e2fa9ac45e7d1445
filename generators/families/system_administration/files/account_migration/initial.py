from pathlib import Path


def test_exports_are_there():
    folder = Path(TRUTH["folder"])
    assert all((folder / name).is_file() for name in TRUTH["sources"])
    assert not (folder / TRUTH["out"]).exists()
