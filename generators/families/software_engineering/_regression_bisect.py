"""A billing program in the states of its history, and its rules once more for the cases of the tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from generators.families.software_engineering._git import git_object, tree_of
from generators.family import Draw, Setting, load_words, resource
from generators.vocabulary import login

HOME = str(Path(__file__).with_name("regression_bisect.py"))  # whose folder of files this is
PROGRAM = load_words(HOME, "program.yaml")
README = resource(HOME, "README.md")
OPTIONAL: dict[str, str] = load_words(HOME, "wordings.yaml")["readme"]
Record = tuple[str, str, int, str]


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


@dataclass(frozen=True)
class Tariff:
    """What the README states."""

    rates: dict[str, int]
    block: int
    free: int
    cap: int
    surcharge: int
    rebate: int


def lines_of(kind: str, bad: bool, var: str) -> dict[str, str]:
    """The statements a culprit touches, right or wrong, with the present name of the variable."""
    wrong = kind if bad else ""
    return {
        "name": f"parts[1]{'' if wrong == 'space' else '.strip()'}.lower()",
        "free": f"{var} = abs(units - FREE)" if wrong == "free" else f"{var} = max(0, units - FREE)",
        "block": "blocks = " + (f"{var} // BLOCK + (1 if {var} else 0)" if wrong == "block" else f"-(-{var} // BLOCK)"),
        "cents": "cents = blocks * RATES[name]" if wrong != "cap" else "cents = min(blocks * RATES[name], CAP)",
        "last": "return cents" if wrong == "cap" else "return min(cents, CAP)",
        "half": "return round(cents * share / 100)" if wrong == "half" else "return (cents * share + 50) // 100",
    }


def render(world: World, state: dict[str, int], kind: str, tariff: Tariff) -> dict[str, str]:
    """The program's files in a state of its history."""
    read, charge, report, rates = world.modules
    at = lines_of(kind, bool(state["bug"]), ("extra", "over", "billable")[state["var"]])
    book = ("rules", "terms", "notes")[state["remark"] % 3]
    marks = {
        "REMARK": f"    # see docs/{book}.md, {state['remark']}\n" if state["remark"] else "",
        "ONLY": PROGRAM["only" if state["only"] else "all"],
        **{name.upper(): PROGRAM[name] if state[name] else "" for name in ("header", "rebate", "credit", "json")},
        **{name.upper(): statement for name, statement in at.items()},
        "READ": read,
        "CHARGE": charge,
        "REPORT": report,
        "RATES": rates,
        "THING": world.thing,
        "MARK": world.marks[0],
        "MEMBER": world.marks[1],
        "NUMBER": str(state["remark"]),
    }

    def filled(text: str) -> str:
        for mark, value in marks.items():
            text = text.replace(f"@{mark}@", value)
        return text

    rows = ", ".join(
        f'"{name}": {rate + state["raise"] * (name == world.classes[2])}' for name, rate in tariff.rates.items()
    )
    share = tariff.surcharge if state["share"] else tariff.surcharge - 5
    return {
        f"{read}.py": filled(PROGRAM["read"]),
        f"{charge}.py": filled(PROGRAM["charge"]),
        f"{report}.py": filled(PROGRAM["report"] + (PROGRAM["torn"] if state["torn"] else "")),
        f"{rates}.py": f"RATES = {{{rows}}}\nBLOCK = {tariff.block}\nFREE = {tariff.free}\nCAP = {tariff.cap}\n"
        f"SURCHARGE = {share}\nREBATE = {tariff.rebate}\n",
        world.tool: filled(PROGRAM["tool"]),
    }


def readme(world: World, state: dict[str, int], tariff: Tariff) -> str:
    """The rules, as far as the program knows them."""
    lines = {
        name: text.format(member=world.marks[1], rebate=tariff.rebate) + "\n" if state[name] else ""
        for name, text in OPTIONAL.items()
    }
    return README.format(
        scenario=world.scenario,
        unit=world.unit,
        free=tariff.free,
        block=tariff.block,
        rates=world.modules[3],
        mark=world.marks[0],
        share=tariff.surcharge if state["share"] else tariff.surcharge - 5,
        rebated=lines.pop("rebate"),
        thing=world.thing,
        cap=tariff.cap,
    ) + "".join(lines.values())


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
