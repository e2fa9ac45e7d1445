import os


def test_only_the_manual_is_there():
    assert all(os.path.isfile(name) for name in TRUTH["given"])
    assert not os.path.exists(TRUTH["tool"])
