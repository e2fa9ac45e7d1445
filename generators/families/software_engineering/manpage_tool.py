"""Write a line filter to its manual page: combined flags, attached values, --, standard input, exit codes."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from generators.family import Draft, Draw, Family, Miss, Setting
from generators.task import Difficulty, Verifier
from generators.vocabulary import CITIES, FIRMS

Page = dict[
    str, str
]  # role of an option to its letter, "long:role" to its long name; "missing" and "usage" are exit codes


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    folder: str
    tool: str
    text: str


TICKET = """OPS-{number} - {firm}: rewrite {tool}

Nobody has the source of the old binary any more, only its manual page.
- {page}
- {make}
- {codes}
- {keep}
"""
EMAIL = """Hi there,

with the old Unix box of {firm} we lost a little program that half of our reports depend on. {make} {page} {codes}

{keep}

Best, {persona}
"""
NOTE = """{tool}: gone, needed again
{make}
{page}
{codes}
{keep}
"""
SPECIFICATION = """Procurement lot {number} ({firm})

a) Object: {make}
b) Specification: {page}
c) Acceptance: {codes}
d) Condition: {keep}
"""
CHAT = """{persona}: we lost a tool at {firm}. {make}
you: is there documentation?
{persona}: {page}
you: what do the callers rely on?
{persona}: {codes}
{persona}: {keep}
"""
RUNBOOK = """DISASTER RECOVERY {firm}, item {number}

Lost: the line filter that the {scenario} jobs call.
Restore: {make}
Reference: {page}
Verification: {codes}
Caution: {keep}
"""
REVIEW = """The last attempt at {tool} for {firm} handled the easy calls and fell over the rest. Please start over.

{page} {make} What the reviewers look at first: {codes} {keep}
"""
LETTER = """Dear {persona}s of {firm},

here is homework for whoever likes small programs. {make}

{page} {codes} {keep}
"""
SETTINGS = (
    World("newsroom", "news editor", "agency wire", "ticket", "/srv/wire", "/srv/wire/bin/wirelines", TICKET),
    World("stock_lists", "stock keeper", "stock lists", "email", "/opt/stock", "/opt/stock/lister", EMAIL),
    World("star_charts", "astronomer", "star charts", "note", "/home/astro/charts", "/home/astro/charts/pick", NOTE),
    World("customs", "customs broker", "customs manifests", "specification", "/data/customs",
        "/data/customs/tools/manif", SPECIFICATION),
    World("karaoke", "karaoke host", "song lists", "chat", "/work/songs", "/work/songs/cue", CHAT),
    World("sewage", "plant operator", "pump logs", "runbook", "/srv/pumps", "/srv/pumps/sbin/pumpcat", RUNBOOK),
    World("genealogy", "genealogist", "parish registers", "specification", "/lab/registers", "/lab/registers/parish",
        REVIEW),
    World("chess_club", "club secretary", "pairing lists", "email", "/home/club/pairings",
        "/home/club/pairings/rounds", LETTER),
)  # fmt: skip

TESTS = """
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path


def check(group):
    for case in TRUTH["cases"][group]:
        with tempfile.TemporaryDirectory() as folder:
            for name, text in TRUTH["files"].items():
                Path(folder, name).write_text(text)
            command = [TRUTH["tool"], *case["arguments"]]
            done = subprocess.run(command, cwd=folder, input=case["stdin"].encode(), capture_output=True, timeout=20)
        got = [done.returncode, done.stdout.decode()]
        assert got == [case["code"], case["out"]], (case["arguments"], got)
        assert bool(done.stderr) == (case["code"] != 0), case["arguments"]


def test_options():
    check("options")


def test_operands():
    check("operands")


def test_usage_errors():
    check("usage")


def test_manual_kept():
    assert hashlib.sha256(Path(TRUTH["manual"]).read_bytes()).hexdigest() == TRUTH["digest"]
"""

INITIAL = """
import os


def test_tool_is_missing():
    assert os.path.isfile(TRUTH["manual"]) and not os.path.exists(TRUTH["tool"])
