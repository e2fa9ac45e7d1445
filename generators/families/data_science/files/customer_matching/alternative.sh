cd @FOLDER@ && python3 - <<'PY'
TRANSLATE = True
@COMMON@
from difflib import SequenceMatcher
from functools import lru_cache
@lru_cache(None)
def close(a, b):
    return SequenceMatcher(None, SHORT.get(a, a), SHORT.get(b, b)).ratio()
def points(l, r, names):
    total, born = 0, l["born"]
    d, m, y = (r["birth"].split(".") + ["", "", ""])[:3]
    if d:
        if born in (f"{y}-{m}-{d}", f"{y}-{d}-{m}"):
            total += 7
        elif sum(p != q for p, q in zip(born, f"{y}-{m}-{d}")) == 1:
            total += 5
        else:
            return -99
    f, s = plain(l["first"]), plain(l["last"])
    best = max((close(f, names[0]), close(s, names[1])), (close(f, names[1]), close(s, names[0])), key=sum)
    if best[0] < 0.7:
        return -99
    total += 4 + (5 if best[1] > 0.7 else -3)
    c = r["contact"]
    if "@" in c and c.lower() == l["email"].lower() or "@" not in c and digits(c) and digits(c) == digits(l["phone"]):
        total += 4
    if r["address"].lower().startswith(l["street"].lower()):
        total += 3
    return total
with open("links.csv", "w") as out:
    out.write("@A@,@B@\n")
    for r in right:
        names = (plain(r["name"].replace(",", " ")).split() + ["", ""])[:2]
        out.writelines(f"{l['@A@']},{r['@B@']}\n" for l in left if points(l, r, names) >= 12)
PY
