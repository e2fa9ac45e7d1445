#!/usr/bin/python3 -I
import os, re, shutil, sys, tarfile
MEMBERS, SIZE, DEPTH, HARD = @MEMBERS@, @SIZE@, @DEPTH@, @HARD@
TYPE, NAME, LINK, CLASH, BYTES, COUNT = @REASONS@
archive, dest = sys.argv[1:]
if os.path.lexists(dest) and (os.path.islink(dest) or not os.path.isdir(dest) or os.listdir(dest)):
    sys.exit(@OCCUPIED@)
def parts(name):
    return tuple(p for p in name.split("/") if p not in ("", "."))
def refuse(number, reason):
    print(number, reason)
    sys.exit(@REFUSED@)

try:
    tar = tarfile.open(archive, "r:*" if HARD else "r:")
    members = tar.getmembers()
except (OSError, EOFError, tarfile.TarError):
    sys.exit(@UNREADABLE@)
taken, total = {}, 0
for number, m in enumerate(members, 1):
    name, path = m.name, parts(m.name)
    if number > MEMBERS:
        refuse(number, COUNT)
    if not (m.isreg() or m.isdir() or m.issym() or (HARD and m.islnk())):
        refuse(number, TYPE)
    if name.startswith("/") or ".." in path or len(path) > DEPTH or (not path and not m.isdir()):
        refuse(number, NAME)
    if HARD and re.search(r"[\x00-\x1f\x7f]", name):
        refuse(number, NAME)
    if m.issym():
        target = parts(m.linkname)
        climbs = 0
        while climbs < len(target) and target[climbs] == "..":
            climbs += 1
        if not m.linkname or m.linkname[0] == "/" or ".." in target[climbs:] or climbs >= len(path):
            refuse(number, LINK)
    if m.islnk() and (m.linkname[:1] == "/" or taken.get(parts(m.linkname)) != "f"):
        refuse(number, LINK)
    for n in range(1, len(path)):
        if taken.setdefault(path[:n], "d") != "d":
            refuse(number, CLASH)
    if path in taken and not (m.isdir() and taken[path] == "d"):
        refuse(number, CLASH)
    if path:
        taken[path] = "d" if m.isdir() else "l" if m.issym() else "f"
    if m.isreg():
        total += m.size
        if total > SIZE:
            refuse(number, BYTES)
os.umask(0o022)
os.makedirs(dest, exist_ok=True)
for m in members:
    path = parts(m.name)
    place = os.path.join(dest, *path)
    os.makedirs(place if m.isdir() else os.path.dirname(place), exist_ok=True)
    if m.issym():
        os.symlink(m.linkname, place)
    elif m.islnk():
        os.link(os.path.join(dest, *parts(m.linkname)), place)
    elif m.isreg():
        with open(place, "xb") as out:
            shutil.copyfileobj(tar.extractfile(m), out)
        os.chmod(place, m.mode & 0o755 | 0o600)
