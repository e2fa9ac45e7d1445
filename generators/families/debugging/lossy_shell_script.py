"""Repair a file-moving shell script that loses data: awkward names, conflicts, missing sources, interrupted runs."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from generators.family import Draft, Draw, Family, Miss, Setting
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS, FIRST_NAMES, HOST_WORDS


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    home: str
    script: str
    inbox: str
    manifest: str
    moved: str
    kept: str
    text: str


EMAIL = """Hello,

{script} at {firm} eats files. Since spring three {thing} people found deliveries that left the inbox and never
arrived in the store.
It is started as

    {script} SRC DEST

with two directories. Nobody who wrote it is still here, but what it must do is agreed, see below. Please repair it
in place; any language is
welcome as long as it is started the same way.

{rules}

{live}

Regards, {persona}
"""
TICKET = """OPS-{ticket}  Severity 2  {firm}
Summary: {thing} transfer drops files

Affected program: {script}, called with a source directory SRC and a destination directory DEST (both positional).
Expected behaviour after the fix, same path and same call:

{rules}

Restrictions: {live}
"""
NOTE = """{script} SRC DEST is our {thing} mover and it loses things. Make it keep to this, at the same path:
{rules}
{live}
"""
SPECIFICATION = """Contract of {script} ({firm}, {thing})

Call: {script} SRC DEST. The program at that path violates this contract; bring it into line.

{rules}

Boundary. {live}
"""
CHAT = """{persona}: remember the {thing} script? {script}, you give it SRC and DEST
{persona}: it dropped two more deliveries last night, one had a blank in its name, for the other I have no idea
{persona}: can you make it safe today? keep the path and the two arguments. Here is what we promised to the people at
{firm}:
{rules}
{persona}: and one more thing. {live}
"""
RUNBOOK = """RUNBOOK {thing} / known defect

Symptom: after a run of `{script} SRC DEST` some files are in neither tree.
Remedy wanted: a corrected program under the same path, obeying every clause below.

{rules}

Caution: {live}
"""
REVIEW = """Post-incident action for {firm}, owner: you.

What happened: {script} was run as always (first argument SRC, second argument DEST), and {thing} data vanished
without any error.
What we want: the program fixed where it is. The acceptance criteria were written down by {persona}:

{rules}

Also agreed in the meeting: {live}
"""
HANDOVER = """Handover sheet, {thing} desk

The last open point on my list is {script}. It gets SRC and DEST and should empty the one into the other without ever
losing a byte; today it
does lose some. I had no time. The points that have to hold once you are done (path and arguments stay):

{rules}

