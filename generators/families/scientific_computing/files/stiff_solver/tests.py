import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

RUNS = []


def runs():
    if not RUNS:
        assert Path(TRUTH["program"]).is_file(), "there is no program"
        for case in TRUTH["cases"]:
            with tempfile.TemporaryDirectory() as folder:
                os.chmod(folder, 0o755)
                Path(folder, TRUTH["module"] + ".py").write_text(TRUTH["source"])
                Path(folder, "problem.json").write_text(json.dumps(case["problem"]))
                run = subprocess.run(
                    ["/usr/bin/python3", TRUTH["program"], folder], capture_output=True, text=True, timeout=15
                )
                calls = Path(folder, "calls.txt")
                RUNS.append((run.stdout, int(calls.read_text()) if calls.exists() else 0))
    return RUNS


def test_accuracy():
    for (output, _), case in zip(runs(), TRUTH["cases"]):
        states = json.loads(output)[TRUTH["keys"][0]]
        assert len(states) == len(case["states"]), "number of states"
        for got, wanted in zip(states, case["states"]):
            assert len(got) == len(wanted)
            assert all(abs(g - w) <= 2e-5 * (1 + abs(w)) for g, w in zip(got, wanted)), "error"


def test_calls():
    for (output, calls), case in zip(runs(), TRUTH["cases"]):
        assert 0 < calls <= case["problem"]["limit"], "calls"
        assert len(json.loads(output)[TRUTH["keys"][0]]) == len(case["states"])


def test_example_unchanged():
    for name, digest in TRUTH["inputs"].items():
        assert hashlib.sha256(Path(TRUTH["example"], name).read_bytes()).hexdigest() == digest, name
