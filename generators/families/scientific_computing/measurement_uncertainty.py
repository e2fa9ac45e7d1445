"""Propagate uncertainties: units, kinds of statements, correlated inputs, and results that share inputs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

from generators.family import Draft, Draw, Family, Miss, Setting
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    folder: str
    readings: str
    formulas: str
    report: str
    what: str
    names: tuple[str, ...]  # six lengths, then two masses, then two times
    results: tuple[str, str, str, str]
    text: str


@dataclass(frozen=True)
class Reading:
    """One measured quantity as it is written down."""

    name: str
    value: str
    unit: str
    kind: str
    stated: str


TEXTS = (
    """Dear colleague,

the certificate for {what} at {firm} lacks its uncertainties. {readings}

{kinds} {units} {formulas}

{rule}{shared} {output} {keep}

{persona}
""",
    """[CAL-{ticket}] Uncertainty budget, {what} ({firm})

{formulas}
{readings}
{units}
{kinds}
{rule}{shared}
{output}
{keep}
""",
    """uncertainties for {what}, please
{readings} {formulas}
{rule}{shared}
{kinds}
{units}
{output} {keep}
""",
    """Evaluation of {what}, sheet {ticket}

Inputs: {readings}
Statements: {kinds}
Units: {units}
Equations: {formulas}
Propagation: {rule}{shared}
Record: {output}
Note: {keep}
""",
)
SETTINGS = (
    World("balance_lab", "metrologist", "a density standard", "email", "/srv/density", "readings.csv", "model.txt", "budget.json",
          "the density standard", ("width", "depth", "height", "bore", "edge", "step", "gross", "tare", "run", "lag"),
          ("volume", "load", "ratio", "figure"), TEXTS[0]),
    World("pendulum", "physics teacher", "a pendulum", "note", "/home/lab/pendulum", "notes.csv", "formulas.txt", "result.json",
          "the pendulum", ("rod", "bob", "pivot", "arc", "rise", "gap", "ball", "clip", "swing", "pause"),
          ("reach", "weight", "quotient", "index"), TEXTS[2]),
    World("flow_rig", "calibration engineer", "a flow rig", "ticket", "/data/rig", "inputs.csv", "equations.txt", "certificate.json",
          "the flow rig", ("pipe", "nozzle", "head", "weir", "crest", "stilling", "full", "empty", "fill", "valve"),
          ("section", "water", "slope", "factor"), TEXTS[1]),
    World("timber", "test engineer", "timber beams", "specification", "/opt/timber", "beams.csv", "rules.txt", "values.json",
          "the timber beams", ("span", "breadth", "thickness", "sag", "notch", "cover", "wet", "dry", "press", "relax"),
          ("block", "moisture", "slenderness", "score"), TEXTS[3]),
    World("telescope", "optician", "a telescope mirror", "chat", "/work/mirror", "measured.csv", "definitions.txt", "errors.json",
          "the mirror", ("focus", "rim", "sagitta", "offset", "baffle", "spider", "blank", "cell", "exposure", "flush"),
          ("field", "glass", "aperture", "merit"), TEXTS[2]),
    World("soil", "soil physicist", "soil cores", "runbook", "/var/lib/soil", "cores.csv", "derived.txt", "derived.json",
          "the soil cores", ("core", "tube", "layer", "probe", "ring", "shim", "moist", "baked", "soak", "drain"),
          ("bulk", "loss", "porosity", "class_no"), TEXTS[1]),
    World("gears", "inspection engineer", "gear blanks", "specification", "/srv/gears", "gauge.csv", "features.txt", "features.json",
          "the gear blanks", ("hub", "face", "flank", "root", "tip", "key", "raw", "finished", "spin", "brake"),
          ("body", "chips", "module_no", "grade"), TEXTS[3]),
    World("glacier", "glaciologist", "ice cores", "email", "/opt/ice", "survey.csv", "quantities.txt", "quantities.json",
          "the ice cores", ("stake", "crevasse", "firn", "snow", "melt", "crust", "bag", "cloth", "day", "night"),
          ("ablation", "sample", "relief", "index_no"), TEXTS[0]),
)  # fmt: skip
READINGS = (
    "{folder}/{readings} has the columns name, value, unit, kind and stated for every quantity measured{corr}.",
    "All quantities are in {folder}/{readings}: name, value, unit, then kind and stated for the uncertainty{corr}.",
    "In {folder}/{readings} each line is a quantity with name, value, unit and what is stated about its "
    "uncertainty, kind and stated{corr}.",
)
CORR = (
    "; correlations.csv in the same folder gives correlation coefficients r of pairs a, b, all other pairs being "
    "independent",
    ", and correlations.csv there lists the pairs a, b that are correlated with their coefficient r; the rest is "
    "uncorrelated",
    "; which of them are correlated (a, b, coefficient r) is in correlations.csv next to it, others are not",
)
KINDS = (
    "The kind says what stated is, in the unit of the value: std is a standard uncertainty, k2 an expanded one "
    "with factor 2, half the "
    "half-width of a rectangular distribution (divide by the square root of 3), percent a standard uncertainty "
    "in per cent of the value.",
    "How to read stated by kind (unit as the value's): std, standard uncertainty; k2, twice the standard "
    "uncertainty; half, half the width of a "
    "uniform distribution, i.e. the square root of 3 times the standard uncertainty; percent, the standard "
    "uncertainty as per cent of the value.",
    "Stated depends on kind and has the unit of the value: for std it is the standard uncertainty itself, for k2 "
    "it is two of them, for half the "
    "half-width of a rectangle (standard uncertainty times root 3), for percent the relative standard "
    "uncertainty in per cent.",
)
UNITS = (
    "Compute in m, kg and s: 1 in is 0.0254 m, 1 lb is 0.45359237 kg, mm, cm, g, ms and min are as usual.",
    "Results are based on m, kg and s (in = 0.0254 m, lb = 0.45359237 kg, and mm, cm, g, ms, min).",
    "Before use everything is converted to m, kg, s; an inch (in) is 0.0254 m, a pound (lb) 0.45359237 kg; mm, "
    "cm, g, ms, min also occur.",
)
FORMULAS = (
    "{folder}/{formulas} defines the results, one per line, as name = expression with + - * / and brackets{chain}.",
    "The results are defined in {folder}/{formulas}, line by line: name = expression (operators + - * / and "
    "brackets{chain}).",
    "What is wanted stands in {folder}/{formulas}; each line is name = expression with brackets and + - * /{chain}.",
)
CHAIN = (
    ", later ones also using earlier ones",
    "; an expression can contain results from above",
    " and may refer to results before it",
)
RULE = (
    "Use first-order propagation: the variance is the sum over all pairs of inputs of c_i c_j u_i u_j r_ij, with "
    "c the partial derivatives at the "
    "measured values and r_ii = 1.",
    "Propagation is linear, u^2 = sum of c_i * c_j * r_ij * u_i * u_j over all i and j; c are partial "
    "derivatives at the stated values, r_ii is 1.",
    "The squared uncertainty of a result is the double sum of c_i u_i r_ij c_j u_j (r_ii = 1), where c_i is the "
    "derivative by input i at the values.",
)
SHARED = (
    " Results that share inputs are not independent of each other, so go back to the measured quantities.",
    " An earlier result is no independent input: propagate from the measured quantities.",
    " Everything is propagated from what was measured, not from intermediate results as if they were independent.",
)
OUTPUT = (
    "Write {folder}/{report}: an object from each result to an object with value and uncertainty (standard) as "
    "numbers in m, kg, s with at least six "
    "significant digits.",
    "Result: JSON file {folder}/{report}, for each result name an object with the numbers value and uncertainty "
    "(standard uncertainty), in m, kg and s, "
    "six significant digits or more.",
    "Put into {folder}/{report} a JSON object with a key per result; below it value and standard uncertainty "
    "(key uncertainty), six digits at least, m-kg-s "
    "units.",
)
KEEP = (
    "The files given are evidence and stay as they are.",
    "Do not edit the input files.",
    "Input files remain unchanged.",
)

TESTS = """
import hashlib
from pathlib import Path

