from pathlib import Path


def test_nothing_written_yet():
    assert all(Path(path).is_file() for path in TRUTH["inputs"])
    assert not any(Path(path).exists() for path in TRUTH["files"].values())
