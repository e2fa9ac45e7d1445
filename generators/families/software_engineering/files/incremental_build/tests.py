import contextlib
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

BUILT = []


def make(folder, *arguments):
    log = Path(folder, "trace.log")
    log.unlink(missing_ok=True)
    done = subprocess.run(["/usr/bin/make", *arguments], cwd=folder, capture_output=True, text=True, timeout=20,
stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr[-400:]
    return sorted(log.read_text().split()) if log.exists() else []


def settle(folder):
    """Let everything look ten seconds older, so that a change made now is later than all products. Files of the image may be of
    1970, before which make knows no time."""
    for path in Path(folder).rglob("*"):
        if not path.is_symlink():
            info = path.stat()
            os.utime(path, ns=(info.st_atime_ns, max(10**10, info.st_mtime_ns - 10**10)))


def first_build():
    """Where the project was made from nothing with -j8, and what was made; tried once for all tests."""
    if not BUILT:
        place = tempfile.TemporaryDirectory()
        folder = place.name + "/project"
        BUILT.extend((place, folder, None))
        shutil.copytree(TRUTH["folder"], folder)
        make(folder, "clean")
        BUILT[2] = make(folder, "-j8")
    assert BUILT[2] is not None, "the build from nothing failed"
    return BUILT[1:]


@contextlib.contextmanager
def project():
    """A copy of the built project, times included."""
    with tempfile.TemporaryDirectory() as place:
        folder = place + "/project"
        shutil.copytree(first_build()[0], folder)
        settle(folder)
        yield folder


def test_fresh_parallel_build():
    folder, made = first_build()
    assert made == TRUTH["all"]
    result = Path(folder, TRUTH["result"]).read_bytes()
    assert hashlib.sha256(result).hexdigest() == TRUTH["digest"]


def test_nothing_to_do():
    with project() as folder:
        assert make(folder) == [] and make(folder, "-j4") == []


def test_exact_rebuilds():
    with project() as folder:
        for name, expected in TRUTH["touched"]:
            os.utime(Path(folder, name))
            assert make(folder, "-j4") == expected, name
            settle(folder)


def test_new_include():
    with project() as folder:
        for name, line, expected, header, later in TRUTH["added"]:
            path = Path(folder, name)
            path.write_text(line + path.read_text())
            assert make(folder, "-j4") == expected, name
            settle(folder)
            os.utime(Path(folder, header))
            assert make(folder, "-j4") == later, header


def test_sources_kept():
    for name, digest in TRUTH["given"].items():
        assert hashlib.sha256(Path(TRUTH["folder"], name).read_bytes()).hexdigest() == digest, name
