import os


def test_sources_there_and_nothing_rebuilt():
    for root, files in TRUTH["sources"].items():
        for path in files:
            assert os.path.isfile(os.path.join(root, path)), path
    assert not os.path.exists(TRUTH["target"]) and not os.path.exists(TRUTH["report"])
