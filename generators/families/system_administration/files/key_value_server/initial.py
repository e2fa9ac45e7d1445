from pathlib import Path


def test_only_the_document_is_there():
    assert Path(TRUTH["document"]).is_file() and not Path(TRUTH["program"]).exists()
