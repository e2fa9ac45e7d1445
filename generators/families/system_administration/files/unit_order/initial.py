from pathlib import Path


def test_units_are_there():
    folder = Path(TRUTH["folder"])
    assert len(list((folder / "units").iterdir())) > 5
    assert not (folder / TRUTH["order_file"]).exists()
