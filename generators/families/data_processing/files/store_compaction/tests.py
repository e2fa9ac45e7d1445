import base64
import hashlib
import subprocess
import tempfile
from pathlib import Path


def test_store_compacted():
    data = Path(TRUTH["out"]).read_bytes()
    assert len(data) == TRUTH["expected"]["size"], f"{len(data)} bytes"
    assert hashlib.sha256(data).hexdigest() == TRUTH["expected"]["digest"], "bytes differ"


def test_report():
    assert json.loads(Path(TRUTH["json"]).read_text()) == json.loads(TRUTH["expected"]["report"])


def test_program():
    for number, case in enumerate(json.loads(TRUTH["cases"])):
        with tempfile.TemporaryDirectory() as folder:
            store = Path(folder, "store")
            store.mkdir()
            for name, content in case["files"].items():
                (store / name).write_bytes(base64.b64decode(content))
            out = Path(folder, "out.seg")
            command = [TRUTH["program"], str(store), str(out), *case["now"]]
            done = subprocess.run(command, capture_output=True, timeout=15, cwd="/")
            assert done.returncode == 0, f"store {number}: exit status {done.returncode}"
            assert json.loads(done.stdout) == case["report"], f"store {number}: report"
            assert out.read_bytes() == base64.b64decode(case["out"]), f"store {number}: bytes"


def test_store_unchanged():
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in Path(TRUTH["store"]).iterdir()}
    assert found == TRUTH["files"]
