"""Repair a small C program for measurements whose results depend on the optimiser: overflow, wild reads,
cancellation."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import TypedDict

from generators.bases import Base
from generators.family import Draft, Draw, Family, Miss, Setting
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS, FIRST_NAMES

INT_MIN, INT_MAX = -(2**31), 2**31 - 1
OPS: tuple[str, ...] = ("var", "roots", "mid", "add", "peak", "sum", "round", "gap")


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling; `ops` are the command words, in the order of OPS."""

    folder: str
    source: str
    ops: tuple[str, ...]
    text: str


EMAIL = """Dear all,

we compared two builds of {path}, the {thing} calculator of {firm}: without optimisation and with it the answers
differ, and some are wrong in both.
I need one source that can be trusted.

{build}

{rules}

{accuracy} {keep}

Sincerely, {persona}
"""
TICKET = """NUM-{ticket} | {thing} | {path} gives different numbers in debug and release

{build}

Each input line is one command:
{rules}

Tolerance: {accuracy}
Constraint: {keep}
"""
NOTE = """{path} ({thing}): -O0 and -O2 disagree, and neither is always right. Make both right.
{build}
{rules}
{accuracy}
{keep}
"""
SPECIFICATION = """Numerical requirements, {thing} calculator of {firm}

1. Build. {build}
2. Commands.
{rules}
3. Accuracy. {accuracy}
4. {keep}
The present {path} violates 2 and 3.
"""
CHAT = """{persona}: funny one for you. {path}, the {thing} tool
{persona}: with the optimiser on it prints other numbers. compiler bug I thought, but I am told it is us
{persona}: {build}
{persona}: what the commands mean:
{rules}
{persona}: {accuracy}
{persona}: {keep}
"""
RUNBOOK = """Procedure after a failed cross-check of the {thing} figures

The check found {path} unreliable. Until it is repaired, nothing is released at {firm}.

Commands
{rules}

Compiling: {build}
Accuracy: {accuracy}
Not to be changed: {keep}
"""
REVIEW = """Referee report on the {thing} paper, point 4, with a request by {persona}

The referee could not reproduce our numbers with another optimisation level, and is right. {build} {accuracy}

Definitions used in the paper, one input line each:

{rules}

{keep}
"""
HANDOVER = """{persona} writes: my last week, and {path} still is not clean.
It computes {thing} quantities from commands on standard input. I listed what each has to give.

{rules}

{accuracy}
{build}
{keep}
"""

