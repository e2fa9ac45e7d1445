from pathlib import Path


def test_zones_are_there():
    folder = Path(TRUTH["folder"])
    assert all((folder / name).is_file() for name in [*TRUTH["files"].values(), *TRUTH["kept"]])
