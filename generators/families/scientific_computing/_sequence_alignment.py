"""The reference of sequence_alignment: best score, number of optima and the canonical one, by dynamic programming."""

from __future__ import annotations

from dataclasses import dataclass

PRIME = 1_000_000_007


@dataclass(frozen=True)
class Scoring:
    """What a scoring file says. Costs are of gaps in the first and in the second sequence."""

    match: int
    mismatch: int
    pairs: tuple[tuple[str, str, int], ...]
    opening: tuple[int, int]
    extending: tuple[int, int]
    free: bool = False
    wild: str = ""
    wild_score: int = 0


def align(scoring: Scoring, first: str, second: str) -> tuple[int, int, str, str]:
    """Best score, number of best alignments, and the first of them. States: last column a pair, a gap below, a gap above."""
    n, m = len(first), len(second)
    table = {(x, y): scoring.match if x == y else scoring.mismatch for x in first for y in second}
    for x, y, value in scoring.pairs:
        table[x, y] = table[y, x] = value
    wild = scoring.wild
    lowest = -(10**9)
    best = [[[0, 0, 0] for _ in range(m + 1)] for _ in range(n + 1)]
    ways = [[[1, 1, 1] for _ in range(m + 1)] for _ in range(n + 1)]
    moves = [[[0, 0, 0] for _ in range(m + 1)] for _ in range(n + 1)]
    for i in range(n, -1, -1):
        loose_above = scoring.free and i in (0, n)
        for j in range(m, -1, -1):
            if i == n and j == m:
                continue
            loose_below = scoring.free and j in (0, m)
            pair = lowest
            if i < n and j < m:
                x, y = first[i], second[j]
                pair = (scoring.wild_score if wild and wild in (x, y) else table[x, y]) + best[i + 1][j + 1][0]
            below = best[i + 1][j][1] - (0 if loose_below else scoring.extending[1]) if i < n else lowest
            above = best[i][j + 1][2] - (0 if loose_above else scoring.extending[0]) if j < m else lowest
            for state in range(3):
                down = below if state == 1 or loose_below else below - scoring.opening[1]
                over = above if state == 2 or loose_above else above - scoring.opening[0]
                top = max(pair, down, over)
                count, move = 0, 0
                if j < m and over == top:
                    count, move = ways[i][j + 1][2], 2
                if i < n and down == top:
                    count, move = count + ways[i + 1][j][1], 1
                if pair == top:
                    count, move = count + ways[i + 1][j + 1][0], 0
                best[i][j][state], ways[i][j][state], moves[i][j][state] = top, count % PRIME, move
    rows = ["", ""]
    i = j = state = 0
    while i < n or j < m:
        state = moves[i][j][state]
        rows[0] += first[i] if state != 2 else "-"
        rows[1] += second[j] if state != 1 else "-"
        i, j = i + (state != 2), j + (state != 1)
    return best[0][0][0], ways[0][0][0], rows[0], rows[1]
