cd @folder@ && python3 - <<'PY'
import csv, json
from datetime import datetime, timezone
EXACT = @HARD@
LAST = "9999"
def stamp(text):
    if not EXACT or not text:
        return text
    return datetime.fromisoformat(text).astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
lines, gone = [], {}
for r in csv.DictReader(open("@history@", encoding="utf-8")):
    n, at = int(r["@entry@"]), stamp(r["@recorded@"])
    if EXACT and r["@value@"].startswith("!"):
        n = int(r["@value@"][1:])
        gone[n] = min(gone.get(n, at), at)
        continue
    a, b = stamp(r["@start@"]), stamp(r["@end@"]) or LAST
    if a < b:
        lines.append((at, n, r["@subject@"], a, b, r["@value@"]))
lines.sort()
def paint(known):
    spans = {}
    for at, n, who, a, b, value in lines:
        if at > known or gone.get(n, LAST) <= known:
            continue
        kept = []
        for c, d, v in spans.get(who, []):
            if c < a:
                kept.append((c, min(d, a), v))
            if d > b:
                kept.append((max(c, b), d, v))
        spans[who] = sorted(kept + [(a, b, value)])
    return spans
today = paint("9998")
cache = {}
with open("@answers@", "w", newline="") as f:
    w = csv.writer(f, lineterminator="\n")
    w.writerow(["question", "@value@"])
    for q in csv.DictReader(open("@questions@", encoding="utf-8")):
        known = stamp(q["known"]) if EXACT else "9998"
        if known not in cache:
            cache[known] = paint(known)
        m = stamp(q["moment"])
        hit = [v for a, b, v in cache[known].get(q["@subject@"], []) if a <= m < b]
        w.writerow([q["question"], hit[0] if hit else "-"])
periods = gaps = opened = 0
with open("@timeline@", "w", newline="") as f:
    w = csv.writer(f, lineterminator="\n")
    w.writerow(["@subject@", "@start@", "@end@", "@value@"])
    for who in sorted(today):
        joined = []
        for a, b, v in today[who]:
            if joined and joined[-1][1] == a and joined[-1][2] == v:
                joined[-1][1] = b
            else:
                joined.append([a, b, v])
        periods += len(joined)
        gaps += sum(1 for x, y in zip(joined, joined[1:]) if x[1] < y[0])
        opened += sum(1 for x in joined if x[1] == LAST)
        w.writerows([who, a, "" if b == LAST else b, v] for a, b, v in joined)
json.dump({"periods": periods, "gaps": gaps, "open": opened}, open("@summary@", "w"))
PY