FOLDER = Path(TRUTH["folder"])


def check(key):
    got = json.loads((FOLDER / TRUTH["report"]).read_text())
    assert set(got) == set(TRUTH["results"])
    for name, wanted in TRUTH["results"].items():
        assert abs(got[name][key] - wanted[key]) <= 1e-5 * abs(wanted[key]), name


def test_values():
    check("value")


def test_uncertainties():
    check("uncertainty")


def test_inputs_unchanged():
    for name, digest in TRUTH["inputs"].items():
        assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == digest, name
"""
INITIAL = """
from pathlib import Path


def test_no_report_yet():
    folder = Path(TRUTH["folder"])
    assert all((folder / name).is_file() for name in TRUTH["inputs"])
    assert not (folder / TRUTH["report"]).exists()
"""
FRAME = """cd @FOLDER@ && python3 - <<'PY'
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
"""
DUAL = """
class Dual:
    def __init__(self, x, d):
        self.x, self.d = x, d
    def mix(self, x, other, p, q):
        d = {k: p * v for k, v in self.d.items()}
        for k, v in other.d.items():
            d[k] = d.get(k, 0) + q * v
        return Dual(x, d)
    def __add__(self, o):
        return self.mix(self.x + o.x, o, 1, 1)
    def __sub__(self, o):
        return self.mix(self.x - o.x, o, 1, -1)
    def __mul__(self, o):
        return self.mix(self.x * o.x, o, o.x, self.x)
    def __truediv__(self, o):
        return self.mix(self.x / o.x, o, 1 / o.x, -self.x / o.x ** 2)
