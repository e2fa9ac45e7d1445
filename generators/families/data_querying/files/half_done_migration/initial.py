import sqlite3
from pathlib import Path


def test_half_done():
    assert not Path(TRUTH["program"]).exists()
    db = sqlite3.connect(TRUTH["database"])
    assert db.execute("select count(*) from migration where state != 'done'").fetchone()[0]
    db.close()
