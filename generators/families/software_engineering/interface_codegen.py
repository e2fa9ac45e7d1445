"""Generate a C header, a Python module and an SQL schema from an interface file: reserved words, defaults, order."""

from __future__ import annotations

import hashlib
import inspect
import re
from dataclasses import dataclass
from functools import cache

from generators.family import Draft, Draw, Family, Miss, Setting
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


TICKET = """API-{number}: regenerate the {firm} bindings

The generator did not survive the server move. Until there is a new one:
1. {make}
2. {rules}
3. {check}
4. {keep}
"""
EMAIL = """Hello,

the teams of {firm} all wait for the new {scenario} interface, and the generator is broken. {make} {rules}

{check} {keep}

Thank you, {persona}
"""
NOTE = """bindings for {scenario}
{make}
{rules}
{check}
{keep}
"""
SPECIFICATION = """Interface release {number} ({firm})

Products: {make}
Derivation: {rules}
Acceptance: {check}
Constraint: {keep}
"""
CHAT = """{persona}: the codegen container is gone, can you produce the three files?
you: which ones?
{persona}: {make}
you: by what rules?
{persona}: {rules}
{persona}: {check} {keep}
"""
RUNBOOK = """RUNBOOK {number}: bindings of the {scenario} interface by hand ({firm})

Do: {make}
How: {rules}
Then: {check}
Do not: {keep}
"""
REVIEW = """The bindings that were checked in for {scenario} at {firm} do not agree with one another. They are to be
derived anew.

{rules} {make} {check} {keep}
"""
LETTER = """Dear integrator,

{firm} hands over the {scenario} interface. {make}

{rules} {check}

{keep} Regards, the {persona}
"""
SETTINGS = (
    World("pumps", "controls engineer", "pump control", "ticket", "/srv/pump-if", "pump.idl", ("pump.h", "pump.py",
        "pump.sql"),
          ("enum", "struct", "key"), "PumpState Valve Order FlowSample Select TankLevel", TICKET),
    World("ferry", "booking developer", "ferry booking", "email", "/opt/ferry", "booking.if", ("booking.h",
        "booking.py", "schema.sql"),
          ("choice", "record", "id"), "Cabin CrossingLeg Group DeckPlan Order Passenger", EMAIL),
    World("meteo", "data engineer", "weather data", "note", "/home/meteo/api", "meteo.def", ("meteo.h",
        "meteo_types.py", "meteo.sql"),
          ("enumeration", "message", "primary"), "Station WindVector Table RainBin Index SkyCover", NOTE),
    World("tram", "systems architect", "tram telemetry", "specification", "/data/tram", "telemetry.spec",
        ("telemetry.h", "telemetry.py", "telemetry.sql"),
          ("values", "type", "unique"), "AxleLoad DoorEvent Group Brake Check LineStop", SPECIFICATION),
    World("card_game", "game developer", "card game", "chat", "/games/cards", "cards.idl", ("cards.h", "cards.py",
        "cards.sql"),
          ("oneof", "object", "pk"), "Deck HandCard Table SeatPlan Order Wager", CHAT),
    World("lab_robot", "lab automation engineer", "pipetting robot", "runbook", "/lab/robot", "robot.api", ("robot.h",
        "robot.py", "robot.sql"),
          ("enum", "record", "ident"), "Rack WellPlate Union TipBox Group LiquidClass", RUNBOOK),
    World("parking", "integration developer", "parking", "specification", "/work/parking", "parking.idl",
        ("parking.h", "parking.py", "tables.sql"),
          ("set", "struct", "key"), "BayKind Ticket Order RateStep Check GateMove", REVIEW),
    World("museum", "collections manager", "museum loans", "email", "/srv/museum", "loans.def", ("loans.h",
        "loans.py", "loans.sql"),
          ("list", "entity", "id"), "Exhibit LoanPeriod Table CrateSize Select Courier", LETTER),
)  # fmt: skip

