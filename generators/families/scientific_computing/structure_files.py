"""Tables from PDB-like coordinate files: models, alternate locations, insertion codes, occupancies, contacts."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt

from generators.family import Draft, Draw, Family, Miss, Setting
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS, HOST_WORDS


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    folder: str
    what: str
    table: str
    pairs: str
    ending: str
    text: str


@dataclass(frozen=True)
class Atom:
    """One line of a file. Coordinates in thousandths, occupancy and B in hundredths."""

    record: str
    name: str
    alternate: str
    residue: str
    chain: str
    number: int
    insertion: str
    place: tuple[int, int, int]
    occupancy: int
    b: int


TEXTS = (
    """Hello,

the group at {firm} needs numbers for {what} before the meeting. {files}

{format}

{models} {records} {alternates} {residues}

{table}{pairs}

{keep}

{persona}
""",
    """[STR-{ticket}] Tables for {what}, {firm}

{files} {table}{pairs}

How to read them
- {records}
- {models}
- {alternates}
- {residues}
- {format}

{keep}
""",
    """numbers for {what} wanted
{table}{pairs}
{files} {format}
{residues} {alternates}
{records} {models}
{keep}
""",
    """Work instruction {ticket}: tables of {what}

1. {files}
2. {format}
3. {records}
4. {residues}
5. {models}
6. {alternates}
7. {table}{pairs}
8. {keep}
""",
)
SETTINGS = (
    World("antibodies", "crystallographer", "antibody models", "email", "/srv/antibody", "our antibody models", "chains.csv",
          "interface.csv", "pdb", TEXTS[0]),
    World("enzymes", "enzymologist", "enzyme structures", "ticket", "/data/enzymes", "the mutant enzymes", "summary.csv",
          "contacts.csv", "ent", TEXTS[1]),
    World("capsids", "virologist", "capsid proteins", "note", "/home/virus/capsid", "capsid proteins", "shells.csv",
          "touching.csv", "pdb", TEXTS[2]),
    World("peptide_drugs", "medicinal chemist", "peptide drugs", "specification", "/opt/peptides", "peptide candidates", "peptides.csv",
          "neighbours.csv", "crd", TEXTS[3]),
    World("silk", "materials scientist", "silk proteins", "chat", "/work/silk", "the silk fibres", "fibres.csv",
          "crosslinks.csv", "pdb", TEXTS[2]),
    World("membrane", "biophysicist", "membrane channels", "runbook", "/var/lib/channels", "channel subunits", "subunits.csv",
          "pore.csv", "ent", TEXTS[1]),
    World("toxins", "toxicologist", "toxin structures", "specification", "/srv/toxins", "scorpion toxins", "toxins.csv",
          "close.csv", "crd", TEXTS[3]),
    World("designs", "protein designer", "designed proteins", "email", "/opt/design", "last week's designs", "designs.csv",
          "packing.csv", "pdb", TEXTS[0]),
)  # fmt: skip
FILES = (
    "The structures are the files {folder}/*.{ending}.",
    "Every file that ends in .{ending} in {folder} is one structure.",
    "Structures: all {folder}/*.{ending}, one each.",
)
FORMAT = (
    "They have the fixed columns of PDB files (counted from 1): record 1-6, atom name 13-16, alternate location "
    "17, residue name 18-20, "
    "chain 22, residue number 23-26, insertion code 27, x 31-38, y 39-46, z 47-54, occupancy 55-60, B factor 61-66.",
    "Columns are those of PDB, from 1 and with both ends: 1-6 record, 13-16 atom name, 17 alternate location, "
    "18-20 residue name, 22 chain, "
    "23-26 residue number, 27 insertion code, 31-38 x, 39-46 y, 47-54 z, 55-60 occupancy, 61-66 B factor.",
    "The layout is that of PDB: fields are found by column (first is 1) and can touch: record in 1-6, atom in "
    "13-16, alternate in 17, "
    "residue name in 18-20, chain in 22, number in 23-26, insertion in 27, coordinates in 31-38, 39-46 and "
    "47-54, occupancy in 55-60, B in 61-66.",
)
MODELS = (
    "Where a file has several models (MODEL to ENDMDL) use only the first{best}.",
    "Of a file with MODEL and ENDMDL records only the first model counts{best}.",
    "Some files hold more than one model between MODEL and ENDMDL; take the first in the file and no other{best}.",
)
BEST = (
    ", unless a line `REMARK BEST MODEL n` names another by its number",
    ", or the model numbered n if there is a line `REMARK BEST MODEL n`",
    ", except where `REMARK BEST MODEL n` says that it is the one with number n",
)
RECORDS = (
    "Only ATOM records matter{mse}.",
    "Records other than ATOM are ignored{mse}.",
    "Use ATOM records and nothing else{mse}.",
)
MSE = (
    ", and HETATM records of residues named MSE, which are treated like them",
    ", with one exception, HETATM records with residue name MSE count as well",
    " apart from HETATM records of MSE, which are part of the chain too",
)
ALTERNATES = (
    "If an atom of a residue occurs in several alternate locations, keep the one with the highest occupancy, at "
    "equal occupancy the one "
    "with the alphabetically first letter.",
    "An atom (same residue, same atom name) with alternate locations is counted once: highest occupancy wins, "
    "then the lowest letter.",
    "Alternate locations are versions of one atom; the version of greatest occupancy is taken, of equal ones "
    "that whose letter comes first.",
)
RESIDUES = (
    "A residue is identified by chain, number and insertion code, so 52 and 52A are two residues, in the order "
    "of the file.",
    "Residues differ if chain, number or insertion code differ (52 is not 52A); their order is that of the file.",
    "Number plus insertion code tell the residues of a chain apart (52, 52A, 52B are three), and the file gives "
    "their order.",
)
TABLE = (
    "Write {folder}/{table} with the header file,chain,residues,atoms,breaks,mean_b,radius and a line per file "
    "and chain, sorted by file name "
    "and chain: numbers of residues and of atoms kept; breaks, how often the CA atoms of two residues in "
    "succession are more than {limit} "
    "apart; the mean B factor of the atoms kept; and the square root of the mean squared distance of the atoms "
    "kept from their mean position "
    "(every atom counts the same). The last two have three decimals.",
    "Result: {folder}/{table}, header file,chain,residues,atoms,breaks,mean_b,radius, a line for each chain of "
    "each file, ordered by file name, "
    "then chain. atoms are those kept; a break is a pair of successive residues of the chain with CA atoms "
    "farther apart than {limit}; mean_b "
    "is the average B factor, radius the root mean square distance of the kept atoms from their centroid, "
    "unweighted, both to 3 decimals.",
    "Make the table {folder}/{table} (header file,chain,residues,atoms,breaks,mean_b,radius; a line for each "
    "file name and chain in ascending "
    "order). It counts residues, kept atoms and breaks (distance between the CA atoms of neighbours in sequence "
    "above {limit}), and gives the mean B "
    "factor and the radius, i.e. the root of the mean square distance to the centroid without weights, with "
    "three decimals.",
)
PAIRS = (
    " Write {folder}/{pairs} as well, header file,chain1,residue1,chain2,residue2,distance: all pairs of "
    "residues of different chains with kept atoms "
    "at most {reach} apart, the smaller chain letter first, residues written like 52 or 52A, distance the "
    "smallest one between them with three decimals. "
    "The order of lines is free.",
    " The second table is {folder}/{pairs} (header file,chain1,residue1,chain2,residue2,distance): residues of "
    "two chains of which any two kept atoms "
    "are {reach} or less apart; chain1 is alphabetically before chain2, a residue is number and insertion code "
    "as in 52A, distance is the minimum "
    "over atoms, 3 decimals; lines in any order.",
    " And {folder}/{pairs}: header file,chain1,residue1,chain2,residue2,distance, one line (in whatever order) "
    "for two residues from different chains "
    "whose closest kept atoms are not farther than {reach} from each other; chain1 < chain2, residues in the "
    "form 52A, that closest distance to three "
    "decimals.",
)
KEEP = (
    "The structure files must stay unchanged.",
    "Do not change the structures.",
    "Structures remain as they are.",
)

TESTS = """
import csv
import hashlib
from pathlib import Path

