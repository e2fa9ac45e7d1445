"""Decode touch-tone recordings: noise, drifting speed, dropouts, clicks and lone tones; then read the entries keyed in."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from generators.bases import Base
from generators.families.data_processing._tone_decoder import draw_sound, wav
from generators.family import Draft, Draw, Family, Miss, Setting, load_settings, load_words, resource
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS, HOST_WORDS


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    folder: str
    report: str
    entry: str  # what is keyed in
    names: str  # report keys: keys, entries, rejected
    erase: str  # the key that takes back, the key that ends, the key that clears
    luhn: bool
    stem: str
    wording: int  # different for each world: which of three wordings each sentence has
    text: str


SETTINGS = load_settings(__file__, World)
WORDINGS: dict[str, tuple[str, str, str]] = load_words(__file__, "wordings.yaml")
TESTS, INITIAL = resource(__file__, "tests.py"), resource(__file__, "initial.py")
SOLUTION, ALTERNATIVE = resource(__file__, "solution.sh"), resource(__file__, "alternative.sh")


def check_sum(text: str, luhn: bool) -> int:
    """The stated weighted sum."""
    total = 0
    for place, digit in enumerate(reversed(text)):
        value = int(digit) * ((2 if luhn else 3) if place % 2 else 1)
        total += value - 9 if luhn and value > 9 else value
    return total


def draw_keys(draw: Draw, world: World, entries: int, hard: bool, sure: bool) -> str:
    """What is pressed in one recording: right and wrong entries, corrections, repeated digits, an end that is missing.

    In the sure recording the first entry is wrong and plain, the second right and corrected.
    """
    erase, end, wipe = world.erase
    others = [key for key in "ABCD" if key != wipe]
    keys = ""
    for number in range(entries):
        body = str(draw.between(100_000, 999_999))
        body = body[:5] + body[4]  # the same key twice
        last = next(digit for digit in "0123456789" if check_sum(body + digit, world.luhn) % 10 == 0)
        if number == 0 if sure and number < 2 else draw.chance(35):
            last = str((int(last) + draw.between(1, 9)) % 10)
        body += last
        if number == 1 if sure and number < 2 else draw.chance(40):  # a digit too many, taken back
            at = draw.between(1, 4)
            body = body[:at] + str(draw.between(0, 9)) + erase + body[at:]
        if hard and number == 1:
            body = str(draw.between(10, 99)) + wipe + body
        if hard and number == 2:
            at = draw.between(1, 5)
            body = body[:at] + draw.pick(others) + body[at:]
        keys += body + end
    return keys + (str(draw.between(10, 99)) if draw.chance(60) else "")


def entries_of(keys: str, world: World) -> tuple[list[str], list[str]]:
    """Right and wrong entries: the stated rules."""
    erase, end, wipe = world.erase
    current, right, wrong = "", list[str](), list[str]()
    for key in keys:
        if key in "0123456789":
            current += key
        elif key == erase:
            current = current[:-1]
        elif key == wipe:
            current = ""
        elif key == end:
            if current:
                (wrong if check_sum(current, world.luhn) % 10 else right).append(current)
            current = ""
    return right, wrong


def wording(world: World, at: int) -> int:
    """Which wording the sentence at this place has in this world; no two worlds agree in all."""
    return (world.wording + at * (world.wording // 3)) % 3


def sentences(world: World, example: str, hard: bool) -> dict[str, str]:
    """Every sentence that demands something."""
    names = ("sound", "count", "break", "entry", "luhn" if world.luhn else "weights", "report", "keep")
    words: dict[str, str] = {"entry": world.entry, "report": world.report, "example": example}
    words |= zip(("k0", "k1", "k2"), world.names.split(), strict=True)
    words |= zip(("erase", "end", "wipe"), world.erase, strict=True)
    words["clear"] = WORDINGS["clear"][wording(world, 3)].format(**words) if hard else ""
    return {name: WORDINGS[name][wording(world, at)].format(**words) for at, name in enumerate(names)}


def draft(draw: Draw) -> Draft:
    """One set of recordings."""
    world, hard = draw.setting(SETTINGS), draw.difficulty == Difficulty.HARD
    count, entries = draw.by_difficulty(medium=3, hard=5), draw.by_difficulty(medium=2, hard=3)
    words = draw.sample(HOST_WORDS, count)
    keys = {f"{world.stem}-{word}.wav": draw_keys(draw, world, entries, hard, word == words[0]) for word in words}
    files = {
        name: wav(draw_sound(draw, text, hard), f"tape {draw.between(10, 99)}" if number % 2 else "")
        for number, (name, text) in enumerate(keys.items())
    }
    results = {name: entries_of(text, world) for name, text in keys.items()}
    truth = {
        "folder": world.folder,
        "report": world.report,
        "names": world.names.split(),
        "keys": keys,
        "right": {name: right for name, (right, _) in results.items()},
        "wrong": {name: wrong for name, (_, wrong) in results.items()},
        "recordings": {name: hashlib.sha256(data).hexdigest()[:20] for name, data in files.items()},
    }
    rules = sentences(world, next(iter(keys)), hard)
    instruction = world.text.format(
        firm=draw.pick(FIRMS),
        ticket=draw.between(1000, 9999),
        folder=world.folder,
        rules=("\n" if world.wording % 3 == 2 else " ").join(rules.values()),
    )
    erase, end, wipe = world.erase
    tokens = {
        "FOLDER": world.folder,
        "REPORT": world.report,
        "NAMES": world.names,
        "ERASE": erase,
        "END": end,
        "WIPE": wipe if hard else "none",
        "LUHN": str(world.luhn),
    }
    solution, other = SOLUTION, ALTERNATIVE
    for token, value in tokens.items():
        solution, other = solution.replace(f"@{token}@", value), other.replace(f"@{token}@", value)
    goals = ["test_keys", "test_right_entries", "test_wrong_entries"]
    misses = [
        Miss(
            "clicks_count",
            "takes every burst for a key",
            solution.replace("SHORTEST, LONGEST_BREAK = 0.032", "SHORTEST, LONGEST_BREAK = 0.008"),
            goals[:1],
        ),
        Miss(
            "one_tone_is_enough",
            "takes the stronger tone alone as proof of a key",
            solution.replace("min(levels[row], levels[column])", "max(levels[row], levels[column])").replace(
                "blips[-1][0] == key and ", ""
            ),
            goals[:1],
        ),
        Miss(
            "repeats_merge",
            "takes the same key pressed twice for one press",
            solution.replace("LONGEST_BREAK = 0.032, 0.024", "LONGEST_BREAK = 0.032, 0.12"),
            [goals[0], goals[2]],
        ),
        Miss(
            "no_taking_back",
            "ignores the key that takes back a digit",
            solution.replace("current = current[:-1]", "pass"),
            goals[1:2],
        ),
        Miss(
            "unchecked",
            "does not check entries",
            solution.replace("(good if right(current) else bad)", "good"),
            goals[1:],
        ),
    ]
    cited = {"keep": ["test_recordings_untouched"], "entry": goals[1:], "luhn": goals[1:], "weights": goals[1:]}
    return Draft(
        title=f"Decode the {world.scenario}",
        setting=world,
        instruction=instruction,
        files={f"audio/{name}": data for name, data in files.items()},
        dockerfile=f"COPY audio {world.folder}/\nWORKDIR {world.folder}",
        truth=truth,
        discoverable=("folder", "report", "names", "recordings"),
        tests=TESTS,
        weights={"test_keys": 0.5, "test_right_entries": 0.3, "test_wrong_entries": 0.2},
        guards=["test_recordings_untouched"],
        initial=INITIAL,
        solution=solution,
        alternatives=[other],
        misses=misses,
        requirements=[(text, cited.get(key, goals)) for key, text in rules.items()],
        knobs={
            "recordings": count,
            "keys": sum(map(len, keys.values())),
            "noise": 14 if hard else 8,
            "drift_and_hum": hard,
        },
    )


FAMILY = Family(
    name="tone_decoder",
    domain="data_processing",
    verifier=Verifier.EXACT_TEXT,
    skills=("signal processing", "audio formats", "check digits", "state machines"),
    difficulties=(Difficulty.MEDIUM, Difficulty.HARD),
    capacity=24,
    draft=draft,
    base=Base.SCIENCE,
    fixture="audio",
    command_complexity="code",
)
