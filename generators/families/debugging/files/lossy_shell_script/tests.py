import hashlib
import os
import shutil
import subprocess
import tempfile

SCRIPT = TRUTH["script"].encode()


def raw(text):
    return text.encode("latin-1")


def put(top, entries):
    """Files (path, data, mode, mtime); mode "link" makes a symbolic link, "dir" a directory."""
    os.makedirs(top, exist_ok=True)
    for path, data, mode, mtime in entries:
        full = os.path.join(top, raw(path))
        os.makedirs(os.path.dirname(full), exist_ok=True)
        if mode == "dir":
            os.makedirs(full, exist_ok=True)
        elif mode == "link":
            os.symlink(raw(data), full)
        else:
            with open(full, "wb") as out:
                out.write(data.encode())
            os.chmod(full, mode)
            os.utime(full, (mtime, mtime))


def tree(top):
    found = {}
    for folder, folders, names in os.walk(top):
        for name in names + [d for d in folders if os.path.islink(os.path.join(folder, d))]:
            full = os.path.join(folder, name)
            key = os.path.relpath(full, top).decode("latin-1")
            if os.path.islink(full):
                found[key] = [os.readlink(full).decode("latin-1"), "link", 0]
            else:
                info = os.stat(full)
                with open(full, "rb") as source:
                    found[key] = [source.read().decode("latin-1"), info.st_mode & 0o777, int(info.st_mtime)]
    return found


def run(arguments, cwd):
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/root", "LANG": "C.UTF-8"}
    command = [SCRIPT, *arguments]
    done = subprocess.run(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=20)
    lines = done.stdout.decode("latin-1").rstrip("\n").split("\n")
    return done.returncode, lines[-1]


def check(case):
    room = tempfile.mkdtemp().encode()
    try:
        names = [raw(case["src"]), raw(case["dest"])]
        src, dest = (os.path.join(room, name) for name in names)
        put(src, case["files"])
        if case["there"]:
            put(dest, case["there"])
        code, last = run(names if case["relative"] else [src, dest], room)
        label = case["label"]
        got = tree(dest)
        listed = got.pop(TRUTH["manifest"], ["", 0, 0])[0]
        assert tree(src) == {k: v for k, v in case["left"].items()}, label + ": what is left in SRC"
        assert got == case["arrived"], label + ": what is in DEST"
        paths = sorted((k for k, v in case["arrived"].items() if v[1] != "link"), key=raw)
        want = "".join(hashlib.sha256(raw(case["arrived"][k][0])).hexdigest() + "  " + k + "\0" for k in paths)
        assert listed == want, label + ": the list in DEST"
        assert last == case["last"], label + ": last line of output"
        assert code == case["code"], label + ": exit status"
    finally:
        shutil.rmtree(room, ignore_errors=True)


def test_awkward_names():
    for case in TRUTH["cases"]:
        if case["kind"] == "names":
            check(case)


def test_conflicts():
    for case in TRUTH["cases"]:
        if case["kind"] == "conflict":
            check(case)


def test_bad_source():
    room = tempfile.mkdtemp().encode()
    try:
        put(room, [["keep.txt", "keep", 0o644, 1], ["sub/more.txt", "more", 0o644, 1]])
        before = tree(room)
        out = tempfile.mkdtemp().encode()
        for arguments in ([b"nowhere", out], [room + b"/keep.txt", out], [room + b"/sub"], [room + b"/sub", out, b"x"]):
            code, _ = run(arguments, room)
            assert code == TRUTH["usage"], "exit status without a usable source"
            assert tree(room) == before and os.listdir(out) == [], "something was changed"
        os.rmdir(out)
    finally:
        shutil.rmtree(room, ignore_errors=True)


def test_plain_names():
    room = tempfile.mkdtemp().encode()
    try:
        put(room + b"/a", [["one.txt", "1", 0o644, 99], ["sub/two.txt", "2", 0o644, 99]])
        run([room + b"/a", room + b"/b"], room)
        assert tree(room + b"/a") == {}
        got = tree(room + b"/b")
        assert got["one.txt"][0] == "1" and got["sub/two.txt"][0] == "2"
    finally:
        shutil.rmtree(room, ignore_errors=True)


def test_live_inbox():
    got = {k: hashlib.sha256(raw(v[0])).hexdigest() for k, v in tree(TRUTH["inbox"].encode()).items()}
    assert got == TRUTH["live"], "the live inbox changed"
