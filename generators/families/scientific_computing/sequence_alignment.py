"""Write an aligner: optimal affine-gap score, number of optimal alignments, and the first of them by stated tie rules."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import comb

from generators.family import Draft, Draw, Family, Miss, Setting
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS

PRIME = 1_000_000_007


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    folder: str
    program: str
    symbols: str
    what: str
    keys: tuple[str, str]  # labels of the first two output lines
    example: str
    text: str


@dataclass(frozen=True)
class Scoring:
    """What a scoring file says. Costs are of gaps in the first and in the second sequence."""

    match: int
    mismatch: int
    pairs: tuple[tuple[str, str, int], ...]
    opening: tuple[int, int]
    extending: tuple[int, int]
    free: bool = False
    wild: str = ""
    wild_score: int = 0


TEXTS = (
    """Hi,

our group at {firm} compares {what} and needs its own aligner, the library we had does something else at ties. {interface}

{file} {score} {count} {first}

{output} {limits} {keep}

Cheers, {persona}
""",
    """[ALN-{ticket}] Aligner for {what} ({firm})

{interface}
{output}

Scoring
- {file}
- {score}

Ties
- {count}
- {first}

{limits} {keep}
""",
    """wanted: aligner for {what}
{interface} {output}
{score} {file}
{count} {first}
{limits}
{keep}
""",
    """Specification of the program {program}, client {firm}, number {ticket}

