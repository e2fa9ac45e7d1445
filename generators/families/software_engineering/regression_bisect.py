"""Find the commit that broke a small billing program and repair it: merges, a stale test, later features."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from generators.families.software_engineering._regression_bisect import (
    History,
    Record,
    Tariff,
    World,
    lines_of,
    make_cases,
    price,
    readme,
    render,
)
from generators.family import Draft, Draw, Family, Miss, load_settings, load_words, resource
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS, full_name

SETTINGS = load_settings(__file__, World)
WORDS = load_words(__file__, "wordings.yaml")
CHECKS: dict[str, str] = WORDS["checks"]  # right before the culprit, wrong after it, whatever the tariff
KINDS = tuple(CHECKS)
NOUNS: tuple[str, ...] = WORDS["nouns"]
TAG = "release-1"
TESTS = resource(__file__, "tests.py")
INITIAL = resource(__file__, "initial.py")
BISECT = resource(__file__, "bisect.sh")
MEND = resource(__file__, "mend.sh")


def build(draw: Draw, world: World, kind: str, tariff: Tariff) -> tuple[History, int, int]:
    """The history; also the culprit and the commit that made a test stale."""
    extreme = draw.difficulty is Difficulty.EXTREMELY_HARD
    history = History(draw, [full_name(draw.rng) for _ in range(5)])
    keys = "share bug var rebate credit header only json raise torn remark"
    state: dict[str, int] = dict.fromkeys(keys.split(), 0)
    docs: dict[str, str] = {}
    old = Tariff(tariff.rates, tariff.block, tariff.free, tariff.cap, tariff.surcharge - 5, tariff.rebate)
    calm: Record = ("", world.classes[0], tariff.free + tariff.block + tariff.block // 2, world.marks[0])
    test = (
        f"import unittest\n\nfrom {world.modules[1]} import charge\n\n\nclass ChargeTest(unittest.TestCase):\n    def "
        "test_marked(self):\n"
        f'        self.assertEqual(charge("{calm[1]}", {calm[2]}, "{calm[3]}"), '
        f"{price(calm, old, *world.marks, '')[1]})\n"
    )

    def files() -> dict[str, str]:
        program = render(world, state, kind, tariff)
        return {"README.md": readme(world, state, tariff), f"test_{world.modules[1]}.py": test, **program, **docs}

    def subject(step: str) -> str:
        module = world.modules[0 if kind == "space" else 1]
        return WORDS["subjects"][step].format(
            mark=world.marks[0],
            member=world.marks[1],
            module=module,
            charge=world.modules[1],
            third=world.classes[2],
            noun=draw.pick(NOUNS),
        )

    def step(branch: str, name: str, parents: Sequence[int]) -> int:
        if name in ("var", "remark"):
            state[name] = (state[name] + 1) % (3 if name == "var" else 97)
        elif name == "raise":
            state[name] += draw.between(1, 9) * 2
        elif name == "docs":
            docs[f"docs/{draw.pick(('rules', 'terms', 'notes', 'people'))}.md"] = (
                f"{draw.pick(NOUNS)}: {draw.between(100, 999)}\n"
            )
        elif name == "whole":
            state["torn"] = 0
        else:
            state[name] = 1
        return history.commit(branch, subject(name), files(), parents)

    def filler(count: int) -> list[str]:
        return [
            draw.pick(("docs", "docs", "docs", "docs", "remark", *(["raise"] if extreme else []))) for _ in range(count)
        ]

    scale = draw.between(3, 4) if extreme else draw.between(1, 2)
    tip = history.commit("main", "Import", files(), ())
    for name in filler(3):
        tip = step("main", name, [tip])
    history.stream.append(f"reset refs/tags/{TAG}\nfrom :{tip + 1}\n\n")
    early = ["share", "only", *draw.shuffled(filler(6 * scale))]
    if extreme:
        early += ["torn", "remark", "docs", "docs", "whole", "docs"]
    stale = -1
    for name in early:
        tip = step("main", name, [tip])
        stale = tip if name == "share" else stale
    side = extreme or draw.chance(50)
    branch, fork = ("topic/cleanup" if side else "main"), tip
    culprit = -1
    for name in [*filler(scale), "var", "bug", "docs", *filler(scale)]:
        tip = step(branch, name, [tip])
        culprit = tip if name == "bug" else culprit
    if side:  # main moved on meanwhile, in documents only
        other = fork
        here = dict(history.trees[fork])
        for number in range(2 + scale):
            here = {**here, f"docs/main{number}.md": f"{draw.pick(NOUNS)}: {draw.between(100, 999)}\n"}
            docs[f"docs/main{number}.md"] = here[f"docs/main{number}.md"]
            other = history.commit("main", subject("docs"), here, [other])
        tip = history.commit("main", "Merge branch 'topic/cleanup'", files(), [other, tip])
    for name in [*filler(2 * scale), *draw.shuffled(["rebate", "credit", "header", "json", "var", *filler(8 * scale)])]:
        tip = step("main", name, [tip])
    if kind == "space":  # the line a rename would have touched is elsewhere
        tip = step("main", "remark", [tip])
    return history, culprit, stale


def draft(draw: Draw) -> Draft:
    """One hunt."""
    world = draw.setting(SETTINGS)
    kind = KINDS[(draw.serial * 3 + draw.between(0, 4)) % len(KINDS)]
    block = draw.pick((10, 12, 15, 20))
    # a quarter of a block's price ends in half a cent
    rates = {name: draw.between(6, 16) * 8 + 2 for name in world.classes}
    tariff = Tariff(
        rates, block, draw.between(2, 4) * 5 + 1, 400 + draw.between(0, 90) * 10, 25, draw.pick((10, 15, 30))
    )
    history, culprit, stale = build(draw, world, kind, tariff)
    raised = history.trees[-1][f"{world.modules[3]}.py"].split(f'"{world.classes[2]}": ')[1].split("}")[0]
    final = Tariff(
        {**rates, world.classes[2]: int(raised)}, block, tariff.free, tariff.cap, tariff.surcharge, tariff.rebate
    )
    broken, sound = make_cases(draw, world, final, kind)
    truth = {
        "repo": world.repo,
        "tool": world.tool,
        "answer": world.answer,
        "head": history.shas[-1],
        "culprit": hashlib.sha256(history.shas[culprit].encode()).hexdigest(),
        "broken_cases": broken,
        "sound_cases": sound,
    }
    wording = draw.serial % 3
    places = {"repo": world.repo, "answer": world.answer, "tool": world.tool}
    said = {name: words.format(**places) for name, words in WORDS["sentences"][wording].items()}
    symptom = WORDS["symptoms"][kind][wording].format(
        thing=world.thing, unit=world.unit, block=block, mark=world.marks[0], cap=tariff.cap, free=tariff.free
    )
    instruction = world.text.format(
        number=draw.between(100, 999),
        firm=draw.pick(FIRMS),
        tag=TAG,
        symptom=symptom,
        **said,
        persona=world.persona,
        repo=world.repo,
        thing=world.thing,
    )
    bad, good = (lines_of(kind, wrong, "billable") for wrong in (True, False))
    fixes = [(bad[name], good[name]) for name in bad if bad[name] != good[name]]
    module = f"{world.modules[0 if kind == 'space' else 1]}.py"
    mend = MEND.replace("@MODULE@", repr(module)).replace("@FIXES@", json.dumps(fixes))
    marks = {
        "CHECK": CHECKS[kind].replace("@CLASS@", world.classes[0]).replace("@MARK@", world.marks[0]),
        **dict(zip(("READ", "CHARGE", "REPORT", "RATES"), world.modules, strict=True)),
        "REPO": world.repo,
        "ANSWER": world.answer,
        "TAG": TAG,
    }
    bisect = BISECT
    for mark, value in marks.items():
        bisect = bisect.replace(f"@{mark}@", value)
    pattern = {
        "block": "+ (1 if",
        "free": "abs(units",
        "half": "round(cents",
        "cap": "min(blocks",
        "space": "parts[1].lower",
    }[kind]
    pickaxe = f"cd {world.repo}\ngit log --format=%H -S{pattern!r} -- {module} | tail -n 1 > {world.answer}\n"
    goals = ["test_culprit", "test_repaired"]
    return Draft(
        title=f"Find the commit that broke the {world.scenario}",
        setting=world,
        instruction=instruction,
        files={"history.stream": "".join(history.stream)},
        dockerfile=(
            f"COPY history.stream /opt/import/\nRUN mkdir -p {world.repo} {world.answer.rsplit('/', 1)[0]} && git init "
            f"-q -b main {world.repo} && cd {world.repo} "
            "&& git fast-import --quiet < /opt/import/history.stream && git reset -q --hard main && rm -rf "
            f"/opt/import\nWORKDIR {world.repo}"
        ),
        truth=truth,
        discoverable=("repo", "tool", "answer", "head"),
        tests=TESTS,
        weights={"test_culprit": 0.5, "test_repaired": 0.5},
        guards=["test_everything_else_works", "test_history_kept"],
        initial=INITIAL,
        solution=bisect + mend,
        alternatives=[
            f"{pickaxe}{mend}git -c user.name=fix -c user.email=fix@example.org commit -qam 'Repair the "
            f"{world.thing} rule'\n"
        ],
        misses=[
            Miss(
                "stale_test",
                "follows the test that fails since a deliberate change",
                f"{mend}echo {history.shas[stale]} > {world.answer}\n",
                ["test_culprit"],
            ),
            Miss(
                "latest_touch",
                "takes the last commit that changed the file",
                f"cd {world.repo}\n{mend}git log -1 --format=%H -- {module} > {world.answer}\n",
                ["test_culprit"],
            ),
            Miss("named_only", "finds the commit but repairs nothing", pickaxe, ["test_repaired"]),
            Miss(
                "old_program",
                "brings back the whole released program",
                f"{pickaxe}git checkout -q {TAG} -- .\n",
                ["test_everything_else_works"],
            ),
            Miss(
                "rewind",
                "resets the branch to before the culprit",
                f"{pickaxe}git reset -q --hard $(cat {world.answer})^\n",
                ["test_everything_else_works", "test_history_kept"],
            ),
        ],
        requirements=[
            (symptom, ["test_repaired"]),
            (said["ask"], ["test_culprit"]),
            (said["repair"], ["test_repaired", "test_everything_else_works"]),
            (said["guide"], goals[1:]),
            (said["keep"], ["test_history_kept"]),
        ],
        knobs={"commits": len(history.shas), "kind": kind, "extreme": draw.difficulty is Difficulty.EXTREMELY_HARD},
    )


FAMILY = Family(
    name="regression_bisect",
    domain="software_engineering",
    verifier=Verifier.EXACT_TEXT,
    skills=("git bisect", "code reading", "debugging", "regression repair"),
    difficulties=(Difficulty.HARD, Difficulty.EXTREMELY_HARD),
    capacity=24,
    draft=draft,
)
