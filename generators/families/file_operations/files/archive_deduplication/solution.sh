python3 - <<'PY'
import csv, json, os, re
C = json.loads('''@CONFIG@''')
root, out, mode = C["root"], C["out"], C["mode"]
groups, links = {}, []
for at, folders, names in os.walk(root):
    if C["marker"] in names:
        folders[:] = []
        continue
    for name in names:
        full = os.path.join(at, name)
        if os.path.islink(full):
            links.append(full)
        elif os.path.getsize(full) > 0:
            groups.setdefault(open(full, "rb").read(), []).append(os.path.relpath(full, root))
def rank(path):
    stem = os.path.basename(path).rpartition(".")[0]
    marked = re.search(r"([- ]copy|\(\d+\))$", stem, re.I) is not None
    inside = path.startswith(C["master"] + "/") if C["master"] else False
    return (not inside, marked, os.stat(os.path.join(root, path)).st_mtime, path.encode())
pairs, freed, sets = [], 0, 0
for content, paths in groups.items():
    kept, *rest = sorted(paths, key=rank)
    sets += bool(rest)
    for copy in rest:
        pairs.append((copy, kept))
        freed += len(content)
home = dict(pairs)
for copy, kept in sorted(pairs):
    full = os.path.join(root, copy)
    if mode == "quarantine":
        aside = os.path.join(out, "aside", copy)
        os.makedirs(os.path.dirname(aside), exist_ok=True)
        os.system("mv '%s' '%s'" % (full, aside))
    else:
        os.remove(full)
    if mode == "link":
        os.link(os.path.join(root, kept), full)
if mode != "link":
    for link in links:
        target = os.path.relpath(os.path.join(os.path.dirname(link), os.readlink(link)), root)
        if target in home:
            os.remove(link)
            os.symlink(os.path.relpath(os.path.join(root, home[target]), os.path.dirname(link)), link)
with open(os.path.join(out, "index." + C["index"]), "w") as index:
    if C["index"] == "csv":
        index.write("kept,copy\n")
    for copy, kept in sorted(pairs, key=lambda pair: pair[0].encode()):
        if C["index"] == "jsonl":
            index.write(json.dumps({"kept": kept, "copy": copy}) + "\n")
        else:
            index.write(kept + ("," if C["index"] == "csv" else "\t") + copy + "\n")
json.dump(dict(zip(C["keys"], (sets, len(pairs), freed))), open(os.path.join(out, "summary.json"), "w"))
PY
