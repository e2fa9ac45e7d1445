import os


def test_program_is_there():
    for name in (TRUTH["program"], *TRUTH["inputs"]):
        assert os.path.isfile(os.path.join(TRUTH["folder"], name)), name
