import hashlib
import os
import subprocess
import tempfile


def check(group):
    for number, case in enumerate(TRUTH["cases"][group]):
        with tempfile.NamedTemporaryFile("w", suffix=".rec", delete=False) as out:
            out.write(case["recording"])
        os.chmod(out.name, 0o644)
        try:
            command = ["/usr/bin/python3", TRUTH["program"], out.name]
            done = subprocess.run(command, capture_output=True, text=True, timeout=15)
        finally:
            os.remove(out.name)
        assert done.returncode == 0, f"{group} {number}: exit status {done.returncode}"
        got = [json.loads(line) for line in done.stdout.splitlines() if line.strip()]
        assert got == case["output"], f"{group} {number}: output differs"


def test_framing():
    check("framing")


def test_messages():
    check("messages")


def test_fields():
    check("fields")


def test_samples_unchanged():
    for path, digest in TRUTH["inputs"].items():
        with open(path, "rb") as source:
            assert hashlib.sha256(source.read()).hexdigest() == digest, path