FOLDER = Path(TRUTH["folder"])


def table(name, header):
    with open(FOLDER / name, newline="") as file:
        rows = [[cell.strip() for cell in row] for row in csv.reader(file) if row]
    assert rows[0] == header, rows[0]
    return rows[1:]


def chains():
    return table(TRUTH["table"], ["file", "chain", "residues", "atoms", "breaks", "mean_b", "radius"])


def test_counts():
    got = [[row[0], row[1], *(int(cell) for cell in row[2:5])] for row in chains()]
    assert got == [row[:5] for row in TRUTH["chains"]]


def test_measures():
    got = chains()
    assert len(got) == len(TRUTH["chains"])
    for row, wanted in zip(got, TRUTH["chains"]):
        assert row[:2] == wanted[:2]
        assert abs(float(row[5]) - wanted[5]) < 0.0021 and abs(float(row[6]) - wanted[6]) < 0.0021, row[:2]


def test_structures_unchanged():
    for name, digest in TRUTH["inputs"].items():
        assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == digest, name
"""
PAIR_TESTS = """

def test_contacts():
    rows = table(TRUTH["pairs"], ["file", "chain1", "residue1", "chain2", "residue2", "distance"])
    got = {tuple(row[:5]): float(row[5]) for row in rows}
    wanted = {tuple(row[:5]): row[5] for row in TRUTH["contacts"]}
    assert len(rows) == len(got) and set(got) == set(wanted), "pairs"
    assert all(abs(got[key] - wanted[key]) < 0.0021 for key in wanted), "distance"
