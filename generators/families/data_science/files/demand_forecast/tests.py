import csv
import hashlib
from pathlib import Path

FOLDER = Path(TRUTH["folder"])


def forecast():
    with open(FOLDER / "forecast.csv", newline="") as file:
        rows = [[cell.strip() for cell in row] for row in csv.reader(file) if row]
    return rows[0], {row[0]: [float(cell) for cell in row[1:]] for row in rows[1:]}, [row[0] for row in rows[1:]]


def share(column, days):
    _, values, _ = forecast()
    index = TRUTH["series"].index(column)
    actual = TRUTH["actual"][column]
    errors = sum(abs(values[TRUTH["days"][day]][index] - actual[day]) for day in days)
    return errors / sum(actual[day] for day in days)


def test_days_and_columns():
    header, values, days = forecast()
    assert header == ["date"] + TRUTH["series"]
    assert days == TRUTH["days"]
    assert all(len(row) == len(TRUTH["series"]) for row in values.values())


def test_accuracy():
    for column in TRUTH["series"]:
        assert share(column, range(len(TRUTH["days"]))) < TRUTH["overall"] / 100, column


def test_accuracy_on_special_days():
    for column in TRUTH["series"]:
        assert share(column, TRUTH["special_days"][column]) < TRUTH["special"] / 100, column


def test_given_files_unchanged():
    for name, digest in TRUTH["inputs"].items():
        assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == digest, name
