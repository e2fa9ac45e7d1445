import gzip
import hashlib
import io
import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

CASES = json.loads(TRUTH["cases"])
KINDS = {"file": tarfile.REGTYPE, "dir": tarfile.DIRTYPE, "sym": tarfile.SYMTYPE, "hard": tarfile.LNKTYPE,
         "char": tarfile.CHRTYPE, "block": tarfile.BLKTYPE, "fifo": tarfile.FIFOTYPE}


def archive(case):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=case["format"]) as tar:
        for member in case["members"]:
            info = tarfile.TarInfo(member["name"])
            info.type = KINDS[member["kind"]]
            info.mode = member["mode"]
            info.linkname = member["link"]
            info.uid = info.gid = 1234
            data = (member["text"] * (member["times"])).encode()
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    data = buffer.getvalue()[: case["cut"] or None]
    return gzip.compress(data, 1) if case["gz"] else data


def tree(root):
    seen = {}
    for path in sorted(root.rglob("*")):
        name, info = str(path.relative_to(root)), path.lstat()
        assert info.st_uid == os.getuid(), name
        if path.is_symlink():
            seen[name] = ["sym", os.readlink(path), 0]
        elif path.is_dir():
            seen[name] = ["dir", "", info.st_mode & 0o7777]
        else:
            seen[name] = ["file", hashlib.sha256(path.read_bytes()).hexdigest(), info.st_mode & 0o7777]
    return seen


def try_case(case):
    work = Path(tempfile.mkdtemp())
    try:
        base = work / "in" / "ner"
        base.mkdir(parents=True)
        (base / "dest-other").mkdir()
        (work / "keep.txt").write_text("kept")
        (base / "x.tar").write_bytes(case["raw"].encode() if case["raw"] else archive(case))
        if case["missing"]:
            (base / "x.tar").unlink()
        dest = base / "dest"
        if case["dest"] != "absent":
            dest.mkdir()
        if case["dest"] == "full":
            (dest / "here").write_text("kept")
        before = tree(work)
        call = [TRUTH["program"], str(base / "x.tar"), str(dest)]
        run = subprocess.run(call, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20,
                             cwd="/", umask=0o027)
        assert run.returncode == case["code"], (case["label"], run.returncode)
        assert run.stdout == case["line"], (case["label"], run.stdout[:200])
        after = tree(work)
        if case["code"] == 0:
            inside = tree(dest)
            assert inside == case["tree"], case["label"]
            after = {name: entry for name, entry in after.items() if not name.startswith("in/ner/dest/")}
            before.pop("in/ner/dest", None)
            after.pop("in/ner/dest", None)
        assert after == before, case["label"]
    finally:
        shutil.rmtree(work, ignore_errors=True)


def try_group(group):
    chosen = [case for case in CASES if case["group"] == group]
    assert chosen
    for case in chosen:
        try_case(case)


def test_good_archives_are_unpacked():
    try_group("good")


def test_unsafe_archives_are_refused():
    try_group("unsafe")


def test_limits_hold():
    try_group("limit")


def test_broken_input_and_occupied_destination():
    try_group("broken")


def test_old_script_unchanged():
    assert hashlib.sha256(Path(TRUTH["old"]).read_bytes()).hexdigest() == TRUTH["old_digest"]
