cd @FOLDER@ && python3 - <<'PY'
@READ@
import numpy as np
table = {}
for s in series:
    rows = [(features(s, D(r["date"])), float(r[s])) for r in history if (s, D(r["date"])) not in spoilt]
    names = sorted({f for fs, _ in rows for f in fs}, key=str)
    place = {f: i for i, f in enumerate(names)}
    def matrix(list_of_features):
        m = np.zeros((len(list_of_features), len(names)))
        for i, fs in enumerate(list_of_features):
            m[i, [place[f] for f in fs]] = 1
        return m
    a, y = matrix([fs for fs, _ in rows]), np.log(np.maximum([y for _, y in rows], 0.5))
    beta = np.linalg.solve(a.T @ a + 1e-6 * np.eye(len(names)), a.T @ y)
    table[s] = np.exp(matrix([features(s, day) for day in future]) @ beta)
with open("forecast.csv", "w") as out:
    out.write(",".join(["date", *series]) + "\n")
    for i, day in enumerate(future):
        out.write(",".join([day.isoformat(), *("%.1f" % table[s][i] for s in series)]) + "\n")
PY
