import hashlib
from pathlib import Path

FOLDER = Path(TRUTH["folder"])


def lines(name):
    return (FOLDER / TRUTH["out"] / name).read_text().rstrip("\n").split("\n")


def same(name, expected):
    got = lines(name)
    assert len(got) == len(expected), name + ": number of lines"
    for number, (have, want) in enumerate(zip(got, expected), start=1):
        assert have == want, f"{name}: line {number} differs"


def test_passwd():
    same("passwd", TRUTH["passwd"])


def test_group():
    same("group", TRUTH["group"])


def test_shadow():
    same("shadow", TRUTH["shadow"])


def test_ownership():
    same(TRUTH["table"], TRUTH["owners"])


def test_sources_untouched():
    for name, digest in TRUTH["sources"].items():
        assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == digest, name
