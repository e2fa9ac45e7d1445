import os


def test_as_it_was_left():
    for name in TRUTH["kept"]:
        assert os.path.isfile(os.path.join(TRUTH["folder"], name)), name
    there = os.path.lexists(os.path.join(TRUTH["folder"], TRUTH["target"]))
    assert there == (TRUTH["kind"] == "nothing" or bool(TRUTH["mode"]))
