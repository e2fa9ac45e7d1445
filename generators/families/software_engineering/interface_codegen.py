"""Generate a C header, a Python module and an SQL schema from an interface file: reserved words, defaults, order."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from generators.families.software_engineering._interface_codegen import (
    c_header,
    python_module,
    reference_source,
    sql_schema,
)
from generators.family import Draft, Draw, Family, Miss, Setting, load_settings, load_words, resource
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS

Item = dict[str, str]  # a field: name, type, size, optional, default, key; flags are "" or "yes"


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling. `things` name the structures."""

    folder: str
    source: str
    outputs: tuple[str, str, str]
    words: tuple[str, str, str]  # keywords of the interface file: enum, struct, key
    things: str
    text: str


SETTINGS = load_settings(__file__, World)
WORDS = load_words(__file__, "wordings.yaml")
RESERVED: dict[str, str] = WORDS["reserved"]
RULES = resource(__file__, "rules.txt")
TESTS = resource(__file__, "tests.py")
INITIAL = resource(__file__, "initial.py")
SOLUTION = resource(__file__, "solution.sh")
ALTERNATIVE = resource(__file__, "alternative.sh")


def rules_text(world: World, types: dict[str, str], guard: str, nested: bool) -> str:
    """The generator's rules."""
    return RULES.format(
        **dict(zip(("choice", "record", "key"), world.words, strict=True)),
        **dict(zip(("header", "module", "schema"), world.outputs, strict=True)),
        **{f"{language}_words": words for language, words in RESERVED.items()},
        source=world.source,
        guard=guard,
        types=", ".join(f"{a} {b}" for a, b in types.items()),
        order=WORDS["order_if_nested" if nested else "order"],
        nesting=WORDS["nesting"] if nested else "",
        flat=WORDS["flat"] if nested else "",
    )


def make_model(draw: Draw, world: World) -> tuple[dict[str, dict[str, int]], dict[str, list[Item]]]:
    """Enumerations and structures in which every rule is needed."""
    nested = draw.difficulty is Difficulty.HARD
    names = draw.shuffled(world.things.split())
    pools = [words.split() for words in RESERVED.values()]
    words = WORDS["fields"].split()
    enums: dict[str, dict[str, int]] = {}
    for name in (draw.pick(("Mode", "RunMode")), draw.pick(("AlarmKind", "Shade")), *(["Origin"] if nested else [])):
        value, members = -1, dict[str, int]()
        for number, member in enumerate(draw.sample(WORDS["members"].split(), draw.between(3, 5))):
            value = value + draw.between(3, 9) if number == 1 else value + 1
            members[member] = value
        enums[name] = members
    structs: dict[str, list[Item]] = {}
    texts = ('"it\'s #1"', '"a \\"b\\""', '"back\\\\slash"', '"plain"', '"# no comment"')
    for at, name in enumerate(names[: 6 if nested else 4]):
        special = [draw.pick(pool) for pool in pools]
        fields = list(dict.fromkeys([*draw.sample(words, draw.between(3, 6)), *special]))
        items = [Item(name="ref", type="u32", size="", optional="", default="", key="yes" if at != 1 else "")]
        for number, field in enumerate(draw.shuffled(fields)):
            kind = draw.pick(("u8", "u16", "u32", "i32", "i64", "f64", "bool", "text", "text", *enums))
            kind = ("bool", "text", next(iter(enums)), kind)[min(number, 3)]
            default = ""
            if number < 3 or draw.chance(40):
                default = (
                    draw.pick(("true", "false"))
                    if kind == "bool"
                    else draw.pick(texts)
                    if kind == "text"
                    else str(draw.between(0, 200))
                )
                default = (
                    f"{default}.5" if kind == "f64" else draw.pick(list(enums[kind])[1:]) if kind in enums else default
                )
            if number == 1:
                default = texts[at % 3]
            optional = "yes" if number == 4 or draw.chance(20) else ""
            key = "yes" if not optional and not default and kind != "text" and draw.chance(20) else ""
            items.append(
                Item(
                    name=field,
                    type=kind,
                    size=str(draw.between(5, 80)) if kind == "text" else "",
                    optional=optional,
                    default=default,
                    key=key,
                )
            )
        structs[name] = draw.shuffled(items)
    if nested:  # an earlier structure uses a later one, which uses another
        for user, used in ((0, 3), (3, 5), (1, 0), (2, 5)):
            structs[names[user]].insert(
                draw.between(0, 3),
                Item(
                    name=draw.pick(("inner", "part", "base")),
                    type=names[used],
                    size="",
                    optional="",
                    default="",
                    key="",
                ),
            )
    return enums, structs


def interface_file(draw: Draw, world: World, enums: dict[str, dict[str, int]], structs: dict[str, list[Item]]) -> str:
    """The model as the file has it."""
    choice, record, key = world.words
    blocks: list[str] = []
    for name, members in enums.items():
        rows, before = list[str](), -1
        for member, value in members.items():
            rows.append(member if value == before + 1 else f"{member} = {value}")
            before = value
        blocks.append(f"{choice} {name}: {', '.join(rows)}{draw.pick(('', '  # closed list'))}\n")
    for name, items in structs.items():
        lines = f"{record} {name}{draw.pick(('', '   # see minutes'))}\n"
        for item in items:
            kind = f"text({item['size']})" if item["type"] == "text" else item["type"]
            default = f" = {item['default']}" if item["default"] else ""
            lines += (
                f"{draw.pick(('  ', '    '))}{item['name']} "
                f"{kind}{'?' if item['optional'] else ''}{default}{' ' + key if item['key'] else ''}{draw.pick(('', '', ' # checked'))}\n"
            )
        blocks.append(lines + "end\n")
    return f"# {world.scenario} interface\n\n" + "\n".join(draw.shuffled(blocks))


