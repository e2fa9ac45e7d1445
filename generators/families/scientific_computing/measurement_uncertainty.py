"""Propagate uncertainties: units, kinds of statements, correlated inputs, and results that share inputs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

from generators.family import Draft, Draw, Family, Miss, Setting, load_settings, load_words, resource
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


SETTINGS = load_settings(__file__, World)
WORDS = load_words(__file__, "wordings.yaml")
TESTS = resource(__file__, "tests.py")
INITIAL = resource(__file__, "initial.py")
FRAME = resource(__file__, "frame.sh")
DUAL = resource(__file__, "dual.py")
NUMERIC = resource(__file__, "numeric.py")
SENTENCES = ("readings", "kinds", "units", "formulas", "rule", "shared", "output", "keep")

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
        "corr": WORDS["corr"][kind(0)] if correlated else "", "chain": WORDS["chain"][kind(3)] if chained else "",
    }  # fmt: skip
    parts: dict[str, str] = {name: WORDS[name][kind(number)].format(**words) for number, name in enumerate(SENTENCES)}
    parts["shared"] = f" {parts['shared']}" if chained else ""
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
