from pathlib import Path


def test_release_is_there_and_unchecked():
    base = Path(TRUTH["base"])
    assert all((base / name).is_file() for name in TRUTH["inputs"])
    assert not Path(TRUTH["report"]).exists()
    assert any((base / TRUTH["folders"][1]).glob("*.sig"))