def draft(draw: Draw) -> Draft:
    """One interface."""
    world = draw.setting(SETTINGS)
    enums, structs = make_model(draw, world)
    types = draw.pick(WORDS["types"])
    guard = draw.pick(("{}_H", "{}_H_INCLUDED", "GEN_{}_H")).format(world.outputs[0].split(".")[0].upper())
    text = interface_file(draw, world, enums, structs)
    names = re.findall(rf"^{world.words[1]} (\w+)", text, re.M)  # the file's order is the order that counts
    structs = {name: structs[name] for name in names}
    enums = {name: enums[name] for name in re.findall(rf"^{world.words[0]} (\w+)", text, re.M)}
    files = {world.source: text, "RULES": rules_text(world, types, guard, draw.difficulty is Difficulty.HARD)}
    paths = dict(zip(("c", "python", "sql"), (f"{world.folder}/out/{name}" for name in world.outputs), strict=True))
    truth = {
        "paths": paths,
        "expected": {
            "c": c_header(enums, structs, guard, RESERVED["c"].split()),
            "python": python_module(enums, structs, RESERVED["python"].split()),
            "sql": sql_schema(enums, structs, types, RESERVED["sql"].split()),
        },
        "given": {
            f"{world.folder}/{name}": hashlib.sha256(content.encode()).hexdigest() for name, content in files.items()
        },
    }
    places = {"folder": world.folder, "source": world.source}
    places |= dict(zip(("header", "module", "schema"), world.outputs, strict=True))
    said = {name: words.format(**places) for name, words in WORDS["sentences"][draw.serial % 3].items()}
    instruction = world.text.format(
        number=draw.between(100, 999),
        firm=draw.pick(FIRMS),
        persona=world.persona,
        scenario=world.scenario,
        **said,
    )
    choice, record, key = world.words
    marks = {
        "@FOLDER@": world.folder,
        "@SOURCE@": world.source,
        "@CHOICE@": choice,
        "@RECORD@": record,
        "@KEY@": key,
        "@GUARD@": guard,
        "@TYPES@": repr(types),
        "@TYPEWORDS@": ",".join(f"{a}:{b}" for a, b in types.items()),
        "@CW@": RESERVED["c"],
        "@PW@": RESERVED["python"],
        "@SW@": RESERVED["sql"],
        "@H@": paths["c"],
        "@P@": paths["python"],
        "@S@": paths["sql"],
    }

    def fill(script: str, *changes: tuple[str, str]) -> str:
        script = script.replace("@REFERENCE@", reference_source())
        for old, new in changes:
            assert old in script, old
            script = script.replace(old, new)
        for mark, value in marks.items():
            script = script.replace(mark, value)
        return script

    goals = ["test_c_header", "test_python_module", "test_sql_schema"]
    return Draft(
        title=f"Bindings for the {world.scenario} interface",
        setting=world,
        instruction=instruction,
        files=files,
        dockerfile=f"COPY {world.source} RULES {world.folder}/\nWORKDIR {world.folder}",
        truth=truth,
        discoverable=("paths", "expected", "given"),
        tests=TESTS,
        weights={"test_c_header": 0.35, "test_python_module": 0.3, "test_sql_schema": 0.35},
        guards=["test_sources_kept"],
        initial=INITIAL,
        solution=fill(SOLUTION),
        alternatives=[fill(ALTERNATIVE)],
        misses=[
            Miss(
                "comments_in_texts",
                "cuts lines at the first #, also inside texts",
                fill(SOLUTION, ('(?:[^"#]|"(?:[^"\\\\]|\\\\.)*")*', "[^#]*")),
                goals,
            ),
            Miss(
                "fields_in_file_order",
                "leaves fields with defaults where they are",
                fill(SOLUTION, ("first.append(text)", "last.append(text)")),
                ["test_python_module"],
            ),
            Miss(
                "reserved_words_forgotten",
                "uses reserved words as they are",
                fill(SOLUTION, (".split())", ".split()[:0])")),
                goals,
            ),
            Miss(
                "size_without_zero",
                "forgets the byte for the end of the text",
                fill(SOLUTION, ("int(item['size']) + 1", "int(item['size'])")),
                ["test_c_header"],
            ),
        ],
        requirements=[
            *((said[name], goals) for name in ("make", "rules", "check")),
            (said["keep"], ["test_sources_kept"]),
        ],
        knobs={"structures": len(structs), "nested": draw.difficulty is Difficulty.HARD, "guard": guard},
    )


FAMILY = Family(
    name="interface_codegen",
    domain="software_engineering",
    verifier=Verifier.EXACT_TEXT,
    skills=("code generation", "parsing", "reading a specification", "sql schema"),
    difficulties=(Difficulty.MEDIUM, Difficulty.HARD),
    capacity=48,
    draft=draft,
)
