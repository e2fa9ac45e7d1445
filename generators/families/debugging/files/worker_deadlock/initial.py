import os


def test_module_is_there():
    assert os.path.isfile(TRUTH["path"]) and os.path.isfile(TRUTH["caller"])
