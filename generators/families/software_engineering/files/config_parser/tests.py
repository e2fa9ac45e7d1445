import hashlib
import os
import subprocess
import tempfile
from pathlib import Path


def run(files, arguments):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        done = subprocess.run([TRUTH["tool"], *arguments], cwd=folder, capture_output=True, timeout=20,
stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8")


def check(group):
    for case in TRUTH["cases"][group]:
        code, out, err = run(case["files"], ["main.cfg"])
        if "error" in case:
            assert (code, out.strip(), err.strip()) == (TRUTH["failure"], "", case["error"]), case["files"]
        else:
            assert code == 0, (case["files"], err)
            assert json.loads(out) == json.loads(case["value"]), case["files"]


def test_values():
    check("values")


def test_mistakes():
    check("mistakes")
    assert run({}, [])[0] == TRUTH["usage"]
    assert run({"a": "", "b": ""}, ["a", "b"])[0] == TRUTH["usage"]


def test_includes():
    check("includes")


def test_manual_kept():
    for name, digest in TRUTH["given"].items():
        assert hashlib.sha256(Path(name).read_bytes()).hexdigest() == digest, name
