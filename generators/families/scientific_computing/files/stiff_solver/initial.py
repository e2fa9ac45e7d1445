from pathlib import Path


def test_no_program_yet():
    assert all(Path(TRUTH["example"], name).is_file() for name in TRUTH["inputs"])
    assert not Path(TRUTH["program"]).exists()
