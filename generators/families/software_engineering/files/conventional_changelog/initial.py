from pathlib import Path


def test_repository_is_there():
    assert (Path(TRUTH["repo"]) / ".git").is_dir()
    assert not Path(TRUTH["version_file"]).exists() and not Path(TRUTH["notes_file"]).exists()
