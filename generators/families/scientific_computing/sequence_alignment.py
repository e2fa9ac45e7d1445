"""Write an aligner: optimal affine-gap score, number of optimal alignments, and the first of them by stated tie rules."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import comb

from generators.families.scientific_computing._sequence_alignment import PRIME, Scoring, align
from generators.family import Draft, Draw, Family, Miss, Setting, load_settings, load_words, resource
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    folder: str
    program: str
    symbols: str
    what: str
    keys: tuple[str, str]  # labels of the first two output lines
    example: str
    text: str


SETTINGS = load_settings(__file__, World)
WORDS = load_words(__file__, "wordings.yaml")
TESTS = resource(__file__, "tests.py")
INITIAL = resource(__file__, "initial.py")
SOLUTION = resource(__file__, "solution.sh")
ALTERNATIVE = resource(__file__, "alternative.sh")


def filled(script: str, words: Mapping[str, str]) -> str:
    """A script with its @NAMES@ replaced."""
    for name, value in words.items():
        script = script.replace(f"@{name}@", value)
    return script


def wrong(script: str, old: str, new: str) -> str:
    """A solution with one mistake."""
    if old not in script:
        raise ValueError(f"the solution does not contain {old!r}")
    return script.replace(old, new)


def file_text(draw: Draw, scoring: Scoring, rich: bool) -> str:
    """A scoring file with its lines in random order."""
    lines = [f"match {scoring.match}", f"mismatch {scoring.mismatch}"]
    lines += [f"pair {x} {y} {value}" for x, y, value in scoring.pairs]
    if rich:
        lines += [f"open{n + 1} {scoring.opening[n]}" for n in (0, 1)] + [
            f"extend{n + 1} {scoring.extending[n]}" for n in (0, 1)
        ]
        lines.append("ends free" if scoring.free else "ends global")
        if scoring.wild:
            lines.append(f"wild {scoring.wild} {scoring.wild_score}")
    else:
        lines += [f"open {scoring.opening[0]}", f"extend {scoring.extending[0]}"]
    return "# scoring\n\n" + "\n".join(draw.shuffled(lines)) + "\n"


def draw_scoring(draw: Draw, symbols: str, rich: bool) -> Scoring:
    """Small numbers, so that ties are common."""
    x, y, z = draw.sample(symbols, 3)
    pairs = ((x, y, draw.between(0, 1)), (z, z, draw.between(3, 4)), (x, z, -draw.between(3, 5)))
    opening, extending = draw.between(1, 3), 1
    if not rich:
        return Scoring(2, -draw.between(1, 2), pairs, (opening, opening), (extending, extending))
    return Scoring(
        2, -1, pairs, (opening, draw.between(0, 2)), (1, draw.between(1, 2)), draw.chance(50), y, draw.between(0, 1)
    )


def draw_cases(draw: Draw, symbols: str, rich: bool) -> tuple[list[Scoring], list[tuple[int, str, str]]]:
    """Scorings and pairs of sequences: every rule matters in some case, and the rest is random."""
    plain = Scoring(2, -1, (), (2, 2), (1, 1))
    x, y, z = draw.sample(symbols, 3)
    switch = replace(plain, mismatch=-30, opening=(1, 1))
    paired = replace(plain, pairs=((x, y, 2), (z, z, -9)))
    scorings = [plain, switch, paired]
    cases = [(0, "", ""), (0, x + y, ""), (0, "", z + x + x), (0, x + x + y, x + y), (0, x + y + z + z + y, x + y + y)]
    cases += [(1, x, y), (1, x + z, y + z), (2, x + x + z, y + x), (2, y + z, x + z)]
    if rich:
        scorings += [replace(plain, free=True), replace(plain, wild=x, wild_score=1, pairs=((x, y, -7),))]
        scorings.append(replace(plain, opening=(5, 0), extending=(3, 1)))
        cases += [
            (3, x + y + z + z, z + z + y),
            (3, x, y),
            (4, x + y + z, x + x + y),
            (5, x + y + z + y, z + z + y),
            (5, x, y + x),
        ]
    for _ in range(3):
        scorings.append(draw_scoring(draw, symbols, rich))
        for _ in range(3):
            lengths = draw.between(4, 8), draw.between(4, 8)
            first, second = ("".join(draw.pick(symbols) for _ in range(length)) for length in lengths)
            cases.append((len(scorings) - 1, first, second))
    return scorings, cases


def draft(draw: Draw) -> Draft:
    """One aligner."""
    world = draw.setting(SETTINGS)
    rich = draw.difficulty is Difficulty.EXTREMELY_HARD
    scorings, inputs = draw_cases(draw, world.symbols, rich)
    cases: list[list[object]] = [[n, first, second, *align(scorings[n], first, second)] for n, first, second in inputs]
    # Two long cases whose results are known without aligning: equal sequences, and one where everything scores 0.
    long = "".join(draw.pick(world.symbols) for _ in range(draw.between(70, 90)))
    cases.append([0, long, long, 2 * len(long), 1, long, long])
    scorings.append(Scoring(0, 0, (), (0, 0), (0, 0)))
    n, m = draw.between(36, 44), draw.between(26, 34)
    first, second = long[:n], long[-m:]
    ways = sum(comb(n, k) * comb(m, k) * 2**k for k in range(m + 1)) % PRIME
    cases.append([len(scorings) - 1, first, second, 0, ways, first, second + "-" * (n - m)])

    example = file_text(draw, draw_scoring(draw, world.symbols, rich), rich)
    path, place = f"{world.folder}/{world.program}", SETTINGS.index(world)

    def kind(number: int) -> int:  # the wording of a sentence: no two settings have the same mixture
        return (place + number * (place // 3)) % 3

    words = {
        "path": path,
        "example": f"{world.folder}/{world.example}",
        "gaps": WORDS["gaps_rich" if rich else "gaps_plain"],
        "free": WORDS["free"][kind(2)] if rich else "",
        "k1": world.keys[0],
        "k2": world.keys[1],
    }
    sentences = ("interface", "file", "score", "count", "first", "output", "limits", "keep")
    parts = {name: WORDS[name][kind(n)].format(**words) for n, name in enumerate(sentences)}
    instruction = world.text.format(
        firm=draw.pick(FIRMS),
        persona=world.persona,
        ticket=draw.between(100, 9999),
        what=world.what,
        program=world.program,
        **parts,
    )
    names = {"PATH": path, "K1": world.keys[0], "K2": world.keys[1]}
    solution = filled(SOLUTION, names)
    goals = ["test_scores", "test_counts", "test_alignments"]
    misses = [
        Miss("linear_gaps", "charges the opening for every column",
             wrong(wrong(solution, "(first1 if p != 1 else 0)", "first1"), "(first2 if p != 2 else 0)", "first2"),
             ["test_scores"]),
        Miss("no_switch", "does not let gaps in both sequences touch",
             wrong(solution, "best = max(pair, down, over)",
                   "down = worst if p == 2 and j < m else down\n"
                   "                over = worst if p == 1 and i < n else over\n"
                   "                best = max(pair, down, over)"), ["test_counts"]),
        Miss("one_way", "does not count", wrong(solution, "ways % MOD", "1"), ["test_counts"]),
        Miss("gap_first", "prefers gaps to pairs at ties",
             wrong(solution, "0 if pair == best else 1 if down == best else 2",
                   "2 if over == best else 1 if down == best else 0"), ["test_alignments"]),
        Miss("no_exceptions", "overlooks the pair lines", wrong(solution, "pairs.get((x, y), match if x == y else mismatch)",
             "match if x == y else mismatch"), ["test_scores"]),
    ]  # fmt: skip
    if rich:
        misses += [
            Miss("always_global", "charges for gaps at the ends", wrong(solution, 's["ends"] == "free"', "False"), ["test_scores"]),
            Miss("gaps_confused", "exchanges the costs of the two sequences",
                 wrong(solution, "open1, open2 = ", "open2, open1 = "), ["test_scores"]),
        ]  # fmt: skip
    return Draft(
        title=f"Write an aligner for {world.scenario}",
        setting=world,
        instruction=instruction,
        files={world.example: example},
        dockerfile=f"COPY {world.example} {world.folder}/\nWORKDIR {world.folder}",
        truth={
            "program": path,
            "example": f"{world.folder}/{world.example}",
            "digest": hashlib.sha256(example.encode()).hexdigest(),
            "keys": list(world.keys),
            "scorings": [file_text(draw, scoring, rich) for scoring in scorings],
            "cases": cases,
        },
        discoverable=("program", "example", "keys", "cases"),
        tests=TESTS,
        weights={"test_scores": 0.35, "test_counts": 0.3, "test_alignments": 0.35},
        guards=["test_example_unchanged"],
        initial=INITIAL,
        solution=solution,
        alternatives=[filled(ALTERNATIVE, names)],
        misses=misses,
        requirements=[
            (parts["interface"], goals),
            (parts["file"], goals),
            (parts["score"], ["test_scores"]),
            (parts["count"], ["test_counts"]),
            (parts["first"], ["test_alignments"]),
            (parts["output"], goals),
            (parts["limits"], goals),
            (parts["keep"], ["test_example_unchanged"]),
        ],
        knobs={"cases": len(cases), "scorings": len(scorings), "rich": rich},
    )


FAMILY = Family(
    name="sequence_alignment",
    domain="scientific_computing",
    verifier=Verifier.FUZZ_EQUIVALENCE,
    skills=("dynamic programming", "sequence alignment", "command line programs", "tie breaking"),
    difficulties=(Difficulty.HARD, Difficulty.EXTREMELY_HARD),
    capacity=24,
    draft=draft,
)
