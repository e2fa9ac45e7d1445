import gzip
import hashlib
from pathlib import Path

LOGS = Path(TRUTH["folder"]) / "logs"


def names():
    return sorted(str(path.relative_to(LOGS)) for path in LOGS.rglob("*") if path.is_file())


def digest(name):
    data = (LOGS / name).read_bytes()
    return hashlib.sha256(gzip.decompress(data) if name.endswith(".gz") else data).hexdigest()[:16]


def test_tree():
    assert names() == sorted(TRUTH["tree"]), "the set of files differs"
    for name, (content, _) in TRUTH["tree"].items():
        assert digest(name) == content, name + ": content differs"


def test_modes():
    for name, (_, mode) in TRUTH["tree"].items():
        assert (LOGS / name).stat().st_mode & 0o7777 == mode, name + ": permissions differ"


def test_state():
    text = (Path(TRUTH["folder"]) / TRUTH["state"]).read_text()
    assert hashlib.sha256(text.rstrip("\n").encode()).hexdigest() == TRUTH["state_after"]


def test_rest_untouched():
    policy = Path(TRUTH["folder"]) / TRUTH["policy"]
    assert hashlib.sha256(policy.read_bytes()).hexdigest() == TRUTH["policy_sum"]
    for name, content in TRUTH["others"].items():
        assert digest(name) == content, name
