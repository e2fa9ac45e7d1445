import os


def test_script_and_inbox_are_there():
    assert os.access(TRUTH["script"], os.X_OK) and os.path.isdir(TRUTH["inbox"])
