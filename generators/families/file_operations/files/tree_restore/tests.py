import hashlib
import os
import stat

KINDS = {"d": stat.S_ISDIR, "f": stat.S_ISREG, "l": stat.S_ISLNK}


def look(path, kind):
    state = os.lstat(os.path.join(TRUTH["root"], path))
    assert KINDS[kind](state.st_mode), "type of " + path
    return state


def test_modes():
    for path, (kind, mode, *_) in TRUTH["wanted"].items():
        assert kind == "l" or stat.S_IMODE(look(path, kind).st_mode) == mode, path


def test_owners():
    for path, (kind, _, uid, gid, _) in TRUTH["wanted"].items():
        state = look(path, kind)
        assert (state.st_uid, state.st_gid) == (uid, gid), path


def test_times():
    for path, (kind, _, _, _, when) in TRUTH["wanted"].items():
        assert int(look(path, kind).st_mtime) == when, path


def test_report():
    with open(TRUTH["report"]) as source:
        assert json.load(source) == TRUTH["missing"]


def test_nothing_else_changed():
    for path, (kind, mode, uid, gid, when) in TRUTH["same"].items():
        state = look(path, kind)
        got = (state.st_uid, state.st_gid, int(state.st_mtime))
        assert got == (uid, gid, when) and (kind == "l" or stat.S_IMODE(state.st_mode) == mode), path
    for path, digest in TRUTH["contents"].items():
        with open(os.path.join(TRUTH["root"], path), "rb") as source:
            assert hashlib.sha256(source.read()).hexdigest()[:16] == digest, path
    for path in TRUTH["missing"]:
        assert path in TRUTH["same"] or not os.path.lexists(os.path.join(TRUTH["root"], path)), path
