"""Write a parser for a small configuration language from its manual: escapes, nesting, includes, error positions."""

from __future__ import annotations

import hashlib
import inspect
import json
import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from generators.family import Draft, Draw, Family, Miss, Setting
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS

Dialect = dict[str, str]
Reader = Callable[[str], str | None]


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    folder: str
    tool: str
    language: str
    text: str


TICKET = """{language}-{number}: we need our own reader for {language} files

{firm} drops the vendor library, but the files stay. Please provide {tool}.
* {job}
* {manual}
* {errors}
* {examples}
"""
EMAIL = """Good morning,

the {language} files of {firm} outlived the only program that could read them. All that is left is the manual. {manual}
Could you
write a new reader? {job}

{errors} {examples}

Kind regards, {persona}
"""
NOTE = """{language} reader, to be written
{job}
{manual}
{errors}
{examples}
"""
SPECIFICATION = """Work order {number}, {firm}: {language} reader

1 Deliverable. {job}
2 Normative text. {manual}
3 Failure. {errors}
4 Material. {examples}
"""
CHAT = """{persona}: can you do me a parser?
you: of what
{persona}: {language}, our config format at {firm}. {manual}
you: and what should it be able to do?
{persona}: {job}
you: broken files?
{persona}: {errors}
{persona}: also: {examples}
"""
RUNBOOK = """MIGRATION STEP {number}: replace the {language} loader

Goal: {job}
Source of truth: {manual}
On bad input: {errors}
Boundary: {examples}
Requested by the {persona} of {firm}.
"""
REVIEW = """The reviewers of {firm} rejected the last {language} parser because it guessed. Start again from the text.

They want this: {job} They will go by the letter: {manual} They are strict about mistakes in files: {errors} {examples}
"""
LETTER = """To whom it may concern at the tools desk,

our machines are configured in {language}. Nobody sells a reader for it any more, so {firm} asks you for one. {job}

{manual} {errors}

{examples} With thanks, {persona}
"""
SETTINGS = (
    World("looms", "plant engineer", "loom settings", "ticket", "/srv/looms", "/srv/looms/bin/loomconf", "LOOM",
        TICKET),
    World("lighthouse", "harbour electrician", "beacon settings", "email", "/opt/beacon", "/opt/beacon/beaconread",
        "BCN", EMAIL),
    World("greenhouse", "grower", "climate recipes", "note", "/home/grower/climate",
        "/home/grower/climate/recipe2json", "Vent", NOTE),
    World("signals", "signalling engineer", "interlocking tables", "specification", "/data/signals",
        "/data/signals/tools/sigparse", "SGL", SPECIFICATION),
    World("arcade", "game programmer", "level files", "chat", "/games/levels", "/games/levels/lvl", "Lvl", CHAT),
    World("brewery", "brew master", "mash programs", "runbook", "/srv/brew", "/srv/brew/sbin/mashload", "MASH",
        RUNBOOK),
    World("observatory", "instrument scientist", "telescope presets", "specification", "/lab/scope",
        "/lab/scope/preset", "Tele", REVIEW),
    World("cable_car", "operations manager", "cabin programs", "email", "/work/cabin", "/work/cabin/cabincfg", "CBN",
        LETTER),
)  # fmt: skip

TESTS = """
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path


def run(files, arguments):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        done = subprocess.run([TRUTH["tool"], *arguments], cwd=folder, capture_output=True, timeout=20,
stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8")


def check(group):
    for case in TRUTH["cases"][group]:
        code, out, err = run(case["files"], ["main.cfg"])
        if "error" in case:
            assert (code, out.strip(), err.strip()) == (TRUTH["failure"], "", case["error"]), case["files"]
        else:
            assert code == 0, (case["files"], err)
            assert json.loads(out) == json.loads(case["value"]), case["files"]


def test_values():
    check("values")


def test_mistakes():
    check("mistakes")
    assert run({}, [])[0] == TRUTH["usage"]
    assert run({"a": "", "b": ""}, ["a", "b"])[0] == TRUTH["usage"]


def test_includes():
    check("includes")


def test_manual_kept():
    for name, digest in TRUTH["given"].items():
        assert hashlib.sha256(Path(name).read_bytes()).hexdigest() == digest, name
"""

