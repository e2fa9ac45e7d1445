import hashlib
from pathlib import Path


def check(kind):
    lines = Path(TRUTH["paths"][kind]).read_text().splitlines()
    assert [line.rstrip() for line in lines if line.strip()] == TRUTH["expected"][kind]


def test_c_header():
    check("c")


def test_python_module():
    check("python")


def test_sql_schema():
    check("sql")


def test_sources_kept():
    for name, digest in TRUTH["given"].items():
        assert hashlib.sha256(Path(name).read_bytes()).hexdigest() == digest, name