TESTS = """
import hashlib
from pathlib import Path


def check(kind):
    lines = Path(TRUTH["paths"][kind]).read_text().splitlines()
    assert [line.rstrip() for line in lines if line.strip()] == TRUTH["expected"][kind]


def test_c_header():
    check("c")


def test_python_module():
    check("python")


def test_sql_schema():
    check("sql")


def test_sources_kept():
    for name, digest in TRUTH["given"].items():
        assert hashlib.sha256(Path(name).read_bytes()).hexdigest() == digest, name
"""

INITIAL = """
import os


def test_only_the_sources_are_there():
    assert all(os.path.isfile(name) for name in TRUTH["given"])
    assert not any(os.path.exists(name) for name in TRUTH["paths"].values())
"""

C_WORDS: str = (
    "auto break case char const continue default do double else enum extern float for goto if int long register "
    "return short signed sizeof static struct switch typedef union unsigned void volatile while"
)
PYTHON_WORDS: str = (
    "and as assert async await break class continue def del elif else except finally for from global if "
    "import in is lambda nonlocal not or pass raise return try while with yield"
)
SQL_WORDS: str = (
    "check column default desc for from group in index is join not on or order select table union user where with"
)

# --- reference implementation; its source is also part of the solution's program


def snake(name: str) -> str:
    """CamelCase to snake_case."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def in_order(structs: dict[str, list[dict[str, str]]]) -> list[str]:
    """Structure names, used ones before their users, otherwise as in the file."""
    done: list[str] = []
    while len(done) < len(structs):
        done.append(
            next(
                n
                for n, items in structs.items()
                if n not in done and all(i["type"] in done or i["type"] not in structs for i in items)
            )
        )
    return done


def c_header(
    enums: dict[str, dict[str, int]], structs: dict[str, list[dict[str, str]]], guard: str, reserved: list[str]
) -> list[str]:
    """The lines of the C header."""
    plain = {
        "u8": "uint8_t",
        "u16": "uint16_t",
        "u32": "uint32_t",
        "i32": "int32_t",
        "i64": "int64_t",
        "f64": "double",
        "bool": "bool",
    }
    out = [f"#ifndef {guard}", f"#define {guard}", "#include <stdbool.h>", "#include <stdint.h>"]
    for name, members in enums.items():
        rows = [f"    {snake(name).upper()}_{member.upper()} = {value}" for member, value in members.items()]
        out += [f"enum {snake(name)} {{", *(row + "," for row in rows[:-1]), rows[-1], "};"]
    for name in in_order(structs):
        out.append(f"struct {snake(name)} {{")
        for item in structs[name]:
            kind, field = item["type"], item["name"] + "_" * (item["name"] in reserved)
            out += [f"    bool has_{item['name']};"] if item["optional"] else []
            if kind == "text":
                out.append(f"    char {field}[{int(item['size']) + 1}];")
            else:
                shown = plain.get(kind) or ("enum " if kind in enums else "struct ") + snake(kind)
                out.append(f"    {shown} {field};")
        out.append("};")
        for item in structs[name]:
            if item["default"]:
                value = (
                    f"{snake(item['type']).upper()}_{item['default'].upper()}"
                    if item["type"] in enums
                    else item["default"]
                )
                out.append(f"#define {snake(name).upper()}_{item['name'].upper()}_DEFAULT {value}")
    return [*out, "#endif"]


def python_module(
    enums: dict[str, dict[str, int]], structs: dict[str, list[dict[str, str]]], reserved: list[str]
) -> list[str]:
    """The lines of the Python module."""
    plain = {"f64": "float", "bool": "bool", "text": "str"}
    out = ["from dataclasses import dataclass", "from enum import IntEnum"]
    for name, members in enums.items():
        out += [f"class {name}(IntEnum):", *(f"    {member.upper()} = {value}" for member, value in members.items())]
    for name in in_order(structs):
        out += ["@dataclass", f"class {name}:"]
        first: list[str] = []
        last: list[str] = []
        for item in structs[name]:
            kind = item["type"]
            shown = kind if kind in enums or kind in structs else plain.get(kind, "int")
            text = f"    {item['name']}{'_' * (item['name'] in reserved)}: {shown}" + " | None" * bool(item["optional"])
            value = item["default"]
            if value and kind in enums:
                value = f"{kind}.{value.upper()}"
            elif kind == "bool":
                value = value.title()
            if value or item["optional"]:
                last.append(f"{text} = {value or 'None'}")
            else:
                first.append(text)
        out += first + last
    return out


def sql_schema(
    enums: dict[str, dict[str, int]],
    structs: dict[str, list[dict[str, str]]],
    types: dict[str, str],
    reserved: list[str],
) -> list[str]:
    """The lines of the SQL schema."""

    def quoted(name: str) -> str:
        return f'"{name}"' if name in reserved else name

    def columns(name: str, prefix: str) -> list[str]:
        rows: list[str] = []
        for item in structs[name]:
            kind, column, value = item["type"], quoted(prefix + item["name"]), item["default"]
            if kind in structs:
                rows += columns(kind, prefix + item["name"] + "_")
                continue
            text = f"    {column} " + (f"VARCHAR({item['size']})" if kind == "text" else types.get(kind, "INTEGER"))
            text += "" if item["optional"] else " NOT NULL"
            if kind == "text" and value:
                value = "'" + re.sub(r"\\(.)", r"\1", value[1:-1]).replace("'", "''") + "'"
            elif kind == "bool":
                value = value.upper()
            elif kind in enums and value:
                value = str(enums[kind][value])
            text += f" DEFAULT {value}" if value else ""
            if kind in enums:
                text += f" CHECK ({column} IN ({', '.join(str(v) for v in enums[kind].values())}))"
            rows.append(text)
        return rows

    out: list[str] = []
    for name in in_order(structs):
        keys = [quoted(item["name"]) for item in structs[name] if item["key"]]
        rows = columns(name, "") + ([f"    PRIMARY KEY ({', '.join(keys)})"] if keys else [])
        out += [f"CREATE TABLE {quoted(snake(name))} (", *(row + "," for row in rows[:-1]), rows[-1], ");"]
    return out


# --- end of the reference implementation


@cache
def reference_source() -> str:
    """The source of the reference implementation."""
    return "\n\n".join(inspect.getsource(part) for part in (snake, in_order, c_header, python_module, sql_schema))


WORDS: str = "name size weight level code label note start stop unit width angle speed zone batch"
MEMBERS: str = "open shut idle fast slow red blue north south auto"
SQL_TYPES = (
    {
        "u8": "SMALLINT",
        "u16": "INTEGER",
        "u32": "BIGINT",
        "i32": "INTEGER",
        "i64": "BIGINT",
        "f64": "DOUBLE PRECISION",
        "bool": "BOOLEAN",
    },
    {
        "u8": "INTEGER",
        "u16": "INTEGER",
        "u32": "INTEGER",
        "i32": "INTEGER",
        "i64": "INTEGER",
        "f64": "REAL",
        "bool": "BOOLEAN",
    },
    {"u8": "TINYINT", "u16": "SMALLINT", "u32": "BIGINT", "i32": "INT", "i64": "BIGINT", "f64": "FLOAT", "bool": "BIT"},
)


def rules_text(world: World, types: dict[str, str], guard: str, nested: bool) -> str:
    """The generator's rules."""
    choice, record, key = world.words
    nesting = (
        "A field may also have another structure as its type (never optional, no default, no cycles).\n"
        if nested
        else ""
    )
    order = (
        (
            "Structures are written in file order, except that a structure used by another comes before it: next is "
            "always the first\nin the file that is not written yet and uses only written ones."
        )
        if nested
        else "Structures are written in file order."
    )
    flat = (
        "- A structure as a field becomes the columns of that structure in its place, each name preceded by the "
        "field's name and _\n"
        "  (and so on inside); they keep their defaults and constraints, but its keys are no keys of the outer table.\n"
        if nested
        else ""
    )
    return f"""Rules of the generator

INTERFACE FILE ({world.source})
# outside a text starts a comment. '{choice} Name: a, b = 5, c' lists members; a member without number is one more than the one
before, the first is 0. '{record} Name' opens a structure, its fields follow one per line up to 'end':
    NAME TYPE, optionally followed directly by ?, then optionally '= DEFAULT', then optionally '{key}'
TYPE is u8 u16 u32 i32 i64 f64 bool text(N) or the name of an enumeration; ? makes the field optional; {key} puts it
into the key.
A text default is in double quotes with \\" and \\\\ as escapes. The default of an enumeration is a member. {nesting}
ALL OUTPUTS
Enumerations first, in file order. {order} snake case of a name: _ before every capital but the first, then lower case.
Blank lines are free everywhere, all others as shown, indented by 4 spaces inside braces, parentheses and classes.

C ({world.outputs[0]})
- frame: #ifndef {guard}, #define {guard}, #include <stdbool.h>, #include <stdint.h>, ..., #endif
- 'enum snake_name {{', members as NAME_MEMBER = value (capitals of the snake case), no comma behind the last, '}};'
- 'struct snake_name {{', fields 'type name;', '}};'. uint8_t uint16_t uint32_t int32_t int64_t double bool, char
name[N+1] (the sum
  written out), enum snake_name, struct snake_name. An optional field has 'bool has_NAME;' in the line before.
- a field named like one of these words gets _ behind its name (has_NAME and NAME_DEFAULT do not): {C_WORDS}
- behind each structure, for its fields with default: '#define STRUCT_FIELD_DEFAULT value' (capitals of the snake
case); numbers,
  true, false and texts as in the interface file, an enumeration's as NAME_MEMBER

Python ({world.outputs[1]})
- 'from dataclasses import dataclass', 'from enum import IntEnum'
- 'class Name(IntEnum):' with MEMBER = value; '@dataclass', 'class Name:' with 'name: type' or 'name: type = default'
- int float bool str or the class; optional: 'type | None', default None unless there is another; fields with default
are moved
  behind those without, otherwise the order stays
- True, False, Name.MEMBER, texts as in the interface file; a field named like one of these gets _ behind:
{PYTHON_WORDS}

SQL ({world.outputs[2]})
- 'CREATE TABLE snake_name (', columns, ');', a comma behind every line between but the last
- column: name, type, NOT NULL unless optional, DEFAULT value if any, and for enumerations CHECK (name IN (all values,
in order,
  separated by comma and space))
- types: {", ".join(f"{a} {b}" for a, b in types.items())}, text(N) VARCHAR(N), enumerations INTEGER
- texts in single quotes without escapes, ' doubled; TRUE and FALSE; enumerations as their number
- last line, if there are keys: PRIMARY KEY (names separated by comma and space)
{flat}- a table or column name equal to one of these is put in double quotes wherever it occurs: {SQL_WORDS}
"""


