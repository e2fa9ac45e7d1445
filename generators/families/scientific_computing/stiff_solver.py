"""Integrate a stiff system within a budget of calls; at events the state jumps. The cases that are graded are hidden."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, localcontext

from generators.bases import Base
from generators.family import Draft, Draw, Family, Miss, Setting, load_settings, load_words, resource
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


SETTINGS = load_settings(__file__, World)
WORDS = load_words(__file__, "wordings.yaml")
MODULE = resource(__file__, "model.py")
TESTS = resource(__file__, "tests.py")
EVENT_TEST = resource(__file__, "event_test.py")
INITIAL = resource(__file__, "initial.py")
FRAME = resource(__file__, "frame.py")
EXTRAPOLATION = resource(__file__, "extrapolation.py")
RADAU = resource(__file__, "radau.py")
EXPLICIT = resource(__file__, "explicit.py")


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
        "path": path,
        "folder": world.folder,
        "module": world.model,
        "event": world.event,
        "k1": world.keys[0],
        "k2": WORDS["event_times"][kind(0)].format(k2=world.keys[1], event=world.event) if deep else "",
    }
    sentences = ("interface", "model", "budget", "accuracy", "events", "output", "keep")
    parts = {name: WORDS[name][kind(number)].format(**words) for number, name in enumerate(sentences)}
    parts["events"] = " " + parts["events"] if deep else ""
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
        due = "            if EVENTS and model.signal(new) <= 0:\n"
        jump = "                events.append(t + h)\n                new = model.jump(new)\n            if False:\n"
        late = solution.replace(due, due + jump)
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
        tests=f"{TESTS}\n\n{EVENT_TEST}" if deep else TESTS,
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
