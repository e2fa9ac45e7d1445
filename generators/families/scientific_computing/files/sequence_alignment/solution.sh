cat > @PATH@ <<'PY'
#!/usr/bin/python3 -IS
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
MOD = 1000000007
def sub(x, y):
    if wild and wild[0] in (x, y):
        return wild[1]
    return pairs.get((x, y), match if x == y else mismatch)
def solve(a, b):
    n, m = len(a), len(b)
    worst = -10 ** 9
    scores = {(x, y): sub(x, y) for x in set(a) for y in set(b)}
    # table[i][j][p]: best score, number of ways and first step from (i, j) on, where the column before was of kind p
    table = [[None] * (m + 1) for _ in range(n + 1)]
    for i in range(n, -1, -1):
        row, below = table[i], table[i + 1] if i < n else None
        for j in range(m, -1, -1):
            if i == n and j == m:
                row[j] = [(0, 1, 0)] * 3
                continue
            pair, ways0, one, ways1, two, ways2 = worst, 0, worst, 0, worst, 0
            first1, first2 = open2, open1
            if i < n and j < m:
                pair, ways0, _ = below[j + 1][0]
                pair += scores[a[i], b[j]]
            if i < n:
                one, ways1, _ = below[j][1]
                if free and j in (0, m):
                    first1 = 0
                else:
                    one -= ext2
            if j < m:
                two, ways2, _ = row[j + 1][2]
                if free and i in (0, n):
                    first2 = 0
                else:
                    two -= ext1
            row[j] = cell = []
            for p in (0, 1, 2):
                down = one - (first1 if p != 1 else 0)
                over = two - (first2 if p != 2 else 0)
                best = max(pair, down, over)
                ways = (ways0 if pair == best else 0) + (ways1 if down == best else 0) + (ways2 if over == best else 0)
                step = 0 if pair == best else 1 if down == best else 2
                cell.append((best, ways % MOD, step))
    print("@K1@", table[0][0][0][0])
    print("@K2@", table[0][0][0][1])
    top, low, i, j, p = "", "", 0, 0, 0
    while i < n or j < m:
        p = table[i][j][p][2]
        top += a[i] if p != 2 else "-"
        low += b[j] if p != 1 else "-"
        i, j = i + (p != 2), j + (p != 1)
    print(top)
    print(low)
lines = [line.strip() for line in sys.stdin]
for at in range(0, len(lines) - 1, 2):
    solve(lines[at], lines[at + 1])
PY
chmod 755 @PATH@
