cd @F@ && mkdir -p @O@ && python3 - <<'PY'
import os
A, B, SUFFIX, START = "@A@", "@B@", "@X@", @S@
def read(path):
    return [line.rstrip("\n").split(":") for line in open(path) if line.strip()]
pa, ga, sa = (read(A + "/" + n) for n in ("passwd", "group", "shadow"))
pb, gb, sb = (read(B + "/" + n) for n in ("passwd", "group", "shadow"))
ranges = []
for line in open("@R@"):
    line = line.split("#")[0].strip()
    if line:
        low, _, high = line.partition("-")
        ranges.append((int(low), int(high or low)))
separate = set(open("separate.txt").read().split()) if os.path.exists("separate.txt") else set()
reserved = lambda n: any(l <= n <= h for l, h in ranges)
user_a = {r[0]: r for r in pa}
group_a = {r[0]: r for r in ga}
shadow_a = {r[0]: r for r in sa}
shadow_b = {r[0]: r for r in sb}
class Ids:
    def __init__(self, a, b):
        self.a, self.used = set(a), set(a) | set(b)
    def give(self, n):
        if n not in self.a and not reserved(n):
            return n
        k = START
        while k in self.used or reserved(k):
            k += 1
        self.used.add(k)
        return k
uids = Ids([int(r[2]) for r in pa], [int(r[2]) for r in pb])
gids = Ids([int(r[2]) for r in ga], [int(r[2]) for r in gb])
real = lambda r: r[4].split(",")[0].lower()
final, uid_map, gone, fresh, locked = {}, {}, set(), [], set()
for r in pb:
    name, uid = r[0], int(r[2])
    if uid < 1000:
        final[name] = name if name in user_a else None
        uid_map[uid] = int(user_a[name][2]) if name in user_a else 65534
        continue
    entry = shadow_b[name]
    lock = entry[1][:1] in ("!", "*")
    if name in user_a and real(user_a[name]) == real(r):
        final[name], uid_map[uid] = name, int(user_a[name][2])
    elif entry[7] and int(entry[7]) < @E@:
        final[name] = None
        gone.add(name)
        uid_map[uid] = int(user_a["@V@"][2])
    else:
        new = name + SUFFIX if name in user_a else name
        final[name] = new
        uid_map[uid] = uids.give(uid)
        row, srow = list(r), list(entry)
        row[0] = srow[0] = new
        row[2] = str(uid_map[uid])
        if new != name:
            row[5] = row[5].rsplit("/", 1)[0] + "/" + new
        if lock:
            row[6] = "/usr/sbin/nologin"
        fresh.append(row)
        sa.append(srow)
        shadow_a[new] = srow
    if lock and final[name]:
        e = shadow_a[final[name]]
        e[1] = "!" + e[1].lstrip("!")
gid_map = {}
for r in gb:
    name, gid = r[0], int(r[2])
    members = [final.get(m) for m in r[3].split(",") if m]
    if name in gone:
        gid_map[gid] = int(group_a["@V@"][2])
        continue
    if gid < 1000 and name not in group_a:
        gid_map[gid] = 65534
        continue
    if name in final and final[name] and gid >= 1000:
        name = final[name]
    elif name in separate:
        name += SUFFIX
    if name not in group_a:
        row = [name, r[1], str(gids.give(gid)), ""]
        group_a[name] = row
        ga.append(row)
    row = group_a[name]
    have = [m for m in row[3].split(",") if m]
    for m in members:
        if m and m not in have:
            have.append(m)
    row[3] = ",".join(have)
    gid_map[gid] = int(row[2])
for row in fresh:
    row[3] = str(gid_map[int(row[3])])
for name, rows in (("passwd", pa + fresh), ("group", ga), ("shadow", sa)):
    with open("@O@/" + name, "w") as out:
        out.writelines(":".join(row) + "\n" for row in rows)
with open("@O@/@T@", "w") as out:
    for line in open("@T@"):
        path, u, g = line.rstrip("\n").split("\t")
        out.write(f"{path}\t{uid_map.get(int(u), 65534)}\t{gid_map.get(int(g), 65534)}\n")
PY
