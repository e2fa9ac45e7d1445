cat > /tmp/rename.py <<'PY'
import csv, json, os, re, unicodedata
from datetime import date
C = json.loads(r'''@CONFIG@''')
OLD, NEW = re.compile(C["old"]), re.compile(C["new"])
def nfc(name):
    return unicodedata.normalize("NFC", name) if C["hard"] else name
def key(name):
    return nfc(name).casefold() if C["deep"] else name
given = {}
if C["deep"]:
    given = {row["path"]: row["name"] for row in csv.DictReader(open(C["given"], encoding="utf-8", newline=""))}
plan = {}
for at, _, names in os.walk(C["root"]):
    here = os.path.relpath(at, C["root"])
    final, wishes = {}, []
    side = {n: n[:-len(C["side"])] for n in names if C["hard"] and n.endswith(C["side"])}
    side = {n: owner for n, owner in side.items() if owner in names}
    for name in names:
        old, new = OLD.fullmatch(nfc(name)), NEW.fullmatch(nfc(name))
        part = (old or new).groupdict() if old or new else {}
        try:
            date(int(part["y"]), int(part["m"]), int(part["d"]))
        except (KeyError, ValueError):
            old = new = None
        if new and part["word"] != part["word"].lower():
            new = None
        path = os.path.normpath(os.path.join(here, name))
        if name in side:
            continue
        if path in given:
            final[name] = given[path]
        elif old or new:
            number = int(part["n"]) + (0 if old else C["step"])
            word = part["word"].lower().replace(" ", "-")
            y, m, d = int(part["y"]), int(part["m"]), int(part["d"])
            wishes.append((name, C["made"].format(word=word, n=number, e=part["e"].lower(), y=part["y"], m=m, d=d)))
        else:
            final[name] = nfc(name)
    taken = {key(name) for name in final.values()}
    for name, wish in sorted(wishes, key=lambda pair: pair[0].encode()):
        stem, ending = wish.rsplit(".", 1)
        number, pick = 2, wish
        while key(pick) in taken:
            pick = "%s-%d.%s" % (stem, number, ending)
            number += 1
        taken.add(key(pick))
        final[name] = pick
    for name, owner in side.items():
        final[name] = final[owner] + C["side"]
    if C["hard"] and C["listing"] in names:
        full = os.path.join(at, C["listing"])
        lines = open(full, encoding="utf-8").read().split("\n")
        open(full, "w", encoding="utf-8").write("\n".join(final.get(line, line) for line in lines))
    for old, new in final.items():
        if old != new:
            plan[os.path.normpath(os.path.join(here, old))] = os.path.normpath(os.path.join(here, new))
os.chdir(C["root"])
for number, old in enumerate(plan):
    os.rename(old, ".moving-%d" % number)
for number, new in enumerate(plan.values()):
    os.rename(".moving-%d" % number, new)
with open(C["log"], "w", encoding="utf-8") as log:
    for old in sorted(plan, key=str.encode):
        if C["kind"] == "jsonl":
            log.write(json.dumps({"from": old, "to": plan[old]}) + "\n")
        else:
            log.write(old + "\t" + plan[old] + "\n")
PY
python3 /tmp/rename.py
