import os


def test_tool_is_missing():
    assert os.path.isfile(TRUTH["manual"]) and not os.path.exists(TRUTH["tool"])