scope = {k: Dual(v, {k: 1.0}) for k, v in value.items()}
report = {}
for name, text in lines:
    f = scope[name] = eval(text, {}, scope)
    variance = sum(p * q * u[a] * u[b] * (1 if a == b else rho.get((a, b), 0)) for a, p in f.d.items() for b, q in f.d.items())
    report[name] = {"value": f.x, "uncertainty": sqrt(variance)}
"""
NUMERIC = """
def run(values):
    scope = dict(values)
    for name, text in lines:
        scope[name] = eval(text, {}, scope)
    return scope
centre, names = run(value), sorted(value)
slope = {}
for n in names:
    h = abs(value[n]) * 1e-4
    up, down = run({**value, n: value[n] + h}), run({**value, n: value[n] - h})
    far, near = run({**value, n: value[n] + 2 * h}), run({**value, n: value[n] - 2 * h})
    for r, _ in lines:
        slope[r, n] = (8 * (up[r] - down[r]) - (far[r] - near[r])) / (12 * h)
report = {}
for r, _ in lines:
    total = 0
    for a in names:
        for b in names:
            total += slope[r, a] * u[a] * (1 if a == b else rho.get((a, b), 0)) * slope[r, b] * u[b]
    report[r] = {"value": centre[r], "uncertainty": total ** 0.5}
