"""Write a parser for a small configuration language from its manual: escapes, nesting, includes, error positions."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass

from generators.families.software_engineering._config_parser import Dialect, Fault, load, reference_source
from generators.family import Draft, Draw, Family, Miss, Setting, load_settings, load_words, resource
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    folder: str
    tool: str
    language: str
    text: str


SETTINGS = load_settings(__file__, World)
WORDS = load_words(__file__, "wordings.yaml")
# Marks of the patterns: ‹ › blocks, ⊤ ⊥ true and false, § include, @ a drawn word, ~1~ a drawn number; = and # are replaced too.
PATTERNS = load_words(__file__, "patterns.yaml")
MANUAL = resource(__file__, "manual.txt")
TESTS = resource(__file__, "tests.py")
INITIAL = resource(__file__, "initial.py")
SOLUTION = resource(__file__, "solution.py")
ALTERNATIVE = resource(__file__, "alternative.py")


def judge(d: Dialect, files: dict[str, str]) -> dict[str, object]:
    """A case of the corpus: the files, and the value or the mistake."""
    root: dict[str, object] = {}
    try:
        load(d, "main.cfg", files.get, root, root, [])
    except Fault as fault:
        name, line, column, code = fault.args
        return {"files": files, "error": f"{name}:{line}:{column}: {code}"}
    return {"files": files, "value": json.dumps(root, sort_keys=True)}


def corpus(draw: Draw, d: Dialect) -> dict[str, list[dict[str, object]]]:
    """The hidden cases: patterns in the dialect's marks, with drawn words and numbers, and drawn documents."""
    marks = {"‹": d["open"], "›": d["close"], "#": d["comment"], "⊤": d["true"], "⊥": d["false"], "§": d["include"]}
    words = iter(
        draw.sample([a + b for a in "lmnpqrstvw" for b in ("ax", "ep_", "i2", "o-k", "unda", "ixel", "orb", "alt")], 80)
        * 6
    )

    def fill(pattern: str) -> str:
        text = re.sub("=", lambda _: d["assign"], pattern)
        text = re.sub("[‹›#⊤⊥§]", lambda m: marks[m[0]], text)
        text = re.sub("@", lambda _: next(words), text)
        return re.sub("~[12]~", lambda _: str(draw.between(1, 9999)), text)

    def document(depth: int) -> str:
        lines = ""
        for _ in range(draw.between(1, 4)):
            if depth and draw.chance(40):
                lines += f"{'  ' * (3 - depth)}@ ‹\n{document(depth - 1)}{'  ' * (3 - depth)}›\n"
            else:
                lines += (
                    f"{'  ' * (3 - depth)}@ = "
                    f"{draw.pick(('~1~', '⊤', '[~1~, ⊥]', chr(39) + '@' + chr(39), chr(34) + '@ ~1~' + chr(34)))}\n"
                )
        return lines

    rich = bool(d["rich"])
    plain, wrong, included = PATTERNS["values"], PATTERNS["mistakes"], PATTERNS["includes"]
    # Values can share a file: all plain ones in a few, each with one that refers to fixed names, and one file with nothing.
    shared = [text for text in plain if text]
    starts = [shared[:1], shared[1:2], [], []]
    rest = draw.shuffled(shared[2:])
    more: list[str] = draw.sample(PATTERNS["rich_values"], 4) if rich else [""] * 4
    groups = [[*start, *rest[n::4], more[n], *([document(3)] if n < 2 else [])] for n, start in enumerate(starts)]
    values = [
        "",
        *("".join(sorted(group, key=lambda text: bool(text) and not text.endswith("\n"))) for group in groups),
    ]
    mistakes = [*wrong[:2], *draw.sample(wrong[2:], 3)]
    mistakes += draw.sample(PATTERNS["rich_mistakes" if rich else "strict_mistakes"], 2)
    mistakes.append(document(2) + draw.pick(wrong))
    includes = [included[0], included[2], *draw.sample(included[3:], 3)]
    cases = {
        "values": [{"main.cfg": fill(text)} for text in values],
        "mistakes": [{"main.cfg": fill(text)} for text in mistakes],
    }
    cases["includes"] = [
        dict(zip(("main.cfg", "sub/x.cfg", "sub/y.cfg"), map(fill, texts), strict=True)) for texts in includes
    ]
    return {group: [judge(d, files) for files in chosen] for group, chosen in cases.items()}


def manual(world: World, d: Dialect, failure: int, usage: int) -> str:
    """The language's manual."""
    rich = bool(d["rich"])
    return MANUAL.format(
        **{name: word for name, word in d.items() if name not in ("again", "escapes")},
        language=world.language,
        again=WORDS["again"][d["again"]],
        escapes=", ".join("\\" + mark for mark in d["escapes"]),
        hexadecimal="; or 0x and hexadecimal digits" if rich else "",
        colon=" and:" if rich else "",
        more=WORDS["more"] if rich else "",
        failure=failure,
        usage=usage,
    )


