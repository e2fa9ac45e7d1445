python3 - <<'PY'
import base64, configparser, csv, hashlib, hmac, json, os, subprocess
K = json.loads('''@SPEC@''')
os.chdir(K["folder"])
H, ROLE = int(K["position"]), int(K["rolepos"])
known = {}
for r in csv.DictReader(open(K["known"], newline="", encoding="utf-8")):
    name, p = r["name"], r["password"]
    known.setdefault(name, []).append(p)
peppers = configparser.ConfigParser()
peppers.read("peppers.ini")
def same(raw, text):
    return raw.hex() == text.lower()
def fits(name, old, p):
    w, parts = p.encode(), old.split("$")
    if old.startswith("{SSHA}"):
        raw = base64.b64decode(old[6:])
        return hashlib.sha1(w + raw[20:]).digest() == raw[:20]
    if parts[0] == "md5":
        s = parts[1].encode()
        return same(hashlib.md5(s + w if K["salt_first"] else w + s).digest(), parts[2])
    if parts[0] == "sha1":
        return same(hashlib.sha1(parts[1].encode() + K["separator"].encode() + w).digest(), parts[2])
    if parts[0] == "it256":
        h = hashlib.sha256(parts[2].encode() + w).digest()
        for _ in range(int(parts[1])):
            h = hashlib.sha256(h + w).digest()
        return same(h, parts[3])
    if parts[0] == "hm":
        key = bytes.fromhex(peppers["peppers"][parts[1]])
        return same(hmac.new(key, name.encode() + b":" + w, "sha256").digest(), parts[2])
    if old.startswith(K["prefix"]):
        n, s, k = old[len(K["prefix"]):].split("$")
        return hashlib.pbkdf2_hmac("sha256", w, base64.b64decode(s), int(n), 32) == base64.b64decode(k)
    return False
def b64(raw):
    return base64.b64encode(raw).decode()
@NEW@
def new(p, strong):
    salt = os.urandom(16)
    if strong:
        return "%s1024$8$1$%s$%s" % (K["scrypt"], b64(salt), b64(scrypt(p.encode(), salt)))
    return "%s%s$%s$%s" % (K["prefix"], K["iterations"], b64(salt), b64(pbkdf2(p.encode(), salt)))
lines = open(K["accounts"], "rb").read().split(b"\n")
lists = {x: set() for x in ("upgraded", "wrong", "locked", "current", "unknown")}
seen = set()
for i, line in enumerate(lines):
    if line.startswith(b"#") or not line.strip():
        continue
    f = line.split(b":")
    name, old, role = f[0].decode(), f[H].decode("latin-1"), f[ROLE].decode("latin-1")
    seen.add(name)
    if name not in known:
        continue
    strong = bool(K["hard"]) and role == K["admin"]
    if old.startswith("!"):
        lists["locked"].add(name)
    elif strong and old.startswith(K["scrypt"]) or not strong and old.startswith(K["prefix"]) and int(
            old[len(K["prefix"]):].split("$")[0]) >= int(K["iterations"]):
        lists["current"].add(name)
    else:
        good = [p for p in known[name] if fits(name, old, p)]
        if good:
            f[H] = new(good[0], strong).encode()
            lines[i] = b":".join(f)
        lists["upgraded" if good else "wrong"].add(name)
lists["unknown"] = set(known) - seen
with open(K["accounts"], "r+b") as out:
    out.write(b"\n".join(lines))
    out.truncate()
json.dump({K[x]: sorted(y) for x, y in lists.items()}, open(K["report"], "w"))
os.remove(K["known"])
PY
