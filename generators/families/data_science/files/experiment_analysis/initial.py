from pathlib import Path


def test_material_is_there():
    folder = Path(TRUTH["folder"])
    assert all((folder / name).is_file() for name in TRUTH["inputs"])
    assert not (folder / "readout.json").exists()
