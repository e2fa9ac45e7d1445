from pathlib import Path


def test_only_the_sources_are_there():
    assert all(Path(path).is_file() for path in TRUTH["sources"])
    assert not any(Path(TRUTH[key]).exists() for key in ("clean_file", "rejects_file", "summary_file"))