{live} Good luck, {persona}
"""

SETTINGS = (
    World(
        "radiology",
        "imaging administrator",
        "radiology intake",
        "email",
        "/opt/imaging",
        "bin/intake",
        "/srv/scans",
        "MANIFEST",
        "moved",
        "kept",
        EMAIL,
    ),
    World(
        "press",
        "picture editor",
        "press photo intake",
        "ticket",
        "/srv/pressroom",
        "ingest.sh",
        "/srv/pressroom/drop",
        "INDEX",
        "ingested",
        "failed",
        TICKET,
    ),
    World(
        "thesis",
        "archive student",
        "thesis archive",
        "note",
        "/home/archive",
        "shelve",
        "/home/archive/todo",
        "CATALOG",
        "shelved",
        "left",
        NOTE,
    ),
    World(
        "telemetry",
        "data steward",
        "telemetry landing",
        "specification",
        "/opt/landing",
        "sbin/land.sh",
        "/var/lib/landing/raw",
        "CHECKSUMS",
        "landed",
        "rejected",
        SPECIFICATION,
    ),
    World(
        "studio",
        "sound engineer",
        "studio takes",
        "chat",
        "/data/studio",
        "tools/collect",
        "/data/studio/takes",
        "TAKES.sum",
        "collected",
        "skipped",
        CHAT,
    ),
    World(
        "customs",
        "shift leader",
        "customs paperwork",
        "runbook",
        "/usr/local/customs",
        "bin/forward.sh",
        "/var/spool/customs",
        "LEDGER",
        "forwarded",
        "held",
        RUNBOOK,
    ),
    World(
        "genome",
        "lab technician",
        "sequencer output",
        "note",
        "/srv/sequencer",
        "offload.sh",
        "/srv/sequencer/runs",
        "SUMS",
        "offloaded",
        "stuck",
        REVIEW,
    ),
    World(
        "court",
        "court clerk",
        "court exhibits",
        "email",
        "/opt/exhibits",
        "file-exhibits",
        "/opt/exhibits/counter",
        "REGISTER",
        "filed",
        "refused",
        HANDOVER,
    ),
)

# Three ways to say each rule; {…} are filled from the world. Keys name the tests that check a rule.
WORDINGS = {
    "names": (
        "Every regular file anywhere below SRC, hidden ones included, ends up at the same relative path below "
        "DEST with the same bytes, mode and "
        "modification time (whole seconds) and is gone from SRC, whatever its name: blanks, line breaks, "
        "backslashes, wildcards, quotes, leading "
        "dashes, bytes that are not UTF-8.",
        "Files are moved: each regular file under SRC, at any depth and dot files too, must be found under DEST "
        "at its old relative path, bytes, "
        "permission bits and modification second unchanged, and no longer under SRC; a name may hold any byte a "
        "file system allows, so also "
        "newlines, spaces, quotes, *, ?, \\ or a dash in front.",
        "No name is special. A regular file at any level of SRC (dot files count) moves to the identical "
        "relative path in DEST and keeps content, "
        "mode and mtime in seconds, even if the name has spaces or newlines in it, begins with a dash, has "
        "wildcard or quote characters, "
        "backslashes or invalid UTF-8.",
    ),
    "arguments": (
        "SRC and DEST may be relative, may contain blanks and may begin with a dash; DEST is created if need be, "
        "directories of SRC stay where they are.",
        "Both arguments can be relative paths, with blanks or a dash at the start; a missing DEST is made, "
        "parents too; SRC's directories remain.",
        "Accept relative arguments, arguments with spaces and arguments that start with a dash. Create DEST when "
        "it is not there. Leave the directories of SRC standing.",
    ),
    "conflict": (
        "Nothing in DEST is ever overwritten: if the path is taken by a file of equal bytes, the source file is "
        "removed and counts as {moved}; if it is "
        "taken by anything else, or a part of the path is not a directory, both sides stay as they are, the file "
        "counts as {kept} and all others are still processed.",
        "When a file's place in DEST is occupied, compare: equal bytes mean the source may go (count it as "
        "{moved}), any other occupant, or a file "
        "where a directory would be needed, means that both remain untouched and the file counts as {kept}; "
        "carry on with the others in any case.",
        "What DEST already has is sacred. An identical file there: delete the source, count {moved}. Something "
        "different there, be it a file, a directory, or "
        "a plain file in the way of a parent directory: change neither, count {kept}, go on.",
    ),
    "manifest": (
        "After each run DEST/{manifest} lists every regular file in DEST but itself: sha256 in hex, two blanks, "
        "path relative to DEST without "
        "leading ./, one NUL byte, nothing else; records ascend by the bytes of the path.",
        "DEST/{manifest} is written anew by every run, one record per regular file of DEST other than "
        "DEST/{manifest}, sorted by raw path bytes; a record is the hex "
        "sha256, two spaces, the path as seen from DEST (no ./ in front) and a terminating NUL, without escaping.",
        "A run finishes by rewriting DEST/{manifest}: for all regular files then in DEST except this one, in "
        "byte order of their relative paths, "
        "`<sha256 hex><two spaces><relative path>` followed by a NUL byte, the path verbatim and not starting with ./.",
    ),
    "reserved": (
        "A file SRC/{manifest} has no place to go: it stays and counts as {kept}.",
        "Because of that, {manifest} at the top of SRC is never moved and counts as {kept}.",
        "Should SRC itself have a top-level {manifest}, leave it there and count it as {kept}.",
    ),
    "summary": (
        "The last line on standard output is `{moved}=N {kept}=M`, and the exit status is 0 if M is 0, else 1.",
        "It ends its standard output with the line `{moved}=N {kept}=M` and exits with 1 when M is above zero, "
        "with 0 otherwise.",
        "Exit status: 0 when nothing was {kept}, 1 when something was. Final line of stdout: `{moved}=N "
        "{kept}=M` with the two counts.",
    ),
    "source": (
        "If SRC is not a directory, or there are not exactly two arguments, exit with status {usage} and change "
        "nothing anywhere.",
        "A SRC that is no directory, or a wrong number of arguments, ends the program with status {usage} before "
        "it has touched anything.",
        "Status {usage} and not a single change, in the working directory either, if SRC does not exist as a "
        "directory or the argument count is not two.",
    ),
    "links": (
        "Symbolic links below SRC are moved as links, target text unchanged, never followed; they count like "
        "files, are not in the list, and one whose place is "
        "taken by an equal link counts as {moved}, by anything else as {kept}.",
        "Treat a symbolic link in SRC as a thing of its own: do not follow it, recreate it in DEST with the same "
        "target text and remove it from SRC; it "
        "counts, but is not listed; an equal link already there is fine ({moved}), any other occupant is a "
        "conflict ({kept}).",
        "Symlinks move too, as symlinks with their exact target, not what they point to. They are counted and "
        "not listed; an identical symlink in DEST counts as {moved} "
        "and removes the source, another occupant as {kept}.",
    ),
    "lock": (
        "While it works it holds {lock}, which contains its process id in decimal; a lock whose process is alive "
        "means exit status {busy} with nothing changed and the lock left "
        "alone, a lock left over by a dead process (or without a number in it) is taken over, and after every "
        "run its own lock is gone.",
        "{lock} keeps two runs apart: it holds the decimal process id of the running program and disappears at "
        "the end. If that process lives, leave with {busy} and touch "
        "nothing, the lock included; if it does not, or the file holds no number, the earlier run was "
        "interrupted and the lock must not stop anyone.",
        "Only one run at a time: the process id goes into {lock}, and the file is removed at the end. Found with "
        "a living process: exit {busy}, no change, keep the file. Found "
        "with a dead process or no number: ignore it and run.",
    ),
}
LIVE = (
    "{inbox} is the live inbox: leave everything in it as it is, try things out elsewhere.",
    "Do not touch the files in {inbox}, they are waiting for the repaired program.",
    "The real deliveries in {inbox} must still be there, unchanged, when you have finished.",
)
TESTED_BY = {
    "names": ["test_awkward_names", "test_plain_names"],
    "arguments": ["test_awkward_names"],
    "conflict": ["test_conflicts"],
    "manifest": ["test_awkward_names", "test_conflicts"],
    "reserved": ["test_conflicts"],
    "summary": ["test_awkward_names", "test_conflicts"],
    "source": ["test_bad_source"],
    "links": ["test_awkward_names", "test_conflicts"],
    "lock": ["test_lock"],
}

BROKEN = """#!/bin/bash
# {script}: empties SRC into DEST and writes DEST/{manifest}
SRC=$1
DEST=$2
mkdir -p $DEST
cd $SRC
N=0
find . -type f | while read f; do
    mkdir -p $DEST/$(dirname $f)
    mv -f $f $DEST/$f && N=$((N + 1))
