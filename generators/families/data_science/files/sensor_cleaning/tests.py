import csv
import hashlib
from pathlib import Path

FOLDER = Path(TRUTH["folder"])


def lines():
    with open(FOLDER / "clean.csv", newline="") as file:
        rows = list(csv.reader(file))
    assert [cell.strip() for cell in rows[0]] == [TRUTH["device_column"], "slot", "value", "status"], rows[0]
    return [row for row in rows[1:] if row]


def test_slots_and_status():
    letters = {"ok": "o", "filled": "f", "empty": "e"}
    wanted = [(device, slot) for device in sorted(TRUTH["series"]) for slot in TRUTH["slots"]]
    got = lines()
    assert [(row[0], row[1]) for row in got] == wanted, "devices and slots"
    statuses = "".join(TRUTH["series"][device]["status"] for device in sorted(TRUTH["series"]))
    assert "".join(letters.get(row[3], "?") for row in got) == statuses, "status"


def test_values():
    wanted = [value for device in sorted(TRUTH["series"]) for value in TRUTH["series"][device]["milli"]]
    got = lines()
    assert len(got) == len(wanted), "number of lines"
    for row, milli in zip(got, wanted):
        if milli is None:
            assert row[2].strip() == "", row
        else:
            assert row[2].strip() and abs(float(row[2]) - milli / 1000) < 0.0021, row


def test_faults():
    got = json.loads((FOLDER / "faults.json").read_text())
    assert set(got) == set(TRUTH["faults"])
    for device, wanted in TRUTH["faults"].items():
        assert set(got[device]) == set(wanted), device
        for key, value in wanted.items():
            assert abs(got[device][key] - value) < (0.0021 if key == "mean" else 1e-9), (device, key)


def test_inputs_untouched():
    for name, digest in TRUTH["inputs"].items():
        assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == digest, name
