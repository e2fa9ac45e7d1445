from pathlib import Path


def test_only_inputs_are_there():
    folder = Path(TRUTH["folder"])
    assert all((folder / name).is_file() for name in TRUTH["inputs"])
    assert not (folder / "clean.csv").exists() and not (folder / "faults.json").exists()
