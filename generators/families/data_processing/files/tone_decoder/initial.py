import os


def test_recordings_are_there():
    for name in TRUTH["recordings"]:
        assert os.path.getsize(os.path.join(TRUTH["folder"], name)) > 1000, name
    assert not os.path.exists(TRUTH["report"])
