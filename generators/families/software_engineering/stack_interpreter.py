"""Write an interpreter for a small stack language from its definition: limits, error lines, calls, loops, cells."""

from __future__ import annotations

import hashlib
import inspect
import re
from dataclasses import dataclass
from functools import cache

from generators.family import Draft, Draw, Family, Miss, Setting
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


TICKET = """{name}-{number}: replacement for the {name} interpreter ({firm})

- {make}
- {law}
- {errors}
- {keep}
"""
EMAIL = """Hello,

we still have hundreds of {name} scripts at {firm} and no machine left that runs them. {make} {law}

{errors} {keep}

Greetings, {persona}
"""
NOTE = """{name} interpreter
{make}
{law}
{errors}
{keep}
"""
SPECIFICATION = """Statement of work {number}, {firm}

Item: {make}
Standard: {law}
Diagnostics: {errors}
Property: {keep}
"""
CHAT = """{persona}: ever heard of {name}?
you: no
{persona}: it runs the {scenario} at {firm}. {make}
you: where is it described?
{persona}: {law}
{persona}: {errors} {keep}
"""
RUNBOOK = """CONTINUITY PLAN {firm}: loss of the {name} controller

1. {make}
2. {law}
3. {errors}
4. {keep}
"""
REVIEW = """A rewrite of the {name} interpreter for {firm} failed its acceptance, mostly on limits and line numbers. Do
it properly.

{law} {make} {errors} {keep}
"""
LETTER = """Dear friend of old languages,

{firm} kept its {scenario} in {name}, and I would like to see it run once more. {make}

{law} {errors}

{keep} Sincerely, {persona}
"""
SETTINGS = (
    World("organ", "organ builder", "organ registrations", "ticket", "/srv/organ", "/srv/organ/bin/stops", "STOPS",
        TICKET),
    World("loom_cards", "weaver", "weaving patterns", "email", "/opt/weave", "/opt/weave/shuttle", "SHUTTLE", EMAIL),
    World("lift", "lift technician", "lift schedules", "note", "/home/lift/control", "/home/lift/control/runlift",
        "Lift/2", NOTE),
    World("telescope", "observatory engineer", "pointing models", "specification", "/data/pointing",
        "/data/pointing/tools/azel", "AZEL", SPECIFICATION),
    World("pinball", "game restorer", "pinball rules", "chat", "/games/pinball", "/games/pinball/tilt", "Tilt", CHAT),
    World("irrigation", "farm manager", "irrigation plans", "runbook", "/srv/fields", "/srv/fields/sbin/drip", "DRIP",
        RUNBOOK),
    World("kiln", "ceramics engineer", "firing curves", "specification", "/lab/kiln", "/lab/kiln/cone", "Cone", REVIEW),
    World("carillon", "carillonneur", "chime programs", "email", "/work/bells", "/work/bells/peal", "PEAL", LETTER),
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
            path = os.path.join(folder, "program")
            Path(path).write_text(case["program"])
            done = subprocess.run([TRUTH["tool"], path], capture_output=True, text=True, timeout=20,
stdin=subprocess.DEVNULL)
        got = [done.returncode, done.stdout, done.stderr.strip()]
        assert got == [case["code"], case["out"], case["error"]], (case["program"], got)


def test_results():
    check("results")


def test_failures():
    check("failures")


def test_rejected():
    check("rejected")


def test_definition_kept():
    assert hashlib.sha256(Path(TRUTH["definition"]).read_bytes()).hexdigest() == TRUTH["digest"]
"""

INITIAL = """
import os


def test_interpreter_is_missing():
    assert os.path.isfile(TRUTH["definition"]) and not os.path.exists(TRUTH["tool"])
"""

# --- reference implementation; its source is also the solution's program


class Trouble(Exception):
    """Line and kind of a mistake."""


def translate(d: dict[str, str], text: str) -> dict[str, list[tuple[str, int, int]]]:
    """The program as lists of (operation, number or jump, line), the main one under an empty name."""
    roles = {d[role]: role for role in d["words"].split()}
    bodies: dict[str, list[tuple[str, int, int]]] = {"": []}
    here, name = bodies[""], ""
    opened: list[tuple[str, int, int]] = []
    line = 0
    waiting = False
    for line, row in enumerate(text.split("\n"), 1):
        for word in row.split(d["comment"])[0].split():
            role = roles.get(word, "")
            if waiting:
                if role or word in bodies or not re.fullmatch(r"[a-z][a-z0-9-]*", word):
                    raise Trouble(line, "name")
                name, waiting = word, False
                here = bodies[name] = []
            elif re.fullmatch(r"-?[0-9]+", word):
                if abs(int(word)) > int(d["top"]):
                    raise Trouble(line, "range")
                here.append(("push", int(word), line))
            elif role == "define":
                if name or opened:
                    raise Trouble(line, "nested")
                opened.append(("define", 0, line))
                waiting = True
            elif role in ("close", "end", "else", "until"):
                wanted = {"close": ("define",), "end": ("if", "else"), "else": ("if",), "until": ("begin",)}[role]
                if not opened or opened[-1][0] not in wanted:
                    raise Trouble(line, "stray")
                _, start, _ = opened.pop()
                if role == "close":
                    here, name = bodies[""], ""
                elif role == "until":
                    here.append(("until", start, line))
                else:
                    if role == "else":
                        here.append(("jump", 0, line))
                        opened.append(("else", len(here) - 1, line))
                    here[start] = (here[start][0], len(here), here[start][2])
            elif role in ("if", "begin"):
                opened.append((role, len(here), line))
                if role == "if":
                    here.append(("if", 0, line))
            elif role == "leave" and not name:
                raise Trouble(line, "stray")
            elif role:
                here.append((role, 0, line))
            elif word in bodies:
                here.append((f"call {word}", 0, line))
            else:
                raise Trouble(line, "unknown")
    if opened:
        raise Trouble(opened[-1][2], "unclosed")
    return bodies


def execute(d: dict[str, str], bodies: dict[str, list[tuple[str, int, int]]], out: list[str]) -> None:
    """Run a translated program."""
    top, full, deep, many = int(d["top"]), int(d["full"]), int(d["deep"]), int(d["many"])
    cells = [0] * int(d["cells"])
    stack: list[int] = []
    frames: list[tuple[list[tuple[str, int, int]], int]] = []
    body, at, steps = bodies[""], 0, 0
    takes = {
        "drop": 1,
        "dup": 1,
        "swap": 2,
        "over": 2,
        "rot": 3,
        "print": 1,
        "if": 1,
        "until": 1,
        "fetch": 1,
        "store": 2,
        "not": 1,
    }
    takes |= dict.fromkeys(("add", "sub", "mul", "div", "mod", "equal", "less", "more"), 2)
    while True:
        if at >= len(body):
            if not frames:
                return
            body, at = frames.pop()
            continue
        role, number, line = body[at]
        at += 1
        if role == "jump":
            at = number
            continue
        steps += 1
        if steps > many:
            raise Trouble(line, "steps")
        count = takes.get(role, 0)
        if len(stack) < count:
            raise Trouble(line, "empty")
        args = stack[len(stack) - count :]
        del stack[len(stack) - count :]
        pushed: list[int] = []
        if role == "push":
            pushed = [number]
        elif role.startswith("call "):
            if len(frames) >= deep:
                raise Trouble(line, "depth")
            frames.append((body, at))
            body, at = bodies[role[5:]], 0
        elif role == "leave":
            body, at = frames.pop()
        elif role in ("if", "until"):
            at = number if args[0] == 0 else at
        elif role == "print":
            out.append(f"{args[0]}\n")
        elif role == "depth":
            pushed = [len(stack)]
        elif role in ("dup", "swap", "over", "rot"):
            pushed = [
                args[index] for index in {"dup": (0, 0), "swap": (1, 0), "over": (0, 1, 0), "rot": (1, 2, 0)}[role]
            ]
        elif role in ("equal", "less", "more", "not"):
            left, right = args[0], args[-1]
            pushed = [int({"equal": left == right, "less": left < right, "more": left > right, "not": left == 0}[role])]
        elif role in ("fetch", "store"):
            if not 0 <= args[-1] < len(cells):
                raise Trouble(line, "cell")
            if role == "fetch":
                pushed = [cells[args[0]]]
            else:
                cells[args[1]] = args[0]
        elif role in ("div", "mod"):
            left, right = args
            if right == 0:
                raise Trouble(line, "zero")
            quotient = left // right
            if d["division"] == "zero" and quotient < 0 and quotient * right != left:
                quotient += 1
            pushed = [quotient if role == "div" else left - quotient * right]
        elif role in ("add", "sub", "mul"):
            left, right = args
            pushed = [left + right if role == "add" else left - right if role == "sub" else left * right]
        if any(abs(value) > top for value in pushed):
            raise Trouble(line, "range")
        if len(stack) + len(pushed) > full:
            raise Trouble(line, "full")
        stack += pushed


# --- end of the reference implementation


@cache
def reference_source() -> str:
    """The source of the reference implementation."""
    return "\n\n".join(inspect.getsource(part) for part in (Trouble, translate, execute))


MAIN = r"""
def main():
    out = []
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            bodies = translate(D, file.read())
    except Trouble as trouble:
        sys.stderr.write("line %d: %s\n" % trouble.args)
        return int(D["reject"])
    try:
        execute(D, bodies, out)
    except Trouble as trouble:
        sys.stdout.write("".join(out))
        sys.stderr.write("line %d: %s\n" % trouble.args)
        return int(D["fail"])
    sys.stdout.write("".join(out))
    return 0


sys.exit(main())
"""

SECOND = r"""#!/usr/bin/python3
# A tree of nested lists, walked recursively.
import re, sys
D = @D@
W = {D[r]: r for r in D["words"].split()}
TOP, FULL, DEEP, MANY = (int(D[k]) for k in ("top", "full", "deep", "many"))
defs, stack, cells = {}, [], [0] * int(D["cells"])
steps = 0


class Leave(Exception):
    pass


def die(line, kind, code):
    sys.stdout.flush()
    sys.stderr.write(f"line {line}: {kind}\n")
    sys.exit(int(D[code]))


tokens = [(w, n) for n, row in enumerate(open(sys.argv[1]).read().split("\n"), 1)
          for w in row.partition(D["comment"])[0].split()]
where = 0


def block(ends, opener, inside):
    # nodes up to one of the closing roles
    global where
    nodes = []
    while where < len(tokens):
        word, line = tokens[where]
        where += 1
        role = W.get(word)
        if re.fullmatch("-?[0-9]+", word):
            if abs(int(word)) > TOP:
                die(line, "range", "reject")
            nodes.append(("push", line, int(word)))
        elif role in ends:
            return nodes, role
        elif role in ("close", "end", "else", "until") or (role == "leave" and not inside):
            die(line, "stray", "reject")
        elif role == "define":
            if opener:
                die(line, "nested", "reject")
            if where == len(tokens):
                die(line, "unclosed", "reject")
            name, at = tokens[where]
            where += 1
            if name in W or name in defs or not re.fullmatch("[a-z][a-z0-9-]*", name):
                die(at, "name", "reject")
            defs[name] = []
            defs[name] += block(("close",), line, True)[0]
        elif role == "if":
            yes, how = block(("end", "else"), line, inside)
            no = block(("end",), tokens[where - 1][1], inside)[0] if how == "else" else []
            nodes.append(("if", line, yes, no))
        elif role == "begin":
            inner = block(("until",), line, inside)[0]
            nodes.append(("begin", line, inner, tokens[where - 1][1]))
        elif role:
            nodes.append((role, line))
        elif word in defs:
            nodes.append(("call", line, word))
        else:
            die(line, "unknown", "reject")
    if opener:
        die(opener, "unclosed", "reject")
    return nodes, None


def step(line):
    global steps
    steps += 1
    if steps > MANY:
        die(line, "steps", "fail")


def pop(n, line):
    if len(stack) < n:
        die(line, "empty", "fail")
    got = stack[len(stack) - n:]
    del stack[len(stack) - n:]
    return got


def push(line, *values):
    if any(v > TOP or v < -TOP for v in values):
        die(line, "range", "fail")
    if len(stack) + len(values) > FULL:
        die(line, "full", "fail")
    stack.extend(values)


def divide(a, b):
    q = abs(a) // abs(b) if (a < 0) == (b < 0) else -(abs(a) // abs(b))
    if D["division"] != "zero" and q * b != a and (a < 0) != (b < 0):
        q -= 1
    return q


def run(nodes, level):
    for node in nodes:
        role, line = node[:2]
        if role == "begin":
            while True:
                run(node[2], level)
                step(node[3])
                if pop(1, node[3])[0]:
                    break
            continue
        step(line)
        if role == "push":
            push(line, node[2])
        elif role == "if":
            run(node[2] if pop(1, line)[0] else node[3], level)
        elif role == "call":
            if level == DEEP:
                die(line, "depth", "fail")
            try:
                run(defs[node[2]], level + 1)
            except Leave:
                pass
        elif role == "leave":
            raise Leave
        elif role == "print":
            print(*pop(1, line))
        elif role == "depth":
            push(line, len(stack))
        elif role == "drop":
            pop(1, line)
        elif role in ("dup", "not"):
            (a,) = pop(1, line)
            push(line, *((a, a) if role == "dup" else (1 if a == 0 else 0,)))
        elif role == "rot":
            a, b, c = pop(3, line)
            push(line, b, c, a)
        elif role == "fetch":
            (a,) = pop(1, line)
            if a not in range(len(cells)):
                die(line, "cell", "fail")
            push(line, cells[a])
        else:
            a, b = pop(2, line)
            if role == "store":
                if b not in range(len(cells)):
                    die(line, "cell", "fail")
                cells[b] = a
            elif role in ("div", "mod") and b == 0:
                die(line, "zero", "fail")
            else:
                push(line, *{
                    "swap": lambda: (b, a), "over": lambda: (a, b, a), "add": lambda: (a + b,), "sub": lambda: (a - b,),
                    "mul": lambda: (a * b,), "div": lambda: (divide(a, b),), "mod": lambda: (a - b * divide(a, b),),
                    "equal": lambda: (int(a == b),), "less": lambda: (int(a < b),), "more": lambda: (int(a > b),),
                }[role]())


run(block((), 0, False)[0], 0)
"""

SPELLINGS = {
    "add": "+ plus add", "sub": "- minus sub", "mul": "* times mul", "div": "/ div over-by", "mod": "% mod rest",
        "dup": "dup copy again", "drop": "drop pop toss", "swap": "swap flip xchg",
    "rot": "rot turn third", "over": "over peek second", "equal": "= eq same", "less": "< lt below",
        "more": "> gt above", "not": "not zero? nil", "print": ". print show", "if": "if when ?",
    "else": "else otherwise |", "end": "end then fi", "begin": "begin repeat do", "until": "until till loop",
        "define": ": def word", "close": "; ok enddef",
    "leave": "leave return exit", "depth": "depth size height", "fetch": "@ fetch get", "store": "! store put",
}  # fmt: skip
RESULTS = (
    "-7 2 div print -7 2 mod print 7 -2 div print 7 -2 mod print", "1 2 3 rot print print print",
        "define fact dup 2 less if drop 1 else dup 1 sub fact mul end close\n~s fact print", "",
            "1 if 2 if 3 print end 4 print end 5 print",
    "0 if 1 print else 2 print end # if\n3 print", "~s begin dup print 1 sub dup not until drop",
        "define sq dup mul close define quad sq sq close ~s quad print", "1 2 over print print print",
            "0 begin 1 add 0 begin 1 add dup 3 equal until drop dup ~s equal until print",
    "3 4 swap sub print 5 5 equal print 4 5 more print 4 5 less print", "~b ~b add print",
        "define gcd dup not if drop else swap over mod gcd end close\n~b ~b gcd print", "-0 print 007 print",
)  # fmt: skip
MORE_RESULTS = (
    "define f dup 5 more if drop 1 leave end drop 2 close ~s f print 9 f print", "depth print 4 4 depth print",
        "5 0 store 0 fetch print 1 fetch print", "define up 0 fetch 1 add 0 store close up up up 0 fetch print",
    "define f begin 1 sub dup 3 less if leave end dup not until close 9 f print",
)  # fmt: skip
FAILURES = (
    "1 print\n\n2 0 div print", "begin 0 until", "define f f close\n\nf", "1 print\nadd",
        "~b print\n 1\n2\n swap drop drop\ndrop", "begin 1 0 until", "1\n@TOP@\n add", "@TOP@ dup\nmul print",
            "define f\n 1 f\nclose # here\nf", "5 print 1 if\n 0 mod\nend",
    "@MANY@ begin 1 sub dup not until print", "@NEAR@ begin 1 sub dup not until print",
        "@DEEP@ print define f 1 sub dup not if else f end close @DEEP@ f print",
            "define f 1 sub dup not if else f end close 1 @DEEP@ add\nf print", "-@TOP@\n1 sub",
)  # fmt: skip
MORE_FAILURES = ("1\n@CELLS@ store", "-1 fetch", "1 print\n1\nstore", "0 0 @CELLS@ 1 sub store @CELLS@\nfetch")
REJECTED = (
    "1 print\nfoo", "1 if\n2 if end\n", "end", "1 print\nelse", "begin\n1 if until end", "define dup close",
        "define f\ndefine g close close", "define f close define f close", "1 if define f close end",
            "1 @TOP@ print 1@TOP@", "define\n# x\n9x close", "define g\n1 if\nclose",
    "g define g close", "close", "1 begin 2 if 3 until", "define", "1 if 1 else 2 else 3 end", "2 print # all\nUP",
        "define f begin\n",
)  # fmt: skip


def make_language(draw: Draw) -> Language:
    """Words and limits."""
    extreme = draw.difficulty is Difficulty.EXTREMELY_HARD
    roles = [role for role in SPELLINGS if extreme or role not in ("leave", "depth", "fetch", "store")]
    words = {role: draw.pick(SPELLINGS[role].split()) for role in roles}
    fail, reject = draw.pick(((1, 2), (3, 4), (70, 65), (10, 20)))
    numbers = {"top": draw.pick((32767, 99999, 2**31 - 1)), "full": draw.between(12, 40), "deep": draw.between(9, 40),
        "many": draw.between(400, 900), "cells": draw.between(4, 16)}  # fmt: skip
    return {
        **words, **{key: str(value) for key, value in numbers.items()}, "words": " ".join(roles),
            "comment": draw.pick(("#", "//", "--")), "division": draw.pick(("zero", "down")),
        "fail": str(fail), "reject": str(reject),
    }  # fmt: skip


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

    patterns = [
        *RESULTS[:3],
        *draw.sample(RESULTS[3:], 5),
        *FAILURES[:3],
        *draw.sample(FAILURES[3:], 7),
        *REJECTED[:3],
        *draw.sample(REJECTED[3:], 6),
    ]
    patterns += [*draw.sample(MORE_RESULTS, 3), *draw.sample(MORE_FAILURES, 2)] if extreme else []
    patterns += [straight() for _ in range(4)]
    cases: dict[str, list[dict[str, object]]] = {"results": [], "failures": [], "rejected": []}
    for pattern in draw.shuffled(patterns):
        case = judge(d, spell(pattern))
        cases["results" if case["code"] == 0 else "failures" if case["code"] == int(d["fail"]) else "rejected"].append(
            case
        )
    return cases


def definition(world: World, d: Language) -> str:
    """The definition of the language."""
    division = "towards zero" if d["division"] == "zero" else "down, towards minus infinity"
    w = {role: d.get(role, "") for role in SPELLINGS}
    extra = (
        f"""  {w["depth"]}   ( -- n )  the number of values that were on the stack
  {w["fetch"]}   ( i -- n )  the content of cell i; {w["store"]}   ( n i -- )  puts n into cell i. There are
{d["cells"]} cells, from 0, at first all 0.
  {w["leave"]}   ends the current definition at once; a mistake (stray) outside of one
"""
        if w["store"]
        else ""
    )
    cell = "  cell    no cell has that number\n" if w["store"] else ""
    return f"""Definition of {world.language}

TEXT. Words separated by spaces and line ends. {d["comment"]} starts a comment (anywhere, also inside a word) up to the
end of the
line. The whole text is checked before anything runs. A number is decimal digits, with - in front if negative. The
values are the
whole numbers from -{d["top"]} to {d["top"]}.

WORDS. ( before -- after ), the top of the stack on the right
  number   ( -- n )
  {w["dup"]} ( a -- a a )   {w["drop"]} ( a -- )   {w["swap"]} ( a b -- b a )   {w["over"]} ( a b -- a b a )  
{w["rot"]} ( a b c -- b c a )
  {w["add"]} {w["sub"]} {w["mul"]}   ( a b -- n )  sum, difference a-b, product
  {w["div"]} {w["mod"]}   ( a b -- n )  quotient a/b rounded {division}, and the rest a - b * quotient
  {w["equal"]} {w["less"]} {w["more"]}   ( a b -- n )  1 if a is equal to, less than, greater than b, otherwise 0
  {w["not"]}   ( a -- n )  1 if a is 0, otherwise 0
  {w["print"]}   ( a -- )  writes a and a line feed to standard output
{extra}  {w["if"]} ... {w["end"]} or {w["if"]} ... {w["else"]} ... {w["end"]}   ( a -- )  the first part if a is not 0,
otherwise the second, if any
  {w["begin"]} ... {w["until"]}   runs the part, then {w["until"]} ( a -- ) repeats it if a is 0
  {w["define"]} NAME ... {w["close"]}   defines NAME: a-z, then any of a-z 0-9 -; neither a word of the language nor
defined before. Not
  inside another part. NAME can be used from there on, also in its own definition.

MISTAKES IN THE TEXT, in reading order; the first one counts, nothing runs. The line is that of the word in question.
  range (number outside the values), unknown (neither number nor word nor defined), name (bad or used NAME), nested
({w["define"]}
  inside a definition or part), stray (closing or middle word that does not fit the innermost open part); at the end of
the text
  unclosed (line of the word that opened the innermost open part, which is the {w["else"]} if there was one)

FAILURES while running, at the line of the word that was to be carried out; checked in this order:
  steps   {d["many"]} words were carried out already. Every number, word and NAME counts each time it is carried out,
including {w["if"]}
          and {w["until"]}; {w["else"]}, {w["end"]}, {w["begin"]}, {w["define"]} and {w["close"]} do not count
  empty   fewer values on the stack than the word takes
  depth   NAME is carried out while {d["deep"]} definitions are running
{cell}  zero    division by 0, for both of its words
  range   a result is outside the values
  full    the stack would hold more than {d["full"]} values afterwards

PROGRAM. The only argument is the file. Exit code 0 at the end of the text; {d["reject"]} for a mistake in the text;
{d["fail"]} for a failure,
after everything printed so far. Both write one line to standard error: line N: KIND, for example line 12: zero.
"""


def sentences(world: World, wording: int, d: Language) -> tuple[str, str, str, str]:
    """What to make, by which text, how it fails, what stays."""
    law = f"{world.folder}/DEFINITION"
    return (
        (
            f"Write {world.tool}, an executable that runs the {world.language} program in the file given as its "
            "argument.",
            f"{law} defines words, limits, failures and exit codes, and nothing else is meant.",
            f"Wrong texts end with {d['reject']}, failing programs with {d['fail']}, each with one line on standard "
            "error as defined, line number included.",
            "The definition is not to be changed.",
        ),
        (
            f"We need an interpreter: {world.tool}, executable, one argument (a file with {world.language} text).",
            f"Please read {law} closely, down to the order in which things are checked; our scripts make use of all of "
            "it.",
            f"Line numbers and kinds on standard error are parsed by a monitor, exit codes too ({d['reject']} text, "
            f"{d['fail']} run).",
            "Leave the document as you found it.",
        ),
        (
            f"Executable {world.tool}, argument: {world.language} file.",
            f"Law: {law}.",
            f"Exit {d['reject']} for bad text, {d['fail']} for failures; one line each on standard error.",
            "No edits to the definition.",
        ),
    )[wording]


def draft(draw: Draw) -> Draft:
    """One language."""
    world = draw.setting(SETTINGS)
    d = make_language(draw)
    cases = corpus(draw, d)
    text = definition(world, d)
    truth = {
        "tool": world.tool, "definition": f"{world.folder}/DEFINITION",
            "digest": hashlib.sha256(text.encode()).hexdigest(), "cases": cases,
    }  # fmt: skip
    make, law, errors, keep = sentences(world, draw.serial % 3, d)
    instruction = world.text.format(
        name=world.language, number=draw.between(100, 999), firm=draw.pick(FIRMS), persona=world.persona,
            scenario=world.scenario, make=make, law=law, errors=errors, keep=keep,
    )  # fmt: skip
    program = (
        "#!/usr/bin/python3\nfrom __future__ import annotations\nimport re, sys\nD = "
        f"{d!r}\n\n\n{reference_source()}\n{MAIN}"
    )

    def install(source: str) -> str:
        return (
            f"mkdir -p {world.tool.rsplit('/', 1)[0]}\ncat > {world.tool} <<'EOF'\n{source}EOF\nchmod 755 "
            f"{world.tool}\n"
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
        alternatives=[install(SECOND.replace("@D@", repr(d)))],
        misses=[
            Miss("other_division", "rounds quotients the other way",
                change('d["division"] == "zero"', 'd["division"] != "zero"'), ["test_results"]),
            Miss("output_lost", "prints nothing if the program fails",
                change('        sys.stdout.write("".join(out))\n        sys', "        sys"), ["test_failures"]),
            Miss("last_line", "reports mistakes at the end of the text in its last line",
                change("raise Trouble(opened[-1][2],", "raise Trouble(line + 1,"), ["test_rejected"]),
        ],
        requirements=[(make, goals), (law, goals), (errors, goals[1:]), (keep, ["test_definition_kept"])],
        knobs={"language": d},
    )  # fmt: skip


FAMILY = Family(
    name="stack_interpreter",
    domain="software_engineering",
    verifier=Verifier.FUZZ_EQUIVALENCE,
    skills=("interpreters", "reading a specification", "error reporting", "resource limits"),
    difficulties=(Difficulty.HARD, Difficulty.EXTREMELY_HARD),
    capacity=64,
    draft=draft,
)
