import hashlib
from pathlib import Path

BASE = Path(TRUTH["base"])
FILES, SUMS, RING, HELD = TRUTH["folders"]
MANIFESTS, GOOD, ALTERED, RENAMED, UNVERIFIED, MISSING = TRUTH["keys"]


def report():
    return json.loads(Path(TRUTH["report"]).read_text())


def content(folder):
    found = [path for path in (BASE / folder).iterdir() if path.is_file()]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


def test_manifests_are_judged():
    assert report()[MANIFESTS] == TRUTH["manifests"]


def test_files_are_judged():
    got = report()
    assert got[GOOD] == TRUTH["good"]
    assert got[ALTERED] == TRUTH["altered"]
    assert got[UNVERIFIED] == TRUTH["unverified"]


def test_renamed_and_missing():
    got = report()
    assert got[RENAMED] == TRUTH["renamed"]
    assert got[MISSING] == TRUTH["missing"]


def test_release_is_clean():
    assert content(FILES) == TRUTH["kept"]
    assert content(HELD) == TRUTH["held"]


def test_manifests_unchanged():
    for name, digest in TRUTH["inputs"].items():
        assert hashlib.sha256((BASE / name).read_bytes()).hexdigest() == digest, name
