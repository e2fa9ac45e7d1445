from pathlib import Path


def test_only_logs():
    assert all(Path(path).is_file() for path in TRUTH["logs"])
    assert not Path(TRUTH["report"]).exists() and not Path(TRUTH["summary"]).exists()
