from pathlib import Path


def test_only_the_rules_are_there():
    assert all(Path(name).is_file() for name in TRUTH["given"]) and not Path(TRUTH["program"]).exists()
