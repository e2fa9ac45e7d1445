import json, os
spec = json.load(open("/setup/tree.json"))
os.makedirs(spec["root"], exist_ok=True)
os.makedirs(os.path.dirname(spec["report"]), exist_ok=True)
for path, kind, body, mode, uid, gid, when in spec["entries"]:
    full = os.path.join(spec["root"], path)
    if kind == "d":
        os.makedirs(full, exist_ok=True)
    elif kind == "l":
        os.symlink(body, full)
    else:
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w") as out:
            out.write(body)
for path, kind, body, mode, uid, gid, when in reversed(spec["entries"]):
    full = os.path.join(spec["root"], path)
    os.chown(full, uid, gid, follow_symlinks=False)
    if kind != "l":
        os.chmod(full, mode)
    os.utime(full, (when, when), follow_symlinks=False)
