import hashlib
import subprocess
from pathlib import Path


def notes():
    lines = [line.rstrip() for line in Path(TRUTH["notes_file"]).read_text().splitlines() if line.strip()]
    sections, name = {}, ""
    for line in lines:
        if line.startswith("#"):
            name = line
            assert name not in sections, "a heading occurs twice"
            sections[name] = []
        else:
            sections.setdefault(name, []).append(line)
    return sections


def test_version():
    assert Path(TRUTH["version_file"]).read_text().strip() == ".".join(map(str, TRUTH["next"]))


def test_changes():
    got = notes()
    for heading in TRUTH["changes"]:
        assert got.get(heading, []) == TRUTH["expected"].get(heading, []), heading


def test_breaking_and_reverts():
    got = notes()
    for heading in TRUTH["others"]:
        assert got.get(heading, []) == TRUTH["expected"].get(heading, []), heading


def test_layout():
    headings = list(notes())
    assert headings[0] == "## " + ".".join(map(str, TRUTH["next"]))
    assert headings[1:] == [name for name in TRUTH["order"] if name in TRUTH["expected"]]


def test_history_kept():
    run = ["/usr/bin/git", "-c", "safe.directory=*", "-C", TRUTH["repo"], "show-ref", "--head"]
    refs = subprocess.run(run, capture_output=True, timeout=20).stdout
    lines = sorted(refs.decode().splitlines())
    assert hashlib.sha256("\n".join(lines).encode()).hexdigest() == TRUTH["refs"]
