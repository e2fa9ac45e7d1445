from pathlib import Path


def test_tree_is_there():
    folder = Path(TRUTH["folder"])
    assert (folder / TRUTH["policy"]).is_file() and (folder / TRUTH["state"]).is_file()
    assert any(path.suffix == ".gz" for path in (folder / "logs").rglob("*"))
