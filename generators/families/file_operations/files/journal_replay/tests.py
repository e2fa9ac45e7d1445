import hashlib
import os


def tree(root):
    found = {}
    for at, folders, names in os.walk(root):
        assert folders or names or at == root, "empty folder " + at
        for name in names:
            full = os.path.join(at, name)
            assert os.path.isfile(full) and not os.path.islink(full), full
            with open(full, "rb") as source:
                found[os.path.relpath(full, root)] = hashlib.sha256(source.read()).hexdigest()[:20]
    return found


def report():
    with open(TRUTH["report"]) as source:
        return json.load(source)


def test_tree():
    assert tree(TRUTH["target"]) == TRUTH["tree"]


def test_fingerprint():
    keys = TRUTH["keys"]
    assert [report()[key] for key in keys[:2]] == TRUTH["values"][:2]


def test_exceptions():
    keys = TRUTH["keys"]
    assert [report()[key] for key in keys[2:]] == TRUTH["values"][2:]
    assert sorted(report()) == sorted(keys)


def test_sources_untouched():
    for root, files in TRUTH["sources"].items():
        assert tree(root) == files