"""
SCALES = {
    "m": 1.0,
    "cm": 0.01,
    "mm": 0.001,
    "in": 0.0254,
    "kg": 1.0,
    "g": 0.001,
    "lb": 0.45359237,
    "s": 1.0,
    "ms": 0.001,
    "min": 60.0,
}


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


def draw_reading(draw: Draw, name: str, place: int, kind: str) -> Reading:
    """A reading in one of the units of its dimension; sizes are such that no difference of two comes near 0."""
    units = (("m", "cm", "mm", "in"), ("kg", "g", "lb"), ("s", "ms", "min"))[0 if place < 6 else 1 if place < 8 else 2]
    unit = units[place % len(units)] if place else "in"
    size = (0.9, 0.35, 0.22, 1.4, 0.5, 0.15, 6.0, 1.5, 90.0, 8.0)[place] * draw.between(850, 1150) / 1000 / SCALES[unit]
    percent = draw.between(20, 140) / 100
    stated = {"std": percent, "k2": 2 * percent, "half": 1.7 * percent}.get(kind, 0.0) * size / 100
    return Reading(name, f"{size:.5g}", unit, kind, f"{percent:.2f}" if kind == "percent" else f"{stated:.3g}")


Gradient = dict[str, float]


def product(a: tuple[float, Gradient], b: tuple[float, Gradient], power: int = 1) -> tuple[float, Gradient]:
    """a * b, or a / b with power -1, and the derivatives."""
    factor = b[0] if power == 1 else 1 / b[0]
    inner = a[0] if power == 1 else -a[0] / (b[0] * b[0])
    keys = [*a[1], *(key for key in b[1] if key not in a[1])]
    return a[0] * factor, {key: a[1].get(key, 0.0) * factor + b[1].get(key, 0.0) * inner for key in keys}


def total(a: tuple[float, Gradient], b: tuple[float, Gradient], sign: int = 1) -> tuple[float, Gradient]:
    """a + b or a - b, and the derivatives."""
    keys = [*a[1], *(key for key in b[1] if key not in a[1])]
    return a[0] + sign * b[0], {key: a[1].get(key, 0.0) + sign * b[1].get(key, 0.0) for key in keys}


def draft(draw: Draw) -> Draft:
    """One uncertainty budget."""
    world = draw.setting(SETTINGS)
    correlated, chained = draw.difficulty is not Difficulty.EASY, draw.difficulty is Difficulty.HARD
    kinds = draw.shuffled(["std", "k2", "half", "percent", "half", "k2", "std", "percent", "half", "percent"])
    readings = [draw_reading(draw, name, place, kinds[place]) for place, name in enumerate(world.names)]
    u: dict[str, float] = {}
    inputs: dict[str, tuple[float, Gradient]] = {}
    for one in readings:
        value, stated = float(one.value), float(one.stated)
        standard = {"std": stated, "k2": stated / 2, "half": stated / sqrt(3), "percent": value * stated / 100}[
            one.kind
        ]
        u[one.name] = standard * SCALES[one.unit]
        inputs[one.name] = (value * SCALES[one.unit], {one.name: 1.0})
    names = world.names
    a, b, c, d, e, f, g, h, i, j = (inputs[name] for name in names)
    first = product(product(a, b), total(c, f, -1))
    second = total(g, h, -1)
    third = product(total(d, e, -1), total(i, j, -1), -1)
    lines = [
        f"{world.results[0]} = {names[0]} * {names[1]} * ({names[2]} - {names[5]})",
        f"{world.results[1]} = {names[6]} - {names[7]}",
        f"{world.results[2]} = ({names[3]} - {names[4]}) / ({names[8]} - {names[9]})",
    ]
    duals = [first, second, third]
    if chained:
        kind_of_last = draw.between(0, 1)
        last = product(second, product(first, a), -1) if kind_of_last else product(product(second, c), first, -1)
        lines.append(
            f"{world.results[3]} = {world.results[1]} / ({world.results[0]} * {names[0]})"
            if kind_of_last
            else f"{world.results[3]} = {world.results[1]} * {names[2]} / {world.results[0]}"
        )
        duals.append(last)
    rho: dict[tuple[str, str], float] = {}
    if correlated:
        for one, two in ((0, 1), (2, 5), (6, 7), (8, 9), (3, 4)):
            sign = -1 if one == 0 else 1
            rho[names[one], names[two]] = rho[names[two], names[one]] = sign * draw.between(40, 85) / 100
    results: dict[str, dict[str, float]] = {}
    for name, (value, gradient) in zip(world.results, duals, strict=False):
        variance = sum(
            p * q * u[x] * u[y] * (1.0 if x == y else rho.get((x, y), 0.0))
            for x, p in gradient.items()
            for y, q in gradient.items()
        )
        results[name] = {"value": float(f"{value:.9g}"), "uncertainty": float(f"{sqrt(variance):.9g}")}
    rows = [f"{one.name},{one.value},{one.unit},{one.kind},{one.stated}\n" for one in draw.shuffled(readings)]
    files = {world.readings: "name,value,unit,kind,stated\n" + "".join(rows), world.formulas: "\n".join(lines) + "\n"}
    if correlated:
        pairs = [pair for number, pair in enumerate(rho) if number % 2 == 0]
        files["correlations.csv"] = "a,b,r\n" + "".join(f"{x},{y},{rho[x, y]:.2f}\n" for x, y in draw.shuffled(pairs))
    place = SETTINGS.index(world)

    def kind(number: int) -> int:  # the wording of a sentence: no two settings have the same mixture
        return (place + number * (place // 3)) % 3

    words = {
        "folder": world.folder, "readings": world.readings, "formulas": world.formulas, "report": world.report,
        "corr": CORR[kind(0)] if correlated else "", "chain": CHAIN[kind(3)] if chained else "",
    }  # fmt: skip
    sources = {
        "readings": READINGS, "kinds": KINDS, "units": UNITS, "formulas": FORMULAS, "rule": RULE, "shared": SHARED, "output": OUTPUT,
        "keep": KEEP,
    }  # fmt: skip
    parts = {name: texts[kind(number)].format(**words) for number, (name, texts) in enumerate(sources.items())}
    if not chained:
        parts["shared"] = ""
    instruction = world.text.format(
        firm=draw.pick(FIRMS), persona=world.persona, ticket=draw.between(100, 9999), what=world.what, **parts
    )
    names_in_scripts = {
        "FOLDER": world.folder,
        "READINGS": world.readings,
        "FORMULAS": world.formulas,
        "REPORT": world.report,
    }
    solution = filled(FRAME, {"BODY": DUAL.strip(), **names_in_scripts})
    goals = ["test_values", "test_uncertainties"]
    misses = [
        Miss("inch_as_cm", "takes an inch for 2.5 cm", wrong(solution, '"in": 0.0254', '"in": 0.025'), goals),
        Miss(
            "half_as_std",
            "takes half-widths for standard uncertainties",
            wrong(solution, "s / sqrt(3)", "s"),
            goals[1:],
        ),
        Miss("k2_as_std", "takes expanded uncertainties for standard ones", wrong(solution, "s / 2", "s"), goals[1:]),
    ]
    if correlated:
        misses.append(
            Miss("independent", "ignores correlations", wrong(solution, "rho.get((a, b), 0)", "0"), goals[1:])
        )
    if chained:
        fresh = wrong(solution, '"uncertainty": sqrt(variance)}', '"uncertainty": sqrt(variance)}\n    '
                      "u[name], scope[name] = sqrt(variance), Dual(f.x, {name: 1.0})")  # fmt: skip
        misses.append(Miss("step_by_step", "treats earlier results as independent inputs", fresh, goals[1:]))
    return Draft(
        title=f"Uncertainties of {world.scenario}",
        setting=world,
        instruction=instruction,
        files=files,
        dockerfile=f"COPY {' '.join(sorted(files))} {world.folder}/\nWORKDIR {world.folder}",
        truth={
            "folder": world.folder,
            "report": world.report,
            "results": results,
            "inputs": {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()},
        },
        discoverable=("folder", "report"),
        tests=TESTS,
        weights={"test_values": 0.35, "test_uncertainties": 0.65},
        guards=["test_inputs_unchanged"],
        initial=INITIAL,
        solution=solution,
        alternatives=[filled(FRAME, {"BODY": NUMERIC.strip(), **names_in_scripts})],
        misses=misses,
        requirements=[
            *((parts[name], goals) for name in ("readings", "units", "formulas", "output")),
            *((parts[name].strip(), goals[1:]) for name in ("kinds", "rule", "shared") if parts[name]),
            (parts["keep"], ["test_inputs_unchanged"]),
        ],
        knobs={"correlated": correlated, "chained": chained},
    )


FAMILY = Family(
    name="measurement_uncertainty",
    domain="scientific_computing",
    verifier=Verifier.EXACT_TEXT,
    skills=("error propagation", "unit conversion", "covariance", "expression evaluation"),
    difficulties=(Difficulty.EASY, Difficulty.MEDIUM, Difficulty.HARD),
    capacity=24,
    draft=draft,
)
