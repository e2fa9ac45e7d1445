def solve(matrix, right):
    n = len(right)
    rows = [list(r) + [v] for r, v in zip(matrix, right)]
    for i in range(n):
        p = max(range(i, n), key=lambda k: abs(rows[k][i]))
        rows[i], rows[p] = rows[p], rows[i]
        for k in range(i + 1, n):
            f = rows[k][i] / rows[i][i]
            rows[k] = [x - f * z for x, z in zip(rows[k], rows[i])]
    x = [0.0] * n
    for i in range(n - 1, -1, -1):
        x[i] = (rows[i][n] - sum(rows[i][k] * x[k] for k in range(i + 1, n))) / rows[i][i]
    return x
def step(t, y, h):
    n, base = len(y), model.rhs(t, y)
    columns = []
    for k in range(n):
        d = 1e-7 * max(1.0, abs(y[k]))
        moved = model.rhs(t, [v + d * (i == k) for i, v in enumerate(y)])
        columns.append([(a - b) / d for a, b in zip(moved, base)])
    table = []
    for j in range(1, ORDER + 1):
        s, x = h / j, list(y)
        matrix = [[(i == k) - s * columns[k][i] for k in range(n)] for i in range(n)]
        for q in range(j):
            f = base if q == 0 else model.rhs(t + q * s, x)
            x = [a + b for a, b in zip(x, solve(matrix, [s * v for v in f]))]
        row = [x]
        for k in range(1, j):
            r = j / (j - k) - 1
            row.append([a + (a - b) / r for a, b in zip(row[k - 1], table[-1][k - 1])])
        table.append(row)
    return table[-1][-1]
