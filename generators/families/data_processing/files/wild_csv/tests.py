import csv
import hashlib
import io
from pathlib import Path


def table(name):
    data = Path(TRUTH[name + "_file"]).read_bytes()
    assert not data.startswith(b"\xef\xbb\xbf"), "byte-order mark"
    return list(csv.reader(io.StringIO(data.decode("utf-8"), newline="")))


def test_clean():
    got, want = table("clean"), TRUTH["clean"]
    assert got[:1] == want[:1], "header"
    assert len(got) == len(want), f"{len(got)} lines"
    wrong = [a[0] if a else "" for a, b in zip(got, want) if a != b]
    assert not wrong, f"differs at {wrong[:3]}"


def test_summary():
    got = json.loads(Path(TRUTH["summary_file"]).read_text())
    assert got == TRUTH["summary"]


def test_sources_untouched():
    for path, digest in TRUTH["sources"].items():
        assert hashlib.sha256(Path(path).read_bytes()).hexdigest() == digest, path
