from pathlib import Path


def test_no_program_yet():
    assert Path(TRUTH["example"]).is_file()
    assert not Path(TRUTH["program"]).exists()
