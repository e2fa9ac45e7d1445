"""Repair a small C program for measurements whose results depend on the optimiser: overflow, wild reads,
cancellation."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

from generators.bases import Base
from generators.families.scientific_computing._undefined_behaviour import OPS, Answer, draw_command
from generators.family import Draft, Draw, Family, Miss, Setting, load_settings, load_words, resource
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS, FIRST_NAMES


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling; `ops` are the command words, in the order of OPS."""

    folder: str
    source: str
    ops: tuple[str, ...]
    text: str


SETTINGS = load_settings(__file__, World)
RULES: dict[str, tuple[str, ...]] = load_words(__file__, "rules.yaml")
WORDS: dict[str, tuple[str, ...]] = load_words(__file__, "wordings.yaml")
PROGRAM = resource(__file__, "program.c")
TESTS = resource(__file__, "tests.py")
INITIAL = resource(__file__, "initial.py")

GROUPS = {
    "statistics": ("var", "peak", "sum"),
    "equations": ("roots",),
    "integers": ("mid", "add", "round", "gap"),
}


def functions(name: str) -> dict[str, str]:
    """The functions of a C file: the one that takes a list, then one per operation, a blank line between them."""
    return dict(zip(("take", *OPS), resource(__file__, name).rstrip("\n").split("\n\n"), strict=True))


CODE = [functions(name) for name in ("wrong.c", "right.c", "other.c")]
CALLS = {
    "list": '        if (!strcmp(word, "{op}") && (list = take(&n)))\n            printf("%.15e\\n", {name}(list, n));\n',
    "pair": '        if (!strcmp(word, "{op}") && scanf("%d %d", &i, &j) == 2)\n            printf("%lld\\n", {name}(i, j));\n',
    "real": '        if (!strcmp(word, "{op}") && scanf("%lf", &a) == 1)\n            printf("%lld\\n", {name}(a));\n',
    "three": '        if (!strcmp(word, "{op}") && scanf("%lf %lf %lf", &a, &b, &c) == 3)\n            {name}(a, b, c);\n',
}
SHAPES = {
    "var": "list",
    "peak": "list",
    "sum": "list",
    "roots": "three",
    "mid": "pair",
    "add": "pair",
    "gap": "pair",
    "round": "real",
}


class Case(TypedDict):
    """Commands, and the answer to each."""

    commands: str
    answers: list[Answer]


def source(ops: Sequence[str], words: dict[str, str], version: int, wrong: Sequence[str] = ()) -> str:
    """The program: everything in a version (0 wrong, 1 and 2 right), `wrong` operations broken."""
    parts = [CODE[version]["take"], *(CODE[0 if op in wrong else version][op] for op in ops)]
    calls = "".join(CALLS[SHAPES[op]].replace("{op}", words[op]).replace("{name}", f"f_{op}") for op in ops)
    text = PROGRAM.replace("{functions}", "\n\n".join(parts)).replace("{calls}", calls)
    return text.replace("{thing}", words["thing"])


