import os


def test_archives_are_there_and_nothing_is_recovered():
    for path in TRUTH["archives"]:
        assert os.path.getsize(os.path.join(TRUTH["folder"], path)) > 0, path
    assert not os.path.exists(TRUTH["out"]) and not os.path.exists(TRUTH["report"])
