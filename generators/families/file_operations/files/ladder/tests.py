import hashlib
import os
import stat

FOLDER = TRUTH["folder"]


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


def read(name):
    with open(os.path.join(FOLDER, name), "rb") as source:
        return source.read()


def test_result():
    target = os.path.join(FOLDER, TRUTH["target"])
    if TRUTH["gone"]:
        assert not os.path.lexists(os.path.join(FOLDER, TRUTH["gone"])), "the old file is still there"
    if TRUTH["kind"] == "nothing":
        return
    assert not os.path.islink(target), "a link"
    if TRUTH["kind"] == "folder":
        assert os.path.isdir(target), "no such directory"
        return
    assert os.path.isfile(target), "no such file"
    data = read(TRUTH["target"])
    if TRUTH["kind"] == "empty":
        assert not data, "not empty"
    else:
        assert digest(data.strip()) in TRUTH["contents"], "not the content that was asked for"
    if TRUTH["mode"]:
        assert stat.S_IMODE(os.stat(target).st_mode) == int(TRUTH["mode"], 8), "not the permissions that were asked for"


def test_nothing_else_changed():
    for name, content in TRUTH["kept"].items():
        assert digest(read(name)) == content, name
    known = {TRUTH["target"], TRUTH["gone"], *TRUTH["kept"]}
    assert {name for name in os.listdir(FOLDER) if not name.startswith(".")} <= known