def draft(draw: Draw) -> Draft:
    """One program."""
    world = draw.setting(SETTINGS)
    hard = draw.difficulty is Difficulty.HARD
    ops = OPS if hard else OPS[:5]
    path = f"{world.folder}/{world.source}"
    names = dict(zip(OPS, world.ops, strict=True))
    words = {
        **names,
        "thing": world.scenario,
        "path": path,
        "folder": world.folder,
        "firm": draw.pick(FIRMS),
        "ticket": str(draw.between(10, 9999)),
        "persona": f"{draw.pick(FIRST_NAMES)} ({world.persona})",
    }

    def fill(text: str) -> str:
        for key, word in words.items():
            text = text.replace(f"{{{key}}}", word)
        return text

    def case(chosen: Sequence[str], calm: bool) -> Case:
        commands, answers = "", list[Answer]()
        for place in range(draw.by_difficulty(medium=5, hard=8)):
            for op in chosen:
                arguments, answer = draw_command(draw, op, calm, place)
                commands += f"{names[op]} {arguments}\n"
                answers.append(answer)
        return {"commands": commands, "answers": answers}

    cases = {
        group: [case([op for op in members if op in ops], False) for _ in range(2)] for group, members in GROUPS.items()
    }
    quiet = case([op for op in ops if op != "peak"], True)
    cases["quiet"] = [quiet]
    shown = "".join(" ".join(str(item) for item in answer) + "\n" for answer in quiet["answers"])
    files = {"quiet.in": quiet["commands"], "quiet.out": shown}

    build, accuracy, keep = (fill(draw.pick(WORDS[key])) for key in ("builds", "accuracies", "keeps"))
    sentences = {op: fill(draw.pick(RULES[op])) for op in ops}
    mark = draw.pick(("- {}\n", "* {}\n", "  {}\n"))
    rules = "".join(mark.format(sentences[op]) for op in draw.shuffled(ops)).rstrip()
    floats = [op for op in ("var", "sum") if op in ops]
    whole = [op for op in ("mid", "add", "round", "gap") if op in ops]
    goals = ["test_statistics", "test_equations", "test_integers"]
    tested = {op: [f"test_{group}", "test_quiet_example"] for group, members in GROUPS.items() for op in members}
    return Draft(
        title=f"Make the {world.scenario} calculator independent of the optimiser",
        setting=world,
        instruction=fill(world.text.format(build=build, rules=rules, accuracy=accuracy, keep=keep, **words)),
        files={**files, world.source: source(ops, words, 0)},
        dockerfile=f"COPY {world.source} quiet.in quiet.out {world.folder}/\nWORKDIR {world.folder}",
        truth={
            "source": path,
            "cases": cases,
            "inputs": {
                f"{world.folder}/{name}": hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()
            },
        },
        discoverable=("source", "cases"),
        tests=TESTS,
        weights={"test_statistics": 0.4, "test_equations": 0.2, "test_integers": 0.4},
        guards=["test_quiet_example", "test_example_unchanged"],
        initial=INITIAL,
        solution=install(path, source(ops, words, 1)),
        alternatives=[install(path, source(ops, words, 2))],
        misses=[
            Miss(
                "integers_only",
                "leaves the cancellation",
                install(path, source(ops, words, 1, floats)),
                ["test_statistics"],
            ),
            Miss(
                "textbook_roots",
                "subtracts nearly equal numbers",
                install(path, source(ops, words, 1, ["roots"])),
                ["test_equations"],
            ),
            Miss(
                "reals_only",
                "leaves the signed overflow",
                install(path, source(ops, words, 1, whole)),
                ["test_integers"],
            ),
            Miss(
                "small_buffer",
                "still has room for 64 values",
                small_buffer(path, source(ops, words, 1)),
                ["test_statistics"],
            ),
        ],
        requirements=[
            (build, goals),
            *((text, tested[op]) for op, text in sentences.items()),
            (accuracy, goals),
            (keep, ["test_quiet_example", "test_example_unchanged"]),
        ],
        knobs={"operations": len(ops)},
    )


def small_buffer(path: str, text: str) -> str:
    """The right program that refuses more than 64 values, as a hasty repair of the buffer would."""
    return install(path, text.replace("*n > 1000", "*n > 64"))


def install(path: str, text: str) -> str:
    """Put a source at its path."""
    return f"cat > {path} <<'END_OF_SOURCE'\n{text}END_OF_SOURCE\n"


FAMILY = Family(
    name="undefined_behaviour",
    domain="scientific_computing",
    verifier=Verifier.ADVERSARIAL_CORPUS,
    skills=("c", "undefined behaviour", "floating point", "numerical stability"),
    difficulties=(Difficulty.MEDIUM, Difficulty.HARD),
    capacity=48,
    draft=draft,
    base=Base.BUILD,
    language="c",
)