def make_model(draw: Draw, world: World) -> tuple[dict[str, dict[str, int]], dict[str, list[Item]]]:
    """Enumerations and structures in which every rule is needed."""
    nested = draw.difficulty is Difficulty.HARD
    names = draw.shuffled(world.things.split())
    pools = [C_WORDS.split(), PYTHON_WORDS.split(), SQL_WORDS.split()]
    words = WORDS.split()
    enums: dict[str, dict[str, int]] = {}
    for name in (draw.pick(("Mode", "RunMode")), draw.pick(("AlarmKind", "Shade")), *(["Origin"] if nested else [])):
        value, members = -1, dict[str, int]()
        for number, member in enumerate(draw.sample(MEMBERS.split(), draw.between(3, 5))):
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


def sentences(world: World, wording: int) -> tuple[str, str, str, str]:
    """What to make, by which rules, how it is checked, what stays."""
    folder, (header, module, schema) = world.folder, world.outputs
    return (
        (
            f"From {folder}/{world.source} write the C header {folder}/out/{header}, the Python module "
            f"{folder}/out/{module} and the SQL schema {folder}/out/{schema}.",
            f"{folder}/RULES says exactly what each of them looks like.",
            "They are compared line by line with what the old generator gave; only blank lines and blanks at line ends "
            "do not matter.",
            "The interface file and the rules must not be changed.",
        ),
        (
            f"What I need is {header} (C), {module} (Python) and {schema} (SQL), all in {folder}/out, made from the "
            f"interface description {folder}/{world.source}.",
            f"Please stick to {folder}/RULES in every detail, reserved words and order included.",
            "Every line that is not blank has to be as the rules have it; trailing spaces are ignored.",
            "Do not edit the description or the rules, other teams read them too.",
        ),
        (
            f"{folder}/{world.source} -> {folder}/out/{header}, {folder}/out/{module}, {folder}/out/{schema}.",
            f"Rules: {folder}/RULES, complete.",
            "Comparison: all non-blank lines, without trailing blanks.",
            "Inputs are read-only by agreement.",
        ),
    )[wording]


