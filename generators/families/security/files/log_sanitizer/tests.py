import hashlib
import subprocess
from pathlib import Path

RUNS = json.loads(TRUTH["runs"])
CLEANED = {}


def clean(data):
    """What the program makes of an input; every input is given to it once, whichever tests ask."""
    if data not in CLEANED:
        run = subprocess.run([TRUTH["program"]], input=data, capture_output=True, timeout=20, cwd="/")
        CLEANED[data] = (run.returncode, run.stdout)
    code, out = CLEANED[data]
    assert code == 0
    return out


def compare(group):
    chosen = [run for run in RUNS if run[0] == group]
    assert chosen
    for _, raw, wanted in chosen:
        got = clean(bytes.fromhex(raw))
        for number, (mine, right) in enumerate(zip(got.split(b"\n"), bytes.fromhex(wanted).split(b"\n"))):
            assert mine == right, (group, "record", number, mine[:200])
        assert got == bytes.fromhex(wanted), (group, "records differ in number or end")


def test_bytes_and_controls():
    compare("bytes")


def test_terminal_sequences():
    compare("sequences")


def test_secrets():
    compare("secrets")


def test_lengths_and_ends():
    compare("lengths")


def test_idempotence():
    first = {run[0]: run for run in reversed(RUNS)}
    for group, raw, wanted in first.values():
        assert clean(bytes.fromhex(raw)) == bytes.fromhex(wanted), group
    joined = b"".join(bytes.fromhex(wanted) for _, _, wanted in first.values())
    assert clean(joined) == joined


def test_sample_unchanged():
    assert hashlib.sha256(Path(TRUTH["sample"]).read_bytes()).hexdigest() == TRUTH["digest"]
