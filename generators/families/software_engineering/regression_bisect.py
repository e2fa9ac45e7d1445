"""Find the commit that broke a small billing program and repair it: merges, a stale test, later features."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from generators.family import Draft, Draw, Family, Miss, Setting
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS, full_name, login


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    repo: str
    answer: str
    tool: str
    modules: tuple[str, str, str, str]  # reading, charging, printing, tariff
    thing: str
    unit: str
    classes: tuple[str, str, str]
    marks: tuple[str, str]  # note word of the surcharge, note word of the rebate
    text: str


TICKET = """BILL-{number}: {firm} is billed wrongly since some change after {tag}

What customers see: {symptom} {tag} was right.

Wanted
1. {ask}
2. {repair}

Notes
- {guide}
- {keep}
"""
EMAIL = """Hi,

{firm} complained again, and this time they are right. {symptom} With {tag} that was still fine, so one of the commits
since must have
done it. I need two things before the call at four. First: {ask} Second: {repair}

{guide} {keep}

Thanks, {persona}
"""
NOTE = """{repo}: regression after {tag}
{symptom}
- {ask}
- {repair}
- {guide}
- {keep}
"""
SPECIFICATION = """Defect report {number} ({firm}, program in {repo})

Observed behaviour. {symptom} Last version known to be correct: {tag}.
Root cause analysis. {ask}
Correction. {repair}
Reference. {guide}
Restriction. {keep}
"""
CHAT = """{persona}: are you at a keyboard? {symptom}
you: since when?
{persona}: {tag} was ok, main is not. somewhere between
{persona}: {ask}
you: and then fix it?
{persona}: yes please. {repair}
{persona}: careful, {guide}
{persona}: and {keep}
"""
RUNBOOK = """RUNBOOK: wrong amounts at {firm}

Trigger: {symptom}
Known good: tag {tag} of {repo}. Known bad: main.
A. {ask}
B. {repair}
C. Where sources disagree: {guide}
D. Limits: {keep}
"""
MINUTES = """Minutes, post mortem {number} at {firm}

It was reported that {thing} totals are off. {symptom} It was agreed that {tag} still computed correctly.
Action 1 (you): {ask}
Action 2 (you): {repair}
It was noted that {guide}
It was further agreed: {keep}
"""
LETTER = """To the maintainer of {repo}

We audited invoices of {firm}. {symptom} Nothing of the kind happens with {tag}. Before we can close the audit we
require the
following. {ask} Moreover, {repair}

For the avoidance of doubt: {guide} {keep}

{persona}
"""
SETTINGS = (
    World("car_park", "parking operator", "car park fees", "ticket", "/srv/parking", "/srv/answers/culprit", "fees.py",
          ("entries", "charging", "printout", "tariff"), "stay", "minute", ("car", "van", "bike"), ("night",
              "resident"), TICKET),
    World("boat_hire", "harbour master", "boat hire", "email", "/home/harbour/hire", "/home/harbour/found.txt",
        "hire.py",
          ("logbook", "pricing", "sheet", "prices"), "trip", "minute", ("canoe", "sail", "motor"), ("storm", "club"),
              EMAIL),
    World("print_shop", "print shop owner", "print jobs", "note", "/opt/print/billing", "/opt/print/bad-commit",
        "jobs.py",
          ("intake", "costs", "listing", "rates"), "job", "page", ("plain", "photo", "poster"), ("express", "school"),
              NOTE),
    World("cold_store", "warehouse controller", "cold store fees", "specification", "/data/coldstore",
        "/data/report/cause.txt", "storage.py",
          ("ledger", "levy", "statement", "table"), "pallet", "hour", ("fish", "fruit", "vaccine"), ("deepfreeze",
              "coop"), SPECIFICATION),
    World("charging_points", "backend developer", "charging sessions", "chat", "/work/evcharge", "/work/culprit.txt",
        "sessions.py",
          ("meter", "amounts", "summary", "plans"), "session", "minute", ("slow", "fast", "ultra"), ("peak", "fleet"),
              CHAT),
    World("water_meter", "duty engineer", "water bills", "runbook", "/srv/water/bill", "/srv/water/regression",
        "water.py",
          ("readings", "billing", "letter", "scale"), "reading", "litre", ("home", "farm", "plant"), ("drought",
              "social"), RUNBOOK),
    World("studio_time", "studio manager", "studio bookings", "email", "/home/studio/bookings",
        "/home/studio/first_bad", "studio.py",
          ("diary", "quote", "overview", "pricelist"), "booking", "minute", ("dance", "sound", "film"), ("sunday",
              "student"), MINUTES),
    World("archive_scans", "records auditor", "archive scans", "specification", "/opt/archive/scans",
        "/opt/archive/finding", "scans.py",
          ("orders", "tally", "account", "charges"), "order", "sheet", ("map", "deed", "photo"), ("fragile",
              "museum"), LETTER),
)  # fmt: skip

TESTS = """
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