Interface. {interface}
Scoring file. {file}
Optimum. {score}
Number of optima. {count}
Canonical alignment. {first}
Output. {output}
Size. {limits}
Other. {keep}
""",
)
SETTINGS = (
    World("genes", "bioinformatician", "gene fragments", "email", "/srv/genes", "align", "ACGT", "gene fragments",
          ("score", "count"), "default.scoring", TEXTS[0]),
    World("rna", "virologist", "RNA reads", "ticket", "/opt/rna/bin", "rnalign", "ACGU", "RNA reads",
          ("best", "ways"), "reads.cfg", TEXTS[1]),
    World("dialects", "linguist", "dialect words", "note", "/home/ling/words", "pairwords", "aeknst", "transcribed words",
          ("total", "variants"), "vowels.txt", TEXTS[2]),
    World("melodies", "musicologist", "folk melodies", "specification", "/work/melody", "melodiff", "CDEFGAB", "melodies as note names",
          ("value", "solutions"), "modal.rules", TEXTS[3]),
    World("strata", "geologist", "drill cores", "runbook", "/var/lib/cores", "corematch", "CLSGM", "layers of drill cores",
          ("points", "optima"), "basin.conf", TEXTS[1]),
    World("gestures", "interaction researcher", "gesture codes", "chat", "/data/gesture", "gestalign", "UDLR", "strings of gesture codes",
          ("merit", "number"), "study.scoring", TEXTS[2]),
    World("manuscripts", "philologist", "manuscript sigla", "specification", "/srv/stemma", "collate", "abcdf", "sequences of readings",
          ("weight", "collations"), "witness.rules", TEXTS[3]),
    World("peptides", "proteomics lead", "peptides", "email", "/opt/peptide", "pepalign", "KRDEST", "short peptides",
          ("sum", "multiplicity"), "acid.cfg", TEXTS[0]),
)  # fmt: skip
INTERFACE = (
    "Please build {path}, an executable that is started as `{path} FILE` with the path of a scoring file and "
    "reads two lines from "
    "standard input, the first and the second sequence (either may be empty).",
    "Program: {path} (executable), one argument, the scoring file; standard input has exactly two lines, first "
    "and second "
    "sequence, possibly empty lines.",
    "It has to be an executable {path}; call: `{path} SCORING`; the two sequences come on standard input, one "
    "per line, and a "
    "line can be empty.",
)
FILE = (
    "A scoring file, such as {example}, has one setting per line: `match N`, `mismatch N`, any number of `pair A "
    "B N` (the score of "
    "these two symbols in either order, also if A and B are the same, instead of match or mismatch){gaps}; blank "
    "lines and lines "
    "beginning with # mean nothing, and the order is free.",
    "Scoring files look like {example}. Lines: `match N`; `mismatch N`; `pair A B N`, which overrides both for A "
    "with B and for B "
    "with A, equal symbols included{gaps}. The lines come in any order; ignore empty ones and those starting with #.",
    "{example} is an example of a scoring file: in any order `match N` and `mismatch N`, then exceptions `pair A "
    "B N` that hold in "
    "both directions and also for a symbol with itself{gaps}. Empty lines and # lines are comments.",
)
GAPS_PLAIN = ", `open N` and `extend N`"
GAPS_RICH = (
    ", `open1 N`, `extend1 N` for gaps in the first sequence and `open2 N`, `extend2 N` for gaps in the second, "
    "`ends global` or "
    "`ends free`, and perhaps `wild S N` (the symbol S scores N with every symbol and with itself, whatever else "
    "is stated)"
)
SCORE = (
    "An alignment is a row of columns, each a symbol of the first over a symbol of the second, a symbol of the "
    "first over a gap, or "
    "a gap over a symbol of the second; its score is the sum over the pairs minus open + k * extend for every "
    "maximal run of k gap "
    "columns in one sequence, and a run in one sequence may directly follow a run in the other.{free}",
    "Scores of aligned pairs are added; each longest run of k consecutive gap columns in the same sequence costs "
    "open + k * extend. A "
    "column has a gap in at most one sequence; gaps in the first may stand right beside gaps in the second and "
    "are then two runs.{free}",
    "The score adds up all aligned pairs and subtracts, for each unbroken run of k gaps in one of the sequences, "
    "open + k * extend. "
    "No column consists of two gaps, but a run of gaps in one sequence can touch a run in the other.{free}",
)
FREE = (
    " With `ends free` a run of gaps that touches the beginning or the end of the alignment costs nothing.",
    " If the file says `ends free`, runs that include the first or the last column are free of charge.",
    " Under `ends free` there is no cost for a run at the very start or the very end of the alignment.",
)
COUNT = (
    "Also count the alignments that reach the best score (two are different if any column differs), modulo 1000000007.",
    "The number of different alignments (as rows of columns) with the best score is wanted too, modulo 1000000007.",
    "Beside the best score the program tells how many different column sequences attain it, modulo 1000000007.",
)
ORDER = (
    "Of the best ones print the one that comes first when columns are compared from left to right, a pair before "
    "a gap in the second "
    "sequence before a gap in the first.",
    "The alignment shown is decided from the left: at the first column where two optimal alignments differ, a "
    "pair is preferred, then a "
    "gap in the second sequence, then a gap in the first.",
    "Printed is one optimal alignment only; read from the left it has a pair as early as possible, failing that "
    "a gap in the second "
    "sequence, and a gap in the first sequence only where nothing else is optimal.",
)
OUTPUT = (
    "Output is four lines: `{k1} N`, `{k2} N`, then the first and the second sequence as aligned, with - for "
    "gaps (empty lines if there "
    "is nothing to align).",
    "It prints `{k1} N`, on the next line `{k2} N`, and below them the two aligned rows, gaps written as - (two "
    "empty lines for two "
    "empty sequences).",
    "Print exactly: a line `{k1} N`, a line `{k2} N`, the aligned first sequence, the aligned second sequence; a "
    "gap is the character -, "
    "and rows without columns are empty lines.",
)
LIMITS = (
    "Sequences of 100 symbols must not take longer than 5 seconds.",
    "Up to 100 symbols a sequence, 5 seconds at most.",
    "It must finish within 5 seconds for sequences with 100 symbols.",
)
KEEP = ("Leave {example} as it is.", "{example} stays unchanged.", "The example file {example} must not be altered.")

TESTS = """
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

RESULTS = {}


