import hashlib
import shutil
import sqlite3
import subprocess
import tempfile
from pathlib import Path

W = TRUTH["words"]


def rows(db, query):
    for word, name in W.items():
        query = query.replace(f"@{word}@", name)
    return [list(row) for row in db.execute(query)]


def content(path):
    db = sqlite3.connect(path)
    got = {
        "people": rows(db, "select id, given, family, email, phone, active, @balance@ from @people@ order by id"),
        "moves": rows(db, "select m.id, m.@person@_id, m.@day@, m.@cents@, k.name from @moves@ m "
                          "left join @kind@_names k on k.id = m.@kind@_id order by m.id"),
        "quarantine": rows(db, "select source, source_id, reason from quarantine order by 1, 2"),
        "aliases": rows(db, "select old_id, new_id from aliases order by 1") if TRUTH["extreme"] else [],
    }
    states = rows(db, "select distinct state from migration")
    version = rows(db, "pragma user_version")
    broken = rows(db, "pragma foreign_key_check")
    columns = [rows(db, f"pragma index_info({index[1]})")[0][2] for index in rows(db, "pragma index_list(@moves@)")]
    db.close()
    closed = states == [["done"]] and version == [[TRUTH["version"]]] and not broken
    return got, closed and W["person"] + "_id" in columns


def same(path, want):
    got, closed = content(path)
    for table in want:
        assert got[table] == want[table], f"{table} differs"
    assert closed, "steps, user_version, foreign keys or index"


def test_database_finished():
    same(TRUTH["database"], json.loads(TRUTH["expected"]))


def test_triggers():
    with tempfile.TemporaryDirectory() as folder:
        path = shutil.copy(TRUTH["database"], f"{folder}/copy.db")
        db = sqlite3.connect(path)
        (first, a), (second, b) = rows(db, "select id, @balance@ from @people@ order by id limit 2")

        def check(left, right):
            assert rows(db, "select @balance@ from @people@ order by id limit 2") == [[left], [right]]

        insert = f"insert into @moves@ values (900001, {first}, '2024-01-01', 250, null)"
        for query, left, right in (
            (insert, a + 250, b),
            ("update @moves@ set @cents@ = -100 where id = 900001", a - 100, b),
            (f"update @moves@ set @person@_id = {second}, @cents@ = 70 where id = 900001", a, b + 70),
            ("delete from @moves@ where id = 900001", a, b),
        ):
            rows(db, query)
            check(left, right)
        db.close()


def test_program():
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(json.loads(TRUTH["cases"])):
            path = f"{folder}/site{number}.db"
            db = sqlite3.connect(path)
            db.executescript(TRUTH["ddl"] + case["sql"])
            db.close()
            for attempt in ("first", "second"):
                done = subprocess.run([TRUTH["program"], path], timeout=20, capture_output=True, cwd="/")
                assert done.returncode == 0, f"exit status of the {attempt} run"
                same(path, case["expected"])


def test_legacy_kept():
    db = sqlite3.connect(TRUTH["database"])
    for table, digest in TRUTH["legacy"].items():
        text = json.dumps(rows(db, f"select * from legacy_@{table}@ order by id"))
        assert hashlib.sha256(text.encode()).hexdigest() == digest, table
    db.close()
