import hashlib
import subprocess
import tempfile
from pathlib import Path


def check(group):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "program")
        for case in TRUTH["cases"][group]:
            path.write_text(case["program"])
            done = subprocess.run([TRUTH["tool"], str(path)], capture_output=True, text=True, timeout=20,
stdin=subprocess.DEVNULL)
            got = [done.returncode, done.stdout, done.stderr.strip()]
            assert got == [case["code"], case["out"], case["error"]], (case["program"], got)


def test_results():
    check("results")


def test_failures():
    check("failures")


def test_rejected():
    check("rejected")


def test_definition_kept():
    assert hashlib.sha256(Path(TRUTH["definition"]).read_bytes()).hexdigest() == TRUTH["digest"]
