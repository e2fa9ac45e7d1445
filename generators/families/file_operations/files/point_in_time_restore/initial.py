import os


def test_repository_is_there_and_nothing_restored():
    assert len(os.listdir(TRUTH["repository"])) > 8
    assert not os.path.exists(TRUTH["target"]) and not os.path.exists(TRUTH["report"])