done
cd $DEST
for f in $(find * -type f | sort); do
    [ $f = {manifest} ] || sha256sum $f
done | tr '\\n' '\\0' > {manifest}
echo {moved}=$N {kept}=0
"""

TESTS = '''
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
    lines = done.stdout.decode("latin-1").rstrip("\\n").split("\\n")
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
        want = "".join(hashlib.sha256(raw(case["arrived"][k][0])).hexdigest() + "  " + k + "\\0" for k in paths)
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
'''
TESTS_LOCK = """

def test_lock():
    lock = TRUTH["lock"]
    os.makedirs(os.path.dirname(lock), exist_ok=True)
    room = tempfile.mkdtemp().encode()
    sleeper = subprocess.Popen(["/bin/sleep", "60"])
    try:
        src, dest = room + b"/a", room + b"/b"
        put(src, [["one.txt", "1", 0o644, 99]])
        before = tree(room)
        with open(lock, "w") as out:
            out.write(f"{sleeper.pid}\\n")
        code, _ = run([src, dest], room)
        assert code == TRUTH["busy"] and tree(room) == before, "a living lock is not respected"
        with open(lock) as source:
            assert source.read() == f"{sleeper.pid}\\n", "the living lock was changed"
        sleeper.kill()
        sleeper.wait()
        for text in (f"{sleeper.pid}\\n", "", "4999999\\n", "starting"):
            put(src, [["one.txt", "1", 0o644, 99]])
            with open(lock, "w") as out:
                out.write(text)
            code, _ = run([src, dest], room)
            assert code == 0 and tree(src) == {}, "a stale lock stops the program"
            assert not os.path.exists(lock), "the lock is still there after the run"
    finally:
        sleeper.kill()
        sleeper.wait()
        if os.path.exists(lock):
            os.remove(lock)
        shutil.rmtree(room, ignore_errors=True)