SETTINGS = (
    World(
        "tides",
        "tide gauge scientist",
        "tide gauge",
        "email",
        "/srv/tides",
        "tidecalc.c",
        ("spread", "crossings", "midway", "plus", "largest", "total", "nearest", "distance"),
        EMAIL,
    ),
    World(
        "lasers",
        "optics engineer",
        "laser bench",
        "ticket",
        "/opt/bench",
        "bench.c",
        ("jitter", "foci", "centre", "accumulate", "extreme", "energy", "quantise", "offset"),
        TICKET,
    ),
    World(
        "glacier",
        "glaciologist",
        "glacier survey",
        "note",
        "/home/ice/calc",
        "icecalc.c",
        ("scatter", "zeros", "between", "join", "summit", "mass", "grid", "apart"),
        NOTE,
    ),
    World(
        "windtunnel",
        "aerodynamicist",
        "wind tunnel",
        "specification",
        "/usr/local/tunnel",
        "tunnel.c",
        ("turbulence", "solve", "halfway", "bump", "crest", "integral", "whole", "span"),
        SPECIFICATION,
    ),
    World(
        "titration",
        "analytical chemist",
        "titration",
        "chat",
        "/data/lab",
        "titra.c",
        ("var", "roots", "mid", "add", "peak", "sum", "round", "gap"),
        CHAT,
    ),
    World(
        "orbits",
        "flight dynamics officer",
        "orbit determination",
        "runbook",
        "/var/lib/orbits",
        "orbit.c",
        ("dispersion", "nodes", "bisect", "advance", "apex", "impulse", "slot", "separation"),
        RUNBOOK,
    ),
    World(
        "neurons",
        "neurophysiologist",
        "spike train",
        "specification",
        "/srv/spikes",
        "spikes.c",
        ("variability", "intercepts", "median2", "collect", "maxabs", "charge", "tick", "interval"),
        REVIEW,
    ),
    World(
        "soils",
        "soil physicist",
        "soil column",
        "email",
        "/opt/soil",
        "column.c",
        ("variance", "fronts", "average", "stack", "highest", "storage", "layer", "depth"),
        HANDOVER,
    ),
)
BUILDS = (
    "It is built by `gcc -std=c11 -O0 -o PROGRAM {path} -lm` as well as by `gcc -std=c11 -O2 -o PROGRAM {path} "
    "-lm`, reads commands from standard input, "
    "prints one line for each, and has to be right either way.",
    "There are two builds, `gcc -std=c11 -O0 -o PROGRAM {path} -lm` and the same with -O2; both read commands "
    "from standard input and answer each "
    "with a line, and both must give the right answers.",
    "Whether compiled by `gcc -std=c11 -O0 -o PROGRAM {path} -lm` or with -O2 instead of -O0, the program must "
    "turn the commands on its standard input into right "
    "answers, a line each.",
)
ACCURACIES = (
    "Real results are printed in a form that C's strtod reads and may be off by a relative error of 1e-6, with "
    "respect to the exact result for the doubles nearest "
    "to the input; whole numbers must be exact.",
    "Whole numbers have to be exact. Real numbers, printed so that strtod can read them, are right if their "
    "relative error is at most 1e-6, "
    "compared with exact arithmetic on the doubles that were read.",
    "Allowed is a relative error of 1e-6 in real results (printed with enough digits, in a notation of strtod), "
    "measured against exact arithmetic on the inputs as doubles, "
    "and none at all in whole ones.",
)
KEEPS = (
    "{folder}/quiet.in and {folder}/quiet.out, a calm example with its answers, stay as they are, and the "
    "example must go on working.",
    "The example {folder}/quiet.in with its answers {folder}/quiet.out works and must continue to; do not edit "
    "either file.",
    "Do not change {folder}/quiet.in or {folder}/quiet.out: they are an easy example, right already, that has to "
    "remain right.",
)
WORDINGS = {
    "var": (
        "`{var} n x1 ... xn` gives the sample variance (divisor n - 1) of 2 to 1000 reals.",
        "`{var} n x1 ... xn`: variance of the n reals with divisor n - 1, n from 2 to 1000.",
        "`{var} n x1 ... xn` asks for the unbiased variance (n - 1 below) of n reals, 2 <= n <= 1000.",
    ),
    "roots": (
        "`{roots} a b c` gives the two real roots of a x^2 + b x + c, the smaller first, separated by a blank; a "
        "is not 0 and there are two of them, none 0.",
        "`{roots} a b c`: both real zeros of a x^2 + b x + c in ascending order with a blank between (a is never "
        "0, there always are two, neither is 0).",
        "`{roots} a b c` solves a x^2 + b x + c = 0 with two different real solutions other than 0, a not 0; "
        "print the lesser, a blank, the greater.",
    ),
    "mid": (
        "`{mid} i j` gives the mean of two 32-bit signed integers, rounded down (towards minus infinity).",
        "`{mid} i j`: floor of half the sum of i and j, any 32-bit signed integers.",
        "`{mid} i j` is the whole number at or just below the middle of i and j (signed, 32 bits).",
    ),
    "add": (
        "`{add} i j` gives i + j of two 32-bit signed integers, limited to the range of that type: beyond it, its end.",
        "`{add} i j`: the sum of two 32-bit signed integers, saturating at -2147483648 and 2147483647.",
        "`{add} i j` adds signed 32-bit numbers and sticks to the least or greatest of them where the sum does "
        "not fit.",
    ),
    "peak": (
        "`{peak} n x1 ... xn` gives the largest absolute value of 1 to 1000 reals.",
        "`{peak} n x1 ... xn`: greatest |x| among the n reals, n from 1 to 1000.",
        "`{peak} n x1 ... xn` asks for the maximum of the absolute values, 1 <= n <= 1000.",
    ),
    "sum": (
        "`{sum} n x1 ... xn` gives the sum of 1 to 1000 reals, however different their sizes.",
        "`{sum} n x1 ... xn`: sum of the n reals (1 to 1000), also when huge ones cancel.",
        "`{sum} n x1 ... xn` adds n reals, 1 <= n <= 1000, some of them enormous and cancelling.",
    ),
    "round": (
        "`{round} x` gives the integer nearest to the real x, halves away from zero, limited to the 32-bit "
        "signed range.",
        "`{round} x`: x rounded to a whole number, ties away from zero, and clamped to -2147483648 ... 2147483647.",
        "`{round} x` is the closest whole number (a tie goes away from zero), or the nearer end of the signed "
        "32-bit range if x is outside.",
    ),
    "gap": (
        "`{gap} i j` gives the distance |i - j| of two 32-bit signed integers.",
        "`{gap} i j`: how far apart two signed 32-bit integers are, as a number that is never negative.",
        "`{gap} i j` is the absolute difference, whatever signed 32-bit integers i and j are.",
    ),
}
GROUPS = {
    "statistics": ("var", "peak", "sum"),
    "equations": ("roots",),
    "integers": ("mid", "add", "round", "gap"),
}

