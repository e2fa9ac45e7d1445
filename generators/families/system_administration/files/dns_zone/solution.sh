cd @F@ && python3 - <<'PY'
import csv, re
D, SUB, P, R = "@D@.", "@U@.@D@.", "@P@.", "@R@"
FILES = {D: "@FD@", SUB: "@FS@", R: "@FR@"}
NAMED = {"NS": [0], "CNAME": [0], "PTR": [0], "MX": [1], "SOA": [0, 1]}
def full(name, origin):
    if name == "@":
        return origin
    if not name.endswith("."):
        for known in (D, P):
            if name == known[:-1] or name.endswith("." + known[:-1]):
                return name + "."
        name += "." + origin
    return name
def parse(zone):
    text = re.sub(r";[^\n]*", "", open(FILES[zone]).read())
    text = re.sub(r"\(([^)]*)\)", lambda m: " ".join(m[1].split()), text)
    origin = owner = zone
    out = []
    for line in text.split("\n"):
        words = re.findall(r'"[^"]*"|\S+', line)
        if not words:
            continue
        if words[0] == "$ORIGIN":
            origin = full(words[1], origin)
        if words[0][0] == "$":
            continue
        if not line[0].isspace():
            owner = full(words.pop(0), origin)
        while words[0] == "IN" or words[0].isdigit():
            words.pop(0)
        kind, data = words[0], words[1:]
        for i in NAMED.get(kind, []):
            data[i] = full(data[i], origin)
        out.append((owner, kind, data))
    return out
zones = {z: parse(z) for z in FILES}
hosts, aliases = {}, {}
for row in csv.DictReader(open("@I@")):
    name, address, more = row.values()
    hosts[name + "." + D] = address
    for a in more.split():
        aliases[D if a == "@" else a + "." + D] = name + "." + D
inside = lambda n, z: n == z or n.endswith("." + z)
zone_of = lambda n: SUB if inside(n, SUB) else D
for z in (D, SUB):
    kept = [r for r in zones[z] if r[1] in ("SOA", "MX", "TXT") or r[1] == "NS" and r[0] == z
            or r[1] == "CNAME" and not inside(r[2][0], D)]
    if z == D:
        kept = [r for r in kept if not inside(r[0], SUB)]
    kept += [(h, "A", [a]) for h, a in hosts.items() if zone_of(h) == z]
    for a, h in aliases.items():
        if zone_of(a) == z:
            busy = any(r[0] == a for r in kept)
            kept.append((a, "A", [hosts[h]]) if busy else (a, "CNAME", [h]))
    zones[z] = kept
servers = [r[2][0] for r in zones[SUB] if r[1] == "NS"]
zones[D] += [(SUB, "NS", [s]) for s in servers]
zones[D] += [(s, "A", [hosts[s]]) for s in servers if inside(s, SUB)]
keep = [r for r in zones[R] if r[1] != "PTR"]
zones[R] = keep + [(a.split(".")[3] + "." + R, "PTR", [h]) for h, a in hosts.items()]
for z, records in zones.items():
    with open(FILES[z], "w") as out:
        out.write("$TTL 3600\n")
        for owner, kind, data in records:
            if kind == "SOA":
                data[2] = str(max(int("@S@01"), int(data[2]) + 1))
            out.write(f"{owner} IN {kind} {' '.join(data)}\n")
PY
