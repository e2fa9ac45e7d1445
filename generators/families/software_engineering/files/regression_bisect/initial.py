from pathlib import Path


def test_program_is_there():
    assert (Path(TRUTH["repo"]) / TRUTH["tool"]).is_file() and not Path(TRUTH["answer"]).exists()
