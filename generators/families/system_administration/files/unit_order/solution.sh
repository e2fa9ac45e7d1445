cd @F@ && python3 - <<'PY'
import heapq, os, re
from pathlib import Path
LISTS = ("After", "Before", "Wants", "Requires")
U = Path("units")
text, values, where = {}, {}, {}
names = sorted(p.name for p in U.iterdir() if not p.name.endswith(".d"))
masked = {n for n in names if (U / n).is_symlink()}
names = [n for n in names if n not in masked]
for n in names:
    v = values[n] = {}
    for path in [U / n, *sorted((U / (n + ".d")).glob("*.conf"))]:
        for line in path.read_text().splitlines():
            m = re.match(r"([\w-]+)\s*=\s*(.*)", line)
            if not m:
                continue
            entries = v.setdefault(m[1], [])
            if not m[2]:
                entries.clear()
            entries += m[2].split() if m[1] in LISTS else [m[2]]
pulls = {n: set(values[n].get("Wants", []) + values[n].get("Requires", [])) for n in names}
for n in names:
    for t in values[n].get("WantedBy", []):
        pulls.setdefault(t, set()).add(n)
started, todo = set(), ["@T@.target"]
while todo:
    n = todo.pop()
    if n in values and n not in started and not n.endswith(".timer"):
        started.add(n)
        todo += pulls[n]
entries = {(n, k, o) for n in started for k in ("After", "Before") for o in values[n].get(k, []) if o in started and o != n}
edge = lambda e: (e[2], e[0]) if e[1] == "After" else (e[0], e[2])
rank = lambda e: (int(values[e[0]].get("@K@", ["50"])[-1]), e[0], e[2])
def reach(edges):
    after = {}
    for a, b in edges:
        after.setdefault(a, set()).add(b)
    out = {}
    for n in started:
        seen, todo = set(), [n]
        while todo:
            for m in after.get(todo.pop(), ()):
                if m not in seen:
                    seen.add(m)
                    todo.append(m)
        out[n] = seen
    return out
while True:
    r = reach(map(edge, entries))
    bad = [e for e in entries if e[0] in r[e[2]] and e[2] in r[e[0]]]
    if not bad:
        break
    victim = min(bad, key=rank)
    entries.discard(victim)
    n, k, o = victim
    for path in [U / n, *sorted((U / (n + ".d")).glob("*.conf"))]:
        lines = []
        for line in path.read_text().splitlines():
            if re.match(k + r"\s*=", line):
                head, tail = line.split("=", 1)
                kept = [w for w in tail.split() if w != o]
                if tail.split() and not kept:
                    continue
                line = head + "=" + " ".join(kept)
            lines.append(line)
        path.write_text("\n".join(lines) + "\n")
before = {n: 0 for n in started}
edges = set(map(edge, entries))
for a, b in edges:
    before[b] += 1
heap = [n for n in started if not before[n]]
heapq.heapify(heap)
order = []
while heap:
    n = heapq.heappop(heap)
    order.append(n)
    for a, b in edges:
        if a == n:
            before[b] -= 1
            if not before[b]:
                heapq.heappush(heap, b)
Path("@O@").write_text("\n".join(order) + "\n")
DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
SHORT = {"hourly": "0 * * * *", "daily": "0 0 * * *", "weekly": "0 0 * * 1", "monthly": "0 0 1 * *"}
def number(field):
    field = field.replace("..", "-")
    if "/" in field:
        start, step = field.split("/")
        return "*/" + step if int(start) == 0 else start.lstrip("0") + "-59/" + step
    return re.sub(r"\b0+(\d)", r"\1", field)
def cron(when):
    if when in SHORT:
        return SHORT[when]
    week, date = "*", "*-*-*"
    for part in when.split():
        if part[0].isalpha():
            week = re.sub("[A-Z][a-z]+", lambda m: str(DAYS.index(m[0])), part).replace("..", "-")
        elif ":" in part:
            hour, minute = part.split(":")[:2]
        else:
            date = part
    _, month, day = date.split("-")
    return f"{number(minute)} {number(hour)} {number(day)} {number(month)} {week}"
with open("@C@", "w") as out:
    for n in names:
        if n.endswith(".timer"):
            service = values[n].get("Unit", [n[:-6] + ".service"])[-1]
            for when in values[n]["OnCalendar"]:
                out.write(cron(when) + " " + values[service]["ExecStart"][-1] + "\n")
PY