"""
INITIAL = """
from pathlib import Path


def test_structures_are_there():
    folder = Path(TRUTH["folder"])
    assert all((folder / name).is_file() for name in TRUTH["inputs"])
    assert not (folder / TRUTH["table"]).exists()
"""

SOLUTION = """cd @FOLDER@ && python3 - <<'PY'
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
"""
ALTERNATIVE = """cd @FOLDER@
echo file,chain,residues,atoms,breaks,mean_b,radius > @TABLE@
[ @DEEP@ = 1 ] && echo file,chain1,residue1,chain2,residue2,distance > @PAIRS@
for f in *.@ENDING@; do
  best=$(grep -m1 '^MODEL' "$f" | awk '{print $2}')
  named=$(grep '^REMARK BEST MODEL' "$f" | awk '{print $4}')
  [ @DEEP@ = 1 ] && [ -n "$named" ] && best=$named
  gawk -v file="$f" -v best="$best" -v deep=@DEEP@ '
  /^MODEL/ { now = $2; next }
  /^ENDMDL/ { now = ""; next }
  best != "" && now != best { next }
  /^ATOM  / || (deep && /^HETATM/ && substr($0, 18, 3) == "MSE") {
    c = substr($0, 22, 1); r = substr($0, 23, 5); gsub(/ /, "", r); a = substr($0, 13, 4); k = c SUBSEP r SUBSEP a
    o = substr($0, 55, 6) + 0; alt = substr($0, 17, 1)
    if (!((c, r) in seen)) { seen[c, r]; n[c]++; name[c, n[c]] = r; chain[c] }
    if (!(k in occ)) { m[c, r]++; atom[c, r, m[c, r]] = k }
    else if (o < occ[k] || (o == occ[k] && alt > al[k])) next
    occ[k] = o; al[k] = alt; x[k] = substr($0, 31, 8) + 0; y[k] = substr($0, 39, 8) + 0; z[k] = substr($0, 47, 8) + 0
    b[k] = substr($0, 61, 6) + 0
  }
  function d2(p, q) { return (x[p] - x[q]) ^ 2 + (y[p] - y[q]) ^ 2 + (z[p] - z[q]) ^ 2 }
  END {
    w = asorti(chain, order)
    for (q = 1; q <= w; q++) {
      c = order[q]; t = sx = sy = sz = sb = ss = br = 0
      for (i = 1; i <= n[c]; i++) for (j = 1; j <= m[c, name[c, i]]; j++) {
        k = atom[c, name[c, i], j]; t++; sx += x[k]; sy += y[k]; sz += z[k]; sb += b[k]
      }
      for (i = 1; i <= n[c]; i++) for (j = 1; j <= m[c, name[c, i]]; j++) {
        k = atom[c, name[c, i], j]; ss += (x[k] - sx / t) ^ 2 + (y[k] - sy / t) ^ 2 + (z[k] - sz / t) ^ 2
      }
      for (i = 2; i <= n[c]; i++)
        br += d2(c SUBSEP name[c, i] SUBSEP " CA ", c SUBSEP name[c, i - 1] SUBSEP " CA ") > @LIMIT@ ^ 2
      printf "%s,%s,%d,%d,%d,%.3f,%.3f\\n", file, c, n[c], t, br, sb / t, sqrt(ss / t) >> "@TABLE@"
      for (p = q + 1; p <= w && deep; p++) for (i = 1; i <= n[c]; i++) for (j = 1; j <= n[order[p]]; j++) {
        r = name[c, i]; s = name[order[p], j]; low = 1e9
        for (u = 1; u <= m[c, r]; u++) for (v = 1; v <= m[order[p], s]; v++) {
          e = d2(atom[c, r, u], atom[order[p], s, v]); if (e < low) low = e
        }
        if (low <= @REACH@ ^ 2) printf "%s,%s,%s,%s,%s,%.3f\\n", file, c, r, order[p], s, sqrt(low) >> "@PAIRS@"
      }
    }
  }' "$f"
