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
            rows = [[] for _ in TRUTH["cases"]]
            for scoring in range(len(TRUTH["scorings"])):
                mine = [number for number, case in enumerate(TRUTH["cases"]) if case[0] == scoring]
                run = subprocess.run(
                    [TRUTH["program"], f"{folder}/s{scoring}"],
                    input="".join("{1}\n{2}\n".format(*TRUTH["cases"][number]) for number in mine),
                    capture_output=True, text=True, timeout=15,
                )
                lines = [line.rstrip() for line in run.stdout.split("\n")] + [""] * 4 * len(mine)
                for place, number in enumerate(mine):
                    rows[number] = lines[4 * place : 4 * place + 4]
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
