cat > @P@ <<'PY'
#!/usr/bin/python3
import os, re, sys
DIR, DEPTH = sys.argv[1], @D@
BOX, SMTP, FAIL = "@I@".split()
def lines(name):
    with open(os.path.join(DIR, name)) as f:
        for line in f:
            line = line.split("#")[0].strip().lower()
            if line:
                yield line
local, renamed, aliases, routes = set(), {}, {}, {}
T = "@T@".split()
for line in lines(T[0]):
    words = line.split()
    if len(words) == 2:
        renamed[words[0]] = words[1]
    else:
        local.add(words[0])
for line in lines(T[1]):
    key, _, targets = line.partition(":")
    aliases[key.strip()] = [t.strip() for t in targets.split(",")]
boxes = set(lines(T[2]))
for line in lines(T[3]):
    pattern, hop = line.split()
    routes[pattern] = hop
def route(domain):
    if domain in routes:
        return routes[domain]
    fits = [p for p in routes if p[0] == "." and domain.endswith(p)]
    return routes[max(fits, key=len)] if fits else routes.get("*")
def wild(user, domain):
    best = None
    for key in sorted(aliases):
        if "*" in key and key.endswith("@" + domain):
            m = re.fullmatch(re.escape(key.rpartition("@")[0]).replace(r"\*", "(.+)"), user)
            if m and (best is None or len(key) > len(best[0])):
                best = (key, m[1])
    return best
def resolve(address, chain):
    user, domain = address.split("@")
    domain = domain[:-1] if domain.endswith(".") else domain
    domain = renamed.get(domain, domain)
    plus = user.find("+", 1)
    tag = ""
    base = user
    if plus > 0:
        base, tag = user[:plus], user[plus + 1:]
    full = base + ("+" + tag if tag else "")
    if domain not in local:
        hop = route(domain)
        out = f"{full}@{domain}"
        return {f"{SMTP}:{hop}:{out}" if hop else f"{FAIL}:no-route:{out}"}
    name = f"{base}@{domain}"
    mailbox = {f"{BOX}:{name}" + (":" + tag if tag else "")} if name in boxes else None
    if name in chain:
        if chain[-1] != name:
            return {f"{FAIL}:loop:{name}"}
        return mailbox or {f"{FAIL}:unknown:{name}"}
    if len(chain) > DEPTH:
        return {f"{FAIL}:deep:{name}"}
    targets, carry = None, False
    for key, keeps in ((f"{full}@{domain}", not tag), (name, True), (full, not tag), (base, True)):
        if key in aliases:
            targets, carry = aliases[key], keeps
            break
    if targets is None and DEPTH < 99:
        found = wild(base, domain)
        if found:
            targets, carry = [t.replace("$1", found[1]) for t in aliases[found[0]]], True
    if targets is None:
        if mailbox:
            return mailbox
        if "@" + domain not in aliases:
            return {f"{FAIL}:unknown:{name}"}
        targets = aliases["@" + domain]
    result = set()
    todo = list(targets)
    while todo:
        t = todo.pop()
        if t == ":reject:":
            result.add(f"{FAIL}:rejected:{name}")
            continue
        if t.startswith(":include:"):
            todo += lines("lists/" + t[9:])
            continue
        u, _, d = t.partition("@")
        if carry and tag and u.find("+", 1) in (-1, len(u) - 1):
            u = u.rstrip("+") + "+" + tag
        result |= resolve(u + "@" + (d or domain), chain + [name])
    return result
for line in sys.stdin:
    line = line.strip()
    if not re.fullmatch(r"[^@\s]+@[^@\s]+", line):
        print(line + "\t" + FAIL + ":syntax")
    else:
        print(line + "\t" + ",".join(sorted(resolve(line.lower(), []))))
PY
chmod 755 @P@
