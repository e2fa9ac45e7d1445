from pathlib import Path


def test_logs_are_there_and_no_report():
    assert all((Path(TRUTH["folder"]) / name).is_file() for name in TRUTH["inputs"])
    assert not Path(TRUTH["report"]).exists()