INITIAL = """
import os


def test_only_the_manual_is_there():
    assert all(os.path.isfile(name) for name in TRUTH["given"])
    assert not os.path.exists(TRUTH["tool"])
"""


# --- reference implementation; its source is also the solution's program


class Fault(Exception):
    """The first mistake of a file: name, line, column, code."""


def skip(text: str, at: int) -> int:
    """The next place that is neither space nor tab."""
    while text[at : at + 1] in (" ", "\t"):
        at += 1
    return at


def string_at(
    d: Dialect, text: str, at: int, fault: Callable[[int, str], Fault], root: dict[str, object]
) -> tuple[str, int]:
    """A double-quoted string and the place behind it."""
    start, out = at, ""
    at += 1
    while text[at : at + 1] != '"':
        if at >= len(text):
            raise fault(start, "unterminated")
        if text[at] == "\\":
            escape = text[at + 1 : at + 2]
            if escape and escape in d["escapes"]:
                out += {"n": "\n", "t": "\t"}.get(escape, escape)
                at += 2
                continue
            code = re.compile(r"\\u\{([0-9A-Fa-f]{1,6})\}").match(text, at) if d["rich"] else None
            if not code or int(code[1], 16) > 0x10FFFF or 0xD800 <= int(code[1], 16) < 0xE000:
                raise fault(at, "escape")
            out += chr(int(code[1], 16))
            at = code.end()
        elif d["rich"] and text[at : at + 2] == "${":
            name = re.compile(r"\$\{([a-z0-9_.-]*)\}").match(text, at)
            value: object = root
            for part in name[1].split(".") if name else [""]:
                value = value.get(part) if isinstance(value, dict) else None  # pyright: ignore
            if not name or not isinstance(value, str | int):
                raise fault(at, "undefined")
            out += value if isinstance(value, str) else str(value).lower()
            at = name.end()
        else:
            out += text[at]
            at += 1
    return out, at + 1


def value_at(
    d: Dialect, text: str, at: int, fault: Callable[[int, str], Fault], root: dict[str, object]
) -> tuple[object, int]:
    """A value and the place behind it."""
    if text[at : at + 1] == '"':
        return string_at(d, text, at, fault, root)
    if text[at : at + 1] == "'":
        end = text.find("'", at + 1)
        if end < 0:
            raise fault(at, "unterminated")
        return text[at + 1 : end], end + 1
    if text[at : at + 1] == "[":
        items: list[object] = []
        at = skip(text, at + 1)
        while text[at : at + 1] != "]":
            item, at = value_at(d, text, at, fault, root)
            items.append(item)
            at = skip(text, at)
            if text[at : at + 1] == ",":
                at = skip(text, at + 1)
            elif text[at : at + 1] != "]":
                raise fault(at, "syntax")
        return items, at + 1
    found = re.compile(r"[A-Za-z0-9_+.-]+").match(text, at)
    word = found[0] if found else ""
    if word in (d["true"], d["false"]):
        return word == d["true"], at + len(word)
    if re.fullmatch(r"-?(0|[1-9][0-9]*(_[0-9]+)*)", word):
        return int(word), at + len(word)
    if d["rich"] and re.fullmatch(r"0x[0-9a-fA-F]+", word):
        return int(word, 16), at + len(word)
    raise fault(at, "number" if re.match(r"-?[0-9]", word) else "syntax")