def draft(draw: Draw) -> Draft:
    """One language."""
    world = draw.setting(SETTINGS)
    hard = draw.difficulty is Difficulty.HARD
    opening, closing = draw.pick((("{", "}"), ("(", ")"), ("<", ">"), ("{{", "}}")))
    yes, no = draw.pick((("on", "off"), ("yes", "no"), ("true", "false"), ("Y", "N")))
    d: Dialect = {
        "comment": draw.pick(("#", ";", "//", "%")),
        "assign": draw.pick(("=", ":", ":=")),
        "open": opening,
        "close": closing,
        "true": yes,
        "false": no,
        "include": draw.pick(("include", "use", "insert", "load")),
        "escapes": 'nt\\"' + ("$" if hard else ""),
        "rich": "rich" if hard else "",
        "again": "merge" if hard else "error",
    }
    failure, usage = draw.pick(((1, 2), (3, 64), (65, 64), (4, 5)))
    cases = corpus(draw, d)
    samples = [
        f'title {d["assign"]} "sample {draw.between(10, 99)}" {d["comment"]} a comment\nlimits {opening}\n  low '
        f"{d['assign']} -{draw.between(1, 9)}\n  names {d['assign']} ['one', \"two\\t\"]\n{closing}\n",
        f"outer {opening}\n  inner {opening}\n    ready {d['assign']} {yes}\n  {closing}\n{closing}\nsize "
        f"{d['assign']} {draw.between(1, 9)}_000\n",
    ]
    files = {"MANUAL": manual(world, d, failure, usage)}
    for number, sample in enumerate(samples, 1):
        files[f"examples/sample{number}.cfg"] = sample
        files[f"examples/sample{number}.json"] = str(judge(d, {"main.cfg": sample})["value"]) + "\n"
    truth = {
        "tool": world.tool,
        "failure": failure,
        "usage": usage,
        "cases": cases,
        "given": {f"{world.folder}/{name}": hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()},
    }
    places = {"tool": world.tool, "language": world.language, "folder": world.folder, "failure": failure}
    said = {name: words.format(**places) for name, words in WORDS["sentences"][draw.serial % 3].items()}
    instruction = world.text.format(
        language=world.language,
        number=draw.between(100, 999),
        firm=draw.pick(FIRMS),
        persona=world.persona,
        tool=world.tool,
        **said,
    )
    reader = program(SOLUTION, d, failure, usage)

    def install(source: str) -> str:
        return (
            f"mkdir -p {world.tool.rsplit('/', 1)[0]}\n"
            f"cat > {world.tool} <<'EOF'\n{source}EOF\n"
            f"chmod 755 {world.tool}\n"
        )

    def change(old: str, new: str) -> str:
        assert old in reader, old
        return install(reader.replace(old, new))

    goals = ["test_values", "test_mistakes", "test_includes"]
    return Draft(
        title=f"Parser for {world.scenario} ({world.language})",
        setting=world,
        instruction=instruction,
        files=files,
        dockerfile=f"COPY MANUAL {world.folder}/\nCOPY examples {world.folder}/examples/\nWORKDIR {world.folder}",
        truth=truth,
        discoverable=("tool", "cases", "given"),
        tests=TESTS,
        weights={"test_values": 0.4, "test_mistakes": 0.35, "test_includes": 0.25},
        guards=["test_manual_kept"],
        initial=INITIAL,
        solution=install(reader),
        alternatives=[install(program(ALTERNATIVE, d, failure, usage))],
        misses=[
            Miss(
                "comment_first",
                "cuts comments off before it looks at strings",
                change(
                    "        at = skip(line, 0)\n",
                    "        line = line.split(d['comment'])[0]\n        at = skip(line, 0)\n",
                ),
                ["test_values"],
            ),
            Miss(
                "columns_from_zero",
                "counts columns from 0",
                change("column + 1, code)", "column, code)"),
                ["test_mistakes", "test_includes"],
            ),
            Miss(
                "include_from_main",
                "looks for included files beside the main file only",
                change("posixpath.join(posixpath.dirname(name), path)", "path"),
                ["test_includes"],
            ),
            Miss(
                "lenient_numbers",
                "takes whatever int() takes",
                change("= integer(word)", "= int(word) if word.strip('-_').replace('_', '').isdigit() else None"),
                ["test_mistakes"],
            ),
        ],
        requirements=[
            (said["job"], ["test_values"]),
            (said["manual"], goals),
            (said["errors"], goals[1:]),
            (said["examples"], ["test_manual_kept"]),
        ],
        knobs={"dialect": d, "failure": failure},
    )


def program(source: str, d: Dialect, failure: int, usage: int) -> str:
    """A program for this dialect."""
    source = source.replace("@REFERENCE@", reference_source()).replace("@D@", repr(d))
    return source.replace("@FAIL@", str(failure)).replace("@USAGE@", str(usage))


FAMILY = Family(
    name="config_parser",
    domain="software_engineering",
    verifier=Verifier.ADVERSARIAL_CORPUS,
    skills=("parsing", "error reporting", "reading a specification", "command-line interfaces"),
    difficulties=(Difficulty.MEDIUM, Difficulty.HARD),
    capacity=64,
    draft=draft,
)
