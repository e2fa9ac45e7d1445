from pathlib import Path


def test_structures_are_there():
    folder = Path(TRUTH["folder"])
    assert all((folder / name).is_file() for name in TRUTH["inputs"])
    assert not (folder / TRUTH["table"]).exists()