def load(
    d: Dialect, name: str, read: Reader, target: dict[str, object], root: dict[str, object], above: list[str]
) -> None:
    """Read a file into a block."""
    blocks: list[tuple[dict[str, object], int, int]] = [(target, 0, 0)]
    number = 0

    def fault(column: int, code: str) -> Fault:
        return Fault(name, number, column + 1, code)

    for number, line in enumerate((read(name) or "").split("\n"), 1):
        at = skip(line, 0)
        if at == len(line) or line.startswith(d["comment"], at):
            continue
        block = blocks[-1][0]
        key = re.compile(r"[a-z][a-z0-9_-]*").match(line, at)
        if line.startswith(d["close"], at):
            if len(blocks) == 1:
                raise fault(at, "unopened")
            blocks.pop()
            after = at + len(d["close"])
        elif not key:
            raise fault(at, "syntax")
        else:
            word, after = key[0], skip(line, key.end())
            if word == d["include"] and line[after : after + 1] == '"':
                quote = after
                path, after = string_at(d, line, after, fault, root)
                path = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
                if path in [*above, name]:
                    raise fault(quote, "cycle")
                if read(path) is None:
                    raise fault(quote, "missing")
                rest = skip(line, after)
                if rest < len(line) and not line.startswith(d["comment"], rest):
                    raise fault(rest, "syntax")
                load(d, path, read, block, root, [*above, name])
            elif word != d["include"] and line.startswith(d["open"], after):
                if word in block and (d["again"] == "error" or not isinstance(block[word], dict)):
                    raise fault(at, "duplicate")
                inner: dict[str, object] = block.setdefault(word, {})  # pyright: ignore
                blocks.append((inner, number, at))
                after += len(d["open"])
            elif word != d["include"] and line.startswith(d["assign"], after):
                if word in block and (d["again"] == "error" or isinstance(block[word], dict)):
                    raise fault(at, "duplicate")
                block[word], after = value_at(d, line, skip(line, after + len(d["assign"])), fault, root)
            else:
                raise fault(after, "syntax")
        after = skip(line, after)
        if after < len(line) and not line.startswith(d["comment"], after):
            raise fault(after, "syntax")
    if len(blocks) > 1:
        raise Fault(name, blocks[-1][1], blocks[-1][2] + 1, "unclosed")


# --- end of the reference implementation


def judge(d: Dialect, files: dict[str, str]) -> dict[str, object]:
    """A case of the corpus: the files, and the value or the mistake."""
    root: dict[str, object] = {}
    try:
        load(d, "main.cfg", files.get, root, root, [])
    except Fault as fault:
        name, line, column, code = fault.args
        return {"files": files, "error": f"{name}:{line}:{column}: {code}"}
    return {"files": files, "value": json.dumps(root, sort_keys=True)}


