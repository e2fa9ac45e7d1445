from pathlib import Path


def test_only_the_old_script_is_there():
    assert Path(TRUTH["old"]).is_file()
    assert not Path(TRUTH["program"]).exists()
