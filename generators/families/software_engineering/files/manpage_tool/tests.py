import hashlib
import subprocess
import tempfile
from pathlib import Path


def check(group):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in TRUTH["files"].items():
            Path(folder, name).write_text(text)
        for case in TRUTH["cases"][group]:
            command = [TRUTH["tool"], *case["arguments"]]
            done = subprocess.run(command, cwd=folder, input=case["stdin"].encode(), capture_output=True, timeout=20)
            got = [done.returncode, done.stdout.decode()]
            assert got == [case["code"], case["out"]], (case["arguments"], got)
            assert bool(done.stderr) == (case["code"] != 0), case["arguments"]


def test_options():
    check("options")


def test_operands():
    check("operands")


def test_usage_errors():
    check("usage")


def test_manual_kept():
    assert hashlib.sha256(Path(TRUTH["manual"]).read_bytes()).hexdigest() == TRUTH["digest"]