# Marks of the patterns: ‹ › blocks, ⊤ ⊥ true and false, § include, @ a drawn word, ~1~ a drawn number; = and # are replaced too.
VALUES = (
    '@ = "# no comment" # comment\n', "@ = ~1~\n", "", "# nothing\n\n   \n", "@ = -0\n", "@ = -~1~  # why\n",
        "\t@\t=\t1_000_~1~\n", "@ = ⊤\n@ = ⊥\n",
        "@='it # is'\n", "@ = ''#x\n",
    '@ = "a\\tb\\\\n\\"c\\""\n', "@ = []\n@ = [ 1,2 , ]\n",
        "@ = [[1, [2]], 'x', ⊤]\n", "@ ‹\n›\n", "@ ‹ # open\n  @ ‹\n    @ = ~1~\n  › # shut\n›\n@ = ~2~\n",
    "@‹\n@=~1~\n›\n@‹\n@='~2~'\n›\n", "@ = 'back\\slash'\n", "@ = \"«é»\" \n@ = ['\"', \"'\"]\n", "@-9_x = [⊥,⊥]\n",
        "@ = 7", '@ = "‹ › = #"\n', "§s = 1\n",
)  # fmt: skip
RICH_VALUES = (
    '@ = "\\u{e9}\\u{1F600}"\n', "@ = 0xFf\n@ = [0x0]\n", 'aa = ~1~\nbb = "<${aa}>"\n',
        "aa ‹\nbb = 'x'\ncc = ⊤\n›\ndd = \"${aa.bb}${aa.cc}\"\n",
    'aa = "\\${bb}"\n', "aa ‹\nbb = 1\n›\naa ‹\ncc = 2\n›\n", "aa = 1\naa = [2]\n", "aa = '${bb}'\n", 'aa = "$5"\n',
        "aa ‹\nbb ‹\ncc = 1\n›\n›\naa ‹\nbb ‹\ncc = 2\ndd = 3\n›\n›\n",
)  # fmt: skip
MISTAKES = (
    "@ = 01\n", "@ = 1__0\n", "@ = \n", "@ = 1 2\n", "  Upper = 1\n", "@ = 'open\n", '@ = 1\n@ = "open\\"\n',
        '@ = "bad \\q"\n', "@ = -\n", "@ = 12ab\n", "@ = maybe\n", "›\n", "@ ‹\n @ ‹\n ›\n",
    "@ ‹\n\n  @ ‹\n", "@ ‹ @ = 1\n", "@\n", "@ # x\n", "@ = [1 2]\n", "@ = [1, 2\n", "@ = [,]\n",
        "aa = 1\nbb = 2\n aa ‹\n›\n", "aa ‹\n›\naa = 1\n", "› ›\n", "@ ‹\n› x\n", "@ = 1_\n", "# fine\n\n\t = 3\n",
            "§ = 1\n",
)  # fmt: skip
STRICT_MISTAKES = ("aa = ~1~\n aa = ~2~\n", "aa ‹\n›\n@ = 1\naa ‹\n›\n", '@ = "\\u{41}"\n', "@ = 0x1f\n")
RICH_MISTAKES = (
    '@ = "\\u{}"\n', '@ = "x\\u{110000}"\n', '@ = "\\u41"\n', "@ = 0x\n", "@ = 0xG1\n", '@ = "a${zz}"\n',
        'aa = "${bb}"\nbb = 1\n', 'aa = [1]\nbb = "${aa}"\n', 'aa ‹\nbb = 1\ncc = "${bb}"\n›\n', '@ = "${aa"\n',
            '@ = "\\u{d800}"\n',
)  # fmt: skip
INCLUDES = (
    ('aa = 1\n§ "sub/x.cfg"\ncc = 3\n', "bb = 2\n", ""), ('aa ‹\n§ "sub/x.cfg" # here\n›\n', "bb = ~1~\n", ""),
        ('§ "sub/x.cfg"\n', '§ "y.cfg"\nbb = 1\n', "cc = 2\n"),
    ('§ "sub/x.cfg"\n', '§ "../main.cfg"\n', ""), ('§ "sub/x.cfg"\n', '\n  § "./x.cfg"\n', ""), ('§ "sub/none.cfg"\n',
        "", ""), ('§ "sub/x.cfg"\n', '§ "sub/x.cfg"\n', ""), ('§ "sub/x.cfg"\n', "bb ‹\n", ""),
    ('aa ‹\n§ "sub/x.cfg"\n›\n', "›\n", ""), ("§ 'sub/x.cfg'\n", "", ""), ('§ "sub/x.cfg" x\n', "", ""),
        ('§ "sub/x.cfg"\n§ "sub/y.cfg"\n', "bb = 1\n", "cc = oops\n"), ('aa ‹\n§ "sub/x.cfg"\n§ "sub/y.cfg"\n›\n',
            "bb = 1\n", 'cc = "x\n'),
    ('§ "sub/x.cfg"\n', '§ "y.cfg"\n', '\n§ "x.cfg"\n'), ('§"sub/x.cfg"\n§"sub/../sub/y.cfg"\n', "bb = 'r'\n",
        "cc = -4\n"),
)  # fmt: skip


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
    values = [*VALUES[:2], *draw.sample(VALUES[2:], 5), *draw.sample(RICH_VALUES, 4 * rich), document(3), document(3)]
    mistakes = [
        *MISTAKES[:2],
        *draw.sample(MISTAKES[2:], 6),
        *draw.sample(RICH_MISTAKES if rich else STRICT_MISTAKES, 4),
    ]
    mistakes.append(document(2) + draw.pick(MISTAKES))
    includes = [INCLUDES[0], INCLUDES[2], *draw.sample(INCLUDES[3:], 5)]
    cases = {
        "values": [{"main.cfg": fill(text)} for text in values],
        "mistakes": [{"main.cfg": fill(text)} for text in mistakes],
    }
    cases["includes"] = [
        dict(zip(("main.cfg", "sub/x.cfg", "sub/y.cfg"), map(fill, texts), strict=True)) for texts in includes
    ]
    return {group: [judge(d, files) for files in draw.shuffled(chosen)] for group, chosen in cases.items()}


