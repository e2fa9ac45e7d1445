#!/usr/bin/python3 -IS
import filecmp, hashlib, os, stat, sys
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
                try:
                    os.rename(here, there)
                except OSError:
                    import shutil
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
