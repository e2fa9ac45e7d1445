import csv
import hashlib
from pathlib import Path


def table(key):
    with open(TRUTH["files"][key], newline="", encoding="utf-8") as file:
        return [row for row in csv.reader(file) if row]


def compare(got, want):
    assert got[:1] == want[:1], "header"
    assert len(got) == len(want), f"{len(got)} lines instead of {len(want)}"
    wrong = [a for a, b in zip(got, want) if a != b]
    assert not wrong, f"{len(wrong)} lines differ, the first is {wrong[0]}"


def test_answers():
    compare(table("answers"), json.loads(TRUTH["answers"]))


def test_timeline():
    compare(table("timeline"), json.loads(TRUTH["timeline"]))


def test_summary():
    assert json.loads(Path(TRUTH["files"]["summary"]).read_text()) == TRUTH["summary"]


def test_inputs_unchanged():
    for path, digest in TRUTH["inputs"].items():
        assert hashlib.sha256(Path(path).read_bytes()).hexdigest() == digest, path