def draft(draw: Draw) -> Draft:
    """One interface."""
    world = draw.setting(SETTINGS)
    enums, structs = make_model(draw, world)
    types = draw.pick(SQL_TYPES)
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
            "c": c_header(enums, structs, guard, C_WORDS.split()),
            "python": python_module(enums, structs, PYTHON_WORDS.split()),
            "sql": sql_schema(enums, structs, types, SQL_WORDS.split()),
        },
        "given": {
            f"{world.folder}/{name}": hashlib.sha256(content.encode()).hexdigest() for name, content in files.items()
        },
    }
    make, rules, check, keep = sentences(world, draw.serial % 3)
    instruction = world.text.format(
        number=draw.between(100, 999), firm=draw.pick(FIRMS), persona=world.persona, scenario=world.scenario,
            make=make, rules=rules, check=check, keep=keep,
    )  # fmt: skip
    choice, record, key = world.words
    marks = {"@FOLDER@": world.folder, "@SOURCE@": world.source, "@CHOICE@": choice, "@RECORD@": record, "@KEY@": key,
        "@GUARD@": guard, "@TYPES@": repr(types),
             "@TYPEWORDS@": ",".join(f"{a}:{b}" for a, b in types.items()), "@CW@": C_WORDS, "@PW@": PYTHON_WORDS,
                 "@SW@": SQL_WORDS,
             "@H@": paths["c"], "@P@": paths["python"], "@S@": paths["sql"]}  # fmt: skip

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
        alternatives=[fill(AWK)],
        misses=[
            Miss("comments_in_texts", "cuts lines at the first #, also inside texts", fill(SOLUTION,
                ('(?:[^"#]|"(?:[^"\\\\]|\\\\.)*")*', "[^#]*")), goals),
            Miss("fields_in_file_order", "leaves fields with defaults where they are", fill(SOLUTION,
                ("first.append(text)", "last.append(text)")), ["test_python_module"]),
            Miss("reserved_words_forgotten", "uses reserved words as they are", fill(SOLUTION, (".split())",
                ".split()[:0])")), goals),
            Miss("size_without_zero", "forgets the byte for the end of the text", fill(SOLUTION,
                ("int(item['size']) + 1", "int(item['size'])")), ["test_c_header"]),
        ],
        requirements=[(make, goals), (rules, goals), (check, goals), (keep, ["test_sources_kept"])],
        knobs={"structures": len(structs), "nested": draw.difficulty is Difficulty.HARD, "guard": guard},
    )  # fmt: skip


