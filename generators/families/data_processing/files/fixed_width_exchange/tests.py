import hashlib
import subprocess
import tempfile
from pathlib import Path


def convert(contents):
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for number, content in enumerate(contents):
            path = Path(folder, f"{number}.txt")
            path.write_bytes(content.encode())
            paths.append(str(path))
        done = subprocess.run([TRUTH["program"], *paths], capture_output=True, timeout=20, cwd="/")
    results = [json.loads(line) for line in done.stdout.decode().splitlines() if line.strip()]
    assert len(results) == len(contents), f"{len(results)} lines for {len(contents)} files"
    return done.returncode, results


def test_accepted():
    cases = [case for case in json.loads(TRUTH["cases"]) if case["status"] == 0]
    status, results = convert([case["file"] for case in cases])
    for number, (case, got) in enumerate(zip(cases, results)):
        assert got["status"] == 0, f"file {number}: status {got['status']}"
        assert got["document"] == case["json"], f"file {number}: document differs"
    assert status == 0, f"exit status {status}"


def test_rejected():
    cases = json.loads(TRUTH["cases"])
    status, results = convert([case["file"] for case in cases])
    for number, (case, got) in enumerate(zip(cases, results)):
        assert got["status"] == case["status"], f"file {number}: status {got['status']}"
        assert (got["document"] is None) == (case["status"] != 0), f"file {number}: document"
    assert status == next(case["status"] for case in cases if case["status"]), f"exit status {status}"
    for case in cases[-3:]:
        assert convert([case["file"]])[0] == case["status"]


def test_samples_unchanged():
    for path, digest in TRUTH["given"].items():
        assert hashlib.sha256(Path(path).read_bytes()).hexdigest() == digest, path
