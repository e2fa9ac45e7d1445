from pathlib import Path


def test_inputs_are_there():
    folder = Path(TRUTH["folder"])
    assert (folder / TRUTH["accounts"]).is_file() and (folder / TRUTH["known"]).is_file()
    assert not (folder / TRUTH["report"]).exists()