SOLUTION = r"""cd @FOLDER@ && mkdir -p out && python3 - <<'PY'
import re


@REFERENCE@

enums, structs, current = {}, {}, None
for line in open("@SOURCE@"):
    line = re.match(r'(?:[^"#]|"(?:[^"\\]|\\.)*")*', line)[0].strip()
    if not line:
        continue
    if current is None and line.startswith("@CHOICE@ "):
        name, members = re.fullmatch(r"@CHOICE@ (\w+): (.*)", line).groups()
        value, enums[name] = -1, {}
        for member in members.split(","):
            member, _, number = member.replace(" ", "").partition("=")
            value = int(number) if number else value + 1
            enums[name][member] = value
    elif current is None:
        current = structs.setdefault(line.split()[1], [])
    elif line == "end":
        current = None
    else:
        m = re.fullmatch(r'(\w+) (\w+)(?:\((\d+)\))?(\?)?(?: = ("(?:[^"\\]|\\.)*|[^" ]+)("?))?( @KEY@)?', line)
        name, kind, size, optional, default, quote, key = (part or "" for part in m.groups())
        current.append(dict(name=name, type=kind, size=size, optional=optional, default=default + quote, key=key))
for path, lines in (
    ("@H@", c_header(enums, structs, "@GUARD@", "@CW@".split())),
    ("@P@", python_module(enums, structs, "@PW@".split())),
    ("@S@", sql_schema(enums, structs, @TYPES@, "@SW@".split())),
):
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")
PY
"""

