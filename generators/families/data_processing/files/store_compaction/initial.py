from pathlib import Path


def test_only_the_store():
    assert all(Path(TRUTH["store"], name).is_file() for name in TRUTH["files"])
    assert not any(Path(TRUTH[key]).exists() for key in ("out", "json", "program"))
