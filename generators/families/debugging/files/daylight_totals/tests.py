import hashlib
import os
import subprocess
import tempfile


def output(rows):
    with tempfile.NamedTemporaryFile("w", suffix=".csv", delete=False) as out:
        out.write(rows)
    os.chmod(out.name, 0o644)
    try:
        command = ["/usr/bin/python3", TRUTH["program"], out.name]
        done = subprocess.run(command, capture_output=True, text=True, timeout=15)
    finally:
        os.remove(out.name)
    return done.stdout.strip().splitlines() if done.returncode == 0 else ["exit status %d" % done.returncode]


def check(case, tables=None):
    saved = {}
    try:
        for name, text in (tables or {}).items():
            path = os.path.join(TRUTH["folder"], name)
            with open(path) as source:
                saved[path] = source.read()
            with open(path, "w") as out:
                out.write(text)
        assert output(case["rows"]) == case["output"].splitlines(), case["label"] + ": totals differ"
    finally:
        for path, text in saved.items():
            with open(path, "w") as out:
                out.write(text)


def test_doubled_times():
    for case in TRUTH["cases"]["doubled"]:
        check(case)


def test_skipped_times():
    for case in TRUTH["cases"]["skipped"]:
        check(case)


def test_other_tables():
    for case in TRUTH["cases"]["other"]:
        check(case, case["tables"])


def test_quiet_weeks():
    for case in TRUTH["cases"]["quiet"]:
        check(case)


def test_tables_unchanged():
    for path, digest in TRUTH["inputs"].items():
        with open(path, "rb") as source:
            assert hashlib.sha256(source.read()).hexdigest() == digest, path
