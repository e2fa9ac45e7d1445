def test_document_untouched():
    assert hashlib.sha256(Path(TRUTH["document"]).read_bytes()).hexdigest() == TRUTH["document_sum"]