done
"""
STEPS = ((3800, 0, 0), (2700, 2650, 300), (2200, 2200, 2190), (3300, 1200, 1450), (1000, 3600, 700))
RESIDUE_NAMES = "ALA GLY SER LEU VAL LYS GLU ASP PHE TRP"


def filled(script: str, words: Mapping[str, str]) -> str:
    """A script with its @NAMES@ replaced."""
    for name, value in words.items():
        script = script.replace(f"@{name}@", value)
    return script


def wrong(script: str, old: str, new: str) -> str:
    """A solution with one mistake."""
    if old not in script:
        raise ValueError(f"the solution does not contain {old!r}")
    return script.replace(old, new)


def draw_chain(draw: Draw, chain: str, origin: tuple[int, int, int], length: int, limit: int, deep: bool) -> list[Atom]:
    """A chain with a break, inserted residues, alternate locations, and an MSE residue."""
    atoms: list[Atom] = []
    x, y, z = origin
    number, insertion = draw.pick((17, 95, 996)), ""
    for place in range(length):
        if place:
            step = draw.pick(STEPS)
            scale = 1000 * (limit + draw.between(300, 2500)) // 3700 if place == 4 else 1000
            x, y, z = x + step[0] * scale // 1000, y + step[1] * scale // 1000, z + step[2] * scale // 1000
        if place in (2, 3):  # 18, 18A, 18B
            insertion = "AB"[place - 2]
        elif place:
            number, insertion = number + (draw.between(2, 5) if place == 6 else 1), ""
        residue, record = draw.pick(RESIDUE_NAMES.split()), "ATOM"
        if place == 5 and deep:
            residue, record = "MSE", "HETATM"
        for name in ("N", "CA", "C", "O") if residue == "GLY" else ("N", "CA", "C", "O", "CB"):
            mixed = draw.rng.randrange(2201 * 2201 * 1801 * 5201)  # one draw instead of four
            mixed, b = divmod(mixed, 5201)
            mixed, dz = divmod(mixed, 1801)
            dx, dy = divmod(mixed, 2201)
            b += 800
            spot = (x, y, z) if name == "CA" else (x + dx - 1100, y + dy - 1100, z + dz - 900)
            if place == 1 or (place == 7 and name in ("CA", "O")):
                occupancies = (50, 50) if place == 7 and name == "O" else draw.pick(((35, 65), (30, 70), (40, 60)))
                # file order is not the order of the letters
                for letter, occupancy in zip("BA" if place == 7 else "AB", occupancies, strict=True):
                    moved = (spot[0] + draw.between(200, 600), spot[1], spot[2] - draw.between(100, 500))
                    shifted = moved if letter == "B" else spot
                    atoms.append(
                        Atom(
                            record,
                            name,
                            letter,
                            residue,
                            chain,
                            number,
                            insertion,
                            shifted,
                            occupancy,
                            b + ord(letter) * 7,
                        )
                    )
            else:
                atoms.append(Atom(record, name, " ", residue, chain, number, insertion, spot, 100, b))
    for _ in range(2):
        atoms.append(
            Atom("HETATM", "O", " ", "HOH", chain, number + draw.between(30, 90), "", (x + 900, y, z + 900), 100, 3000)
        )
    return atoms


def line(serial: int, atom: Atom) -> str:
    """A record in fixed columns."""
    x, y, z = (value / 1000 for value in atom.place)
    return (
        f"{atom.record:<6}{serial:5d} {' ' + atom.name:<4}{atom.alternate}{atom.residue:>3} "
        f"{atom.chain}{atom.number:4d}"
        f"{atom.insertion or ' '}   {x:8.3f}{y:8.3f}{z:8.3f}{atom.occupancy / 100:6.2f}{atom.b / 100:6.2f}"
        f"          {atom.name[0]:>2}\n"
    )


def kept_atoms(atoms: Sequence[Atom]) -> dict[str, dict[str, dict[str, Atom]]]:
    """The atoms that count: chain -> residue -> atom name -> atom."""
    chains: dict[str, dict[str, dict[str, Atom]]] = {}
    for atom in atoms:
        if atom.record == "HETATM" and atom.residue != "MSE":
            continue
        residue = chains.setdefault(atom.chain, {}).setdefault(f"{atom.number}{atom.insertion}", {})
        other = residue.get(atom.name)
        if not other or (-atom.occupancy, atom.alternate) < (-other.occupancy, other.alternate):
            residue[atom.name] = atom
    return chains


def squared(one: Atom, other: Atom) -> int:
    """Squared distance in thousandths, a whole number."""
    (a, b, c), (d, e, f) = one.place, other.place
    return (a - d) ** 2 + (b - e) ** 2 + (c - f) ** 2


def measure(
    file: str, atoms: Sequence[Atom], limit: int, reach: int, deep: bool
) -> tuple[list[list[object]], list[list[object]]]:
    """The rows of both tables for one structure."""
    chains = kept_atoms(atoms)
    rows: list[list[object]] = []
    contacts: list[list[object]] = []
    for chain in sorted(chains):
        kept = [atom for residue in chains[chain].values() for atom in residue.values()]
        alphas = [residue["CA"] for residue in chains[chain].values()]
        breaks = sum(squared(one, other) > limit**2 for one, other in pairwise(alphas))
        count = len(kept)
        # n * sum(x^2) - (sum x)^2 is n^2 times the mean square distance from the centroid, in whole numbers
        spread = sum(count * sum(a.place[k] ** 2 for a in kept) - sum(a.place[k] for a in kept) ** 2 for k in range(3))
        radius = sqrt(spread / count**2) / 1000
        mean_b = sum(atom.b for atom in kept) / count / 100
        rows.append([file, chain, len(alphas), count, breaks, round(mean_b, 3), round(radius, 3)])
        for other in sorted(chains) if deep else ():
            if other <= chain:
                continue
            for name, first in chains[chain].items():
                for name2, second in chains[other].items():
                    if squared(first["CA"], second["CA"]) > (reach + 6000) ** 2:
                        continue
                    closest = min(squared(one, two) for one in first.values() for two in second.values())
                    if closest <= reach**2:
                        contacts.append([file, chain, name, other, name2, round(sqrt(closest) / 1000, 3)])
    return rows, contacts


def swollen(atom: Atom, percent: int) -> Atom:
    """The atom in another model: the whole structure is larger by this, and warmer."""
    x, y, z = atom.place
    place = (x + x * percent // 100, y + y * percent // 100, z + z * percent // 100)
    return Atom(
        atom.record, atom.name, atom.alternate, atom.residue, atom.chain, atom.number, atom.insertion, place, atom.occupancy,
        atom.b + 150 * percent,
    )  # fmt: skip


def structure(draw: Draw, number: int, limit: int, deep: bool) -> tuple[str, list[Atom]]:
    """A file and the atoms of the model that counts in it."""
    length = draw.by_difficulty(easy=8, medium=9)
    letters = draw.sample("ABCDEHLXY", draw.between(2, 3))
    origin = (-draw.between(100_000, 140_000), -draw.between(100_000, 130_000), draw.between(-90_000, 90_000))
    atoms: list[Atom] = []
    for place, letter in enumerate(letters):
        start = (origin[0] + place * 2500, origin[1] - place * 3900, origin[2] + place * 700)
        atoms += draw_chain(draw, letter, start, length, limit, deep)
    models = [atoms]
    for number_of_model in range(1, 1 if number % 3 == 0 else draw.between(2, 3)):
        models.append([swollen(atom, number_of_model) for atom in atoms])
    text = f"HEADER    STRUCTURE {number + 1}\n"
    chosen = 0
    if deep and len(models) > 1 and number == 1:
        chosen = len(models) - 1
        text += f"REMARK BEST MODEL {chosen + 1}\n"
    for place, atoms in enumerate(models):
        body = "".join(line(serial, atom) for serial, atom in enumerate(atoms, 1))
        text += body if len(models) == 1 else f"MODEL     {place + 1:4d}\n{body}ENDMDL\n"
    return text + "END\n", models[chosen]


def draft(draw: Draw) -> Draft:
    """One set of structures."""
    world = draw.setting(SETTINGS)
    deep = draw.difficulty is not Difficulty.EASY
    limit, reach = draw.between(4100, 4400), draw.between(3600, 4600)
    count = 3
    names = [f"{word}{draw.between(1, 99)}.{world.ending}" for word in sorted(draw.sample(HOST_WORDS, count))]
    files: dict[str, str] = {}
    chains: list[list[object]] = []
    contacts: list[list[object]] = []
    for number, name in enumerate(names):
        files[name], atoms = structure(draw, number, limit, deep)
        rows, pairs = measure(name, atoms, limit, reach, deep)
        chains += rows
        contacts += pairs
    place = SETTINGS.index(world)

    def kind(number: int) -> int:  # the wording of a sentence: no two settings have the same mixture
        return (place + number * (place // 3)) % 3

    words = {
        "folder": world.folder, "ending": world.ending, "table": world.table, "pairs": world.pairs,
        "limit": f"{limit / 1000:.3f}", "reach": f"{reach / 1000:.3f}",
        "best": BEST[kind(0)] if deep else "", "mse": MSE[kind(1)] if deep else "",
    }  # fmt: skip
    sources = {
        "files": FILES, "format": FORMAT, "models": MODELS, "records": RECORDS, "alternates": ALTERNATES, "residues": RESIDUES,
        "table": TABLE, "pairs": PAIRS, "keep": KEEP,
    }  # fmt: skip
    parts = {name: texts[kind(number)].format(**words) for number, (name, texts) in enumerate(sources.items())}
    if not deep:
        parts["pairs"] = ""
    instruction = world.text.format(
        firm=draw.pick(FIRMS), persona=world.persona, ticket=draw.between(100, 9999), what=world.what, **parts
    )
    script_words = {
        "FOLDER": world.folder, "ENDING": world.ending, "TABLE": world.table, "PAIRS": world.pairs,
        "LIMIT": f"{limit / 1000:.3f}", "REACH": f"{reach / 1000:.3f}", "DEEP": "1" if deep else "0",
    }  # fmt: skip
    solution = filled(SOLUTION, script_words)
    goals = ["test_counts", "test_measures"]
    misses = [
        Miss("all_models", "reads every model", wrong(solution, "if numbers and model != wanted:", "if False:"), goals[1:]),
        Miss("first_alternate", "keeps whichever alternate comes first",
             wrong(solution, "if key not in atoms or value < atoms[key]:", "if key not in atoms:"), goals[1:]),
        Miss("all_alternates", "counts alternates as atoms",
             wrong(solution, "l[12:16].strip())", 'l[12:16].strip() + l[16].replace("A", "").strip())'), goals),
        Miss("no_insertions", "ignores insertion codes", wrong(solution, "l[22:27]", "l[22:26]"), goals),
    ]  # fmt: skip
    if deep:
        misses += [
            Miss("alpha_contacts", "measures between CA atoms only",
                 wrong(solution, "for p in a.values() for q in b.values()", 'for p in [a["CA"]] for q in [b["CA"]]'), ["test_contacts"]),
            Miss("no_mse", "drops MSE residues", wrong(solution, '== "MSE"', '== "?"'), goals),
            Miss("first_model", "overlooks the best model", wrong(solution, "best[0] if best else ", ""), goals[1:]),
        ]  # fmt: skip
    tests = [*goals, "test_contacts"] if deep else goals
    return Draft(
        title=f"Tables of {world.scenario}",
        setting=world,
        instruction=instruction,
        files=files,
        dockerfile=f"COPY {' '.join(sorted(files))} {world.folder}/\nWORKDIR {world.folder}",
        truth={
            "folder": world.folder,
            "table": world.table,
            "pairs": world.pairs,
            "chains": chains,
            "contacts": contacts,
            "inputs": {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()},
        },
        discoverable=("folder", "table", "pairs", "chains", "contacts"),
        tests=TESTS + PAIR_TESTS if deep else TESTS,
        weights={"test_counts": 0.35, "test_measures": 0.3, "test_contacts": 0.35}
        if deep
        else {"test_counts": 0.6, "test_measures": 0.4},
        guards=["test_structures_unchanged"],
        initial=INITIAL,
        solution=solution,
        alternatives=[filled(ALTERNATIVE, script_words)],
        misses=misses,
        requirements=[
            *((parts[name], tests) for name in ("files", "format", "models", "records", "alternates", "residues")),
            (parts["table"], goals),
            *([(parts["pairs"].strip(), ["test_contacts"])] if deep else []),
            (parts["keep"], ["test_structures_unchanged"]),
        ],
        knobs={"files": count, "contacts": len(contacts), "deep": deep},
    )


FAMILY = Family(
    name="structure_files",
    domain="scientific_computing",
    verifier=Verifier.EXACT_TEXT,
    skills=("fixed-column parsing", "structural biology files", "geometry", "csv output"),
    difficulties=(Difficulty.EASY, Difficulty.MEDIUM),
    capacity=24,
    draft=draft,
)
