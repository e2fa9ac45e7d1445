import os


def test_only_the_sources_are_there():
    assert all(os.path.isfile(name) for name in TRUTH["given"])
    assert not any(os.path.exists(name) for name in TRUTH["paths"].values())
