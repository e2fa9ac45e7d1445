"""Clean sensor series by stated rules: retransmissions, unit switches, stuck values, spikes, gaps, clocks."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime, timedelta

from generators.families.data_science._sensor_cleaning import Plan, Row, World, clean, draw_device
from generators.family import Draft, Draw, Family, Miss, load_settings, load_words, resource
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS, HOST_WORDS

SETTINGS = load_settings(__file__, World)
WORDS = load_words(__file__, "wordings.yaml")
TESTS = resource(__file__, "tests.py")
INITIAL = resource(__file__, "initial.py")
SOLUTION = resource(__file__, "solution.sh")
ALTERNATIVE = resource(__file__, "alternative.sh")


def sha(text: str) -> str:
    """Hex sha256."""
    return hashlib.sha256(text.encode()).hexdigest()


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


def draft(draw: Draw) -> Draft:
    """One cleaning run."""
    world = draw.setting(SETTINGS)
    hard, table = draw.difficulty is Difficulty.HARD, draw.difficulty is not Difficulty.EASY
    plan = Plan(
        step=draw.pick((10, 15, 20, 30)),
        slots=draw.by_difficulty(easy=100, medium=130, hard=150) + draw.between(0, 20),
        stuck=draw.between(4, 6),
        gap=draw.between(2, 4),
        low=draw.between(1, 3) + 0.005,
        high=draw.between(36, 44) + 0.005,
        jump=draw.between(2, 3) + 0.005 if table else 0,
        table=table,
        clocks=hard,
    )
    prefix = draw.pick(("", "N", "K", "row-")) + draw.pick(HOST_WORDS)
    numbers = sorted(draw.sample(range(10, 99), draw.by_difficulty(easy=2, medium=3, hard=4)))
    devices = [f"{prefix}-{number}" for number in numbers]
    origin = datetime(2024, draw.between(1, 12), draw.between(1, 28), draw.between(0, 23))

    def stamp(seconds: int) -> str:
        return (origin + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")

    rows: list[Row] = []
    changes: list[str] = []
    ahead = {device: draw.pick((-1, 1)) * draw.between(plan.step * 60, plan.step * 400) for device in devices}
    series: dict[str, dict[str, object]] = {}
    faults: dict[str, dict[str, float]] = {}
    for number, device in enumerate(devices):
        mine, switches = draw_device(draw, device, plan, world, switched=number != 1)
        rows += mine
        changes += [f"{device},{stamp(slot * plan.step * 60)},{unit}\n" for slot, unit in switches]
        values, status, faults[device] = clean(mine, plan, world)
        series[device] = {"milli": [None if v is None else round(v * 1000) for v in values], "status": status}
    device_column, time_column, value_column = world.columns
    source = ",".join(world.columns) + ("\n" if table else ",unit\n")
    jitter = plan.step * 60 * 2 // 5
    for row in rows:
        seconds = row.slot * plan.step * 60
        if hard:
            seconds += ahead[row.device] + draw.between(-jitter, jitter)
        source += f"{row.device},{stamp(seconds)},{row.value / 100:.2f}" + ("\n" if table else f",{row.unit}\n")
    files = {world.source: source}
    if table:
        files["changes.csv"] = f"{device_column},from,unit\n" + "".join(draw.shuffled(changes))
    if hard:
        files["clocks.csv"] = f"{device_column},ahead_s\n" + "".join(
            f"{d},{s}\n" for d, s in draw.shuffled([*ahead.items()])
        )

    slots = [stamp(slot * plan.step * 60) for slot in range(plan.slots)]
    words = {
        "folder": world.folder,
        "path": f"{world.folder}/{world.source}",
        "d": device_column,
        "t": time_column,
        "v": value_column,
        "std": world.standard,
        "oth": world.other,
        "formula": world.formula,
        "first": slots[0],
        "last": slots[-1],
        "step": plan.step,
        "stuck": plan.stuck,
        "gap": plan.gap,
        "low": f"{plan.low:.3f}",
        "high": f"{plan.high:.3f}",
        "jump": f"{plan.jump:.3f}",
        "unit_column": "" if table else " and unit",
        "unit_column_short": "" if table else ",unit",
        "unit_column_slash": "" if table else "/unit",
        "range_key": ", range" if table else "",
        "spike_key": ", spike" if table else "",
    }
    used = ["double", "stuck", "unit_table" if table else "unit_column", "range", *(["spike"] if table else []), "fill"]
    used = (["clock"] if hard else []) + used[:1] + (["sentinel"] if table else []) + used[1:]
    kind = world.wording
    rules = [WORDS["rules"][key][kind].format(**words) for key in used]
    inputs, table_output = WORDS["inputs"][kind].format(**words), WORDS["outputs"][kind].format(**words)
    report = WORDS["reports"][kind].format(**words)
    instruction = world.text.format(
        what=world.scenario,
        firm=draw.pick(FIRMS),
        ticket=draw.between(100, 9999),
        persona=world.persona,
        inputs=inputs,
        rules=" ".join(rules),
        bullets="\n".join(f"- {rule}" for rule in rules),
        outputs=f"{table_output} {report}",
        untouched=WORDS["untouched"][kind],
    )
    names = {
        "FOLDER": world.folder,
        "SOURCE": world.source,
        "FIRST": slots[0],
        "STEP": str(plan.step),
        "SLOTS": str(plan.slots),
        "D": device_column,
        "T": time_column,
        "V": value_column,
        "STD": world.standard,
        "OTH": world.other,
        "STUCK": str(plan.stuck),
        "GAP": str(plan.gap),
        "LOW": str(plan.low),
        "HIGH": str(plan.high),
        "JUMP": str(plan.jump),
        "SHIFT": repr(world.shift),
        "FACTOR": repr(world.factor),
        "KEYS": "stuck range spike" if table else "stuck",
    }
    solution = filled(SOLUTION, names)
    goals = ["test_slots_and_status", "test_values", "test_faults"]
    misses = [
        Miss(
            "first_line_wins",
            "keeps the first of several lines of a slot",
            wrong(solution, f'raw[d][i] = r["{value_column}"]', f'raw[d][i] = raw[d][i] or r["{value_column}"]'),
            ["test_values"],
        ),
        Miss(
            "stuck_later",
            "needs one repetition more than stated",
            wrong(solution, f"j - i >= {plan.stuck}", f"j - i > {plan.stuck}"),
            goals,
        ),
        Miss(
            "stuck_keeps_first",
            "keeps the first reading of a stuck run",
            wrong(solution, "keep[i:j] = [False] * (j - i)", "keep[i + 1:j] = [False] * (j - i - 1)"),
            goals[:2],
        ),
        Miss(
            "fills_everything",
            "interpolates every inner gap",
            wrong(solution, f"b - a <= {plan.gap} + 1", f"b - a <= {plan.slots}"),
            goals,
        ),
        Miss(
            "unit_forgotten",
            "converts nothing",
            wrong(solution, f'== "{world.other}" else', '== "?" else'),
            ["test_values", "test_faults"],
        ),
    ]
    if table:
        misses.append(
            Miss(
                "step_is_spike",
                "looks only at the slot before",
                wrong(solution, "max(x[i - 1], x[i + 1])", "x[i - 1]").replace("min(x[i - 1], x[i + 1])", "x[i - 1]"),
                goals,
            )
        )
    if hard:
        misses.append(
            Miss(
                "clock_sign",
                "adds the offset instead of subtracting it",
                wrong(solution, "- ahead.get(d, 0)", "+ ahead.get(d, 0)").replace(
                    "i = int((seconds + step / 2) // step)",
                    "i = min(slots - 1, max(0, int((seconds + step / 2) // step)))",
                ),
                goals,
            )
        )
    return Draft(
        title=f"Clean {world.scenario}",
        setting=world,
        instruction=instruction,
        files=files,
        dockerfile=f"COPY {' '.join(sorted(files))} {world.folder}/\nWORKDIR {world.folder}",
        truth={
            "folder": world.folder,
            "device_column": device_column,
            "slots": slots,
            "series": series,
            "faults": faults,
            "inputs": {name: sha(text) for name, text in files.items()},
        },
        discoverable=("folder", "device_column", "slots"),
        tests=TESTS,
        weights={"test_slots_and_status": 0.3, "test_values": 0.45, "test_faults": 0.25},
        guards=["test_inputs_untouched"],
        initial=INITIAL,
        solution=solution,
        alternatives=[filled(ALTERNATIVE, names)],
        misses=misses,
        requirements=[
            (inputs, ["test_slots_and_status"]),
            *((rule, goals) for rule in rules),
            (table_output, goals[:2]),
            (report, ["test_faults"]),
            (WORDS["untouched"][kind], ["test_inputs_untouched"]),
        ],
        knobs={
            "devices": len(devices),
            "slots": plan.slots,
            "stuck": plan.stuck,
            "gap": plan.gap,
            "table": table,
            "clocks": hard,
        },
    )


FAMILY = Family(
    name="sensor_cleaning",
    domain="data_science",
    verifier=Verifier.EXACT_TEXT,
    skills=("time series cleaning", "unit conversion", "fault detection", "interpolation"),
    difficulties=(Difficulty.EASY, Difficulty.MEDIUM, Difficulty.HARD),
    capacity=24,
    draft=draft,
)