def results():
    if not RESULTS:
        assert os.access(TRUTH["program"], os.X_OK), "the program is not executable"
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            for number, text in enumerate(TRUTH["scorings"]):
                Path(folder, f"s{number}").write_text(text)
            rows = []
            for scoring, first, second, *_ in TRUTH["cases"]:
                run = subprocess.run(
                    [TRUTH["program"], f"{folder}/s{scoring}"],
                    input=f"{first}\\n{second}\\n", capture_output=True, text=True, timeout=10,
                )
                rows.append([line.rstrip() for line in (run.stdout + "\\n\\n\\n\\n").split("\\n")[:4]])
            RESULTS["rows"] = rows
    return RESULTS["rows"]


def compare(line, wanted):
    for number, (row, case) in enumerate(zip(results(), TRUTH["cases"])):
        assert row[line] == wanted(case), f"case {number}"


def test_scores():
    compare(0, lambda case: f"{TRUTH['keys'][0]} {case[3]}")


def test_counts():
    compare(1, lambda case: f"{TRUTH['keys'][1]} {case[4]}")


def test_alignments():
    compare(2, lambda case: case[5])
    compare(3, lambda case: case[6])


def test_example_unchanged():
    assert hashlib.sha256(Path(TRUTH["example"]).read_bytes()).hexdigest() == TRUTH["digest"]
"""
INITIAL = """
from pathlib import Path


def test_no_program_yet():
    assert Path(TRUTH["example"]).is_file()
    assert not Path(TRUTH["program"]).exists()
