import csv
import hashlib
from pathlib import Path

FOLDER = Path(TRUTH["folder"])


def rates():
    with open(FOLDER / "links.csv", newline="") as file:
        rows = [tuple(cell.strip() for cell in row) for row in csv.reader(file) if row]
    assert list(rows[0]) == TRUTH["columns"], "header"
    got, true = set(rows[1:]), {tuple(pair) for pair in TRUTH["links"]}
    assert got, "no links"
    right = len(got & true)
    precision, recall = right / len(got), right / len(true)
    assert precision >= 0.6 and recall >= 0.6, "precision or recall is below 60 %"
    return precision, recall


def test_precision():
    assert rates()[0] >= TRUTH["precision"] / 100


def test_recall():
    assert rates()[1] >= TRUTH["recall"] / 100


def test_registers_unchanged():
    for name, digest in TRUTH["inputs"].items():
        assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == digest, name
