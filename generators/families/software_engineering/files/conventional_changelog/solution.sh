cd @REPO@ && python3 - <<'PY'
import re, subprocess
def git(*args):
    return subprocess.run(["git", *args], capture_output=True, text=True, check=True).stdout
tags = [t for t in git("tag", "--merged", "HEAD").split() if re.fullmatch(r"v\d+\.\d+\.\d+", t)]
base = max(tags, key=lambda t: tuple(map(int, t[1:].split("."))))
head = re.compile(r"(feat|fix|perf|docs|chore|refactor|test)(?:\(([^()]*)\))?(!?): (.+)")
log = git("log", "--topo-order", "--format=%H%x1f%P%x1f%B%x1e", base + "..HEAD")
commits = [c.strip("\n").split("\x1f") for c in log.split("\x1e") if c.strip()]
fresh = {c[0] for c in commits}
gone, entries, reverts = set(), [], []
for sha, parents, message in commits:
    if sha in gone or " " in parents:
        continue
    lines = message.split("\n")
    back = re.search(r"^This reverts commit ([0-9a-f]{40})\.$", message, re.M)
    if back:
        if back[1] in fresh:
            gone.add(back[1])
        else:
            reverts.append(("", lines[0][len('Revert "'):-1]))
        continue
    squash = re.search(r" (\(#\d+\))$", lines[0])
    parts = [m for m in (head.fullmatch(l[2:]) for l in lines[1:] if l.startswith("* ")) if m]
    if squash and parts:
        parts = [(*m.groups()[:3], m[4] + " " + squash[1]) for m in parts]
    else:
        m = head.fullmatch(lines[0])
        parts = [m.groups()] if m else []
    footers = [l.split(":", 1)[1].strip() for l in lines if re.match(r"BREAKING[ -]CHANGE:", l)]
    for kind, scope, bang, text in parts:
        breaking = None
        if bang or footers:
            breaking = footers[0] if footers else text
        entries.append((kind, scope or "", text, breaking))
a, b, c = map(int, base[1:].split("."))
broken, feats = any(e[3] for e in entries), any(e[0] == "feat" for e in entries)
if broken:
    new = (a + 1, 0, 0) if a else (a, b + 1, 0)
elif feats and a:
    new = (a, b + 1, 0)
else:
    new = (a, b, c + 1)
version = ".".join(map(str, new))
out = ["## " + version]
groups = [[(e[1], e[3]) for e in entries if e[3]]]
groups += [[(e[1], e[2]) for e in entries if e[0] == k] for k in ("feat", "fix", "perf")] + [reverts]
for title, rows in zip(@TITLES@, groups):
    if rows:
        out += ["", "### " + title, ""]
        out += [("@SCOPED@" if s else "@BARE@").format(scope=s, text=t) for s, t in sorted(rows)]
open("@NOTES@", "w").write("\n".join(out) + "\n")
open("@VERSION@", "w").write(version + "\n")
PY