"""

FLAGS, NUMBERS, TEXTS = ("blank", "upper", "number", "reverse"), ("head", "width", "field"), ("join", "delimiter")


# --- reference implementation; its source is also the solution's program


def parse(page: dict[str, str], arguments: list[str]) -> tuple[dict[str, str], list[str]] | None:
    """The options by role and the operands; None for a usage error."""
    roles = {letter: role for role, letter in page.items() if len(letter) == 1}
    names = {name: role[5:] for role, name in page.items() if role.startswith("long:")}
    flags = ("blank", "upper", "number", "reverse")
    chosen: dict[str, str] = {}
    rest = list(arguments)
    while rest and rest[0].startswith("-") and rest[0] != "-":
        word = rest.pop(0)
        if word == "--":
            break
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            role = names.get(name, "")
            if not role or (role in flags and equals):
                return None
            if role not in flags and not equals:
                if not rest:
                    return None
                value = rest.pop(0)
            chosen[role] = value
            continue
        letters = word[1:]
        while letters:
            role, letters = roles.get(letters[0], ""), letters[1:]
            if not role:
                return None
            chosen[role] = ""
            if role not in flags:
                if not letters and not rest:
                    return None
                chosen[role], letters = (letters or rest.pop(0)), ""
    for role in ("head", "width", "field"):
        value = chosen.get(role, "1")
        if not value.isascii() or not value.isdigit() or int(value) == 0:
            return None
    if len(chosen.get("delimiter", "x")) != 1:
        return None
    return chosen, rest


def transform(chosen: dict[str, str], texts: list[str]) -> str:
    """What comes out for the texts of the inputs."""
    lines: list[str] = []
    for text in texts:
        own = text.split("\n")
        if own[-1] == "":
            own.pop()
        if "blank" in chosen:
            own = [line for line in own if line.strip(" \t")]
        lines += own[: int(chosen["head"])] if "head" in chosen else own
    if "field" in chosen:
        mark, place = chosen.get("delimiter", "\t"), int(chosen["field"])
        lines = [(line.split(mark) + [""] * place)[place - 1] for line in lines]
    if "width" in chosen:
        lines = [line[: int(chosen["width"])] for line in lines]
    if "upper" in chosen:
        lines = [line.upper() for line in lines]
    if "number" in chosen:
        lines = [f"{count}\t{line}" for count, line in enumerate(lines, 1)]
    if "reverse" in chosen:
        lines.reverse()
    if "join" in chosen:
        return chosen["join"].join(lines) + "\n" if lines else ""
    return "".join(line + "\n" for line in lines)


# --- end of the reference implementation


@cache
def reference_source() -> str:
    """The source of the reference implementation."""
    return inspect.getsource(parse) + "\n\n" + inspect.getsource(transform)


MAIN = r"""
def main():
    parsed = parse(PAGE, sys.argv[1:])
    if parsed is None:
        print("usage: see the manual", file=sys.stderr)
        return int(PAGE["usage"])
    chosen, operands = parsed
    texts, code = [], 0
    for name in operands or ["-"]:
        try:
            if name == "-":
                texts.append(sys.stdin.read())
            else:
                with open(name, encoding="utf-8", newline="") as file:
                    texts.append(file.read())
        except OSError as error:
            print(f"{name}: {error.strerror}", file=sys.stderr)
            code = int(PAGE["missing"])
    sys.stdout.write(transform(chosen, texts))
    return code


sys.exit(main())
"""

SECOND = r"""#!/usr/bin/python3
# getopt and generators instead of a scanner of its own
import getopt, itertools, sys
P = @PAGE@
FLAG = ("blank", "upper", "number", "reverse")
short = {P[r]: r for r in P if len(P[r]) == 1}
long = {P[r]: r[5:] for r in P if r.startswith("long:")}


def bad(text):
    sys.stderr.write(text + "\n")
    sys.exit(int(P["usage"]))


try:
    found, names = getopt.getopt(sys.argv[1:], "".join(c + ("" if r in FLAG else ":") for c, r in short.items()),
                                 [n + ("" if r in FLAG else "=") for n, r in long.items()])
except getopt.GetoptError as error:
    bad(str(error))
o = {short.get(k[1:]) or long[k[2:]]: v for k, v in found}
for key in {"head", "width", "field"} & set(o):
    if not set(o[key]) <= set("0123456789") or not o[key].strip("0"):
        bad("number wanted")
if len(o.get("delimiter", " ")) != 1:
    bad("one character wanted")
status = 0


def lines():
    global status
    for name in names or ["-"]:
        try:
            data = sys.stdin.buffer.read() if name == "-" else open(name, "rb").read()
        except OSError as error:
            sys.stderr.write(f"{name}: {error}\n")
            status = int(P["missing"])
            continue
        own = data.decode().removesuffix("\n").split("\n") if data else []
        kept = (x for x in own if "blank" not in o or x.replace("\t", " ").strip(" "))
        yield from itertools.islice(kept, int(o["head"]) if "head" in o else None)