"""

SOLUTION = """cat > @PATH@ <<'PY'
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
text = sys.stdin.read().split("\\n") + ["", ""]
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
"""
ALTERNATIVE = """cat > @PATH@ <<'SH'
#!/bin/bash
exec gawk -v scoring="$1" '
function sub2(x, y) {
  if (hasw && (x == ws || y == ws)) return wn
  if ((x, y) in pr) return pr[x, y]
  return x == y ? v["match"] : v["mismatch"]
}
function step(i, j, p,   k) {  # fills o[0..2], c[0..2]; returns the best
  best = "none"
  for (k = 0; k < 3; k++) has[k] = 0
  if (i < n && j < m) { has[0] = 1; o[0] = sub2(substr(a, i + 1, 1), substr(b, j + 1, 1)) + F[i + 1, j + 1, 0]; c[0] = C[i + 1, j + 1, 0] }
  if (i < n) { has[1] = 1; o[1] = F[i + 1, j, 1] - (fr && (j == 0 || j == m) ? 0 : e2 + (p == 1 ? 0 : o2)); c[1] = C[i + 1, j, 1] }
  if (j < m) { has[2] = 1; o[2] = F[i, j + 1, 2] - (fr && (i == 0 || i == n) ? 0 : e1 + (p == 2 ? 0 : o1)); c[2] = C[i, j + 1, 2] }
  for (k = 0; k < 3; k++) if (has[k] && (best == "none" || o[k] > best)) best = o[k]
  return best
}
BEGIN {
  while ((getline line < scoring) > 0) {
    if (line ~ /^#/ || split(line, w, " ") == 0) continue
    if (w[1] == "pair") { pr[w[2], w[3]] = w[4] + 0; pr[w[3], w[2]] = w[4] + 0 }
    else if (w[1] == "wild") { hasw = 1; ws = w[2]; wn = w[3] + 0 }
    else v[w[1]] = (w[1] == "ends") ? w[2] : w[2] + 0
  }
  o1 = ("open1" in v) ? v["open1"] : v["open"]; o2 = ("open2" in v) ? v["open2"] : v["open"]
  e1 = ("extend1" in v) ? v["extend1"] : v["extend"]; e2 = ("extend2" in v) ? v["extend2"] : v["extend"]
  fr = v["ends"] == "free"
}
NR == 1 { a = $1 }
NR == 2 { b = $1 }
END {
  n = length(a); m = length(b)
  for (i = n; i >= 0; i--) for (j = m; j >= 0; j--) for (p = 0; p < 3; p++) {
    if (i == n && j == m) { F[i, j, p] = 0; C[i, j, p] = 1; continue }
    x = step(i, j, p); t = 0
    for (k = 0; k < 3; k++) if (has[k] && o[k] == x) t = (t + c[k]) % 1000000007
    F[i, j, p] = x; C[i, j, p] = t
  }
  print "@K1@ " F[0, 0, 0]; print "@K2@ " C[0, 0, 0]
  i = j = p = 0
  while (i < n || j < m) {
    x = step(i, j, p)
    for (k = 0; !(has[k] && o[k] == x); k++);
    top = top (k == 2 ? "-" : substr(a, i + 1, 1)); low = low (k == 1 ? "-" : substr(b, j + 1, 1))
    i += k != 2; j += k != 1; p = k
  }
  print top; print low
}'
SH
chmod 755 @PATH@
"""


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


def align(scoring: Scoring, first: str, second: str) -> tuple[int, int, str, str]:
    """Best score, number of best alignments, and the first of them. States: last column a pair, a gap below, a gap above."""
    n, m = len(first), len(second)
    table = {(x, y): scoring.match if x == y else scoring.mismatch for x in first for y in second}
    for x, y, value in scoring.pairs:
        table[x, y] = table[y, x] = value
    wild = scoring.wild
    lowest = -(10**9)
    best = [[[0, 0, 0] for _ in range(m + 1)] for _ in range(n + 1)]
    ways = [[[1, 1, 1] for _ in range(m + 1)] for _ in range(n + 1)]
    moves = [[[0, 0, 0] for _ in range(m + 1)] for _ in range(n + 1)]
    for i in range(n, -1, -1):
        loose_above = scoring.free and i in (0, n)
        for j in range(m, -1, -1):
            if i == n and j == m:
                continue
            loose_below = scoring.free and j in (0, m)
            pair = lowest
            if i < n and j < m:
                x, y = first[i], second[j]
                pair = (scoring.wild_score if wild and wild in (x, y) else table[x, y]) + best[i + 1][j + 1][0]
            below = best[i + 1][j][1] - (0 if loose_below else scoring.extending[1]) if i < n else lowest
            above = best[i][j + 1][2] - (0 if loose_above else scoring.extending[0]) if j < m else lowest
            for state in range(3):
                down = below if state == 1 or loose_below else below - scoring.opening[1]
                over = above if state == 2 or loose_above else above - scoring.opening[0]
                top = max(pair, down, over)
                count, move = 0, 0
                if j < m and over == top:
                    count, move = ways[i][j + 1][2], 2
                if i < n and down == top:
                    count, move = count + ways[i + 1][j][1], 1
                if pair == top:
                    count, move = count + ways[i + 1][j + 1][0], 0
                best[i][j][state], ways[i][j][state], moves[i][j][state] = top, count % PRIME, move
    rows = ["", ""]
    i = j = state = 0
    while i < n or j < m:
        state = moves[i][j][state]
        rows[0] += first[i] if state != 2 else "-"
        rows[1] += second[j] if state != 1 else "-"
        i, j = i + (state != 2), j + (state != 1)
    return best[0][0][0], ways[0][0][0], rows[0], rows[1]


def file_text(draw: Draw, scoring: Scoring, rich: bool) -> str:
    """A scoring file with its lines in random order."""
    lines = [f"match {scoring.match}", f"mismatch {scoring.mismatch}"]
    lines += [f"pair {x} {y} {value}" for x, y, value in scoring.pairs]
    if rich:
        lines += [f"open{n + 1} {scoring.opening[n]}" for n in (0, 1)] + [
            f"extend{n + 1} {scoring.extending[n]}" for n in (0, 1)
        ]
        lines.append("ends free" if scoring.free else "ends global")
        if scoring.wild:
            lines.append(f"wild {scoring.wild} {scoring.wild_score}")
    else:
        lines += [f"open {scoring.opening[0]}", f"extend {scoring.extending[0]}"]
    return "# scoring\n\n" + "\n".join(draw.shuffled(lines)) + "\n"


def draw_scoring(draw: Draw, symbols: str, rich: bool) -> Scoring:
    """Small numbers, so that ties are common."""
    x, y, z = draw.sample(symbols, 3)
    pairs = ((x, y, draw.between(0, 1)), (z, z, draw.between(3, 4)), (x, z, -draw.between(3, 5)))
    opening, extending = draw.between(1, 3), 1
    if not rich:
        return Scoring(2, -draw.between(1, 2), pairs, (opening, opening), (extending, extending))
    return Scoring(
        2, -1, pairs, (opening, draw.between(0, 2)), (1, draw.between(1, 2)), draw.chance(50), y, draw.between(0, 1)
    )


def draw_cases(draw: Draw, symbols: str, rich: bool) -> tuple[list[Scoring], list[tuple[int, str, str]]]:
    """Scorings and pairs of sequences: every rule matters in some case, and the rest is random."""
    plain = Scoring(2, -1, (), (2, 2), (1, 1))
    x, y, z = draw.sample(symbols, 3)
    switch = replace(plain, mismatch=-30, opening=(1, 1))
    paired = replace(plain, pairs=((x, y, 2), (z, z, -9)))
    scorings = [plain, switch, paired]
    cases = [(0, "", ""), (0, x + y, ""), (0, "", z + x + x), (0, x + x + y, x + y), (0, x + y + z + z + y, x + y + y)]
    cases += [(1, x, y), (1, x + z, y + z), (2, x + x + z, y + x), (2, y + z, x + z)]
    if rich:
        scorings += [replace(plain, free=True), replace(plain, wild=x, wild_score=1, pairs=((x, y, -7),))]
        scorings.append(replace(plain, opening=(5, 0), extending=(3, 1)))
        cases += [
            (3, x + y + z + z, z + z + y),
            (3, x, y),
            (4, x + y + z, x + x + y),
            (5, x + y + z + y, z + z + y),
            (5, x, y + x),
        ]
    for _ in range(3):
        scorings.append(draw_scoring(draw, symbols, rich))
        for _ in range(3):
            lengths = draw.between(4, 8), draw.between(4, 8)
            first, second = ("".join(draw.pick(symbols) for _ in range(length)) for length in lengths)
            cases.append((len(scorings) - 1, first, second))
    return scorings, cases


def draft(draw: Draw) -> Draft:
    """One aligner."""
    world = draw.setting(SETTINGS)
    rich = draw.difficulty is Difficulty.EXTREMELY_HARD
    scorings, inputs = draw_cases(draw, world.symbols, rich)
    cases: list[list[object]] = [[n, first, second, *align(scorings[n], first, second)] for n, first, second in inputs]
    # Two long cases whose results are known without aligning: equal sequences, and one where everything scores 0.
    long = "".join(draw.pick(world.symbols) for _ in range(draw.between(70, 90)))
    cases.append([0, long, long, 2 * len(long), 1, long, long])
    scorings.append(Scoring(0, 0, (), (0, 0), (0, 0)))
    n, m = draw.between(36, 44), draw.between(26, 34)
    first, second = long[:n], long[-m:]
    ways = sum(comb(n, k) * comb(m, k) * 2**k for k in range(m + 1)) % PRIME
    cases.append([len(scorings) - 1, first, second, 0, ways, first, second + "-" * (n - m)])

    example = file_text(draw, draw_scoring(draw, world.symbols, rich), rich)
    path, place = f"{world.folder}/{world.program}", SETTINGS.index(world)

    def kind(number: int) -> int:  # the wording of a sentence: no two settings have the same mixture
        return (place + number * (place // 3)) % 3

    words = {
        "path": path,
        "example": f"{world.folder}/{world.example}",
        "gaps": GAPS_RICH if rich else GAPS_PLAIN,
        "free": FREE[kind(2)] if rich else "",
        "k1": world.keys[0],
        "k2": world.keys[1],
    }
    sources = {
        "interface": INTERFACE, "file": FILE, "score": SCORE, "count": COUNT, "first": ORDER, "output": OUTPUT,
        "limits": LIMITS, "keep": KEEP,
    }  # fmt: skip
    parts = {name: texts[kind(n)].format(**words) for n, (name, texts) in enumerate(sources.items())}
    instruction = world.text.format(
        firm=draw.pick(FIRMS),
        persona=world.persona,
        ticket=draw.between(100, 9999),
        what=world.what,
        program=world.program,
        **parts,
    )
    names = {"PATH": path, "K1": world.keys[0], "K2": world.keys[1]}
    solution = filled(SOLUTION, names)
    goals = ["test_scores", "test_counts", "test_alignments"]
    misses = [
        Miss("linear_gaps", "charges the opening for every column",
             wrong(wrong(solution, "(open2 if p != 1 else 0)", "open2"), "(open1 if p != 2 else 0)", "open1"), ["test_scores"]),
        Miss("no_switch", "does not let gaps in both sequences touch",
             wrong(wrong(solution, "    if i < n:\n        cost", "    if i < n and (p != 2 or j == m):\n        cost"),
                   "    if j < m:\n        cost", "    if j < m and (p != 1 or i == n):\n        cost"), ["test_counts"]),
        Miss("one_way", "does not count", wrong(solution, "sum(table[f[2], f[3], f[1]][1] for f in found if f[0] == best) % MOD", "1"),
             ["test_counts"]),
        Miss("gap_first", "prefers gaps to pairs at ties", wrong(solution, "next(f for f in found if", "next(f for f in found[::-1] if"),
             ["test_alignments"]),
        Miss("no_exceptions", "overlooks the pair lines", wrong(solution, "pairs.get((x, y), match if x == y else mismatch)",
             "match if x == y else mismatch"), ["test_scores"]),
    ]  # fmt: skip
    if rich:
        misses += [
            Miss("always_global", "charges for gaps at the ends", wrong(solution, 's["ends"] == "free"', "False"), ["test_scores"]),
            Miss("gaps_confused", "exchanges the costs of the two sequences",
                 wrong(solution, "open1, open2 = ", "open2, open1 = "), ["test_scores"]),
        ]  # fmt: skip
    return Draft(
        title=f"Write an aligner for {world.scenario}",
        setting=world,
        instruction=instruction,
        files={world.example: example},
        dockerfile=f"COPY {world.example} {world.folder}/\nWORKDIR {world.folder}",
        truth={
            "program": path,
            "example": f"{world.folder}/{world.example}",
            "digest": hashlib.sha256(example.encode()).hexdigest(),
            "keys": list(world.keys),
            "scorings": [file_text(draw, scoring, rich) for scoring in scorings],
            "cases": cases,
        },
        discoverable=("program", "example", "keys", "cases"),
        tests=TESTS,
        weights={"test_scores": 0.35, "test_counts": 0.3, "test_alignments": 0.35},
        guards=["test_example_unchanged"],
        initial=INITIAL,
        solution=solution,
        alternatives=[filled(ALTERNATIVE, names)],
        misses=misses,
        requirements=[
            (parts["interface"], goals),
            (parts["file"], goals),
            (parts["score"], ["test_scores"]),
            (parts["count"], ["test_counts"]),
            (parts["first"], ["test_alignments"]),
            (parts["output"], goals),
            (parts["limits"], goals),
            (parts["keep"], ["test_example_unchanged"]),
        ],
        knobs={"cases": len(cases), "scorings": len(scorings), "rich": rich},
    )


FAMILY = Family(
    name="sequence_alignment",
    domain="scientific_computing",
    verifier=Verifier.FUZZ_EQUIVALENCE,
    skills=("dynamic programming", "sequence alignment", "command line programs", "tie breaking"),
    difficulties=(Difficulty.HARD, Difficulty.EXTREMELY_HARD),
    capacity=24,
    draft=draft,
)