REPO = TRUTH["repo"]


def run_case(case):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "input.txt")
        Path(path).write_text(case["lines"])
        command = ["/usr/bin/python3", "-B", REPO + "/" + TRUTH["tool"], *case["options"], path]
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr[-300:]
    return json.loads(done.stdout) if "--json" in case["options"] else done.stdout.split()


def check(cases):
    for case in cases:
        assert run_case(case) == case["expected"], case["lines"]


def test_culprit():
    assert hashlib.sha256(Path(TRUTH["answer"]).read_text().strip().encode()).hexdigest() == TRUTH["culprit"]


def test_repaired():
    check(TRUTH["broken_cases"])


def test_everything_else_works():
    check(TRUTH["sound_cases"])


def test_history_kept():
    git = ["/usr/bin/git", "-c", "safe.directory=*", "-C", REPO]
    subprocess.run([*git, "merge-base", "--is-ancestor", TRUTH["head"], "refs/heads/main"], check=True, timeout=20)
"""

INITIAL = """
from pathlib import Path


def test_program_is_there():
    assert (Path(TRUTH["repo"]) / TRUTH["tool"]).is_file() and not Path(TRUTH["answer"]).exists()
"""

KINDS = ("block", "free", "half", "cap", "space")
CHECKS = {  # right before the culprit, wrong after it, whatever the tariff
    "block": "charge('@CLASS@', FREE + BLOCK, '') == RATES['@CLASS@']",
    "free": "charge('@CLASS@', FREE - 1, '') == 0",
    "half": "percent(250, 1) == 3",
    "cap": "charge('@CLASS@', 10**6, '@MARK@') <= CAP",
    "space": "next(read(['x; @CLASS@ ;5']))[1] == '@CLASS@'",
}
Record = tuple[str, str, int, str]


@dataclass(frozen=True)
class Tariff:
    """What the README states."""

    rates: dict[str, int]
    block: int
    free: int
    cap: int
    surcharge: int
    rebate: int


def lines_of(world: World, kind: str, bad: bool, var: str) -> dict[str, str]:
    """The statements a culprit touches, right or wrong, with the present name of the variable."""
    wrong = kind if bad else ""
    return {
        "name": f"parts[1]{'' if wrong == 'space' else '.strip()'}.lower()",
        "free": f"{var} = abs(units - FREE)" if wrong == "free" else f"{var} = max(0, units - FREE)",
        "block": "blocks = "
        + (f"{var} // BLOCK + (1 if {var} else 0)" if wrong == "block" else f"-(-{var} // BLOCK)"),
        "cents": "cents = blocks * RATES[name]" if wrong != "cap" else "cents = min(blocks * RATES[name], CAP)",
        "last": "return cents" if wrong == "cap" else "return min(cents, CAP)",
        "half": "return round(cents * share / 100)" if wrong == "half" else "return (cents * share + 50) // 100",
    }  # fmt: skip


def render(world: World, state: dict[str, int], kind: str, tariff: Tariff) -> dict[str, str]:
    """The program's files in a state of its history."""
    read, charge, report, rates = world.modules
    mark, member = world.marks
    var = ("extra", "over", "billable")[state["var"]]
    at = lines_of(world, kind, bool(state["bug"]), var)
    remark = (
        f"    # see docs/{('rules', 'terms', 'notes')[state['remark'] % 3]}.md, {state['remark']}\n"
        if state["remark"]
        else ""
    )
    header = '        if parts[0] == "id":\n            continue\n' if state["header"] else ""
    rebate = f'    if "{member}" in note:\n        cents -= percent(cents, REBATE)\n' if state["rebate"] else ""
    credit = "    if units < 0:\n        return -charge(name, -units, note)\n" if state["credit"] else ""
    only = (
        '    only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else None\n'
        if state["only"]
        else "    only = None\n"
    )
    as_json = (
        (
            '    if "--json" in sys.argv:\n        print(json.dumps({**sums, "total": sum(sums.values())}))\n       '
            " "
            "return\n"
        )
        if state["json"]
        else ""
    )
    rows = ", ".join(
        f'"{name}": {rate + state["raise"] * (name == world.classes[2])}' for name, rate in tariff.rates.items()
    )
    share = tariff.surcharge if state["share"] else tariff.surcharge - 5
    return {
        f"{read}.py": (
            f'"""Reading {world.thing}s."""\n\n\ndef read(lines):\n{remark}    for line in lines:\n        line = '
            'line.strip()\n'
            '        if not line or line.startswith("#"):\n            continue\n        parts = '
            f'line.split(";")\n{header}'
            f'        note = parts[3].strip() if len(parts) > 3 else ""\n        yield parts[0], {at["name"]}, '
            'int(parts[2]), note\n'
        ),
        f"{charge}.py": (
            f'"""What a {world.thing} costs."""\nfrom {rates} import BLOCK, CAP, FREE, RATES, REBATE, SURCHARGE\n\n\n'
            f"def percent(cents, share):\n    {at['half']}\n\n\ndef charge(name, units, note):\n{credit}    "
            f"{at['free']}\n    {at['block']}\n"
            f'    {at["cents"]}\n    if "{mark}" in note:\n        cents += percent(cents, SURCHARGE)\n{rebate}    '
            f'{at["last"]}\n'
        ),
        f"{report}.py": '"""Printing."""\n\n\ndef show(sums):\n    for name in sorted(sums):\n        print(name, '
                        'sums[name])\n    print("total", sum(sums.values()))\n'
        + (f"\n\ndef footer(sums:\n    return len(sums){state['remark']}\n" if state["torn"] else ""),
        f"{rates}.py": f"RATES = {{{rows}}}\nBLOCK = {tariff.block}\nFREE = {tariff.free}\nCAP = "
                       f"{tariff.cap}\nSURCHARGE = {share}\nREBATE = {tariff.rebate}\n",
        world.tool: (
            f'"""Sums of a file of {world.thing}s, in cents."""\nimport json\nimport sys\n\nfrom {charge} import '
            f'charge\nfrom {read} import read\nfrom {report} import show\n\n\n'
            f"def main():\n{only}    sums = {{}}\n    with open(sys.argv[-1], encoding=\"utf-8\") as file:\n        "
            "for _, name, units, note in read(file):\n"
            "            if only in (None, name):\n                sums[name] = sums.get(name, 0) + charge(name, "
            f"units, note)\n{as_json}    show(sums)\n\n\nmain()\n"
        ),
    }  # fmt: skip