AWK = r"""cd @FOLDER@ && mkdir -p out && gawk '
function snake(name) { return substr(tolower(name), 1, 1) tolower(gensub(/([A-Z])/, "_\\1", "g", substr(name, 2))) }
function list(text, set,    n, a, i) { n = split(text, a, " "); for (i = 1; i <= n; i++) set[a[i]] = 1 }
function quoted(name) { return name in sqlword ? "\"" name "\"" : name }
function write_struct(s,    i, n, f, k, c, d, t, first, last) {
  written[s] = 1
  n = count[s]
  print "struct " snake(s) " {" > H
  for (i = 1; i <= n; i++) {
    f = name[s, i]; k = kind[s, i]; c = f (f in cword ? "_" : "")
    if (opt[s, i]) print "    bool has_" f ";" > H
    if (k == "text") print "    char " c "[" (size[s, i] + 1) "];" > H
    else print "    " (k in ctype ? ctype[k] : (k in members ? "enum " : "struct ") snake(k)) " " c ";" > H
  }
  print "};" > H
  print "@dataclass\nclass " s ":" > P
  for (i = 1; i <= n; i++) {
    f = name[s, i]; k = kind[s, i]; d = def[s, i]
    if (d != "")
      print "#define " toupper(snake(s) "_" f) "_DEFAULT " (k in members ? toupper(snake(k) "_" d) : d) > H
    t = k == "text" ? "str" : k == "f64" ? "float" : k == "bool" ? "bool" : "int"
    t = "    " f (f in pyword ? "_" : "") ": " (k in members || k in count ? k : t)
    if (opt[s, i]) t = t " | None"
    if (k in members && d != "") d = k "." toupper(d)
    if (k == "bool") d = d == "true" ? "True" : d == "false" ? "False" : ""
    if (d == "" && opt[s, i]) d = "None"
    if (d == "") first = first t "\n"; else last = last t " = " d "\n"
  }
  printf "%s%s", first, last > P
  rows = ""; columns(s, "")
  t = ""
  for (i = 1; i <= n; i++) if (key[s, i]) t = t (t == "" ? "" : ", ") quoted(name[s, i])
  if (t != "") rows = rows "    PRIMARY KEY (" t "),\n"
  print "CREATE TABLE " quoted(snake(s)) " (\n" substr(rows, 1, length(rows) - 2) "\n);" > S
}
function columns(s, prefix,    i, k, d, t, c) {
  for (i = 1; i <= count[s]; i++) {
    k = kind[s, i]; d = def[s, i]
    if (k in count) { columns(k, prefix name[s, i] "_"); continue }
    c = quoted(prefix name[s, i])
    t = k == "text" ? "VARCHAR(" size[s, i] ")" : k in sqltype ? sqltype[k] : "INTEGER"
    t = "    " c " " t (opt[s, i] ? "" : " NOT NULL")
    if (k == "text" && d != "") {
      d = gensub(/\\(.)/, "\\1", "g", substr(d, 2, length(d) - 2)); gsub(/\x27/, "&&", d); d = "\x27" d "\x27"
    }
    if (k == "bool") d = toupper(d)
    if (k in members && d != "") d = value[k, d]
    if (d != "") t = t " DEFAULT " d
    if (k in members) t = t " CHECK (" c " IN (" members[k] "))"
    rows = rows t ",\n"
  }
}
BEGIN {
  H = "@H@"; P = "@P@"; S = "@S@"
  list("@CW@", cword); list("@PW@", pyword); list("@SW@", sqlword)
  n = split("u8 uint8_t u16 uint16_t u32 uint32_t i32 int32_t i64 int64_t f64 double bool bool", a, " ")
  for (i = 1; i < n; i += 2) ctype[a[i]] = a[i + 1]
  n = split("@TYPEWORDS@", a, ","); for (i = 1; i <= n; i++) { split(a[i], b, ":"); sqltype[b[1]] = b[2] }
  print "#ifndef @GUARD@\n#define @GUARD@\n#include <stdbool.h>\n#include <stdint.h>" > H
  print "from dataclasses import dataclass\nfrom enum import IntEnum" > P
}
{
  match($0, /^([^"#]|"([^"\\]|\\.)*")*/); line = substr($0, 1, RLENGTH)
  gsub(/^[ \t]+|[ \t]+$/, "", line)
  if (line == "") next
  split(line, w, " ")
  if (here == "" && w[1] == "@CHOICE@") {
    e = substr(w[2], 1, length(w[2]) - 1); v = -1; sub(/^[^:]*:/, "", line); gsub(/ /, "", line)
    n = split(line, a, ","); print "enum " snake(e) " {" > H; print "class " e "(IntEnum):" > P
    for (i = 1; i <= n; i++) {
      v = split(a[i], b, "=") > 1 ? b[2] + 0 : v + 1
      value[e, b[1]] = v; members[e] = members[e] (i > 1 ? ", " : "") v
      print "    " toupper(snake(e) "_" b[1]) " = " v (i < n ? "," : "") > H
      print "    " toupper(b[1]) " = " v > P
    }
    print "};" > H
  } else if (here == "") { here = w[2]; order[++total] = here; count[here] = 0 }
  else if (line == "end") here = ""
  else {
    i = ++count[here]; name[here, i] = w[1]; k = w[2]
    if (k ~ /\?$/) { opt[here, i] = 1; sub(/\?$/, "", k) }
    if (match(k, /\(.*\)/)) { size[here, i] = substr(k, RSTART + 1, RLENGTH - 2) + 0; k = "text" }
    kind[here, i] = k
    if (match(line, / = /)) {
      d = substr(line, RSTART + 3)
      match(d, substr(d, 1, 1) == "\"" ? "^\"([^\"\\\\]|\\\\.)*\"" : "^[^ ]+"); def[here, i] = substr(d, 1, RLENGTH)
      line = substr(d, RLENGTH + 1)
    } else sub(/^[^ ]+ [^ ]+/, "", line)
    if (line == " @KEY@") key[here, i] = 1
  }
}
END {
  for (done = 0; done < total; done++)
    for (i = 1; i <= total; i++) {
      s = order[i]
      if (s in written) continue
      ready = 1
      for (j = 1; j <= count[s]; j++) if (kind[s, j] in count && !(kind[s, j] in written)) ready = 0
      if (ready) { write_struct(s); break }
    }
  print "#endif" > H
}' @SOURCE@
"""


FAMILY = Family(
    name="interface_codegen",
    domain="software_engineering",
    verifier=Verifier.EXACT_TEXT,
    skills=("code generation", "parsing", "reading a specification", "sql schema"),
    difficulties=(Difficulty.MEDIUM, Difficulty.HARD),
    capacity=48,
    draft=draft,
)
