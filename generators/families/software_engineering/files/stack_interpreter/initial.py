import os


def test_interpreter_is_missing():
    assert os.path.isfile(TRUTH["definition"]) and not os.path.exists(TRUTH["tool"])
