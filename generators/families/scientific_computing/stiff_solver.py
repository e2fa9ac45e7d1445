"""Integrate a stiff system within a budget of calls; at events the state jumps. The cases that are graded are hidden."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, localcontext

from generators.bases import Base
from generators.family import Draft, Draw, Family, Miss, Setting
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    folder: str
    program: str
    model: str  # module name
    what: str
    event: str
    keys: tuple[str, str]  # of the result: states, events
    text: str


@dataclass(frozen=True)
class Case:
    """One problem: what the file says, and the exact answer."""

    problem: dict[str, object]
    states: list[list[float]]
    events: list[float]


TEXTS = (
    """Hi,

the integrator for {what} at {firm} is too slow, each call of the right-hand side costs money. {interface}

{model}

{budget} {accuracy}{events}

{output} {keep}

Thanks, {persona}
""",
    """[ODE-{ticket}] New integrator for {what} ({firm})

{interface}
{output}
Model: {model}
Requirements: {accuracy} {budget}{events}
{keep}
""",
    """need an integrator for {what}
{model}
{interface} {output}
{accuracy} {budget}{events}
{keep}
""",
    """Specification {ticket}: integrator for {what}

a) {model}
b) {interface}
c) {accuracy}
d) {budget}
e) {output}{events}
f) {keep}
""",
)
SETTINGS = (
    World("reactor", "process engineer", "reactor kinetics", "email", "/srv/reactor", "integrate.py", "kinetics",
          "our reactor kinetics", "feed", ("states", "events"), TEXTS[0]),
    World("pharmacy", "pharmacometrician", "drug levels", "ticket", "/opt/doses", "simulate.py", "levels", "drug levels in tissue",
          "dose", ("levels", "doses"), TEXTS[1]),
    World("circuit", "analog designer", "circuit transients", "note", "/home/eda/transient", "run.py", "circuit",
          "transients of a converter", "switching", ("voltages", "switchings"), TEXTS[2]),
    World("lake", "limnologist", "lake chemistry", "specification", "/work/lake", "forecast.py", "lake", "the chemistry of a lake",
          "inflow", ("state", "inflows"), TEXTS[3]),
    World("battery", "battery modeller", "cell ageing", "runbook", "/var/lib/cells", "age.py", "cell", "the ageing of cells",
          "recharge", ("values", "recharges"), TEXTS[1]),
    World("plasma", "plasma physicist", "plasma species", "chat", "/data/plasma", "evolve.py", "species", "plasma species",
          "pulse", ("densities", "pulses"), TEXTS[2]),
    World("stove", "combustion chemist", "combustion models", "specification", "/srv/flame", "burn.py", "flame", "a reduced flame model",
          "ignition", ("fractions", "ignitions"), TEXTS[3]),
    World("thermostat", "building physicist", "heat balance", "email", "/opt/heat", "balance.py", "house", "the heat balance of a house",
          "heating", ("temperatures", "heatings"), TEXTS[0]),
)  # fmt: skip
INTERFACE = (
    "Write {path}; it is run as `/usr/bin/python3 {path} FOLDER`, where FOLDER holds {module}.py as in "
    "{folder}/example and a problem.json "
    "of its own, with other numbers than the example's.",
    "The program is {path}, started with `/usr/bin/python3 {path} FOLDER`. FOLDER has the same {module}.py as "
    "{folder}/example but another "
    "problem.json.",
    "Deliver {path}. Call: `/usr/bin/python3 {path} FOLDER`; in FOLDER are {module}.py, the one of "
    "{folder}/example, and a problem.json "
    "with numbers that you have not seen.",
)
MODEL = (
    "{module}.py, imported from FOLDER, offers START (the state at time 0), TIMES (ascending, when the state is "
    "wanted), LIMIT and "
    "rhs(t, state), which returns the derivative as a list and counts its calls.",
    "Import {module}.py from FOLDER: rhs(t, state) gives the list of derivatives (calls are counted), START is "
    "the state at t = 0, TIMES are "
    "the ascending times of output, LIMIT is the budget.",
    "From FOLDER/{module}.py come START (state when t is 0), TIMES (output times, ascending), LIMIT and the "
    "function rhs(t, state), that "
    "returns a list and keeps count of how often it is called.",
)
BUDGET = (
    "rhs must not be called more than LIMIT times in a run; the system is stiff.",
    "A run may call rhs LIMIT times at most, though the system is stiff.",
    "No run is allowed more than LIMIT calls of rhs. Mind that the equations are stiff.",
)
ACCURACY = (
    "Every component of every state has to be within 0.00002 * (1 + |exact|) of the exact solution.",
    "The error of each number may be at most 0.00002 times (1 + the size of the exact value).",
    "Required for each component at each time: |error| <= 0.00002 * (1 + |exact value|).",
)
EVENTS = (
    " Whenever signal(state), also in the module and free of charge, falls to zero, a {event} takes place: the "
    "state is replaced at once by "
    "jump(state) and the integration goes on from there. The times of all {event}s until the last of TIMES are "
    "wanted to 0.00002.",
    " The module has two more functions that cost nothing: a {event} happens at each instant when signal(state) "
    "has come down to 0, and "
    "then the state becomes jump(state). Report when, for every {event} up to the last output time, with an "
    "error below 0.00002.",
    " There are {event}s: as soon as signal(state) sinks to 0 the state changes to jump(state), then all goes on "
    "(both functions are in the "
    "module, not counted). Every {event} before the end of TIMES has to be found and its time given, accurate to "
    "0.00002.",
)
OUTPUT = (
    "It prints one JSON object with the key {k1}: the list of states at TIMES, each a list of numbers{k2}.",
    "Standard output is a JSON object; {k1} holds the states at TIMES in that order as lists{k2}.",
    "The result is printed as JSON, an object in which {k1} is a list with one list of numbers for each of TIMES{k2}.",
)
SECOND = (
    ", and the key {k2}: the ascending list of times",
    ", {k2} the times found, ascending",
    " and {k2} the list of times of the {event}s in order",
)
KEEP = (
    "Nothing in {folder}/example may change.",
    "Keep {folder}/example as it is.",
    "{folder}/example stays untouched.",
)

MODULE = '''"""Right-hand side. The numbers come from problem.json in the same folder."""

import atexit
import json
from pathlib import Path

HERE = Path(__file__).resolve().parent
P = json.loads((HERE / "problem.json").read_text())
START, TIMES, LIMIT = P["start"], P["times"], P["limit"]
CALLS = 0


def apply(matrix, vector):
    return [sum(m * v for m, v in zip(row, vector)) for row in matrix]


def rhs(t, state):
    """Derivative of the state; raises OverflowError when the budget is spent."""
    global CALLS
    CALLS += 1
    if CALLS > LIMIT:
        raise OverflowError("the budget of calls is spent")
    a, b, c = apply(P["inward"], state)
    k, r = P["rate"], P["slow"]
    return apply(P["outward"], [r * (k * (b * b - a) - 2 * a), r * (a - b - b * b), -P["decay"] * c])


def signal(state):
    """Positive; an event is due when it gets to zero."""
    return apply(P["inward"], state)[1] - P["threshold"]


def jump(state):
    """The state right after an event."""
    a, b, c = apply(P["inward"], state)
    b += P["gain"]
    return apply(P["outward"], [b * b, b, c])


def note():
    try:
        (HERE / "calls.txt").write_text(str(CALLS))
    except OSError:
        pass


atexit.register(note)
'''

TESTS = """
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

