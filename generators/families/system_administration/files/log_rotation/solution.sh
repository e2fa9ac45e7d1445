cd @F@ && python3 - <<'PY'
import gzip, os, re, shutil
from datetime import date
DAY = date.fromisoformat("@D@")
def fits(pattern, text):
    return re.fullmatch("[^/]*".join(map(re.escape, pattern.split("*"))), text) is not None
base, sections, current = {}, [], None
for line in open("@P@"):
    line = line.strip()
    if not line or line.startswith("#"):
        continue
    if line[0] == "[":
        kind, pattern = line[1:-1].split()
        current = {}
        sections.append((kind, pattern, current))
    else:
        key, value = line.split(None, 1)
        (base if current is None else current)[key] = value
def settings(path, owner):
    out = dict(base)
    chosen = [s for s in sections if s[0] == "owner" and fits(s[1], owner)]
    chosen += [s for s in sections if s[0] == "path" and fits(s[1], path)]
    for s in chosen:
        out.update(s[2])
    return out
rows = [line.rstrip("\n").split("\t") for line in open("@S@")]
for row in rows:
    path, last, owner = row
    s = settings(path, owner)
    full = "logs/" + path
    limit = int(s["size"][:-1]) * 1024 if s["size"].endswith("k") else int(s["size"])
    size = os.path.getsize(full)
    due = size > limit or (DAY - date.fromisoformat(last)).days >= int(s["days"])
    if size == 0 or not due:
        continue
    row[1] = DAY.isoformat()
    folder, name = os.path.split(full)
    place = os.path.join(folder, s["archive"]) if "archive" in s else folder
    os.makedirs(place, exist_ok=True)
    dated = s.get("names") == "dated"
    found = []
    for item in os.listdir(place):
        m = re.fullmatch(re.escape(name) + (r"-(\d{8})" if dated else r"\.(\d+)") + r"(\.gz)?", item)
        if m:
            found.append((int(m[1]), m[2] or ""))
    keep, made = int(s["keep"]), []
    found.sort(reverse=True)
    if dated:
        today = DAY.strftime("%Y%m%d")
        for n, gz in found[max(keep - 1, 0):]:
            os.remove(f"{place}/{name}-{n}{gz}")
        plain = [f"{place}/{name}-{n}" for n, gz in found[:max(keep - 1, 0)] if not gz]
        new = f"{place}/{name}-{today}"
    else:
        plain = []
        for n, gz in found:
            if n + 1 > keep:
                os.remove(f"{place}/{name}.{n}{gz}")
            else:
                os.rename(f"{place}/{name}.{n}{gz}", f"{place}/{name}.{n + 1}{gz}")
                if not gz:
                    plain.append(f"{place}/{name}.{n + 1}")
        new = f"{place}/{name}.1"
    if keep:
        os.rename(full, new)
    else:
        os.remove(full)
    todo = plain if s["compress"] != "never" else []
    if s["compress"] == "now" and keep:
        todo.append(new)
    for item in todo:
        with open(item, "rb") as source, gzip.open(item + ".gz", "wb") as target:
            shutil.copyfileobj(source, target)
        shutil.copymode(item, item + ".gz")
        os.remove(item)
    open(full, "w").close()
    os.chmod(full, int(s["mode"], 8))
with open("@S@", "w") as out:
    out.writelines("\t".join(row) + "\n" for row in rows)
PY
