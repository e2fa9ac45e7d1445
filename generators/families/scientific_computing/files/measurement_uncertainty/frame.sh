cd @FOLDER@ && python3 - <<'PY'
import csv, json, os
from math import sqrt
SCALE = {"m": 1, "cm": 0.01, "mm": 0.001, "in": 0.0254, "kg": 1, "g": 0.001, "lb": 0.45359237, "s": 1, "ms": 0.001, "min": 60}
value, u = {}, {}
for r in csv.DictReader(open("@READINGS@")):
    x, s = float(r["value"]), float(r["stated"])
    s = {"std": s, "k2": s / 2, "half": s / sqrt(3), "percent": abs(x) * s / 100}[r["kind"]]
    value[r["name"]], u[r["name"]] = x * SCALE[r["unit"]], s * SCALE[r["unit"]]
rho = {}
if os.path.exists("correlations.csv"):
    for r in csv.DictReader(open("correlations.csv")):
        rho[r["a"], r["b"]] = rho[r["b"], r["a"]] = float(r["r"])
lines = [l.split("=", 1) for l in open("@FORMULAS@") if "=" in l]
lines = [(name.strip(), text.strip()) for name, text in lines]
@BODY@
json.dump(report, open("@REPORT@", "w"), indent=1)
PY
