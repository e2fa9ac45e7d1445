cat > /tmp/restore.py <<'PY'
import glob, hashlib, json, os
from datetime import datetime, timedelta, timezone
C = json.loads('''@CONFIG@''')
ID, TYPE, PARENT, TAKEN, FINISHED, STATE = C["keys"]
DATA, SUMS, GONE = C["parts"]
CHANGE = datetime.fromisoformat(C["change"].replace("Z", "+00:00"))
def instant(text):
    when = datetime.fromisoformat(text.replace("Z", "+00:00"))
    if when.tzinfo is None:
        when = when.replace(tzinfo=timezone(timedelta(hours=1)))
        if when >= CHANGE:
            when -= timedelta(hours=1)
    return when.astimezone(timezone.utc)
MOMENT = instant(C["moment"])
def read(path):
    return open(path, "rb").read()
def paths(root):
    return [os.path.relpath(os.path.join(at, n), root) for at, _, names in os.walk(root) for n in names]
sets = {}
for folder in glob.glob(C["repository"] + "/*"):
    text = open(os.path.join(folder, C["info"])).read()
    if C["info"].endswith(".json"):
        facts = json.loads(text)
    else:
        facts = dict((part.strip() for part in line.split("=", 1)) for line in text.splitlines())
    facts["folder"], facts["instant"] = folder, instant(facts[TAKEN])
    sets[facts[ID]] = facts
def own_ok(facts):
    for line in open(os.path.join(facts["folder"], SUMS)).read().splitlines():
        digest, path = line.split("  ", 1)
        full = os.path.join(facts["folder"], DATA, path)
        if not os.path.isfile(full) or hashlib.sha256(read(full)).hexdigest() != digest:
            return False
    return facts[STATE] == C["fine"]
def chain(name):
    names = []
    while name:
        names.insert(0, name)
        name = sets[name][PARENT] if name in sets else ""
    return names
own = {name: own_ok(facts) for name, facts in sets.items()}
usable = {name for name in sets if all(own.get(n, False) for n in chain(name))}
before = sorted((n for n in usable if sets[n]["instant"] <= MOMENT), key=lambda n: sets[n]["instant"])
chosen = before[-1]
files = {}
def remove(path):
    for name in [n for n in files if n == path or (path.endswith("/") and n.startswith(path))]:
        del files[name]
for name in chain(chosen):
    folder = sets[name]["folder"]
    if os.path.exists(os.path.join(folder, GONE)):
        for line in open(os.path.join(folder, GONE)).read().splitlines():
            remove(line)
    data = os.path.join(folder, DATA)
    for path in paths(data):
        files[path] = read(os.path.join(data, path))
applied = 0
if C["log"]:
    number, time, verb, path, text = C["fields"]
    entries = {}
    for part in glob.glob(C["log"] + "/*"):
        for line in open(part):
            entry = json.loads(line)
            entries[entry[number]] = entry
    for entry in sorted(entries.values(), key=lambda e: (instant(e[time]), e[number])):
        if sets[chosen]["instant"] < instant(entry[time]) <= MOMENT:
            applied += 1
            if entry[verb] == C["verbs"][0]:
                files[entry[path]] = entry[text].encode()
            else:
                remove(entry[path])
for path, body in files.items():
    full = os.path.join(C["target"], path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    open(full, "wb").write(body)
last = {sets[n]["instant"].date(): n for n in before}
kept = {n for day in sorted(last)[-C["days"]:] for n in chain(last[day])}
a = C["answers"]
report = {a[0]: chosen, a[1]: chain(chosen), a[2]: sorted(set(sets) - usable),
          a[3]: sorted(n for n, facts in sets.items() if facts["instant"] <= MOMENT and n not in kept)}
if C["log"]:
    report[a[4]] = applied
json.dump(report, open(C["report"], "w"))
PY
python3 /tmp/restore.py
