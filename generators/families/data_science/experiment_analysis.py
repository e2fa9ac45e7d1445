"""Analyse an A/B test by its pre-registered note: crossed units, bots, a novelty window, sample-ratio mismatch."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone

from generators.families.data_science._experiment_analysis import Method, World, analyse, draw_events, draw_units
from generators.family import Draft, Draw, Family, Miss, load_settings, load_words, resource
from generators.task import Difficulty, Verifier
from generators.vocabulary import CITIES, FIRMS, HOST_WORDS

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


def note_text(draw: Draw, world: World, method: Method, start: datetime, old: tuple[int, int], test: str) -> str:
    """The registered note."""
    deep, group = method.deep, world.group
    amended = (start - timedelta(days=draw.between(2, 9)), start + timedelta(days=draw.between(3, 8)))
    words = {
        "test": test,
        "unit": world.unit,
        "events": world.files[2],
        "goal": world.goal,
        "group": group,
        "control": world.arms[0],
        "treatment": world.arms[1],
        "bot": method.bot,
        "days": method.days,
        "start": f"{start:%Y-%m-%d %H:%M} UTC",
        "registered": f"{start - timedelta(days=draw.between(12, 30)):%Y-%m-%d}",
        "novelty": old[0],
        "cap": f"{old[1] / 100:.2f}",
        "limit": method.limit,
        "critical": method.critical,
        "plan": f"{100 - method.share} : {method.share}",
        "undo": f" minus those of its `{world.undo}` events there, not below 0" if deep else "",
        "scope": f"For each {group}" if deep else "Over all",
        "consequence": f" All {world.unit}s of a {group} with a mismatch leave the analysis." if deep else "",
        "cuped": WORDS["cuped"] if deep else "",
        "invalid": "" if deep else "In case of a mismatch: `invalid`, whatever z is. If there is none: ",
        "amendments": "",
    }
    if deep:
        words["amendments"] = WORDS["amendments"].format(
            before=f"{amended[0]:%Y-%m-%d}",
            after=f"{amended[1]:%Y-%m-%d}",
            novelty=method.novelty,
            old_novelty=old[0],
            cap=f"{method.cap / 100:.2f}",
            old_cap=f"{old[1] / 100:.2f}",
            late_bot=method.bot + 4,
            bot=method.bot,
        )
    return WORDS["notes"][world.wording].format(**words)


def draft(draw: Draw) -> Draft:
    """One read-out."""
    world = draw.setting(SETTINGS)
    deep = draw.difficulty is Difficulty.HARD
    method = Method(
        bot=draw.between(9, 14),
        novelty=draw.pick((24, 36, 48)),
        days=draw.between(9, 14),
        cap=draw.between(35, 55) * 100,
        share=draw.pick((50, 50, 60, 40)),
        limit=draw.pick((6.635, 10.828)),
        critical=draw.pick((1.645, 1.96, 2.326)),
        deep=deep,
    )
    old = (method.novelty + 12, method.cap + 4000) if deep else (method.novelty, method.cap)
    mismatch = deep or draw.chance(40)
    units = draw_units(draw, world, method, mismatch)
    events = draw_events(draw, world, method, units, effect=draw.pick((-14, 2, 18, 25)))
    start = datetime(2024, draw.between(1, 11), draw.between(1, 28), draw.between(6, 11), tzinfo=UTC)
    zone = timezone(timedelta(hours=draw.pick((-5, 2, 3, 8)))) if deep else UTC
    test = f"{draw.pick(HOST_WORDS)}-{draw.pick(CITIES).lower()}"

    note = note_text(draw, world, method, start, old, test)
    moments = [
        f"{unit.name},{(start + timedelta(seconds=at)).astimezone(zone).isoformat()},{world.arms[arm]},{unit.group}\n"
        for unit in units
        for at, arm in unit.assigned
    ]
    files = {
        world.files[0]: note,
        world.files[1]: f"{world.unit},assigned_at,arm,{world.group}\n" + "".join(draw.shuffled(moments)),
        world.files[2]: f"id,{world.unit},at,event,amount\n"
        + "".join(
            f"{e.key},{e.unit},{(start + timedelta(seconds=e.at)).isoformat()[:19]}Z,{e.kind},"
            + (f"{e.cents / 100:.2f}\n" if e.cents else "\n")
            for e in events
        ),
    }
    if deep:
        prior = [f"{unit.name},{unit.prior / 100:.2f}\n" for unit in units if unit.prior >= 0]
        files["prior.csv"] = f"{world.unit},spent\n" + "".join(prior)
    kind = world.wording
    words = {
        "folder": world.folder,
        "note": world.files[0],
        "assigned": world.files[1],
        "events": world.files[2],
        "unit": world.unit,
        "prior": WORDS["priors"][kind] if deep else "",
        "control": world.arms[0],
        "treatment": world.arms[1],
        "group_key": f" and {world.group} (those who leave with their {world.group})" if deep else "",
        "ratio": WORDS["ratios"][deep].format(group=world.group),
        "adjusted": ", adjusted" if deep else "",
    }
    task, material = WORDS["tasks"][kind].format(**words), WORDS["materials"][kind].format(**words)
    output = WORDS["outputs"][kind].format(**words)
    instruction = world.text.format(
        test=test,
        firm=draw.pick(FIRMS),
        persona=world.persona,
        ticket=draw.between(100, 9999),
        task=task,
        material=material,
        output=output,
        untouched=WORDS["untouched"][kind],
    )
    names = {
        "FOLDER": world.folder,
        "ASSIGNED": world.files[1],
        "EVENTS": world.files[2],
        "UNIT": world.unit,
        "GROUP": world.group,
        "BOT": str(method.bot),
        "NOVELTY": str(method.novelty),
        "DAYS": str(method.days),
        "CAP": f"{method.cap / 100:.2f}",
        "GOAL": world.goal,
        "UNDO": world.undo,
        "CONTROL": world.arms[0],
        "TREATMENT": world.arms[1],
        "SHARE": str(method.share),
        "LIMIT": str(method.limit),
        "CRITICAL": str(method.critical),
        "DEEP": "1" if deep else "0",
    }
    solution = filled(SOLUTION, names)
    goals = ["test_exclusions", "test_arms", "test_statistics", "test_ratio"]
    crossed_stay = wrong(solution, "if len(arms[u]) > 1", "if len(arms[u]) > 2")
    misses = [
        Miss(
            "no_novelty", "counts from the assignment", wrong(solution, f"3600 * {method.novelty}", "0"), ["test_arms"]
        ),
        Miss("repeated_ids", "counts repeated events", wrong(solution, 'if r["id"] in seen:', "if False:"), goals[:3]),
        Miss(
            "bot_limit",
            "takes the limit itself for a bot",
            wrong(solution, f"n > {method.bot}", f"n >= {method.bot}"),
            goals[:3],
        ),
        Miss("crossed_stay", "keeps crossed units in one arm", crossed_stay, goals),
        Miss(
            "no_cap",
            "does not cap revenue",
            wrong(solution, "float(min(total, ", "float(max(total, 0 * "),
            ["test_arms"],
        ),
    ]
    if deep:
        late = wrong(solution, f"n > {method.bot}", f"n > {method.bot + 4}")
        misses += [
            Miss("late_amendment", "follows an amendment made after the start", late, goals),
            Miss(
                "first_text",
                "overlooks the valid amendment",
                wrong(solution, f"3600 * {method.novelty}", f"3600 * {old[0]}"),
                ["test_arms"],
            ),
            Miss(
                "drops_no_group",
                "keeps groups with a mismatch",
                wrong(solution, 'if not check[group[u]]["mismatch"]', ""),
                goals[:3],
            ),
            Miss(
                "no_refunds",
                "ignores money taken back",
                wrong(solution, f'e[1] == "{world.undo}"', "False"),
                ["test_arms"],
            ),
        ]
    return Draft(
        title=f"Read out the {world.scenario}",
        setting=world,
        instruction=instruction,
        files=files,
        dockerfile=f"COPY {' '.join(sorted(files))} {world.folder}/\nWORKDIR {world.folder}",
        truth={
            "folder": world.folder,
            **analyse(world, method, units, events),
            "inputs": {name: sha(text) for name, text in files.items()},
        },
        discoverable=("folder", "decision"),
        tests=TESTS,
        weights={"test_exclusions": 0.2, "test_arms": 0.3, "test_statistics": 0.3, "test_ratio": 0.2},
        guards=["test_material_unchanged"],
        initial=INITIAL,
        solution=solution,
        alternatives=[filled(ALTERNATIVE, names)],
        misses=misses,
        requirements=[
            (task, goals),
            (material, goals),
            (output, goals),
            (WORDS["untouched"][kind], ["test_material_unchanged"]),
        ],
        knobs={"units": len(units), "events": len(events), "mismatch": mismatch, "deep": deep, "share": method.share},
    )


FAMILY = Family(
    name="experiment_analysis",
    domain="data_science",
    verifier=Verifier.EXACT_TEXT,
    skills=("a/b testing", "sample ratio mismatch", "event data", "variance reduction"),
    difficulties=(Difficulty.MEDIUM, Difficulty.HARD),
    capacity=24,
    draft=draft,
)
