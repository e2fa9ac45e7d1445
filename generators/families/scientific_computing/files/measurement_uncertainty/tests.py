import hashlib
from pathlib import Path

FOLDER = Path(TRUTH["folder"])


def check(key):
    got = json.loads((FOLDER / TRUTH["report"]).read_text())
    assert set(got) == set(TRUTH["results"])
    for name, wanted in TRUTH["results"].items():
        assert abs(got[name][key] - wanted[key]) <= 1e-5 * abs(wanted[key]), name


def test_values():
    check("value")


def test_uncertainties():
    check("uncertainty")


def test_inputs_unchanged():
    for name, digest in TRUTH["inputs"].items():
        assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == digest, name
