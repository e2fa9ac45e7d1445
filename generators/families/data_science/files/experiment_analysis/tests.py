import hashlib
from pathlib import Path

FOLDER = Path(TRUTH["folder"])


def readout():
    return json.loads((FOLDER / "readout.json").read_text())


def close(got, wanted):
    return isinstance(got, (int, float)) and not isinstance(got, bool) and abs(got - wanted) < 2e-5


def test_exclusions():
    assert readout()["excluded"] == TRUTH["excluded"]


def test_arms():
    got = readout()["arms"]
    assert set(got) == set(TRUTH["arms"])
    for arm, wanted in TRUTH["arms"].items():
        assert got[arm]["units"] == wanted["units"] and got[arm]["converted"] == wanted["converted"], arm
        assert close(got[arm]["mean"], wanted["mean"]), arm


def test_statistics():
    got = readout()
    for key, wanted in TRUTH["numbers"].items():
        assert close(got[key], wanted), key
    assert got["decision"] == TRUTH["decision"], "decision"


def test_ratio():
    got = readout()["ratio"]
    if "statistic" in TRUTH["ratio"]:
        got, wanted = {"": got}, {"": TRUTH["ratio"]}
    else:
        wanted = TRUTH["ratio"]
    assert set(got) == set(wanted)
    for name in wanted:
        assert close(got[name]["statistic"], wanted[name]["statistic"]), name
        assert got[name]["mismatch"] is wanted[name]["mismatch"], name


def test_material_unchanged():
    for name, digest in TRUTH["inputs"].items():
        assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == digest, name