RUNS = []


def runs():
    if not RUNS:
        assert Path(TRUTH["program"]).is_file(), "there is no program"
        for case in TRUTH["cases"]:
            with tempfile.TemporaryDirectory() as folder:
                os.chmod(folder, 0o755)
                Path(folder, TRUTH["module"] + ".py").write_text(TRUTH["source"])
                Path(folder, "problem.json").write_text(json.dumps(case["problem"]))
                run = subprocess.run(
                    ["/usr/bin/python3", TRUTH["program"], folder], capture_output=True, text=True, timeout=15
                )
                calls = Path(folder, "calls.txt")
                RUNS.append((run.stdout, int(calls.read_text()) if calls.exists() else 0))
    return RUNS


def test_accuracy():
    for (output, _), case in zip(runs(), TRUTH["cases"]):
        states = json.loads(output)[TRUTH["keys"][0]]
        assert len(states) == len(case["states"]), "number of states"
        for got, wanted in zip(states, case["states"]):
            assert len(got) == len(wanted)
            assert all(abs(g - w) <= 2e-5 * (1 + abs(w)) for g, w in zip(got, wanted)), "error"


def test_calls():
    for (output, calls), case in zip(runs(), TRUTH["cases"]):
        assert 0 < calls <= case["problem"]["limit"], "calls"
        assert len(json.loads(output)[TRUTH["keys"][0]]) == len(case["states"])


