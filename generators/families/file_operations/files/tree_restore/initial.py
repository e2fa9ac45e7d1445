import os


def test_tree_and_lists_are_there():
    assert os.path.isdir(TRUTH["root"]) and not os.path.exists(TRUTH["report"])
    for path in TRUTH["inputs"]:
        assert os.path.isfile(path), path
