cat > @PATH@ <<'PY'
#!/usr/bin/python3
import sys
s = {"ends": "global"}
pairs, wild = {}, None
for line in open(sys.argv[1]):
    w = line.split()
    if not w or line.startswith("#"):
        continue
    if w[0] == "pair":
        pairs[w[1], w[2]] = pairs[w[2], w[1]] = int(w[3])
    elif w[0] == "wild":
        wild = (w[1], int(w[2]))
    else:
        s[w[0]] = w[1]
open1, open2 = int(s.get("open1", s.get("open"))), int(s.get("open2", s.get("open")))
ext1, ext2 = int(s.get("extend1", s.get("extend"))), int(s.get("extend2", s.get("extend")))
match, mismatch, free = int(s["match"]), int(s["mismatch"]), s["ends"] == "free"
text = sys.stdin.read().split("\n") + ["", ""]
a, b = text[0].strip(), text[1].strip()
n, m = len(a), len(b)
def sub(x, y):
    if wild and wild[0] in (x, y):
        return wild[1]
    return pairs.get((x, y), match if x == y else mismatch)
MOD = 1000000007
table = {}
def options(i, j, p):
    found = []
    if i < n and j < m:
        found.append((sub(a[i], b[j]) + table[i + 1, j + 1, 0][0], 0, i + 1, j + 1))
    if i < n:
        cost = 0 if free and j in (0, m) else ext2 + (open2 if p != 1 else 0)
        found.append((table[i + 1, j, 1][0] - cost, 1, i + 1, j))
    if j < m:
        cost = 0 if free and i in (0, n) else ext1 + (open1 if p != 2 else 0)
        found.append((table[i, j + 1, 2][0] - cost, 2, i, j + 1))
    return found
for i in range(n, -1, -1):
    for j in range(m, -1, -1):
        for p in range(3):
            if i == n and j == m:
                table[i, j, p] = (0, 1)
                continue
            found = options(i, j, p)
            best = max(f[0] for f in found)
            table[i, j, p] = (best, sum(table[f[2], f[3], f[1]][1] for f in found if f[0] == best) % MOD)
top, low = "", ""
i = j = p = 0
while i < n or j < m:
    found = options(i, j, p)
    best = max(f[0] for f in found)
    _, p, k, l = next(f for f in found if f[0] == best)
    top += a[i] if k > i else "-"
    low += b[j] if l > j else "-"
    i, j = k, l
print("@K1@", table[0, 0, 0][0])
print("@K2@", table[0, 0, 0][1])
print(top)
print(low)
PY
chmod 755 @PATH@
