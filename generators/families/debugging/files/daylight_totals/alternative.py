import sys
from calendar import timegm
from time import gmtime, strftime, strptime


def stamp(text):
    return timegm(strptime(text[:16], "%Y-%m-%dT%H:%M")) // 60


def table(name):
    with open("{folder}/" + name) as lines:
        return [line.strip().split(",") for line in lines if line.strip()]


changes = {}
for zone, since, offset in table("offsets.csv"):
    changes.setdefault(zone, []).append((stamp(since), int(offset)))
spans = {}
for zone, rows in changes.items():
    rows.sort()
    ends = [row[0] for row in rows[1:]] + [10**12]
    rows[0] = (-(10**12), rows[0][1])
    spans[zone] = [(since, end, offset) for (since, offset), end in zip(rows, ends)]
zones = dict(table("zones.csv"))


def instant(zone, text, floor):
    local = stamp(text)
    good = [local - offset for since, end, offset in spans[zone] if since <= local - offset < end]
    if not good:
        return local - [offset for since, end, offset in spans[zone] if end + offset <= local][-1]
    mark = text[16:]
    if mark:
        return good["AB".index(mark)]
    return ([moment for moment in good if moment >= floor] or good[-1:])[0]


result, floors = {}, {}
for line in open(sys.argv[1]):
    site, begin, end = line.strip().split(",")
    zone = zones[site]
    a = instant(zone, begin, floors.get(site, -(10**12)))
    b = floors[site] = instant(zone, end, a)
    if "{mode}" == "totals":
        result[site] = result.get(site, 0) + b - a
        continue
    for since, stop, offset in spans[zone]:
        for minute in range(max(a, since) + offset, min(b, stop) + offset):
            pair = result.setdefault((site, minute // 1440), [0, 0])
            pair[0 if "{mode}" == "days" or {opens} <= minute % 1440 // 60 < {shuts} else 1] += 1
for key, value in sorted(result.items()):
    if "{mode}" == "totals":
        print(key, value, sep=",")
    else:
        date = strftime("%Y-%m-%d", gmtime(key[1] * 86400))
        print(key[0], date, *value[: 1 if "{mode}" == "days" else 2], sep=",")
