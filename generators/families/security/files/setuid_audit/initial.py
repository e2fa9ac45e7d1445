from pathlib import Path


def test_the_image_is_there_and_no_report():
    assert Path(TRUTH["manifest"]).is_file()
    assert not Path(TRUTH["report"]).exists()
    for path, wanted in TRUTH["unmanaged"].items():
        assert Path(TRUTH["root"] + path).lstat().st_mode & 0o7777 == wanted, path
