import os
from pathlib import Path


def test_service_and_issuers_are_there():
    folder = Path(TRUTH["folder"])
    assert all((folder / name).is_file() for name in TRUTH["inputs"])
    assert len(list((folder / "ca").glob("*.crt"))) == TRUTH["issuers"]
    assert os.stat(TRUTH["trust"] + "/root.crt").st_uid == 0