def test_example_unchanged():
    for name, digest in TRUTH["inputs"].items():
        assert hashlib.sha256(Path(TRUTH["example"], name).read_bytes()).hexdigest() == digest, name
"""
EVENT_TEST = """

def test_events():
    for (output, _), case in zip(runs(), TRUTH["cases"]):
        times = json.loads(output)[TRUTH["keys"][1]]
        assert len(times) == len(case["events"]), "number of events"
        assert all(abs(g - w) <= 2e-5 for g, w in zip(times, case["events"])), "time"
"""
INITIAL = """
from pathlib import Path


def test_no_program_yet():
    assert all(Path(TRUTH["example"], name).is_file() for name in TRUTH["inputs"])
    assert not Path(TRUTH["program"]).exists()
"""

FRAME = """import json, sys
sys.path.insert(0, sys.argv[1])
import @MODULE@ as model
EVENTS = @EVENTS@
STEP = @STEP@
@METHOD@
def main():
    t, y = 0.0, list(model.START)
    states, events = [], []
    for end in model.TIMES:
        while end - t > 1e-12:
            h = min(STEP, end - t)
            new = step(t, y, h)
            if EVENTS and model.signal(new) <= 0:
                low, high = 0.0, h
                f_low, f_high = model.signal(y), model.signal(new)
                for _ in range(40):
                    guess = low + (high - low) * f_low / (f_low - f_high)
                    new = step(t, y, guess)
                    f = model.signal(new)
                    if abs(f) < 1e-10:
                        break
                    if f > 0:
                        low, f_low, f_high = guess, f, f_high / 2
                    else:
                        high, f_high, f_low = guess, f, f_low / 2
                h = guess
                events.append(t + h)
                new = model.jump(new)
            t, y = t + h, list(new)
        states.append([float(v) for v in y])
    print(json.dumps({"@K1@": states, "@K2@": events} if EVENTS else {"@K1@": states}))
main()
"""
EXTRAPOLATION = """
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
"""
RADAU = """
import numpy as np
R = 6 ** 0.5
C = np.array([(4 - R) / 10, (4 + R) / 10, 1])
A = np.array([[(88 - 7 * R) / 360, (296 - 169 * R) / 1800, (-2 + 3 * R) / 225],
              [(296 + 169 * R) / 1800, (88 + 7 * R) / 360, (-2 - 3 * R) / 225], [(16 - R) / 36, (16 + R) / 36, 1 / 9]])
def step(t, y, h):
    y = np.array(y, float)
    n = len(y)
    base = np.array(model.rhs(t, list(y)))
    J = np.zeros((n, n))
    for k in range(n):
        d = 1e-7 * max(1, abs(y[k]))
        z = y.copy()
        z[k] += d
        J[:, k] = (np.array(model.rhs(t, list(z))) - base) / d
    system = np.eye(3 * n) - h * np.kron(A, J)
    Z = np.zeros((3, n))
    for _ in range(9):
        F = np.array([model.rhs(t + c * h, list(y + z)) for c, z in zip(C, Z)])
        change = np.linalg.solve(system, (h * A @ F - Z).ravel()).reshape(3, n)
        Z += change
        if abs(change).max() < 1e-9:
            break
    return list(y + Z[2])
