from pathlib import Path


def test_inputs_are_there():
    folder = Path(TRUTH["folder"])
    assert (folder / "statement.csv").is_file() and (folder / "books.csv").is_file()
    assert not (folder / "report.json").exists()
