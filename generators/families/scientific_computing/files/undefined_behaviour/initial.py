import os


def test_source_and_example():
    assert os.path.isfile(TRUTH["source"]) and os.path.isfile("/usr/bin/gcc")
    assert all(os.path.isfile(path) for path in TRUTH["inputs"])
