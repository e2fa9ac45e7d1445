import hashlib
import os

ROOT = TRUTH["root"]


def digest(path):
    with open(path, "rb") as source:
        return hashlib.sha256(source.read()).hexdigest()[:12]


def walk():
    return [os.path.relpath(os.path.join(at, n), ROOT) for at, _, names in os.walk(ROOT) for n in names]


def test_names():
    wanted = {new: content for _, new, content in TRUTH["files"]}
    assert sorted(walk()) == sorted(wanted)
    for path, content in wanted.items():
        assert digest(os.path.join(ROOT, path)) == content, path


def test_log():
    with open(TRUTH["log"], encoding="utf-8") as source:
        lines = source.read().splitlines()
    if TRUTH["kind"] == "jsonl":
        got = [[row["from"], row["to"]] for row in map(json.loads, lines)]
    else:
        got = [line.split(chr(9)) for line in lines]
    changed = [[old, new] for old, new, _ in TRUTH["files"] if old != new]
    assert got == sorted(changed, key=lambda pair: pair[0].encode())


def test_nothing_lost():
    present = {digest(os.path.join(ROOT, path)) for path in walk()}
    assert set(TRUTH["kept_contents"]) <= present
