import hashlib
import os


def sha(path):
    with open(path, "rb") as source:
        return hashlib.sha256(source.read()).hexdigest()


def report():
    with open(TRUTH["report"]) as source:
        return json.load(source)


def walk(root):
    return {os.path.relpath(os.path.join(at, n), root) for at, _, names in os.walk(root) for n in names}


def test_recovered_files():
    for path, digest in TRUTH["files"].items():
        assert sha(os.path.join(TRUTH["out"], path))[:20] == digest, path


def test_nothing_wrong_was_kept():
    assert walk(TRUTH["out"]) == set(TRUTH["files"])


def test_totals():
    assert [report()[key] for key in TRUTH["keys"][:2]] == TRUTH["totals"]


def test_losses():
    assert report()[TRUTH["keys"][2]] == TRUTH["lost"]


def test_evidence_untouched():
    assert walk(TRUTH["folder"]) == set(TRUTH["archives"])
    for path in TRUTH["archives"]:
        assert int(os.stat(os.path.join(TRUTH["folder"], path)).st_mtime) == 1600000000, path
    assert sha(TRUTH["catalogue"])[:20] == TRUTH["catalogue_digest"]
