def test_rejects():
    assert table("rejects") == TRUTH["rejects"]
