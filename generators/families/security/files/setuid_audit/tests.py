import hashlib
import os
from pathlib import Path

ROOT = TRUTH["root"]
CHANGED, MISSING, PATH, WAS, NOW = TRUTH["keys"]


def mode(path):
    return os.lstat(ROOT + path).st_mode & 0o7777


def test_managed_modes():
    wrong = [path for path, wanted in TRUTH["managed"].items() if mode(path) != wanted]
    assert not wrong, wrong[:5]


def test_changes_are_reported():
    got = json.loads(Path(TRUTH["report"]).read_text())[CHANGED]
    assert [[row[PATH], row[WAS], row[NOW]] for row in got] == TRUTH["rows"]
    assert all(len(row) == 3 for row in got)


def test_missing_are_reported():
    assert json.loads(Path(TRUTH["report"]).read_text())[MISSING] == TRUTH["missing"]


def test_unmanaged_modes_kept():
    wrong = [path for path, wanted in TRUTH["unmanaged"].items() if mode(path) != wanted]
    assert not wrong, wrong[:5]


def test_nothing_but_modes_changed():
    assert hashlib.sha256(Path(TRUTH["manifest"]).read_bytes()).hexdigest() == TRUTH["digest"]
    for path, target in TRUTH["links"].items():
        assert os.readlink(ROOT + path) == target
    for path in TRUTH["regular"]:
        assert Path(ROOT + path).read_text() == "#!/bin/sh\n: " + path + "\n"