def manual(world: World, d: Dialect, failure: int, usage: int) -> str:
    """The language's manual."""
    rich = bool(d["rich"])
    escapes = ", ".join("\\" + mark for mark in d["escapes"])
    again = (
        "A name may be used once in a block, for a value or for an inner block: a second use is the mistake duplicate "
        "at the name."
        if d["again"] == "error"
        else "A later value replaces an earlier one of the same name. A block whose name was used for a block before "
        "continues that block. "
        "Using a block's name for a value, or a value's for a block, is the mistake duplicate at the name."
    )
    more = (
        "  \\u{H}, H being 1 to 6 hexadecimal digits, is the character of that code point (0 to 10FFFF without "
        "surrogates D800 to DFFF).\n"
        "  ${a.b} inserts the value b of the top-level block a (any number of names; from the top even inside a block "
        "or include) as\n"
        "  read so far: strings as they are, integers in decimal, booleans as true and false. Anything else, also a ${ "
        "that is not\n"
        "  such a reference, is the mistake undefined at the $. A $ not followed by { is an ordinary character.\n"
        if rich
        else ""
    )
    hexadecimal, colon = ("; or 0x and hexadecimal digits", " and:") if rich else ("", "")
    return f"""{world.language} reference manual

FILES are UTF-8 text and are read line by line, left to right; the first mistake ends the reading. Spaces and
tabs between tokens and around lines mean nothing. {d["comment"]} outside a string starts a comment that runs to
the end of the line. Empty lines are ignored. A NAME is a lower-case letter a-z followed by any number of a-z,
0-9, _ and -.

STATEMENTS, one per line (nothing but a comment may follow on the line):
  NAME {d["assign"]} VALUE       defines a value
  NAME {d["open"]}               opens an inner block
  {d["close"]}                   closes the innermost block of this file
  {d["include"]} "PATH"          reads another file at this place, into the current block; {d["include"]} is no NAME
{again}

VALUES
  integers: 0 or decimal digits that do not begin with 0, single _ allowed between digits, - allowed in
front{hexadecimal}
  booleans: {d["true"]} and {d["false"]}
  lists: [ values separated by commas ] on one line; a comma after the last is allowed; lists nest
  'text' : everything up to the next ' as it is
  "text" : with the escapes {escapes} (n is a line feed, t a tab, the others themselves){colon}
{more}
INCLUDES. PATH is a "text" string, relative to the folder of the file that has the statement. Every file has to
close its own blocks and cannot close those of others. A file that does not exist is the mistake missing, one
that is being read already (however the path is spelled) the mistake cycle, both at the opening quote of the
path.

MISTAKES
  unterminated   a string without end on its line, at its opening quote
  escape         a backslash in a "text" that starts no escape, at the backslash
  number         a word of A-Z a-z 0-9 _ + . - that begins with a digit, or - and a digit, and is no integer, at its
first character
  unopened       {d["close"]} without an open block of this file, at it
  unclosed       end of file with open blocks, at the name of the innermost one
  syntax         everything else, at the first character that cannot be right: the first character of a word that is no
value, a
                 comment where something is missing, or one column behind the last character of the line

PROGRAM. With exactly one argument, a file, it prints one JSON object on standard output (blocks are objects;
the order of keys is free) and exits with 0. For a mistake it prints nothing on standard output, exits with
{failure} and prints one line on standard error, FILE:LINE:COLUMN: MISTAKE, lines and columns (characters)
counted from 1, for instance depot.cfg:12:7: syntax. FILE is relative to the folder of the main file and has no
superfluous . or .. parts. With any other number of arguments it
exits with {usage}.
"""


