python3 - <<'PY'
import glob, hashlib, json, os, zlib
from urllib.parse import unquote
C = json.loads('''@CONFIG@''')
NO, GEN, TX, OP, PATH, ARG, SUM = range(7)
best = {}
for name in sorted(glob.glob(C["journal"] + "/*")):
    for line in open(name, encoding="utf-8").read().split("\n"):
        if C["lines"] == "json":
            try:
                row = [str(json.loads(line)[key]) for key in C["fields"]]
            except ValueError:
                continue
        else:
            row = [unquote(part) for part in line.split("\t")]
        if len(row) != len(C["fields"]):
            continue
        if not C["hard"]:
            row.insert(GEN, "0")
        elif row[SUM] != "%08x" % zlib.crc32("|".join(row[:SUM]).encode()):
            continue
        number = int(row[NO])
        if number not in best or int(row[GEN]) > int(best[number][GEN]):
            best[number] = row
files = {}
for at, _, names in os.walk(C["snapshot"]):
    for name in names:
        full = os.path.join(at, name)
        files[os.path.relpath(full, C["snapshot"])] = open(full, "rb").read()
last = int(open(C["mark"]).read())
def folder(path):
    return any(name.startswith(path + "/") for name in files)
def blocked(path):
    parts = path.split("/")
    return folder(path) or any("/".join(parts[:n]) in files for n in range(1, len(parts)))
def act(op, path, arg):
    if op == "write":
        if blocked(path):
            return False
        files[path] = arg.encode()
    elif op == "append":
        if path not in files:
            return False
        files[path] += arg.encode()
    elif op == "delete":
        gone = [name for name in files if name == path or name.startswith(path + "/")]
        for name in gone:
            del files[name]
        return bool(gone)
    elif op == "copy":
        if path not in files or blocked(arg):
            return False
        files[arg] = files[path]
    elif op == "swap":
        if path not in files or arg not in files:
            return False
        files[path], files[arg] = files[arg], files[path]
    elif op == "move":
        if path in files:
            if blocked(arg) or arg == path:
                return False
            files[arg] = files.pop(path)
        else:
            inner = [name for name in files if name.startswith(path + "/")]
            if not inner or arg in files or blocked(arg) or (arg + "/").startswith(path + "/"):
                return False
            for name in inner:
                files[arg + name[len(path):]] = files.pop(name)
    return True
words = dict(zip(C["verbs"], C["meaning"]))
waiting, open_names, skipped = {}, set(), []
numbers = sorted(number for number in best if number > last)
if C["hard"]:
    expected = range(last + 1, last + 1 + len(numbers))
    numbers = [n for n, want in zip(numbers, expected) if n == want]  # stop at the first gap
for number in numbers:
    row = best[number]
    op, tx = words[row[OP]], row[TX]
    if op == "begin":
        waiting[tx] = []
        open_names.add(tx)
    elif op == "abort":
        waiting.pop(tx, None)
        open_names.discard(tx)
    elif op == "commit":
        open_names.discard(tx)
        before = dict(files)
        for inner in waiting.pop(tx, []):
            if not act(words[inner[OP]], inner[PATH], inner[ARG]):
                skipped.append(int(inner[NO]))
                if C["hard"]:
                    files.clear()
                    files.update(before)
                    break
    elif tx:
        waiting.setdefault(tx, []).append(row)
    elif not act(op, row[PATH], row[ARG]):
        skipped.append(number)
os.makedirs(C["target"])
listing = hashlib.sha256()
for path in sorted(files, key=str.encode):
    full = os.path.join(C["target"], path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    open(full, "wb").write(files[path])
    listing.update(("%s  %s\n" % (hashlib.sha256(files[path]).hexdigest(), path)).encode())
values = listing.hexdigest(), len(files), sorted(skipped), sorted(open_names)
json.dump(dict(zip(C["keys"], values)), open(C["report"], "w"))
PY