HEAD = """/* {thing} calculator: commands on standard input, one answer a line */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

"""
# operation -> (wrong, right, another right one)
CODE = {
    "take": (
        """static double *take(int *n)
{
    static double v[64];
    if (scanf("%d", n) != 1)
        exit(1);
    for (int i = 0; i < *n; i++)
        if (scanf("%lf", &v[i]) != 1)
            exit(1);
    return v;
}
""",
        """static double *take(int *n)
{
    static double v[1000];
    if (scanf("%d", n) != 1 || *n < 1 || *n > 1000)
        exit(1);
    for (int i = 0; i < *n; i++)
        if (scanf("%lf", &v[i]) != 1)
            exit(1);
    return v;
}
""",
        """static double *take(int *n)
{
    static double *v;
    if (scanf("%d", n) != 1 || *n < 1)
        exit(1);
    v = realloc(v, (size_t)*n * sizeof *v);
    for (double *p = v; p < v + *n; p++)
        if (scanf("%lf", p) != 1)
            exit(1);
    return v;
}
""",
    ),
    "var": (
        """static double f_var(const double *v, int n)
{
    double s = 0, q = 0;
    for (int i = 0; i < n; i++) {
        s += v[i];
        q += v[i] * v[i];
    }
    return (q - s * s / n) / (n - 1);
}
""",
        """static double f_var(const double *v, int n)
{
    double mean = 0, q = 0, rest = 0;
    for (int i = 0; i < n; i++)
        mean += (v[i] - v[0]) / n;
    for (int i = 0; i < n; i++) {
        double d = v[i] - v[0] - mean;
        q += d * d;
        rest += d;
    }
    return (q - rest * rest / n) / (n - 1);
}
""",
        """static double f_var(const double *v, int n)
{
    double mean = 0, q = 0;
    for (int i = 0; i < n; i++) {
        double x = v[i] - v[0], d = x - mean;
        mean += d / (i + 1);
        q += d * (x - mean);
    }
    return q / (n - 1);
}
""",
    ),
    "peak": (
        """static double f_peak(const double *v, int n)
{
    double best;
    for (int i = 0; i <= n; i++)
        if (!(fabs(v[i]) <= best))
            best = fabs(v[i]);
    return best;
}
""",
        """static double f_peak(const double *v, int n)
{
    double best = 0;
    for (int i = 0; i < n; i++)
        if (fabs(v[i]) > best)
            best = fabs(v[i]);
    return best;
}
""",
        """static double f_peak(const double *v, int n)
{
    double best = fabs(v[0]);
    while (n-- > 1)
        best = fmax(best, fabs(v[n]));
    return best;
}
""",
    ),
    "roots": (
        """static void f_roots(double a, double b, double c)
{
    double r = sqrt(b * b - 4 * a * c);
    double x = (-b - r) / (2 * a), y = (-b + r) / (2 * a);
    printf("%.15e %.15e\\n", x < y ? x : y, x < y ? y : x);
}
""",
        """static void f_roots(double a, double b, double c)
{
    double r = sqrt(b * b - 4 * a * c);
    double q = b < 0 ? (r - b) / 2 : -(b + r) / 2;
    double x = q / a, y = c / q;
    printf("%.15e %.15e\\n", x < y ? x : y, x < y ? y : x);
}
""",
        """static void f_roots(double a, double b, double c)
{
    double big = -(b + copysign(sqrt(b * b - 4 * a * c), b)) / (2 * a);
    double other = c / a / big;
    printf("%.16g %.16g\\n", fmin(big, other), fmax(big, other));
}
""",
    ),
    "mid": (
        "static long long f_mid(int i, int j)\n{\n    return (i + j) / 2;\n}\n",
        "static long long f_mid(int i, int j)\n{\n    long long s = (long long)i + j;\n    return s / 2 - (s % 2 "
        "< 0);\n}\n",
        "static long long f_mid(int i, int j)\n{\n    return (long long)floor(((double)i + j) / 2);\n}\n",
    ),
    "add": (
        """static long long f_add(int i, int j)
{
    int s = i + j;
    if (i > 0 && j > 0 && s < 0)
        return INT_MAX;
    if (i < 0 && j < 0 && s >= 0)
        return INT_MIN;
    return s;
}
""",
        """static long long f_add(int i, int j)
{
    long long s = (long long)i + j;
    return s > INT_MAX ? INT_MAX : s < INT_MIN ? INT_MIN : s;
}
""",
        """static long long f_add(int i, int j)
{
    int s;
    if (__builtin_add_overflow(i, j, &s))
        return i < 0 ? INT_MIN : INT_MAX;
    return s;
}
""",
    ),
    "sum": (
        """static double f_sum(const double *v, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += v[i];
    return s;
}
""",
        """static double f_sum(const double *v, int n)
{
    double s = 0, lost = 0;
    for (int i = 0; i < n; i++) {
        double t = s + v[i];
        lost += fabs(s) >= fabs(v[i]) ? s - t + v[i] : v[i] - t + s;
        s = t;
    }
    return s + lost;
}
""",
        """static double f_sum(const double *v, int n)
{
    double hi = 0, lo = 0;
    for (int i = 0; i < n; i++) {
        double t = hi + v[i], z = t - hi;
        lo += (hi - (t - z)) + (v[i] - z);
        hi = t;
    }
    return hi + lo;
}
""",
    ),
    "round": (
        "static long long f_round(double x)\n{\n    return (int)(x + 0.5);\n}\n",
        """static long long f_round(double x)
{
    x = round(x);
    return x >= INT_MAX ? INT_MAX : x <= INT_MIN ? INT_MIN : (long long)x;
}
""",
        """static long long f_round(double x)
{
    double whole = trunc(fmax(fmin(x, INT_MAX), INT_MIN)), rest = x - whole;
    if (whole < INT_MAX && rest >= 0.5)
        whole += 1;
    if (whole > INT_MIN && rest <= -0.5)
        whole -= 1;
    return (long long)whole;
}
""",
    ),
    "gap": (
        "static long long f_gap(int i, int j)\n{\n    return abs(i - j);\n}\n",
        "static long long f_gap(int i, int j)\n{\n    return llabs((long long)i - j);\n}\n",
        "static long long f_gap(int i, int j)\n{\n    return i > j ? (unsigned)i - (unsigned)j : (unsigned)j - "
        "(unsigned)i;\n}\n",
    ),
}
MAIN = """
int main(void)
{
    char word[32];
    int n, i, j;
    double a, b, c, *list;
    while (scanf("%31s", word) == 1) {
{calls}    }
    return 0;
}
"""
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

