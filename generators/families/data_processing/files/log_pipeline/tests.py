import csv
import hashlib
from pathlib import Path


def table():
    with open(TRUTH["report"], newline="", encoding="utf-8") as file:
        return [row for row in csv.reader(file) if row]


def test_hours():
    got, want = table(), json.loads(TRUTH["hours"])
    assert got[:1] == want[:1], "header"
    assert [row[:2] for row in got] == [row[:2] for row in want], "hours and requests"
    wrong = [a[0] for a, b in zip(got, want) if a != b]
    assert not wrong, f"other columns differ at {wrong[:3]}"


def test_summary():
    got = json.loads(Path(TRUTH["summary"]).read_text())
    want = json.loads(TRUTH["losses"])
    assert got.get("broken") == want["broken"], "broken"
    assert {key: got.get(key) for key in want} == want


def test_logs_unchanged():
    for path, digest in TRUTH["logs"].items():
        assert hashlib.sha256(Path(path).read_bytes()).hexdigest() == digest, path
