import os


def test_program_and_samples():
    assert os.path.isfile(TRUTH["program"])
    assert all(os.path.isfile(path) for path in TRUTH["inputs"])