"""
EXPLICIT = """
def step(t, y, h):
    def at(k, f):
        return [a + f * b for a, b in zip(y, k)]
    k1 = model.rhs(t, y)
    k2 = model.rhs(t + h / 2, at(k1, h / 2))
    k3 = model.rhs(t + h / 2, at(k2, h / 2))
    k4 = model.rhs(t + h, at(k3, h))
    return [v + h / 6 * (a + 2 * b + 2 * c + d) for v, a, b, c, d in zip(y, k1, k2, k3, k4)]
"""


def filled(script: str, words: Mapping[str, str]) -> str:
    """A script with its @NAMES@ replaced."""
    for name, value in words.items():
        script = script.replace(f"@{name}@", value)
    return script


def draw_case(draw: Draw, rate: int, limit: int, deep: bool) -> Case:
    """A problem with a known solution: on a = b^2 the fast pair decays like exp(-slow t), in a mixed basis."""
    p, q, r = (draw.pick((-2, -1, 1, 2)) for _ in range(3))
    outward = [[1 + p * q, p, p * r], [q, 1, r], [0, 0, 1]]  # determinant 1, so the inverse is whole too
    inward = [[1, -p, 0], [-q, 1 + p * q, -r], [0, 0, 1]]
    slow, decay = Decimal(draw.between(60, 140)) / 100, Decimal(draw.between(20, 160)) / 100
    begin, other = Decimal(draw.between(70, 120)) / 100, Decimal(draw.between(-150, 150)) / 100
    threshold, gain = Decimal(draw.between(22, 34)) / 100, Decimal(draw.between(35, 60)) / 100
    times = [Decimal(number) * draw.between(75, 100) / 100 for number in (1, 2, 3)]
    events: list[float] = []
    states: list[list[float]] = []
    with localcontext() as context:
        context.prec = 34
        level, since = begin, Decimal(0)
        for time in times:
            due = since + (level / threshold).ln() / slow
            while deep and due < time:
                events.append(round(float(due), 10))
                level, since = threshold + gain, due
                due = since + (level / threshold).ln() / slow
            b = level * (-slow * (time - since)).exp()
            c = other * (-decay * time).exp()
            states.append(
                [round(float(sum(m * v for m, v in zip(row, (b * b, b, c), strict=True))), 10) for row in outward]
            )
    start = [float(sum(m * v for m, v in zip(row, (begin * begin, begin, other), strict=True))) for row in outward]
    numbers = {"rate": rate, "slow": slow, "decay": decay, "threshold": threshold, "gain": gain}
    problem: dict[str, object] = {name: float(value) for name, value in numbers.items()}
    problem |= {
        "inward": inward,
        "outward": outward,
        "start": start,
        "times": [float(t) for t in times],
        "limit": limit,
    }
    near = any(abs(event - float(time)) < 0.02 for event in events for time in times)
    return draw_case(draw, rate, limit, deep) if near or (deep and not events) else Case(problem, states, events)


def draft(draw: Draw) -> Draft:
    """One integrator."""
    world = draw.setting(SETTINGS)
    deep = draw.difficulty is Difficulty.HARD
    limit = draw.by_difficulty(medium=3000, hard=5000)
    rates = [
        draw.between(2, 9) * power for power in draw.by_difficulty(medium=(10**5, 10**6), hard=(10**5, 10**6, 10**7))
    ]
    cases = [draw_case(draw, rate, limit, deep) for rate in rates]
    example = draw_case(draw, 10**5, limit, deep)
    source = MODULE if deep else MODULE[: MODULE.index("def signal")] + MODULE[MODULE.index("def note") :]
    if not deep:
        for case in (*cases, example):
            del case.problem["threshold"], case.problem["gain"]
    files = {f"{world.model}.py": source, "problem.json": json.dumps(example.problem, indent=1) + "\n"}
    place, path = SETTINGS.index(world), f"{world.folder}/{world.program}"

    def kind(number: int) -> int:  # the wording of a sentence: no two settings have the same mixture
        return (place + number * (place // 3)) % 3

    words = {
        "path": path, "folder": world.folder, "module": world.model, "event": world.event, "k1": world.keys[0],
        "k2": SECOND[kind(0)].format(k2=world.keys[1], event=world.event) if deep else "",
    }  # fmt: skip
    sources = {
        "interface": INTERFACE, "model": MODEL, "budget": BUDGET, "accuracy": ACCURACY, "events": EVENTS, "output": OUTPUT, "keep": KEEP,
    }  # fmt: skip
    parts = {name: texts[kind(number)].format(**words) for number, (name, texts) in enumerate(sources.items())}
    if not deep:
        parts["events"] = ""
    instruction = world.text.format(
        firm=draw.pick(FIRMS), persona=world.persona, ticket=draw.between(100, 9999), what=world.what, **parts
    )

    def script(method: str, step: str) -> str:
        names = {
            "METHOD": method,
            "STEP": step,
            "EVENTS": str(deep),
            "MODULE": world.model,
            "K1": world.keys[0],
            "K2": world.keys[1],
        }
        return f"cat > {path} <<'PY'\n{filled(FRAME, names)}PY\n"

    solution = script(EXTRAPOLATION.replace("ORDER", "5"), "0.1")
    goals = ["test_accuracy", "test_calls", "test_events"] if deep else ["test_accuracy", "test_calls"]
    misses = [
        Miss("explicit", "takes a classical explicit method", script(EXPLICIT, "0.02"), ["test_accuracy"]),
        Miss(
            "explicit_tiny_steps",
            "makes the explicit method stable and spends the budget",
            script(EXPLICIT, "1e-6"),
            goals,
        ),
        Miss(
            "first_order",
            "linearly implicit Euler with small steps",
            script(EXTRAPOLATION.replace("ORDER", "1"), "0.02"),
            goals[:1],
        ),
    ]
    if deep:
        late = solution.replace("            if EVENTS and model.signal(new) <= 0:\n", "            if EVENTS and model.signal(new) <= 0:\n"
            "                events.append(t + h)\n                new = model.jump(new)\n            if False:\n")  # fmt: skip
        misses.append(Miss("event_at_step_end", "jumps at the end of the step", late, ["test_events", "test_accuracy"]))
    return Draft(
        title=f"Integrate {world.scenario}",
        setting=world,
        instruction=instruction,
        files={f"example/{name}": text for name, text in files.items()},
        dockerfile=f"COPY example {world.folder}/example\nWORKDIR {world.folder}",
        truth={
            "program": path,
            "example": f"{world.folder}/example",
            "module": world.model,
            "source": source,
            "keys": list(world.keys),
            "cases": [{"problem": case.problem, "states": case.states, "events": case.events} for case in cases],
            "inputs": {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()},
        },
        discoverable=("program", "example", "module", "source", "keys"),
        tests=TESTS + EVENT_TEST if deep else TESTS,
        weights={"test_accuracy": 0.4, "test_calls": 0.3, "test_events": 0.3}
        if deep
        else {"test_accuracy": 0.6, "test_calls": 0.4},
        guards=["test_example_unchanged"],
        initial=INITIAL,
        solution=solution,
        alternatives=[script(RADAU, "0.25")],
        misses=misses,
        requirements=[
            (parts["interface"], goals),
            (parts["model"], goals),
            (parts["budget"], ["test_calls"]),
            (parts["accuracy"], ["test_accuracy"]),
            *([(parts["events"].strip(), ["test_events"])] if deep else []),
            (parts["output"], goals),
            (parts["keep"], ["test_example_unchanged"]),
        ],
        knobs={"rates": rates, "limit": limit, "events": sum(len(case.events) for case in cases)},
    )


FAMILY = Family(
    name="stiff_solver",
    domain="scientific_computing",
    verifier=Verifier.METRIC_THRESHOLD,
    skills=("numerical integration", "stiff equations", "event location", "numpy"),
    difficulties=(Difficulty.MEDIUM, Difficulty.HARD),
    capacity=24,
    draft=draft,
    base=Base.SCIENCE,
)
