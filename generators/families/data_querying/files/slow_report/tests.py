import hashlib
import sqlite3
from pathlib import Path

REPORT = Path(TRUTH["report"])


def judge(db, want, rows):
    counted = [0]
    budget = TRUTH["limit"] * rows

    def tick():
        counted[0] += 100
        return counted[0] > budget

    db.set_progress_handler(tick, 100)
    try:
        cursor = db.execute(REPORT.read_text())
        got = [list(row) for row in cursor.fetchall()]
    except sqlite3.OperationalError as error:
        raise AssertionError(f"stopped after {counted[0]} steps ({budget} allowed): {error}")
    finally:
        db.set_progress_handler(None, 100)
    assert [column[0] for column in cursor.description] == TRUTH["columns"], "columns"
    assert len(got) == want["count"], f"{len(got)} rows"
    assert hashlib.sha256(json.dumps(got).encode()).hexdigest() == want["digest"], "the rows differ"
    assert counted[0] <= budget


def test_this_database():
    db = sqlite3.connect(f"file:{TRUTH['database']}?mode=ro", uri=True)
    judge(db, TRUTH["expected"], TRUTH["rows"])
    db.close()


def test_other_databases():
    for case in TRUTH["cases"]:
        db = sqlite3.connect(":memory:")
        db.executescript(case["sql"])
        db.execute("pragma query_only = 1")
        judge(db, case["expected"], case["rows"])
        db.close()


def test_database_unchanged():
    db = sqlite3.connect(f"file:{TRUTH['database']}?mode=ro", uri=True)
    objects = [row[0] for row in db.execute("select name from sqlite_master order by 1")]
    assert objects == sorted(TRUTH["tables"]), objects
    for table, digest in TRUTH["tables"].items():
        rows = [list(row) for row in db.execute(f"select * from {table} order by 1")]
        assert hashlib.sha256(json.dumps(rows).encode()).hexdigest() == digest, table
    db.close()