def sentences(world: World, wording: int, failure: int) -> tuple[str, str, str, str]:
    """What to make, by which text, what happens on mistakes, what to leave alone."""
    folder = world.folder
    return (
        (
            f"{world.tool} must be executable, take the path of one {world.language} file and print its content as "
            "JSON.",
            f"The language, the program's interface and its exit codes are laid down in {folder}/MANUAL, which counts "
            "to the letter.",
            f"Invalid files are answered with exit code {failure} and the one error line that the manual describes, "
            "with the right file, line and column.",
            f"{folder}/examples shows two files and their JSON; leave these and the manual unchanged.",
        ),
        (
            f"It should live in {world.tool}, be directly executable, and turn the {world.language} file named by its "
            "only argument into JSON on standard output.",
            f"Everything about syntax and behaviour is written in {folder}/MANUAL and nothing beyond it applies.",
            "When a file is wrong we need the position: a single line on standard error naming file, line, column and "
            f"kind, and exit status {failure}.",
            f"You find two samples with results in {folder}/examples; manual and samples are not to be edited.",
        ),
        (
            f"An executable {world.tool}: argument one {world.language} file, output JSON.",
            f"Grammar, interface, exit codes: {folder}/MANUAL, binding in every detail.",
            f"Errors: status {failure}, one line with position and kind as in the manual.",
            f"Samples with expected JSON: {folder}/examples. Do not touch samples or manual.",
        ),
    )[wording]


def draft(draw: Draw) -> Draft:
    """One language."""
    world = draw.setting(SETTINGS)
    hard = draw.difficulty is Difficulty.HARD
    opening, closing = draw.pick((("{", "}"), ("(", ")"), ("<", ">"), ("{{", "}}")))
    yes, no = draw.pick((("on", "off"), ("yes", "no"), ("true", "false"), ("Y", "N")))
    d: Dialect = {
        "comment": draw.pick(("#", ";", "//", "%")), "assign": draw.pick(("=", ":", ":=")), "open": opening,
            "close": closing, "true": yes, "false": no,
        "include": draw.pick(("include", "use", "insert", "load")), "escapes": 'nt\\"' + ("$" if hard else ""),
            "rich": "rich" if hard else "", "again": "merge" if hard else "error",
    }  # fmt: skip
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
        "tool": world.tool, "failure": failure, "usage": usage, "cases": cases,
        "given": {f"{world.folder}/{name}": hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()},
    }  # fmt: skip
    job, text, errors, examples = sentences(world, draw.serial % 3, failure)
    instruction = world.text.format(
        language=world.language, number=draw.between(100, 999), firm=draw.pick(FIRMS), persona=world.persona,
            tool=world.tool,
        job=job, manual=text, errors=errors, examples=examples,
    )  # fmt: skip
    program = reference_program(d, failure, usage)

    def install(source: str) -> str:
        return (
            f"mkdir -p {world.tool.rsplit('/', 1)[0]}\ncat > {world.tool} <<'EOF'\n{source}EOF\nchmod 755 "
            f"{world.tool}\n"
        )

    def change(old: str, new: str) -> str:
        assert old in program, old
        return install(program.replace(old, new))

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
        solution=install(program),
        alternatives=[install(SECOND.replace("@D@", repr(d)).replace("@FAIL@", str(failure)).replace("@USAGE@",
            str(usage)))],
        misses=[
            Miss("comment_first", "cuts comments off before it looks at strings", change('"").split("\\n"), 1)',
                '"").split("\\n"), 1)').replace("        at = skip(line, 0)\n",
                    "        line = line.split(d['comment'])[0]\n        at = skip(line, 0)\n"), ["test_values"]),
            Miss("columns_from_zero", "counts columns from 0", change("column + 1, code)", "column, code)"),
                ["test_mistakes", "test_includes"]),
            Miss("include_from_main", "looks for included files beside the main file only",
                change("posixpath.join(posixpath.dirname(name), path)", "path"), ["test_includes"]),
            Miss("lenient_numbers", "takes whatever int() takes", change("-?(0|[1-9][0-9]*(_[0-9]+)*)",
                "-?[0-9_]*[0-9][0-9_]*"), ["test_mistakes"]),
        ],
        requirements=[(job, ["test_values"]), (text, goals), (errors, ["test_mistakes", "test_includes"]), (examples,
            ["test_manual_kept"])],
        knobs={"dialect": d, "failure": failure},
    )  # fmt: skip


