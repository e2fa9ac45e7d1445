cd @FOLDER@ && python3 - <<'PY'
@READ@
columns = []
for s in series:
    rows = [(features(s, D(r["date"])), float(r[s])) for r in history if (s, D(r["date"])) not in spoilt]
    factor = {f: 1.0 for fs, _ in rows for f in fs}
    for _ in range(14):
        for k in range(4):
            have, want = {}, {}
            for fs, y in rows:
                p = 1.0
                for j in range(4):
                    if j != k:
                        p *= factor[fs[j]]
                have[fs[k]] = have.get(fs[k], 0) + y
                want[fs[k]] = want.get(fs[k], 0) + p
            for f in have:
                factor[f] = have[f] / want[f]
    column = []
    for day in future:
        p = 1.0
        for f in features(s, day):
            p *= factor[f]
        column.append(round(p, 2))
    columns.append(column)
with open("forecast.csv", "w") as out:
    print("date", *series, sep=",", file=out)
    for day, *values in zip(future, *columns):
        print(day, *values, sep=",", file=out)
PY
