cd @FOLDER@ && python3 - <<'PY'
import glob
from math import dist, sqrt
DEEP = @DEEP@
rows, contacts = [], []
for file in sorted(glob.glob("*.@ENDING@")):
    lines = open(file).read().splitlines()
    best = [l.split()[-1] for l in lines if DEEP and l.startswith("REMARK BEST MODEL")]
    numbers = [l.split()[1] for l in lines if l.startswith("MODEL")]
    wanted = best[0] if best else numbers[0] if numbers else None
    model, atoms = None, {}
    for l in lines:
        record = l[:6].strip()
        if record == "MODEL":
            model = l.split()[1]
        elif record == "ENDMDL":
            model = None
        if numbers and model != wanted:
            continue
        if record == "ATOM" or DEEP and record == "HETATM" and l[17:20] == "MSE":
            key = (l[21], l[22:27].replace(" ", ""), l[12:16].strip())
            value = (-float(l[54:60]), l[16], tuple(float(l[i:i + 8]) for i in (30, 38, 46)), float(l[60:66]))
            if key not in atoms or value < atoms[key]:
                atoms[key] = value
    chains = {}
    for (chain, residue, name), value in atoms.items():
        chains.setdefault(chain, {}).setdefault(residue, {})[name] = value
    for chain in sorted(chains):
        kept = [v for r in chains[chain].values() for v in r.values()]
        n = len(kept)
        ca = [r["CA"][2] for r in chains[chain].values()]
        breaks = sum(dist(p, q) > @LIMIT@ for p, q in zip(ca, ca[1:]))
        mean = [sum(v[2][k] for v in kept) / n for k in range(3)]
        radius = sqrt(sum(dist(v[2], mean) ** 2 for v in kept) / n)
        rows.append((file, chain, len(ca), n, breaks, "%.3f" % (sum(v[3] for v in kept) / n), "%.3f" % radius))
        for other in sorted(chains):
            if other > chain:
                for r, a in chains[chain].items():
                    for s, b in chains[other].items():
                        d = min(dist(p[2], q[2]) for p in a.values() for q in b.values())
                        if d <= @REACH@:
                            contacts.append((file, chain, r, other, s, "%.3f" % d))
with open("@TABLE@", "w") as out:
    print("file,chain,residues,atoms,breaks,mean_b,radius", file=out)
    for row in rows:
        print(*row, sep=",", file=out)
if DEEP:
    with open("@PAIRS@", "w") as out:
        print("file,chain1,residue1,chain2,residue2,distance", file=out)
        for row in contacts:
            print(*row, sep=",", file=out)
PY