def readme(world: World, state: dict[str, int], tariff: Tariff) -> str:
    """The rules, as far as the program knows them."""
    share = tariff.surcharge if state["share"] else tariff.surcharge - 5
    return (
        f"# {world.scenario}\n\nInput: id;class;{world.unit}s;note per line, spaces around fields do not matter, class "
        "in any case, # starts a comment.\n"
        f"Output: cents per class in alphabetical order, then the total.\n\n- the first {tariff.free} {world.unit}s "
        "are free\n"
        f"- the rest costs per started block of {tariff.block} {world.unit}s (an exact multiple starts no further "
        f"block), see {world.modules[3]}.py\n"
        f"- {world.marks[0]} in the note: plus {share} %\n"
        + f"- {world.marks[1]} in the note: minus {tariff.rebate} % of what is then due\n"
        * state["rebate"]
        + f"- percentages are rounded to whole cents, half a cent upwards\n- no {world.thing} costs more than "
        f"{tariff.cap} cents in the end\n"
        + "- negative numbers are credits of the same amount\n" * state["credit"]
        + "- a line whose id is the word id is a heading\n" * state["header"]
        + "- --only CLASS leaves the other classes out\n" * state["only"]
        + "- --json prints one object of cents instead\n" * state["json"]
    )


def price(record: Record, tariff: Tariff, mark: str, member: str, wrong: str) -> tuple[str, int]:
    """The rules once more, independent of the program; `wrong` names the rule that is broken."""
    _, name, units, note = record
    name = name.lower() if wrong == "space" else name.strip().lower()
    sign, units = (-1, -units) if units < 0 else (1, units)

    def percent(cents: int, share: int) -> int:
        half = (cents * share) % 100 == 50 and wrong == "half" and (cents * share // 100) % 2 == 0
        return (cents * share + 50) // 100 - half

    extra = units - tariff.free if units > tariff.free else (tariff.free - units if wrong == "free" else 0)
    blocks = (extra + tariff.block - 1) // tariff.block + (wrong == "block" and extra > 0 and extra % tariff.block == 0)
    cents = blocks * tariff.rates.get(name, 0)
    if wrong == "cap":
        cents = min(cents, tariff.cap)
    cents += percent(cents, tariff.surcharge) if mark in note else 0
    cents -= percent(cents, tariff.rebate) if member in note else 0
    return name, sign * (cents if wrong == "cap" else min(cents, tariff.cap))


def make_cases(
    draw: Draw, world: World, tariff: Tariff, kind: str
) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """Inputs on which the broken program errs, and inputs on which it does not."""
    hit: list[Record] = []
    calm: list[Record] = []
    blocks = [tariff.free + tariff.block * number for number in range(1, 9)]
    while len(hit) < 12 or len(calm) < 36:
        name = draw.pick(world.classes)
        shown = draw.pick((name, name.upper(), f" {name} ", f"{name.title()} "))
        units = draw.pick(
            (
                draw.between(1, tariff.free),
                draw.pick(blocks),
                draw.between(1, 900),
                5000,
                draw.between(tariff.free, 400),
            )
        )
        note = draw.pick(("", "", world.marks[0], world.marks[1], f"{world.marks[0]} {world.marks[1]}"))
        record = (f"K{draw.between(100, 999)}", shown, -units if draw.chance(15) else units, note)
        same = price(record, tariff, *world.marks, "") == price(record, tariff, *world.marks, kind)
        (calm if same else hit).append(record)

    def case(records: Sequence[Record], options: Sequence[str]) -> dict[str, object]:
        sums: dict[str, int] = {}
        for record in records:
            name, cents = price(record, tariff, *world.marks, "")
            if options[:1] != ["--only"] or options[1] == name:
                sums[name] = sums.get(name, 0) + cents
        everything = {**{name: sums[name] for name in sorted(sums)}, "total": sum(sums.values())}
        text = "id;class;units;note\n# file\n" + "".join(f"{r[0]};{r[1]};{r[2]};{r[3]}\n" for r in records)
        plain = [word for name, cents in everything.items() for word in (name, str(cents))]
        return {"lines": text, "options": list(options), "expected": everything if "--json" in options else plain}

    options: tuple[list[str], ...] = (
        [],
        ["--json"],
        ["--only", world.classes[0]],
        ["--only", world.classes[1], "--json"],
    )
    broken = [case(hit[at : at + 3], ()) for at in (0, 3, 6)] + [case(hit[9:12], ["--json"])]
    return broken, [case(calm[at * 9 : at * 9 + 9], option) for at, option in enumerate(options)]


def git_object(kind: str, body: bytes) -> str:
    """The name git gives to an object."""
    return hashlib.sha1(f"{kind} {len(body)}\0".encode() + body).hexdigest()


def tree_of(blobs: dict[str, str]) -> str:
    """The name of a tree with one level of folders."""
    rows: list[tuple[str, bytes]] = [
        (p, b"100644 " + p.encode() + b"\0" + bytes.fromhex(b)) for p, b in blobs.items() if "/" not in p
    ]
    for folder in sorted({path.split("/")[0] for path in blobs if "/" in path}):
        inner = sorted((p[len(folder) + 1 :], b) for p, b in blobs.items() if p.startswith(folder + "/"))
        body = b"".join(b"100644 " + name.encode() + b"\0" + bytes.fromhex(blob) for name, blob in inner)
        rows.append((folder + "/", b"40000 " + folder.encode() + b"\0" + bytes.fromhex(git_object("tree", body))))
    return git_object("tree", b"".join(row for _, row in sorted(rows)))


@dataclass
class History:
    """A repository in the making: its fast-import stream and the names git will give."""

    draw: Draw
    people: list[str]
    shas: list[str] = field(default_factory=list[str])
    trees: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    stream: list[str] = field(default_factory=list[str])
    names: dict[str, str] = field(default_factory=dict[str, str])  # text to blob, each hashed once
    clock: int = 1_690_000_000

    def commit(self, branch: str, subject: str, files: dict[str, str], parents: Sequence[int]) -> int:
        """Add a commit that leaves exactly these files."""
        self.clock += self.draw.between(900, 60_000)
        name = self.draw.pick(self.people)
        person = f"{name} <{login(name)}@example.org> {self.clock} +0000"
        before = self.trees[parents[0]] if parents else {}
        changes = "".join(f"M 100644 inline {p}\ndata {len(t)}\n{t}\n" for p, t in files.items() if before.get(p) != t)
        for text in files.values():
            if text not in self.names:
                self.names[text] = git_object("blob", text.encode())
        blobs = {path: self.names[text] for path, text in files.items()}
        head = f"tree {tree_of(blobs)}\n" + "".join(f"parent {self.shas[p]}\n" for p in parents)
        self.shas.append(git_object("commit", f"{head}author {person}\ncommitter {person}\n\n{subject}\n".encode()))
        links = "".join(f"{word} :{p + 1}\n" for word, p in zip(("from", "merge"), parents, strict=False))
        self.stream.append(
            f"commit refs/heads/{branch}\nmark :{len(self.shas)}\nauthor {person}\ncommitter {person}\ndata "
            f"{len(subject) + 1}\n{subject}\n{links}{changes}\n"
        )
        self.trees.append(files)
        return len(self.shas) - 1


SUBJECTS = {
    "share": "Raise the {mark} surcharge",
    "bug": "Tidy up {module}",
    "var": "Rename a variable in {charge}",
    "rebate": "Rebate for {member}",
    "credit": "Accept credits",
    "header": "Skip heading lines",
    "only": "Add --only",
    "json": "Add --json",
    "raise": "New price for {third}",
    "torn": "Draft a footer",
    "whole": "Finish the footer later",
    "remark": "Point to the documents",
    "docs": "Write about {noun}",
}
NOUNS = (
    *("opening hours", "refunds", "holidays", "the archive", "backups", "new staff", "the helpdesk", "printers"),
    *("lost files", "exports", "rounding", "the cap", "blocks"),
)


def build(draw: Draw, world: World, kind: str, tariff: Tariff) -> tuple[History, int, int]:
    """The history; also the culprit and the commit that made a test stale."""
    extreme = draw.difficulty is Difficulty.EXTREMELY_HARD
    history = History(draw, [full_name(draw.rng) for _ in range(5)])
    keys: tuple[str, ...] = (
        "share",
        "bug",
        "var",
        "rebate",
        "credit",
        "header",
        "only",
        "json",
        "raise",
        "torn",
        "remark",
    )
    state: dict[str, int] = dict.fromkeys(keys, 0)
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
        return SUBJECTS[step].format(
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


TAG = "release-1"


def draft(draw: Draw) -> Draft:
    """One hunt."""
    world = draw.setting(SETTINGS)
    kind = KINDS[(draw.serial * 3 + draw.between(0, 4)) % len(KINDS)]
    block = draw.pick((10, 12, 15, 20))
    rates = {
        name: draw.between(6, 16) * 8 + 2 for name in world.classes
    }  # a quarter of a block's price ends in half a cent
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
        "repo": world.repo, "tool": world.tool, "answer": world.answer, "head": history.shas[-1],
        "culprit": hashlib.sha256(history.shas[culprit].encode()).hexdigest(), "broken_cases": broken,
            "sound_cases": sound,
    }  # fmt: skip
    wording = draw.serial % 3
    ask, repair, guide, keep = sentences(world, wording)
    symptom = SYMPTOMS[kind][wording].format(
        thing=world.thing, unit=world.unit, block=block, mark=world.marks[0], cap=tariff.cap, free=tariff.free
    )
    instruction = world.text.format(
        number=draw.between(100, 999), firm=draw.pick(FIRMS), tag=TAG, symptom=symptom, ask=ask, repair=repair,
            guide=guide, keep=keep,
        persona=world.persona, repo=world.repo, thing=world.thing,
    )  # fmt: skip
    state_var = ("extra", "over", "billable")[2]
    bad, good = lines_of(world, kind, True, state_var), lines_of(world, kind, False, state_var)
    fixes = [(bad[name], good[name]) for name in bad if bad[name] != good[name]]
    module = f"{world.modules[0 if kind == 'space' else 1]}.py"
    pattern = {
        "block": "+ (1 if",
        "free": "abs(units",
        "half": "round(cents",
        "cap": "min(blocks",
        "space": "parts[1].lower",
    }[kind]
    mend = (
        f"python3 - <<'PY'\ntext = open({module!r}).read()\nfor old, new in {json.dumps(fixes)}:\n    assert old "
        "in "
        f"text\n    text = text.replace(old, new)\nopen({module!r}, 'w').write(text)\nPY\n"
    )
    check = CHECKS[kind].replace("@CLASS@", world.classes[0]).replace("@MARK@", world.marks[0])
    bisect = (
        BISECT.replace("@CHECK@", check)
        .replace("@CHARGE@", world.modules[1])
        .replace("@READ@", world.modules[0])
        .replace("@RATES@", world.modules[3])
    )
    bisect = (
        bisect.replace("@REPO@", world.repo)
        .replace("@ANSWER@", world.answer)
        .replace("@TAG@", TAG)
        .replace("@REPORT@", world.modules[2])
    )
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
        alternatives=[f"{pickaxe}{mend}git -c user.name=fix -c user.email=fix@example.org commit -qam 'Repair the "
                      f"{world.thing} rule'\n"],
        misses=[
            Miss("stale_test", "follows the test that fails since a deliberate change",
                f"{mend}echo {history.shas[stale]} > {world.answer}\n", ["test_culprit"]),
            Miss("latest_touch", "takes the last commit that changed the file",
                f"cd {world.repo}\n{mend}git log -1 --format=%H -- {module} > {world.answer}\n", ["test_culprit"]),
            Miss("named_only", "finds the commit but repairs nothing", pickaxe, ["test_repaired"]),
            Miss("old_program", "brings back the whole released program", f"{pickaxe}git checkout -q {TAG} -- .\n",
                ["test_everything_else_works"]),
            Miss("rewind", "resets the branch to before the culprit",
                f"{pickaxe}git reset -q --hard $(cat {world.answer})^\n",
                 ["test_everything_else_works", "test_history_kept"]),
        ],
        requirements=[(symptom, ["test_repaired"]), (ask, ["test_culprit"]), (repair, ["test_repaired",
            "test_everything_else_works"]), (guide, goals[1:]), (keep, ["test_history_kept"])],
        knobs={"commits": len(history.shas), "kind": kind, "extreme": draw.difficulty is Difficulty.EXTREMELY_HARD},
    )  # fmt: skip


