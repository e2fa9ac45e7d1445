import hashlib
import os


def tree(root, length):
    found = {}
    for at, folders, names in os.walk(root):
        for name in names:
            full = os.path.join(at, name)
            with open(full, "rb") as source:
                found[os.path.relpath(full, root)] = hashlib.sha256(source.read()).hexdigest()[:length]
    return found


def report():
    with open(TRUTH["report"]) as source:
        return json.load(source)


def test_tree():
    assert tree(TRUTH["target"], 16) == TRUTH["tree"]
    for at, folders, names in os.walk(TRUTH["target"]):
        assert folders or names, "empty folder " + at


def test_set_and_chain():
    for key in TRUTH["about_set"]:
        assert report()[key] == TRUTH["answers"][key], key


def test_unusable():
    key = TRUTH["about_unusable"]
    assert report()[key] == TRUTH["answers"][key]


def test_retention():
    key = TRUTH["about_retention"]
    assert report()[key] == TRUTH["answers"][key]


def test_repository_untouched():
    total = hashlib.sha256(json.dumps(sorted(tree(TRUTH["repository"], 64).items())).encode()).hexdigest()
    assert total == TRUTH["repository_digest"]
