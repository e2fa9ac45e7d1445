cd @FOLDER@ && python3 - <<'PY'
import csv, json, os
from collections import Counter, defaultdict
from datetime import datetime, timezone
from decimal import Decimal
from math import sqrt
def instant(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
DEEP = @DEEP@
first, arms, group = {}, defaultdict(set), {}
for r in csv.DictReader(open("@ASSIGNED@")):
    u, t = r["@UNIT@"], instant(r["assigned_at"])
    arms[u].add(r["arm"])
    group[u] = r["@GROUP@"]
    first[u] = min(first.get(u, t), t)
events, seen, hours = defaultdict(list), set(), Counter()
for r in csv.DictReader(open("@EVENTS@")):
    if r["id"] in seen:
        continue
    seen.add(r["id"])
    t = instant(r["at"])
    hours[r["@UNIT@"], t // 3600] += 1
    events[r["@UNIT@"]].append((t, r["event"], Decimal(r["amount"] or 0)))
crossed = {u for u in arms if len(arms[u]) > 1}
bots = {u for (u, h), n in hours.items() if n > @BOT@ and u in arms} - crossed
left = sorted(set(arms) - crossed - bots)
arm = {u: min(arms[u]) for u in arms}
def ratio(units):
    n = [sum(arm[u] == a for u in units) for a in ("@CONTROL@", "@TREATMENT@")]
    e = [sum(n) * (100 - @SHARE@) / 100, sum(n) * @SHARE@ / 100]
    x = sum((a - b) ** 2 / b for a, b in zip(n, e))
    return {"statistic": round(x, 6), "mismatch": x > @LIMIT@}
excluded = {"crossed": len(crossed), "bots": len(bots)}
if DEEP:
    check = {g: ratio([u for u in left if group[u] == g]) for g in sorted(set(group.values()))}
    keep = [u for u in left if not check[group[u]]["mismatch"]]
    excluded["@GROUP@"] = len(left) - len(keep)
    left = keep
else:
    check = ratio(left)
out, yes, y = {}, {}, {}
for u in left:
    mine = [e for e in events[u] if first[u] + 3600 * @NOVELTY@ <= e[0] < first[u] + 86400 * @DAYS@]
    yes[u] = any(e[1] == "@GOAL@" for e in mine)
    total = sum(e[2] for e in mine if e[1] == "@GOAL@")
    if DEEP:
        total = max(0, total - sum(e[2] for e in mine if e[1] == "@UNDO@"))
    y[u] = float(min(total, Decimal("@CAP@")))
for a in ("@CONTROL@", "@TREATMENT@"):
    us = [u for u in left if arm[u] == a]
    out[a] = {"units": len(us), "converted": sum(yes[u] for u in us), "mean": round(sum(y[u] for u in us) / len(us), 6)}
(n1, c1), (n2, c2) = [(o["units"], o["converted"]) for o in out.values()]
p = (c1 + c2) / (n1 + n2)
z = (c2 / n2 - c1 / n1) / sqrt(p * (1 - p) * (1 / n1 + 1 / n2))
result = {"excluded": excluded, "arms": out, "ratio": check, "lift": round(c2 / n2 - c1 / n1, 6), "z": round(z, 6)}
if DEEP:
    x = dict.fromkeys(left, 0.0)
    for r in csv.DictReader(open("prior.csv")):
        if r["@UNIT@"] in x:
            x[r["@UNIT@"]] = float(r["spent"])
    mx, my = sum(x.values()) / len(x), sum(y.values()) / len(y)
    theta = sum((x[u] - mx) * (y[u] - my) for u in left) / sum((x[u] - mx) ** 2 for u in left)
    m = []
    for a in out:
        v = [y[u] - theta * (x[u] - mx) for u in left if arm[u] == a]
        m.append(sum(v) / len(v))
    result["adjusted"] = round(m[1] - m[0], 6)
decision = "ship" if z >= @CRITICAL@ else "stop" if z <= -@CRITICAL@ else "inconclusive"
if not DEEP and check["mismatch"]:
    decision = "invalid"
result["decision"] = decision
json.dump(result, open("readout.json", "w"), indent=1)
PY