TESTS = '''
import hashlib
import os
import subprocess
import tempfile

BUILT = {}


def program(level):
    """The program at an optimisation level, built once."""
    if level not in BUILT:
        target = os.path.join(tempfile.mkdtemp(), "program")
        command = ["/usr/bin/gcc", "-std=c11", level, "-o", target, TRUTH["source"], "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
        assert done.returncode == 0, "does not compile: " + done.stderr[-300:]
        BUILT[level] = target
    return BUILT[level]


def check(group):
    for level in ("-O0", "-O2"):
        for case in TRUTH["cases"][group]:
            commands, answers = case["commands"], case["answers"]
            done = subprocess.run([program(level)], input=commands, capture_output=True, text=True, timeout=15)
            lines = done.stdout.splitlines()
            assert len(lines) == len(answers), f"{group} {level}: {len(lines)} lines"
            for command, line, answer in zip(commands.splitlines(), lines, answers):
                words = line.split()
                assert len(words) == len(answer), f"{group} {level}: {command[:60]}"
                for word, right in zip(words, answer):
                    if isinstance(right, int):
                        good = word == str(right)
                    else:
                        good = abs(float(word) - right) <= 1e-6 * abs(right)
                    assert good, f"{group} {level}: {command[:60]} gave {line}"


def test_statistics():
    check("statistics")


def test_equations():
    check("equations")


def test_integers():
    check("integers")


def test_quiet_example():
    check("quiet")


def test_example_unchanged():
    for path, digest in TRUTH["inputs"].items():
        with open(path, "rb") as source:
            assert hashlib.sha256(source.read()).hexdigest() == digest, path
'''
INITIAL = """
import os


def test_source_and_example():
    assert os.path.isfile(TRUTH["source"]) and os.path.isfile("/usr/bin/gcc")
    assert all(os.path.isfile(path) for path in TRUTH["inputs"])
"""

Answer = list[int | float]


class Case(TypedDict):
    """Commands, and the answer to each."""

    commands: str
    answers: list[Answer]


def variance(values: Sequence[float]) -> float:
    """Exactly, by whole numbers of 2**-80; then the nearest double."""
    whole = [int(Fraction(value) * 2**80) for value in values]
    total, count = sum(whole), len(whole)
    square = count * sum(item * item for item in whole) - total * total
    return float(Fraction(square, count * (count - 1) * 2**160))