"""
INITIAL = """
import os


def test_script_and_inbox_are_there():
    assert os.access(TRUTH["script"], os.X_OK) and os.path.isdir(TRUTH["inbox"])
"""

REPAIRED = r"""#!/bin/bash
# {script}: empties SRC into DEST and writes DEST/{manifest}
set -u
export LC_ALL=C
[ $# -eq 2 ] || exit {usage} #source
src=$1 dest=$2
case $src in /*) ;; *) src=$PWD/$src ;; esac
case $dest in /*) ;; *) dest=$PWD/$dest ;; esac
[ -d "$src" ] || exit {usage} #source
lock={lock} #lock
if [ -f "$lock" ]; then #lock
    pid=$(tr -cd 0-9 < "$lock") #lock
    if [ -n "$pid" ] && [ -d "/proc/$pid" ]; then exit {busy}; fi #lock
fi #lock
mkdir -p -- "$(dirname -- "$lock")" && echo $$ > "$lock" #lock
trap 'rm -f -- "$lock"' EXIT #lock
mkdir -p -- "$dest" || exit 1
cd -- "$src" || exit {usage}
moved=0 kept=0
same() {
    if [ -L "$1" ] || [ -L "$2" ]; then
        [ -L "$1" ] && [ -L "$2" ] && [ "$(readlink -n -- "$1"; echo .)" = "$(readlink -n -- "$2"; echo .)" ]
    else
        [ -f "$2" ] && cmp -s -- "$1" "$2"
    fi
}
while IFS= read -r -d '' file; do
    path=${file#./} good=
    target=$dest/$path
    if [ "$path" != {manifest} ]; then
        if [ -e "$target" ] || [ -L "$target" ]; then
            if same "$file" "$target"; then rm -f -- "$file" && good=1; fi
        elif mkdir -p -- "${target%/*}" 2>/dev/null && mv -nT -- "$file" "$target"; then
            [ -e "$file" ] || [ -L "$file" ] || good=1
        fi
    fi
    if [ "$good" ]; then moved=$((moved + 1)); else kept=$((kept + 1)); fi
done < <(find . {types} -print0)
cd -- "$dest" || exit 1
find . -type f ! -path ./{manifest} -printf '%P\0' | sort -z | xargs -0 -r sha256sum -z -- > "{manifest}"
echo "{moved}=$moved {kept}=$kept"
[ "$kept" -eq 0 ]
"""

PYTHON = r"""#!/usr/bin/python3
import filecmp, hashlib, os, shutil, stat, sys
if len(sys.argv) != 3 or not os.path.isdir(sys.argv[1]):
    sys.exit({usage})
src, dest = (os.path.abspath(os.fsencode(a)) for a in sys.argv[1:])
lock = "{lock}"
if lock:
    try:
        with open(lock) as f:
            pid = int(f.read())
        os.kill(pid, 0)
        sys.exit({busy})
    except PermissionError:
        sys.exit({busy})
    except (OSError, ValueError):
        pass
    os.makedirs(os.path.dirname(lock), exist_ok=True)
    with open(lock, "w") as f:
        f.write(str(os.getpid()))
os.makedirs(dest, exist_ok=True)
counts = [0, 0]
for folder, folders, names in os.walk(src):
    for name in names + folders:
        here = os.path.join(folder, name)
        path = os.path.relpath(here, src)
        mode = os.lstat(here).st_mode
        link = stat.S_ISLNK(mode)
        if not (stat.S_ISREG(mode) or link and {links}):
            continue
        there = os.path.join(dest, path)
        ok = path != b"{manifest}"
        if ok and os.path.lexists(there):
            if link or os.path.islink(there):
                ok = link and os.path.islink(there) and os.readlink(here) == os.readlink(there)
            else:
                ok = os.path.isfile(there) and filecmp.cmp(here, there, shallow=False)
            if ok:
                os.remove(here)
        elif ok:
            try:
                os.makedirs(os.path.dirname(there), exist_ok=True)
                shutil.copy2(here, there + b".tmp~", follow_symlinks=False)
                os.rename(there + b".tmp~", there)
                os.remove(here)
            except OSError:
                ok = False
        counts[0 if ok else 1] += 1
records = []
for folder, folders, names in os.walk(dest):
    for name in names:
        full = os.path.join(folder, name)
        path = os.path.relpath(full, dest)
        if not os.path.islink(full) and os.path.isfile(full) and path != b"{manifest}":
            with open(full, "rb") as f:
                records.append((path, hashlib.sha256(f.read()).hexdigest().encode()))
with open(os.path.join(dest, b"{manifest}"), "wb") as f:
    for path, digest in sorted(records):
        f.write(digest + b"  " + path + b"\0")
if lock:
    os.remove(lock)
print("{moved}=%d {kept}=%d" % tuple(counts))
sys.exit(1 if counts[1] else 0)
"""

Entry = list[str | int]  # path (latin-1 for raw bytes), data, mode or "link"/"dir", mtime
ODD = (
    "two words",
    " lead",
    "trail ",
    "a  b",
    "star*",
    "que?ry",
    "[abc]",
    "-rf",
    "--help",
    "-n",
    "new\nline",
    "\nfirst",
    "last\n",
    "tab\there",
    "back\\slash",
    "end\\",
    "dollar$HOME",
    "$(id)",
    "`x`",
    "'single'",
    '"double"',
    ";rm",
    "&amp",
    "#hash",
    "~tilde",
    "!bang",
    ".hidden",
    "caf\xc3\xa9",
    "bad\xff\xfebytes",
    "%s",
)


def draw_case(draw: Draw, manifest: str, kind: str, number: int, hard: bool) -> dict[str, object]:
    """A source tree, what is already in the destination, and by the stated rules what both hold afterwards."""
    words = draw.sample(HOST_WORDS, 12)
    odd = draw.shuffled(ODD)
    files: list[Entry] = []
    there: list[Entry] = []
    left: dict[str, Entry] = {}
    arrived: dict[str, Entry] = {}

    def stamp() -> tuple[int, int]:
        return draw.pick((0o600, 0o644, 0o640, 0o755, 0o444)), draw.between(900_000_000, 1_600_000_000)

    def add(path: str, clash: str = "") -> None:
        """A source file; `clash` says what occupies its place."""
        text = f"{draw.pick(words)} {draw.between(0, 10**6)}\n" * draw.between(0, 3)
        here: Entry = [text, *stamp()]
        files.append([path, *here])
        if clash in ("other", "equal"):
            old: Entry = [text if clash == "equal" else f"older {draw.between(0, 999)}\n" + text, *stamp()]
            there.append([path, *old])
            arrived[path] = old
        elif clash == "folder":
            there.append([path, "", "dir", 0])
        elif clash == "parent":
            blocker: Entry = [f"in the way {draw.between(0, 999)}", *stamp()]
            there.append([path.split("/")[0], *blocker])
            arrived[path.split("/")[0]] = blocker
        if clash in ("other", "folder", "parent", "reserved"):
            left[path] = here
        elif clash != "equal":
            arrived[path] = here

    def link(path: str, clash: str = "") -> None:
        entry: Entry = [draw.pick(("no such\nplace", "/etc/hostname", "../" + words[0], "two words")), "link", 0]
        files.append([path, *entry])
        if clash:
            old: Entry = [entry[0] if clash == "equal" else "elsewhere", "link", 0]
            there.append([path, *old])
            arrived[path] = old
        if clash == "other":
            left[path] = entry
        elif not clash:
            arrived[path] = entry

    if kind == "names":
        part = odd[number * 8 % len(ODD) :][:8] or odd[:8]
        for place, name in enumerate(part):
            add(name if place % 2 else f"{part[place - 1]}dir/{name}")
        add("new\nline and -blank")
        add(f"{words[0]}/{manifest}")
        if hard:
            link(f"{words[1]}/-link\nname")
            link(f"{words[2]} dangling")
    else:
        clashes = ["other", "equal", "folder", "parent", "other", ""]
        for place, clash in enumerate(clashes):
            name = draw.pick(odd) if number and place != 5 else f"{words[place]}.dat"
            add(f"{words[place]}_{place}/{name}" if clash in ("parent", "equal") else f"{place}{name}", clash)
        if number != 1:
            add(manifest, "reserved")
        there.append(["old/" + words[7], *(old := [f"stays {draw.between(0, 999)}\n", *stamp()])])
        arrived["old/" + words[7]] = old
        if hard:
            link(words[8] + " l", "equal")
            link(words[9] + " l", "other")
    src, dest = f"{words[10]} in", f"{words[11]}/out put"
    relative = number % 2 == 1
    if relative:
        src, dest = "-" + src, "-" + dest
    kept = len(left)
    return {
        "label": f"{kind} {number}",
        "kind": kind,
        "src": src,
        "dest": dest,
        "relative": relative,
        "files": files,
        "there": there,
        "left": left,
        "arrived": arrived,
        "counts": [len(files) - kept, kept],
        "code": 1 if kept else 0,
    }


def draft(draw: Draw) -> Draft:
    """One repair."""
    world = draw.setting(SETTINGS)
    hard = draw.difficulty is Difficulty.HARD
    script = f"{world.home}/{world.script}"
    usage, busy = draw.pick((2, 64, 66)), draw.pick((4, 73, 75))
    lock = f"{world.home}/run/{world.manifest.lower()}.lock"
    words: dict[str, object] = {
        "script": script,
        "manifest": world.manifest,
        "moved": world.moved,
        "kept": world.kept,
        "usage": usage,
        "busy": busy,
        "lock": lock,
        "inbox": world.inbox,
        "firm": draw.pick(FIRMS),
        "thing": world.scenario,
        "persona": f"{draw.pick(FIRST_NAMES)} ({world.persona})",
        "ticket": draw.between(1000, 9999),
    }
    keys = [key for key in WORDINGS if hard or key not in ("links", "lock")]
    sentences = {key: draw.pick(WORDINGS[key]).format(**words) for key in keys}
    live = draw.pick(LIVE).format(**words)
    mark = draw.pick(("- {}\n", "* {}\n", "{}\n", "{}\n\n"))
    rules = "".join(mark.format(sentences[key]) for key in keys).strip()

    cases = [
        draw_case(draw, world.manifest, "names", number, hard) for number in range(draw.by_difficulty(medium=4, hard=6))
    ]
    cases += [
        draw_case(draw, world.manifest, "conflict", number, hard)
        for number in range(draw.by_difficulty(medium=3, hard=5))
    ]
    for case in cases:
        moved, kept = case.pop("counts")  # type: ignore[misc]
        case["last"] = f"{world.moved}={moved} {world.kept}={kept}"
    inbox = {
        f"{word} {number}.bin": f"{word} {draw.between(0, 10**9)}\n"
        for number, word in enumerate(draw.sample(HOST_WORDS, 5))
    }

    def fill(text: str) -> str:
        for key in ("script", "manifest", "moved", "kept", "usage", "busy", "lock"):
            text = text.replace(f"{{{key}}}", str(words[key]))
        return text.replace("{types}", "\\( -type f -o -type l \\)" if hard else "-type f")

    lines = REPAIRED.splitlines(keepends=True)
    repaired = fill(
        "".join(line.replace(" #lock", "").replace(" #source", "") for line in lines if hard or " #lock" not in line)
    )
    careless = fill(
        "".join(
            line.replace(" #lock", "") for line in lines if " #source" not in line and (hard or " #lock" not in line)
        )
    )
    python = fill(PYTHON.replace("{links}", str(hard)).replace("{lock}", lock if hard else ""))
    newline_blind = repaired.replace("read -r -d ''", "read -r").replace("-print0)", "-print)")
    overwrites = repaired.replace('if [ -e "$target" ] || [ -L "$target" ]; then', "if false; then").replace(
        "mv -nT", "mv -f"
    )
    misses = [
        Miss("quotes_only", "still reads names line by line", install(script, newline_blind), ["test_awkward_names"]),
        Miss(
            "overwrites",
            "mv -f replaces what is there, or moves into a directory",
            install(script, overwrites),
            ["test_conflicts"],
        ),
        Miss(
            "unchecked_source",
            "goes on without a usable source",
            install(script, careless.replace(f"|| exit {usage}", "|| :")),
            ["test_bad_source"],
        ),
    ]
    weights = {"test_awkward_names": 0.45, "test_conflicts": 0.4, "test_bad_source": 0.15}
    if hard:
        weights = {"test_awkward_names": 0.35, "test_conflicts": 0.3, "test_bad_source": 0.15, "test_lock": 0.2}
        stubborn = repaired.replace('if [ -n "$pid" ] && [ -d "/proc/$pid" ]; then', "if true; then")
        misses.append(
            Miss("stale_lock", "an interrupted run blocks all later ones", install(script, stubborn), ["test_lock"])
        )
    broken = fill(BROKEN)
    return Draft(
        title=f"Stop {script} from losing files",
        setting=world,
        instruction=world.text.format(rules=rules, live=live, **words),
        files={
            "program": (broken, 0o755),
            "stale.lock": "4999999\n",
            **{f"inbox/{name}": text for name, text in inbox.items()},
        },
        dockerfile=f"COPY program {script}\nCOPY inbox/ {world.inbox}/\n"
        + (f"COPY stale.lock {lock}\n" if hard else "")
        + f"WORKDIR {world.home}",
        truth={
            "script": script,
            "manifest": world.manifest,
            "inbox": world.inbox,
            "lock": lock,
            "usage": usage,
            "busy": busy,
            "live": {name: hashlib.sha256(text.encode()).hexdigest() for name, text in inbox.items()},
            "cases": cases,
        },
        discoverable=("script", "manifest", "inbox", "lock", "cases"),
        tests=TESTS + (TESTS_LOCK if hard else ""),
        weights=weights,
        guards=["test_plain_names", "test_live_inbox"],
        initial=INITIAL,
        solution=install(script, repaired),
        alternatives=[install(script, python)],
        misses=misses,
        requirements=[*((sentences[key], TESTED_BY[key]) for key in keys), (live, ["test_live_inbox"])],
        knobs={"cases": len(cases), "links": hard, "lock": hard},
    )


def install(script: str, text: str) -> str:
    """Put a program at its path."""
    return f"cat > {script} <<'END_OF_PROGRAM'\n{text}END_OF_PROGRAM\nchmod 755 {script}\n"


FAMILY = Family(
    name="lossy_shell_script",
    domain="debugging",
    verifier=Verifier.ADVERSARIAL_CORPUS,
    skills=("shell quoting", "file name safety", "exit status handling", "locking"),
    difficulties=(Difficulty.MEDIUM, Difficulty.HARD),
    capacity=48,
    draft=draft,
    command_complexity="bash",
)