out = []
for count, x in enumerate(lines(), 1):
    if "field" in o:
        x = dict(enumerate(x.split(o.get("delimiter", "\t")), 1)).get(int(o["field"]), "")
    x = x[:int(o["width"])] if "width" in o else x
    x = x.upper() if "upper" in o else x
    out.append(f"{count}\t{x}" if "number" in o else x)
if "reverse" in o:
    out = out[::-1]
if out:
    print(*out, sep=o.get("join", "\n"))
sys.exit(status)
"""

DESCRIPTIONS = {
    "blank": "drop lines that are empty or consist of spaces and tabs only",
    "head": "of every input, keep only the first N lines (counted after blank lines were dropped)",
    "field": "replace each line by its Nth field (from 1; the empty string if there are fewer)",
    "delimiter": "the single character between fields, a tab unless given; without the field option it does nothing",
    "width": "cut every line to its first N characters",
    "upper": "turn letters into capitals",
    "number": "put the number of the line, counted from 1 through all inputs, and a tab in front of it",
    "reverse": "put the last line first",
    "join": "print all lines as one, with TEXT (which may be empty) between them; no lines at all print nothing",
}
ARGUMENT = {"head": "N", "width": "N", "field": "N", "join": "TEXT", "delimiter": "C"}


def manual(world: World, page: Page, roles: list[str]) -> str:
    """The manual page."""
    name = world.tool.rsplit("/", 1)[1]
    flags = "".join(page[role] for role in roles if role in FLAGS)
    values = " ".join(f"[-{page[role]} {ARGUMENT[role]}]" for role in roles if role in ARGUMENT)
    long = "long:blank" in page
    options = ""
    for role in (role for role in DESCRIPTIONS if role in roles):
        argument = ARGUMENT.get(role, "")
        names = f"-{page[role]}{' ' + argument if argument else ''}"
        names += f", --{page['long:' + role]}{'=' + argument if argument else ''}" if long else ""
        options += f"       {names}\n              {DESCRIPTIONS[role]}\n"
    return f"""NAME
       {name} - pick and dress lines of text

SYNOPSIS
       {name} [-{flags}] {values} [--] [FILE...]

DESCRIPTION
       Reads the FILEs in the given order, or standard input if there is none, and writes the lines to standard output.
A
       FILE that is just - stands for standard input. Text is UTF-8. A last line without line end is a line like any
other;
       the output always ends in a line end, unless it is empty.

       Whatever the order on the command line, the options take effect in the order of this page:

{options}
       Flags can be combined behind one dash, and the last of them may take a value. A value is either the rest of the
word
       or, if nothing is left of it, the next word, whatever that looks like. If an option is repeated, the last value
       counts. N is a decimal number above 0 made of the digits 0-9.{LONG if long else ""}

       Options end at the first word that does not begin with a dash, at a lone -, or behind --; everything from there
on is
       a FILE, even if it begins with a dash.

EXIT STATUS
       0      everything was read
       {page["missing"]:6} a FILE could not be read: a message goes to standard error, and the other FILEs are treated
as usual
       {page["usage"]:6} wrong usage (unknown option, missing or bad value, value for a flag): a message goes to
standard error,
              nothing to standard output, nothing is read

       Standard error stays empty if all goes well.