def roots(a: int, b: int, c: int) -> Answer:
    """With fifty digits."""
    with localcontext() as context:
        context.prec = 50
        r = (Decimal(b) * b - 4 * Decimal(a) * c).sqrt()
        return sorted(float((-b + sign * r) / (2 * Decimal(a))) for sign in (1, -1))


def rounded(x: float) -> int:
    """Nearest, ties away from zero, clamped."""
    size = math.floor(abs(Fraction(x)) + Fraction(1, 2))
    return max(INT_MIN, min(INT_MAX, size if x > 0 else -size))


def draw_command(draw: Draw, op: str, calm: bool, place: int) -> tuple[str, Answer]:
    """The arguments of a command and its answer; a calm one is right in the broken program too."""
    if op == "var":
        offset = 0 if calm else draw.pick((1, -1)) * draw.between(10**8, 4 * 10**8)
        count = draw.between(3, 9) if place or calm else draw.between(110, 140)
        texts = [f"{offset}.{draw.between(0, 999):03d}" for _ in range(count - 1)] + [
            f"{offset}.{draw.between(1000, 1999)}"
        ]
        values = [float(text) for text in texts]
        return f"{count} {' '.join(texts)}", [variance(values)]
    if op in ("peak", "sum"):
        numbers = [draw.between(-999_999, 999_999) | 1 for _ in range(draw.between(2, 8))]
        texts = [f"{'-' if number < 0 else ''}{abs(number) // 1000}.{abs(number) % 1000:03d}" for number in numbers]
        if op == "sum" and not calm:
            huge = [draw.between(10**17, 10**18) for _ in range(3)]
            texts = draw.shuffled([*texts, *map(str, huge), *(f"-{number}" for number in huge)])
            texts = [str(huge[0] * 3), *texts, f"-{huge[0] * 3}"]
        values = [float(text) for text in texts]
        result = max(map(abs, values)) if op == "peak" else math.fsum(values)
        if result == 0:
            texts, result = ["1.5"], 1.5
        return f"{len(texts)} {' '.join(texts)}", [result]
    if op == "roots":
        a = draw.pick((-3, -1, 1, 2, 7))
        if calm:
            first, second = draw.sample((-9, -5, -2, 3, 4, 8), 2)
            a, b, c = a, -a * (first + second), a * first * second
        else:
            b, c = draw.pick((1, -1)) * draw.between(10**7, 10**9), draw.pick((1, -1)) * draw.between(1, 50)
        return f"{a} {b} {c}", roots(a, b, c)
    if op == "round":
        calm_texts = (f"{draw.between(0, 9999)}.25", f"{draw.between(0, 999)}.5")
        wild = (
            "-2.5",
            "3000000000.75",
            "-3e9",
            "0.49999999999999994",
            f"-{draw.between(1, 99)}.5",
            f"-{draw.between(1, 9999)}.75",
            "1e30",
        )
        text = draw.pick(calm_texts) if calm else wild[place % len(wild)]
        return text, [rounded(float(text))]
    if calm:
        i, j = draw.between(0, 10**6), draw.between(0, 10**6)
    elif op == "gap":
        i, j = draw.shuffled((draw.between(-(2**31), -(2**30) - 1), draw.between(2**30, INT_MAX)))
    else:
        sign = -1 if place % 2 else 1
        i, j = sign * draw.between(2**30 + 1, INT_MAX), sign * draw.between(2**30 + 1, INT_MAX)
        if place == 4:
            i, j = (
                -draw.between(1, 99) * 2,
                draw.between(0, 50) * 2 + 1,
            )  # an odd, small sum: rounding of negative halves
    if op == "mid":
        return f"{i} {j}", [(i + j) // 2]
    return f"{i} {j}", [abs(i - j) if op == "gap" else max(INT_MIN, min(INT_MAX, i + j))]


def source(ops: Sequence[str], words: dict[str, str], version: int, wrong: Sequence[str] = ()) -> str:
    """The program: everything in a version (0 wrong, 1 and 2 right), `wrong` operations broken."""
    text = HEAD + CODE["take"][version]
    calls = ""
    for op in ops:
        name = f"f_{op}"
        text += "\n" + CODE[op][0 if op in wrong else version]
        calls += CALLS[SHAPES[op]].replace("{op}", words[op]).replace("{name}", name)
    text += MAIN.replace("{calls}", calls)
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

    build, accuracy, keep = (fill(draw.pick(texts)) for texts in (BUILDS, ACCURACIES, KEEPS))
    sentences = {op: fill(draw.pick(WORDINGS[op])) for op in ops}
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
