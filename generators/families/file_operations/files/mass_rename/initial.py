import os


def test_files_have_their_old_names():
    for old, _, _ in TRUTH["files"]:
        assert os.path.isfile(os.path.join(TRUTH["root"], old)), old
    assert not os.path.exists(TRUTH["log"])
