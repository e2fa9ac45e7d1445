import csv
import hashlib
import os

ROOT, OUT = TRUTH["root"], TRUTH["out"]


def walk(root):
    return {os.path.relpath(os.path.join(at, n), root) for at, _, names in os.walk(root) for n in names}


def digest(path):
    with open(path, "rb") as source:
        return hashlib.sha256(source.read()).hexdigest()[:16]


def check(path, content, when):
    full = os.path.join(ROOT, path)
    assert os.path.isfile(full) and not os.path.islink(full), path
    assert digest(full) == TRUTH["digests"][content], path
    assert int(os.stat(full).st_mtime) == when, path


def same_file(one, other):
    # inode numbers of links differ on some overlay file systems: look whether a change of one shows in the other
    before = os.stat(one)
    os.utime(one, ns=(1, 1))
    shared = os.stat(other).st_mtime_ns == 1
    os.utime(one, ns=(before.st_atime_ns, before.st_mtime_ns))
    return shared


def test_archive():
    assert walk(ROOT) - set(TRUTH["links"]) == set(TRUTH["kept"]) | set(TRUTH["others"]) | set(TRUTH["linked"])
    for path, (content, when) in TRUTH["kept"].items():
        check(path, content, when)
        assert os.stat(os.path.join(ROOT, path)).st_nlink == 1 + list(TRUTH["linked"].values()).count(path), path
    for path, kept in TRUTH["linked"].items():
        assert same_file(os.path.join(ROOT, path), os.path.join(ROOT, kept)), path
    for path, target in TRUTH["links"].items():
        full = os.path.join(ROOT, path)
        assert os.path.islink(full) and os.path.realpath(full) == os.path.join(ROOT, target), path
    aside = os.path.join(OUT, "aside")
    assert (walk(aside) if os.path.isdir(aside) else set()) == set(TRUTH["aside"])
    for path, content in TRUTH["aside"].items():
        assert digest(os.path.join(aside, path)) == TRUTH["digests"][content], path


def test_index():
    kind = TRUTH["index"]
    with open(os.path.join(OUT, "index." + kind), newline="") as source:
        lines = source.read().splitlines()
    if kind == "jsonl":
        got = [[row["kept"], row["copy"]] for row in map(json.loads, lines)]
    else:
        got = list(csv.reader(lines, delimiter="," if kind == "csv" else chr(9)))
    assert got == ([["kept", "copy"]] if kind == "csv" else []) + TRUTH["pairs"]


def test_summary():
    with open(os.path.join(OUT, "summary.json")) as source:
        assert json.load(source) == TRUTH["summary"]


def test_the_rest_is_untouched():
    for folder in TRUTH["folders"]:
        assert os.path.isdir(os.path.join(ROOT, folder)), folder
    for path, (content, when) in TRUTH["others"].items():
        check(path, content, when)
        assert os.stat(os.path.join(ROOT, path)).st_nlink == 1, path
