import csv
import hashlib
from pathlib import Path

FOLDER = Path(TRUTH["folder"])


def table(name, header):
    with open(FOLDER / name, newline="") as file:
        rows = [[cell.strip() for cell in row] for row in csv.reader(file) if row]
    assert rows[0] == header, rows[0]
    return rows[1:]


def chains():
    return table(TRUTH["table"], ["file", "chain", "residues", "atoms", "breaks", "mean_b", "radius"])


def test_counts():
    got = [[row[0], row[1], *(int(cell) for cell in row[2:5])] for row in chains()]
    assert got == [row[:5] for row in TRUTH["chains"]]


def test_measures():
    got = chains()
    assert len(got) == len(TRUTH["chains"])
    for row, wanted in zip(got, TRUTH["chains"]):
        assert row[:2] == wanted[:2]
        assert abs(float(row[5]) - wanted[5]) < 0.0021 and abs(float(row[6]) - wanted[6]) < 0.0021, row[:2]


def test_structures_unchanged():
    for name, digest in TRUTH["inputs"].items():
        assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == digest, name
