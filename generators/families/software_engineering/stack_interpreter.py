"""Write an interpreter for a small stack language from its definition: limits, error lines, calls, loops, cells."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from generators.families.software_engineering._stack_interpreter import Trouble, execute, reference_source, translate
from generators.family import Draft, Draw, Family, Miss, Setting, load_settings, load_words, resource
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS

Language = dict[str, str]  # role to its word; also the limits and the kind of division, as text


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    folder: str
    tool: str
    language: str
    text: str


SETTINGS = load_settings(__file__, World)
WORDS = load_words(__file__, "wordings.yaml")
SPELLINGS: dict[str, str] = WORDS["spellings"]
PROGRAMS = load_words(__file__, "programs.yaml")
DEFINITION = resource(__file__, "definition.txt")
TESTS = resource(__file__, "tests.py")
INITIAL = resource(__file__, "initial.py")
SOLUTION = resource(__file__, "solution.py")
ALTERNATIVE = resource(__file__, "alternative.py")


def make_language(draw: Draw) -> Language:
    """Words and limits."""
    extreme = draw.difficulty is Difficulty.EXTREMELY_HARD
    roles = [role for role in SPELLINGS if extreme or role not in ("leave", "depth", "fetch", "store")]
    words = {role: draw.pick(SPELLINGS[role].split()) for role in roles}
    fail, reject = draw.pick(((1, 2), (3, 4), (70, 65), (10, 20)))
    numbers = {
        "top": draw.pick((32767, 99999, 2**31 - 1)),
        "full": draw.between(12, 40),
        "deep": draw.between(9, 40),
        "many": draw.between(400, 900),
        "cells": draw.between(4, 16),
    }
    return {
        **words,
        **{key: str(value) for key, value in numbers.items()},
        "words": " ".join(roles),
        "comment": draw.pick(("#", "//", "--")),
        "division": draw.pick(("zero", "down")),
        "fail": str(fail),
        "reject": str(reject),
    }


def judge(d: Language, program: str) -> dict[str, object]:
    """A program and what has to come of it."""
    out: list[str] = []
    code, error = 0, ""
    try:
        bodies = translate(d, program)
        code = int(d["fail"])
        execute(d, bodies, out)
        code = 0
    except Trouble as trouble:
        code = code or int(d["reject"])
        error = "line {}: {}".format(*trouble.args)
    return {"program": program, "code": code, "out": "".join(out), "error": error}


def corpus(draw: Draw, d: Language) -> dict[str, list[dict[str, object]]]:
    """Hidden programs, sorted by how they end."""
    extreme = "store" in d["words"].split()
    roles = d["words"].split()

    def spell(pattern: str) -> str:
        near = str((int(d["many"]) - 2) // 5)
        for mark, value in (
            ("@TOP@", d["top"]),
            ("@MANY@", d["many"]),
            ("@NEAR@", near),
            ("@DEEP@", d["deep"]),
            ("@CELLS@", d["cells"]),
        ):
            pattern = pattern.replace(mark, value)
        pattern = re.sub("~[sb]", lambda m: str(draw.between(3, 7) if m[0] == "~s" else draw.between(20, 999)), pattern)
        return re.sub(
            r"[^\s]+", lambda m: d[m[0]] if m[0] in roles else d["comment"] if m[0] == "#" else m[0], pattern
        ) + draw.pick(("", "\n"))

    def straight() -> str:
        simple = [
            role for role in roles if role not in ("if", "else", "end", "begin", "until", "define", "close", "leave")
        ]
        words = [str(draw.between(-9, 60)) for _ in range(4)]
        words += [
            draw.pick(simple) if draw.chance(60) else str(draw.between(-9, 60)) for _ in range(draw.between(8, 20))
        ]
        return "".join(word + draw.pick((" ", " ", "\n")) for word in words) + "print"

    patterns: list[str] = []
    for group, count in (("results", 3), ("failures", 4), ("rejected", 3)):
        first, others = PROGRAMS[group][:3], PROGRAMS[group][3:]
        patterns += [*first, *draw.sample(others, count)]
    if extreme:
        patterns += [*draw.sample(PROGRAMS["more_results"], 2), *draw.sample(PROGRAMS["more_failures"], 2)]
    patterns += [straight() for _ in range(2)]
    cases: dict[str, list[dict[str, object]]] = {"results": [], "failures": [], "rejected": []}
    for pattern in patterns:
        case = judge(d, spell(pattern))
        cases["results" if case["code"] == 0 else "failures" if case["code"] == int(d["fail"]) else "rejected"].append(
            case
        )
    return cases


def definition(world: World, d: Language) -> str:
    """The definition of the language."""
    words = {role: d.get(role, "") for role in SPELLINGS} | d
    cells = bool(words["store"])
    words |= {
        "language": world.language,
        "division": "towards zero" if d["division"] == "zero" else "down, towards minus infinity",
        "extra": WORDS["cells"].format(**words) if cells else "",
        "cell": "  cell    no cell has that number\n" if cells else "",
    }
    return DEFINITION.format(**words)


def draft(draw: Draw) -> Draft:
    """One language."""
    world = draw.setting(SETTINGS)
    d = make_language(draw)
    cases = corpus(draw, d)
    text = definition(world, d)
    truth = {
        "tool": world.tool,
        "definition": f"{world.folder}/DEFINITION",
        "digest": hashlib.sha256(text.encode()).hexdigest(),
        "cases": cases,
    }
    places = {"tool": world.tool, "language": world.language, "folder": world.folder}
    places |= {"reject": d["reject"], "fail": d["fail"]}
    said = {name: words.format(**places) for name, words in WORDS["sentences"][draw.serial % 3].items()}
    instruction = world.text.format(
        name=world.language,
        number=draw.between(100, 999),
        firm=draw.pick(FIRMS),
        persona=world.persona,
        scenario=world.scenario,
        **said,
    )
    program = SOLUTION.replace("@D@", repr(d)).replace("@REFERENCE@", reference_source())

    def install(source: str) -> str:
        return (
            f"mkdir -p {world.tool.rsplit('/', 1)[0]}\n"
            f"cat > {world.tool} <<'EOF'\n{source}EOF\n"
            f"chmod 755 {world.tool}\n"
        )

    def change(old: str, new: str) -> str:
        assert old in program, old
        return install(program.replace(old, new))

    goals = ["test_results", "test_failures", "test_rejected"]
    return Draft(
        title=f"{world.language} interpreter",
        setting=world,
        instruction=instruction,
        files={"DEFINITION": text},
        dockerfile=f"COPY DEFINITION {world.folder}/\nWORKDIR {world.folder}",
        truth=truth,
        discoverable=("tool", "definition", "cases"),
        tests=TESTS,
        weights={"test_results": 0.4, "test_failures": 0.35, "test_rejected": 0.25},
        guards=["test_definition_kept"],
        initial=INITIAL,
        solution=install(program),
        alternatives=[install(ALTERNATIVE.replace("@D@", repr(d)))],
        misses=[
            Miss(
                "other_division",
                "rounds quotients the other way",
                change('d["division"] == "zero"', 'd["division"] != "zero"'),
                ["test_results"],
            ),
            Miss(
                "output_lost",
                "prints nothing if the program fails",
                change('        sys.stdout.write("".join(out))\n        sys', "        sys"),
                ["test_failures"],
            ),
            Miss(
                "last_line",
                "reports mistakes at the end of the text in its last line",
                change("raise Trouble(opened[-1][2],", "raise Trouble(line + 1,"),
                ["test_rejected"],
            ),
        ],
        requirements=[
            (said["make"], goals),
            (said["law"], goals),
            (said["errors"], goals[1:]),
            (said["keep"], ["test_definition_kept"]),
        ],
        knobs={"language": d},
    )


FAMILY = Family(
    name="stack_interpreter",
    domain="software_engineering",
    verifier=Verifier.FUZZ_EQUIVALENCE,
    skills=("interpreters", "reading a specification", "error reporting", "resource limits"),
    difficulties=(Difficulty.HARD, Difficulty.EXTREMELY_HARD),
    capacity=64,
    draft=draft,
)