SYMPTOMS = {
    "block": (
        "A {thing} that uses up its blocks of {block} {unit}s exactly is charged one block more.",
        "Whoever ends precisely on a full block of {block} {unit}s pays for another one.",
        "Exact multiples of {block} {unit}s (after the free ones) cost a block too much.",
    ),
    "free": (
        "A {thing} of fewer than {free} {unit}s, which ought to be free, costs something.",
        "Short {thing}s that stay within the {free} free {unit}s are no longer free.",
        "Below {free} {unit}s nothing may be charged, but it is.",
    ),
    "half": (
        "Some {thing}s with a percentage are a single cent too cheap or too dear, always where half a cent has to be "
        "rounded.",
        "Now and then a {thing} with {mark} in its note is off by one cent; half cents go the wrong way.",
        "Half cents are sometimes rounded down (seen with {mark}).",
    ),
    "cap": (
        "Long {thing}s with {mark} in the note cost more than the {cap} cents that nobody is ever to pay.",
        "The maximum of {cap} cents is exceeded when a {thing} carries {mark}.",
        "{cap} cents should be the upper limit for a {thing}, {mark} included; it is not any more.",
    ),
    "space": (
        "If a class is written with spaces around it, the {thing} ends up under a class of its own or makes the "
        "program crash.",
        "A {thing} whose class field has blanks before or after it is not recognised any more.",
        "Blanks around the class of a {thing} are no longer tolerated.",
    ),
}


