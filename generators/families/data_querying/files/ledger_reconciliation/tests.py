import hashlib
from pathlib import Path

FOLDER = Path(TRUTH["folder"])


def report():
    return json.loads((FOLDER / "report.json").read_text())


def test_matches():
    assert report()["matched"] == TRUTH["matched"]


def test_leftovers():
    got = report()
    assert got["unmatched_statement"] == TRUTH["unmatched_statement"]
    assert got["unmatched_books"] == TRUTH["unmatched_books"]


def test_difference():
    got = report()["difference"]
    assert isinstance(got, int) and got == TRUTH["difference"]


def test_inputs_untouched():
    for name, digest in TRUTH["inputs"].items():
        assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == digest, name
