cd @FOLDER@ && python3 - <<'PY'
import csv, json, os
from datetime import datetime, timedelta, timezone
FORMAT = "%Y-%m-%dT%H:%M:%SZ"
first = datetime.strptime("@FIRST@", FORMAT)
step, slots = @STEP@ * 60, @SLOTS@
names = [(first + timedelta(seconds=step * i)).strftime(FORMAT) for i in range(slots)]
ahead = {}
if os.path.exists("clocks.csv"):
    ahead = {r["@D@"]: int(r["ahead_s"]) for r in csv.DictReader(open("clocks.csv"))}
rows = list(csv.DictReader(open("@SOURCE@")))
devices = sorted({r["@D@"] for r in rows})
raw = {d: [None] * slots for d in devices}
unit = {d: ["@STD@"] * slots for d in devices}
resent = dict.fromkeys(devices, 0)
for r in rows:
    d = r["@D@"]
    seconds = (datetime.strptime(r["@T@"], FORMAT) - first).total_seconds() - ahead.get(d, 0)
    i = int((seconds + step / 2) // step)
    if raw[d][i] is not None:
        resent[d] += 1
    raw[d][i] = r["@V@"]
    unit[d][i] = r.get("unit", "@STD@")
if os.path.exists("changes.csv"):
    for r in sorted(csv.DictReader(open("changes.csv")), key=lambda r: r["from"]):
        for i in range(names.index(r["from"]), slots):
            unit[r["@D@"]][i] = r["unit"]
faults = {}
with open("clean.csv", "w") as out:
    out.write("@D@,slot,value,status\n")
    for d in devices:
        f = dict.fromkeys(["stuck", "range", "spike"], 0)
        r = [None if v == "-999.00" else v for v in raw[d]]
        keep = [v is not None for v in r]
        i = 0
        while i < slots:
            j = i
            while j < slots and r[j] is not None and r[j] == r[i]:
                j += 1
            if j - i >= @STUCK@:
                f["stuck"] += j - i
                keep[i:j] = [False] * (j - i)
            i = max(j, i + 1)
        x = [None] * slots
        for i in range(slots):
            if keep[i]:
                v = float(r[i])
                x[i] = (v - @SHIFT@) * @FACTOR@ if unit[d][i] == "@OTH@" else v
                if not @LOW@ <= x[i] <= @HIGH@:
                    x[i] = None
                    f["range"] += 1
        J = @JUMP@
        bad = [i for i in range(1, slots - 1) if J and None not in x[i - 1:i + 2]
               and (x[i] - max(x[i - 1], x[i + 1]) > J or min(x[i - 1], x[i + 1]) - x[i] > J)]
        for i in bad:
            x[i] = None
        f["spike"] = len(bad)
        status = ["ok" if v is not None else "empty" for v in x]
        known = [i for i in range(slots) if x[i] is not None]
        for a, b in zip(known, known[1:]):
            if 1 < b - a <= @GAP@ + 1:
                for i in range(a + 1, b):
                    x[i] = x[a] + (x[b] - x[a]) * (i - a) / (b - a)
                    status[i] = "filled"
        for i in range(slots):
            out.write("%s,%s,%s,%s\n" % (d, names[i], "" if x[i] is None else "%.3f" % x[i], status[i]))
        values = [v for v in x if v is not None]
        faults[d] = {"resent": resent[d], **{k: f[k] for k in "@KEYS@".split()}, "filled": status.count("filled"),
                     "empty": status.count("empty"), "mean": round(sum(values) / len(values), 4)}
json.dump(faults, open("faults.json", "w"), indent=1)
PY
