from pathlib import Path


def test_report_and_database_are_there():
    assert Path(TRUTH["report"]).is_file() and Path(TRUTH["database"]).is_file()
