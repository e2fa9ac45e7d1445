python3 - <<'PY'
import json, os, re, stat
from datetime import datetime
from urllib.parse import unquote
C = json.loads('''@CONFIG@''')
def rows(path, fields):
    for line in open(path, encoding="utf-8").read().split("\n"):
        if not line:
            continue
        if C["kind"] == "jsonl":
            row = json.loads(line)
            row = [str(row[name]) for name in fields]
        elif C["kind"] == "tab":
            row = line.split("\t")
            row[-1] = unquote(row[-1])
        else:
            row = [part.split("=", 1)[1] for part in line.split(" ")]
            raw = re.sub(rb"\\([0-7]{3})", lambda m: bytes([int(m[1], 8)]), row[-1].encode())
            row[-1] = raw.decode()
        yield row
def seconds(text):
    return int(text) if text.isdigit() else int(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp())
def below(path, top):
    return top == "." or path == top or path.startswith(top + "/")
wanted = {}
for kind, mode, uid, gid, when, path in rows(C["manifest"], C["fields"]):
    bits = 0 if mode == "-" else int(mode, 8)
    wanted[path] = {"kind": kind, "mode": bits, "uid": int(uid), "gid": int(gid), "when": seconds(when)}
frozen = []
if C["medium"]:
    frozen = json.load(open(C["frozen"]))
    for scope, kind, name, value, top in rows(C["overrides"], C["ofields"]):
        key = dict(zip(C["fields"][1:5], ("mode", "uid", "gid", "when")))[name]
        for path, entry in wanted.items():
            if (path == top if scope == "only" else below(path, top)) and kind in ("*", entry["kind"]):
                if key == "mode":
                    bits = int(value.lstrip("+-"), 8)
                    old = entry["mode"]
                    entry["mode"] = old | bits if value[0] == "+" else old & ~bits if value[0] == "-" else bits
                else:
                    entry[key] = seconds(value) if key == "when" else int(value)
missing, ready = [], []
for path in sorted(wanted):
    entry, full = wanted[path], os.path.join(C["root"], path)
    if any(below(path, top) for top in frozen):
        continue
    if entry["kind"] == "d" and not os.path.lexists(full):
        os.makedirs(full)
    try:
        mode = os.lstat(full).st_mode
        kind = "l" if stat.S_ISLNK(mode) else "d" if stat.S_ISDIR(mode) else "f"
    except OSError:
        kind = ""
    if kind != entry["kind"]:
        missing.append(path)
        continue
    ready.append((full, entry))
for full, entry in ready:
    os.chown(full, entry["uid"], entry["gid"], follow_symlinks=False)
    if entry["kind"] != "l":
        os.chmod(full, entry["mode"])
for full, entry in ready:
    os.utime(full, (entry["when"], entry["when"]), follow_symlinks=False)
json.dump(sorted(missing, key=str.encode), open(C["report"], "w"))
PY
