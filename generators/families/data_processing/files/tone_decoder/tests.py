import hashlib
import os


def report():
    with open(TRUTH["report"]) as source:
        return json.load(source)


def column(number):
    key = TRUTH["names"][number]
    return {name: entry[key] for name, entry in report().items()}


def test_keys():
    assert column(0) == TRUTH["keys"]


def test_right_entries():
    assert column(1) == TRUTH["right"]


def test_wrong_entries():
    assert column(2) == TRUTH["wrong"]


def test_recordings_untouched():
    for name, digest in TRUTH["recordings"].items():
        with open(os.path.join(TRUTH["folder"], name), "rb") as source:
            assert hashlib.sha256(source.read()).hexdigest()[:20] == digest, name
