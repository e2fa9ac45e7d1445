import os


def test_archive_is_there_and_nothing_is_done():
    for path in [*TRUTH["kept"], *TRUTH["others"]]:
        assert os.path.isfile(os.path.join(TRUTH["root"], path)), path
    assert os.listdir(TRUTH["out"]) == []
