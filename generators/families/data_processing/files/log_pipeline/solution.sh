python3 - <<'PY'
import csv, json, re, shlex
from datetime import datetime, timedelta, timezone
from pathlib import Path
KINDS, COUNT, WINDOW = @KINDS@, @COUNT@, @WINDOW@
LOGS = Path("@LOGS@")
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
hosts = {}
if COUNT > 3:
    for r in csv.DictReader(open(LOGS / "hosts.csv")):
        hosts[r["host"]] = int(r["offset"]) * 60 + int(r.get("fast_by") or 0)
class Broken(Exception):
    pass
def need(ok, reason):
    if not ok:
        raise Broken(reason)
    return ok
def moment(*parts):
    try:
        return datetime(*map(int, parts), tzinfo=timezone.utc).timestamp()
    except ValueError:
        raise Broken("time")
def check(key, *numbers):
    need(re.fullmatch(r"@PREFIX@\d+", key), "id")
    need(all(re.fullmatch(r"\d+", n) for n in numbers), "number")
def first(line):
    m = re.fullmatch(r'\S+ \S+ \S+ \[(\d+)/(\w+)/(\d+):(\d+):(\d+):(\d+) ([+-])(\d\d)(\d\d)\] "[^"]*" (\S+) (\S+) (\S+)', line)
    need(m, "format")
    need(m[2] in MONTHS, "time")
    t = moment(m[3], MONTHS.index(m[2]) + 1, m[1], m[4], m[5], m[6])
    t -= (int(m[8]) * 3600 + int(m[9]) * 60) * (-1 if m[7] == "-" else 1)
    check(m[12], m[10], m[11])
    return m[12], t, int(m[10])
def second(line):
    try:
        r = json.loads(line)
        t, key, user, ms = r["time"], r["@KEY@"], r["user"], r["ms"]
    except (ValueError, KeyError, TypeError):
        raise Broken("format")
    try:
        t = datetime.fromisoformat(t).timestamp()
    except (ValueError, TypeError):
        raise Broken("time")
    check(key, json.dumps(ms))
    return key, t, (user, ms)
def third(line):
    r = dict(p.partition("=")[::2] for p in shlex.split(line))
    need({"time", "@KEY@", "outcome", "@UNIT@"} <= set(r), "format")
    need(r["time"].isdigit(), "time")
    check(r["@KEY@"], r["@UNIT@"])
    return r["@KEY@"], int(r["time"]), int(r["@UNIT@"]) if r["outcome"] == "ok" else 0
def fourth(line):
    m = re.fullmatch(r"(\w{3}) ([ \d]\d) (\d\d):(\d\d):(\d\d) (\S+) \w+\[(\S+)\]: (\S+) (failed|done).*", line)
    need(m, "format")
    need(m[1] in MONTHS and m[6] in hosts, "time")
    t = moment(@YEAR@, MONTHS.index(m[1]) + 1, m[2], m[3], m[4], m[5]) - hosts[m[6]]
    check(m[8], m[7])
    return m[8], t, m[9]
def fifth(line):
    r = next(csv.reader([line]))
    need(len(r) == 5 and re.fullmatch(r"[+-]?\d+", r[1]), "format")
    m = need(re.fullmatch(r"(\d\d)\.(\d\d)\.(\d{4}) (\d\d):(\d\d):(\d\d)", r[0]), "time")
    t = moment(m[3], m[2], m[1], m[4], m[5], m[6]) - int(r[1]) * 60
    check(r[2], r[4])
    return r[2], t, int(r[4])
broken, seen = {}, []
for kind, parse in list(zip(KINDS, (first, second, third, fourth, fifth)))[:COUNT]:
    counts, found = dict.fromkeys(("format", "time", "id", "number"), 0), {}
    for path in (LOGS / f"{kind}.log", LOGS / f"{kind}.log.1"):
        for line in path.read_text().splitlines() if path.exists() else []:
            if not line.strip():
                continue
            try:
                key, t, data = parse(line)
            except Broken as reason:
                counts[str(reason)] += 1
                continue
            if key not in found or (t < found[key][0] if parse is first else t > found[key][0]):
                found[key] = (t, data)
    broken[kind] = counts
    seen.append(found)
requests, app = seen[:2]
pay, work, queue = (seen[2:] + [{}, {}, {}])[:3]
hours = {}
for key, (t, status) in requests.items():
    hours.setdefault(int(t // 3600), []).append(key)
header = ["hour", "requests", "users", "slowest_ms", "errors"] + ["@UNIT@"] * (COUNT > 2) + ["attempts"] * (COUNT > 4)
with open("@REPORT@", "w", newline="") as f:
    w = csv.writer(f, lineterminator="\n")
    w.writerow(header)
    for hour in sorted(hours):
        keys = hours[hour]
        known = [app[k][1] for k in keys if k in app]
        def bad(k):
            t, status = requests[k]
            return status >= 500 or (k in work and work[k][1] == "failed" and 0 <= work[k][0] - t <= WINDOW)
        row = [datetime.fromtimestamp(hour * 3600, timezone.utc).strftime("%Y-%m-%dT%H:00Z"), len(keys), len({u for u, _ in known}),
               max([ms for _, ms in known], default=0), sum(map(bad, keys))]
        row += [sum(pay[k][1] for k in keys if k in pay)] * (COUNT > 2)
        row += [sum(queue[k][1] for k in keys if k in queue)] * (COUNT > 4)
        w.writerow(row)
others = set().union(*seen[1:])
lost = {"broken": broken, "unmatched": len(set(requests) - set(app)), "orphans": len(others - set(requests))}
json.dump(lost, open("@SUMMARY@", "w"))
PY
