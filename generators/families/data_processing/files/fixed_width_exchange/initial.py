from pathlib import Path


def test_no_program_yet():
    assert not Path(TRUTH["program"]).exists()
    assert all(Path(path).is_file() for path in TRUTH["given"])