@cache
def reference_source() -> str:
    """The source of the reference implementation; reading it takes a moment."""
    return "\n\n".join(inspect.getsource(part) for part in (Fault, skip, string_at, value_at, load))


def reference_program(d: Dialect, failure: int, usage: int) -> str:
    """The reference implementation as a program of its own."""
    return "\n\n".join(
        [
            "#!/usr/bin/python3\nfrom __future__ import annotations\nimport json, os, posixpath, re, sys",
            reference_source(),
            MAIN.replace("@D@", repr(d)).replace("@FAIL@", str(failure)).replace("@USAGE@", str(usage)),
        ]
    )


MAIN = r"""
def main():
    if len(sys.argv) != 2:
        sys.exit(@USAGE@)
    folder, name = os.path.split(sys.argv[1])

    def read(path):
        try:
            with open(os.path.join(folder, path), encoding="utf-8", newline="") as file:
                return file.read()
        except OSError:
            return None

    root = {}
    try:
        load(@D@, name, read, root, root, [])
    except Fault as fault:
        print("%s:%s:%s: %s" % fault.args, file=sys.stderr)
        sys.exit(@FAIL@)
    print(json.dumps(root))


main()
"""

SECOND = r"""#!/usr/bin/python3
# A scanner object over one line at a time, driven by regular expressions.
import json, os, re, sys
D = @D@
Q = {k: re.escape(v) for k, v in D.items() if k not in ("rich", "again", "escapes")}
TOP = {}


class Scanner:
    def __init__(self, file, number, line):
        self.file, self.number, self.line, self.at = file, number, line, 0

    def die(self, code, at=None):
        at = self.at if at is None else at
        sys.stderr.write(f"{self.file}:{self.number}:{at + 1}: {code}\n")
        sys.exit(@FAIL@)

    def take(self, pattern):
        self.at = re.compile(r"[ \t]*").match(self.line, self.at).end()
        m = re.compile(pattern).match(self.line, self.at)
        if m:
            self.at = m.end()
        return m

    def finish(self):
        self.take("")
        if not re.compile("(" + Q["comment"] + "|$)").match(self.line, self.at):
            self.die("syntax")

    def string(self):
        start = self.at
        out = []
        self.at += 1
        while True:
            rest = self.line[self.at:]
            if not rest:
                self.die("unterminated", start)
            c = rest[0]
            if c == '"':
                self.at += 1
                return "".join(out)
            if c == "\\":
                m = re.match(r"\\u\{([0-9a-fA-F]{1,6})\}", rest) if D["rich"] else None
                if len(rest) > 1 and rest[1] in D["escapes"]:
                    out.append({"n": "\n", "t": "\t"}.get(rest[1], rest[1]))
                    self.at += 2
                elif m and (int(m[1], 16) < 0xD800 or 0xDFFF < int(m[1], 16) <= 0x10FFFF):
                    out.append(chr(int(m[1], 16)))
                    self.at += len(m[0])
                else:
                    self.die("escape")
            elif D["rich"] and rest.startswith("${"):
                m = re.match(r"\$\{([^}\"]*)\}", rest)
                here = TOP
                for part in (m[1].split(".") if m else ["?"]):
                    here = here.get(part) if type(here) is dict else None
                if here is None or type(here) in (dict, list):
                    self.die("undefined")
                out.append(here if type(here) is str else json.dumps(here))
                self.at += len(m[0])
            else:
                out.append(c)
                self.at += 1

    def value(self):
        self.take("")
        c = self.line[self.at:self.at + 1]
        if c == '"':
            return self.string()
        if c == "'":
            m = self.take("'([^']*)'")
            return m[1] if m else self.die("unterminated")
        if self.take(r"\["):
            found = []
            while not self.take(r"\]"):
                found.append(self.value())
                if not self.take(",") and not re.compile(r"\]").match(self.line, self.at):
                    self.die("syntax")
            return found
        start = self.at
        m = self.take(r"[\w+.-]+")
        word = m[0] if m else ""
        if word == D["true"]:
            return True
        if word == D["false"]:
            return False
        if re.fullmatch(r"-?0|-?[1-9]\d*(_\d+)*", word):
            return int(word.replace("_", ""))
        if D["rich"] and re.fullmatch(r"0x[\da-fA-F]+", word):
            return int(word[2:], 16)
        self.die("number" if re.match(r"-?\d", word) else "syntax", start)


def read_file(folder, file, block, busy):
    with open(os.path.join(folder, file), encoding="utf-8") as handle:
        lines = handle.read().split("\n")
    stack = []
    for number, line in enumerate(lines, 1):
        s = Scanner(file, number, line)
        s.take("")
        if re.compile("(" + Q["comment"] + "|$)").match(line, s.at):
            continue
        here = s.at
        if s.take(Q["close"]):
            if not stack:
                s.die("unopened", here)
            block = stack.pop()[0]
            s.finish()
            continue
        m = s.take("[a-z][a-z0-9_-]*")
        if not m:
            s.die("syntax")
        name = m[0]
        s.take("")
        if name == D["include"]:
            quote = s.at
            if line[quote:quote + 1] != '"':
                s.die("syntax")
            target = os.path.normpath(os.path.join(os.path.dirname(file), s.string()))
            if target in busy:
                s.die("cycle", quote)
            if not os.path.isfile(os.path.join(folder, target)):
                s.die("missing", quote)
            s.finish()
            read_file(folder, target, block, busy | {target})
        elif s.take(Q["open"]):
            old = block.get(name)
            if old is not None and (D["again"] == "error" or type(old) is not dict):
                s.die("duplicate", here)
            s.finish()
            stack.append((block, number, here))
            block = block.setdefault(name, {})
        elif s.take(Q["assign"]):
            if name in block and (D["again"] == "error" or type(block[name]) is dict):
                s.die("duplicate", here)
            block[name] = s.value()
            s.finish()
        else:
            s.die("syntax")
    if stack:
        Scanner(file, stack[-1][1], "").die("unclosed", stack[-1][2])


if len(sys.argv) != 2:
    sys.exit(@USAGE@)
where, main = os.path.split(sys.argv[1])
read_file(where, main, TOP, {main})
json.dump(TOP, sys.stdout)
"""


FAMILY = Family(
    name="config_parser",
    domain="software_engineering",
    verifier=Verifier.ADVERSARIAL_CORPUS,
    skills=("parsing", "error reporting", "reading a specification", "command-line interfaces"),
    difficulties=(Difficulty.MEDIUM, Difficulty.HARD),
    capacity=64,
    draft=draft,
)
