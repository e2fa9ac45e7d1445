python3 - <<'PY'
import json, os, re, stat
K = json.loads('''@SPEC@''')
scopes, lines = [], []
for text in open(K["manifest"]):
    f = text.split()
    if not f or text.startswith("#"):
        continue
    if f[0] == K["allow"]:
        if len(f) < 5 or f[4] >= K["today"]:
            lines.append((re.compile("[^/]*".join(re.escape(x) for x in f[2].split("*"))), int(f[1], 8), f[2]))
    else:
        scopes.append((f[1], f[0] == K["managed"]))
def ours(path):
    found = [(len(top), mine) for top, mine in scopes if path == top or path.startswith(top + "/")]
    return bool(found) and max(found)[1]
changed = []
for folder, dirs, files in os.walk(K["root"]):
    for name in dirs + files:
        place = os.path.join(folder, name)
        path = place[len(K["root"]):]
        mode = os.lstat(place).st_mode
        if stat.S_ISLNK(mode):
            continue
        old = stat.S_IMODE(mode)
        want = old & ~(0o7002 if stat.S_ISREG(mode) else 0o5002)
        for pattern, line_mode, _ in lines:
            if pattern.fullmatch(path):
                want = line_mode
        if ours(path):
            if want != old:
                os.chmod(place, want)
                changed.append({K["path"]: path, K["was"]: "%04o" % old, K["now"]: "%04o" % want})
missing = sorted(p for _, _, p in lines if "*" not in p and not os.path.lexists(K["root"] + p) and ours(p))
changed.sort(key=lambda row: row[K["path"]])
json.dump({K["changed"]: changed, K["missing"]: missing}, open(K["report"], "w"), indent=1)
PY