"""


LONG = """ Long options take their value after = or as the next
       word; they cannot be shortened."""


def make_page(draw: Draw, roles: list[str], long: bool) -> Page:
    """Letters and names for the options."""
    letters = draw.sample("abcdefgiklmopqrstuvwxyzABDEFLNRSTW", len(roles))
    missing, usage = draw.pick((("1", "2"), ("3", "4"), ("1", "64"), ("66", "64")))
    # the blanks behind the exit codes keep them apart from letters
    page: Page = {**dict(zip(roles, letters, strict=True)), "missing": missing + " ", "usage": usage + " "}
    if long:
        stems = {"blank": "skip-blank drop-empty", "upper": "capitals upper", "number": "number count-lines",
            "reverse": "reverse backwards",
                 "head": "first head", "width": "width cut-at", "field": "field column", "join": "join glue",
                     "delimiter": "delimiter between"}  # fmt: skip
        page |= {f"long:{role}": draw.pick(stems[role].split()) for role in roles}
    return page


def draw_arguments(draw: Draw, page: Page, roles: list[str]) -> list[str]:
    """A correct choice of options in a drawn spelling."""
    words: list[str] = []
    flags = [page[role] for role in draw.sample([role for role in roles if role in FLAGS], draw.between(0, 2))]
    for role in draw.shuffled([role for role in roles if role in ARGUMENT])[: draw.between(1, 2)]:
        value = {"join": draw.pick((", ", "-", "", "--")), "delimiter": draw.pick((":", " ", "-"))}.get(
            role, str(draw.between(1, 9))
        )
        shape = draw.between(0, 4 if "long:blank" in page else 2)
        if shape == 0 and value:
            words += [f"-{page[role]}{value}"]
        elif shape == 3:
            words += [f"--{page['long:' + role]}={value}"]
        elif shape == 4:
            words += [f"--{page['long:' + role]}", value]
        else:
            words += [f"-{''.join(flags)}{page[role]}", value]
            flags = []
    return [*words, "-" + "".join(flags)] if flags else words


def make_cases(draw: Draw, page: Page, roles: list[str], files: dict[str, str]) -> dict[str, list[dict[str, object]]]:
    """Calls of the tool with what they have to give."""
    stdin = "\n".join(draw.sample(CITIES, 4)) + "\n \n" + draw.pick(("last", "last\n"))

    def case(arguments: list[str]) -> dict[str, object]:
        parsed = parse(page, arguments)
        code, out = int(page["usage"]), ""
        if parsed:
            names = parsed[1] or ["-"]
            out = transform(
                parsed[0], [stdin if name == "-" else files[name] for name in names if name == "-" or name in files]
            )
            code = 0 if all(name == "-" or name in files for name in names) else int(page["missing"])
        return {"arguments": arguments, "stdin": stdin, "code": code, "out": out}

    blank, upper, number, head = (page[role] for role in ("blank", "upper", "number", "head"))
    options = [
        draw_arguments(draw, page, roles) + draw.sample(["a.txt", "b.txt", "empty.txt"], draw.between(0, 2))
        for _ in range(8)
    ]
    options += [
        [f"-{blank}{upper}{number}", "a.txt"],
        [f"-{number}{head}2", "a.txt", "b.txt"],
        [f"-{head}", "1", f"-{head}", "3", "a.txt"],
    ]
    operands = [
        [], ["-"], ["b.txt", "-", "a.txt"], ["--", "-x.txt"], ["a.txt", f"-{upper}"], ["none.txt", "b.txt"],
            [f"-{upper}", "--", "a.txt"], ["empty.txt"], [f"-{number}", "-", "-x.txt"],
    ]  # fmt: skip
    usage = [
        ["-Z"],
        [f"-{upper}Z", "a.txt"],
        [f"-{head}"],
        [f"-{head}", "0", "a.txt"],
        [f"-{head}x", "a.txt"],
        [f"-{head}", "-1"],
        [f"-{head}", "--", "a.txt"],
    ]
    if "join" in roles:
        options.append([f"-{page['join']}", "--", "b.txt"])
        options.append([f"-{page['join']}", "", f"-{page['reverse']}", "b.txt"])
    if "field" in roles:
        options.append([f"-{page['field']}2", f"-{page['delimiter']}:", "a.txt"])
        name = page["long:upper"]
        usage += [[f"--{name}=1"], [f"--{name}x"], [f"-{page['delimiter']}", "ab"], [f"--{page['long:head']}"]]
    return {
        "options": [case(words) for words in options],
        "operands": [case(words) for words in operands],
        "usage": [case(words) for words in usage],
    }


def sentences(world: World, wording: int, page: Page) -> tuple[str, str, str, str]:
    """What to make, by which text, what counts, what stays."""
    tool, page_file, missing, usage = world.tool, f"{world.folder}/MANPAGE", page["missing"], page["usage"]
    return (
        (
            f"Provide an executable {tool} (any language that is installed) that behaves as described.",
            f"The manual page {page_file} is complete and binding.",
            f"Output has to agree byte for byte, and so has the exit code: {missing} for unreadable files, {usage} for "
            "wrong usage, 0 otherwise.",
            "The manual page stays as it is.",
        ),
        (
            f"I need {tool} back, as an executable file, in whatever language the machine can run.",
            f"All we know is in {page_file}, and every sentence in there is relied on by somebody.",
            f"Scripts check what is printed to the last byte and the status, which is 0, {missing} (some file was not "
            f"readable) or {usage} (called wrongly).",
            "Please do not edit the page itself.",
        ),
        (
            f"Deliver {tool}, executable, language free.",
            f"{page_file} describes it; nothing else does.",
            f"Bytes on standard output and exit status decide: 0 fine, {missing} file trouble, {usage} bad call.",
            "Leave the page unmodified.",
        ),
    )[wording]


def draft(draw: Draw) -> Draft:
    """One tool."""
    world = draw.setting(SETTINGS)
    count = draw.by_difficulty(easy=4, medium=7, hard=9)
    roles = ["blank", "upper", "number", "head", "reverse", "width", "join", "field", "delimiter"][:count]
    page = make_page(draw, roles, draw.difficulty is Difficulty.HARD)
    names = draw.sample(CITIES, 10)
    files = {
        "a.txt": f"{names[0]}:{names[1]}\n\n{names[2]}\t{names[3]}: x\n \t \n{names[4]}\n{names[5]}:\n",
        "b.txt": f"\n{names[6]}\n{names[7]} - {names[8]}\n{names[9]}",
        "-x.txt": "dash\nfile\n",
        "empty.txt": "",
    }
    cases = make_cases(draw, page, roles, files)
    text = manual(world, page, roles)
    truth = {
        "tool": world.tool, "manual": f"{world.folder}/MANPAGE", "digest": hashlib.sha256(text.encode()).hexdigest(),
            "files": files, "cases": cases,
    }  # fmt: skip
    make, where, codes, keep = sentences(world, draw.serial % 3, {key: value.strip() for key, value in page.items()})
    instruction = world.text.format(
        number=draw.between(100, 999), firm=draw.pick(FIRMS), persona=world.persona, tool=world.tool,
            scenario=world.scenario,
        make=make, page=where, codes=codes, keep=keep,
    )  # fmt: skip
    program = (
        "#!/usr/bin/python3\nfrom __future__ import annotations\nimport sys\nPAGE = "
        f"{page!r}\n\n\n{reference_source()}\n{MAIN}"
    )
    install: Callable[[str], str] = lambda source: (  # noqa: E731
        f"mkdir -p {world.tool.rsplit('/', 1)[0]}\ncat > {world.tool} <<'EOF'\n{source}EOF\nchmod 755 {world.tool}\n"
    )

    def change(old: str, new: str) -> str:
        assert old in program, old
        return install(program.replace(old, new))

    goals = ["test_options", "test_operands", "test_usage_errors"]
    return Draft(
        title=f"Rebuild the line filter of the {world.scenario} jobs from its manual page",
        setting=world,
        instruction=instruction,
        files={"MANPAGE": text},
        dockerfile=f"COPY MANPAGE {world.folder}/\nWORKDIR {world.folder}",
        truth=truth,
        discoverable=("tool", "manual", "files", "cases"),
        tests=TESTS,
        weights={"test_options": 0.4, "test_operands": 0.3, "test_usage_errors": 0.3},
        guards=["test_manual_kept"],
        initial=INITIAL,
        solution=install(program),
        alternatives=[install(SECOND.replace("@PAGE@", repr(page)))],
        misses=[
            Miss("one_flag_a_word", "does not take combined flags or attached values", change("letters = word[1:]",
                "letters = word[1:2]"), ["test_options"]),
            Miss("dash_is_a_file", "treats - as a file name", change('if name == "-":',
                'if name == "-" and not operands:'), ["test_operands"]),
            Miss("gives_up", "stops at the first file it cannot read",
                change("            code = int(PAGE[\"missing\"])", "            return int(PAGE[\"missing\"])"),
                    ["test_operands"]),
            Miss("trusting", "accepts zero and words as numbers", change(" or int(value) == 0:",
                " and len(value) > 5:").replace("int(chosen[\"head\"])",
                    "int(chosen[\"head\"] if chosen[\"head\"].isdigit() else 0)"), ["test_usage_errors"]),
        ],
        requirements=[(make, goals), (where, goals), (codes, goals), (keep, ["test_manual_kept"])],
        knobs={"options": page, "count": count},
    )  # fmt: skip


FAMILY = Family(
    name="manpage_tool",
    domain="software_engineering",
    verifier=Verifier.FUZZ_EQUIVALENCE,
    skills=("command-line interfaces", "argument parsing", "text processing", "reading a specification"),
    difficulties=(Difficulty.EASY, Difficulty.MEDIUM, Difficulty.HARD),
    capacity=64,
    draft=draft,
)
