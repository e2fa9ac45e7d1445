import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

RESULTS = {}


def results():
    if not RESULTS:
        assert os.access(TRUTH["program"], os.X_OK), "the program is not executable"
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            for number, text in enumerate(TRUTH["scorings"]):
                Path(folder, f"s{number}").write_text(text)
            rows = []
            for scoring, first, second, *_ in TRUTH["cases"]:
                run = subprocess.run(
                    [TRUTH["program"], f"{folder}/s{scoring}"],
                    input=f"{first}\n{second}\n", capture_output=True, text=True, timeout=10,
                )
                rows.append([line.rstrip() for line in (run.stdout + "\n\n\n\n").split("\n")[:4]])
            RESULTS["rows"] = rows
    return RESULTS["rows"]


def compare(line, wanted):
    for number, (row, case) in enumerate(zip(results(), TRUTH["cases"])):
        assert row[line] == wanted(case), f"case {number}"


def test_scores():
    compare(0, lambda case: f"{TRUTH['keys'][0]} {case[3]}")


def test_counts():
    compare(1, lambda case: f"{TRUTH['keys'][1]} {case[4]}")


def test_alignments():
    compare(2, lambda case: case[5])
    compare(3, lambda case: case[6])


def test_example_unchanged():
    assert hashlib.sha256(Path(TRUTH["example"]).read_bytes()).hexdigest() == TRUTH["digest"]
