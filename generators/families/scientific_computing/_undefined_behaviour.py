"""Commands of the calculator, calm and wild ones, with their exact answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction

from generators.family import Draw

INT_MIN, INT_MAX = -(2**31), 2**31 - 1
OPS: tuple[str, ...] = ("var", "roots", "mid", "add", "peak", "sum", "round", "gap")
Answer = list[int | float]


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