def sentences(world: World, wording: int) -> tuple[str, str, str, str]:
    """What is asked, what to repair, which source is right, what must stay."""
    return (
        (
            f"Find the one commit of {world.repo} that introduced this and write its full 40-digit hash into "
            f"{world.answer}; a merge that only brought it in is not meant.",
            f"Repair the program in the working tree of {world.repo} (run as python3 {world.repo}/{world.tool} FILE) "
            "without losing anything that was added later.",
            "README.md says what is right; the unit test has been out of date for a while and prices may change on "
            "purpose.",
            "Commits on main may be added but none may vanish.",
        ),
        (
            f"which commit in {world.repo} did it? I want the complete hash (40 characters) in the file "
            f"{world.answer}, of the commit that made the change itself, not of a merge.",
            f"the checked-out {world.tool} in {world.repo} has to compute correctly again, with every option and rule "
            "that came after the damage still working.",
            "what counts is the README.md of today, neither the test in the repository, which nobody kept current, nor "
            "old prices.",
            "the existing commits of main have to remain in its history, a new one on top is all right.",
        ),
        (
            f"Put the full hash of the guilty commit of {world.repo} (40 hex digits; the author of the change, not the "
            f"merge) in {world.answer}.",
            f"Correct {world.repo}/{world.tool} or its modules in place; later features stay.",
            "The present README.md is the authority: one test is stale, and tariffs were changed deliberately.",
            "Do not rewrite main; adding to it is fine.",
        ),
    )[wording]


BISECT = r"""cd @REPO@
tree=$(mktemp -d)
git worktree add -q --detach "$tree/w" main
cat > "$tree/check.py" <<'PY'
import os, sys
sys.dont_write_bytecode = True
sys.path.insert(0, os.getcwd())
try:
    from @READ@ import read
    from @CHARGE@ import charge, percent
    from @RATES@ import BLOCK, CAP, FREE, RATES
    import @REPORT@
except SyntaxError:
    sys.exit(125)
sys.exit(0 if @CHECK@ else 1)
PY
cd "$tree/w"
git bisect start main @TAG@ > /dev/null
git bisect run python3 "$tree/check.py" > /dev/null 2>&1
git rev-parse refs/bisect/bad > @ANSWER@
git bisect reset > /dev/null 2>&1
cd @REPO@
git worktree remove --force "$tree/w"
rm -rf "$tree"
"""


FAMILY = Family(
    name="regression_bisect",
    domain="software_engineering",
    verifier=Verifier.EXACT_TEXT,
    skills=("git bisect", "code reading", "debugging", "regression repair"),
    difficulties=(Difficulty.HARD, Difficulty.EXTREMELY_HARD),
    capacity=24,
    draft=draft,
)
