from pathlib import Path


def test_only_the_sample_is_there():
    assert Path(TRUTH["sample"]).is_file()
    assert not Path(TRUTH["program"]).exists()
