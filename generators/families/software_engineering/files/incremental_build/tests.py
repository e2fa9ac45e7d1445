import contextlib
import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path


def make(folder, *arguments):
    log = Path(folder, "trace.log")
    log.unlink(missing_ok=True)
    done = subprocess.run(["/usr/bin/make", *arguments], cwd=folder, capture_output=True, text=True, timeout=20,
stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr[-400:]
    return sorted(log.read_text().split()) if log.exists() else []


@contextlib.contextmanager
def project():
    with tempfile.TemporaryDirectory() as place:
        folder = place + "/project"
        shutil.copytree(TRUTH["folder"], folder)
        make(folder, "clean")
        yield folder


def touch(folder, name):
    time.sleep(0.03)
    os.utime(Path(folder, name))


def test_fresh_parallel_build():
    with project() as folder:
        assert make(folder, "-j8") == TRUTH["all"]
        result = Path(folder, TRUTH["result"]).read_bytes()
        assert hashlib.sha256(result).hexdigest() == TRUTH["digest"]


def test_nothing_to_do():
    with project() as folder:
        make(folder, "-j4")
        time.sleep(0.03)
        assert make(folder) == [] and make(folder, "-j4") == []


def test_exact_rebuilds():
    with project() as folder:
        make(folder, "-j4")
        for name, expected in TRUTH["touched"]:
            touch(folder, name)
            assert make(folder, "-j4") == expected, name


def test_new_include():
    with project() as folder:
        make(folder, "-j4")
        time.sleep(0.03)
        for name, line, expected, header, later in TRUTH["added"]:
            path = Path(folder, name)
            path.write_text(line + path.read_text())
            assert make(folder, "-j4") == expected, name
            touch(folder, header)
            assert make(folder, "-j4") == later, header


def test_sources_kept():
    for name, digest in TRUTH["given"].items():
        assert hashlib.sha256(Path(TRUTH["folder"], name).read_bytes()).hexdigest() == digest, name
