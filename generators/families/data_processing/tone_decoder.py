"""Decode touch-tone recordings: noise, drifting speed, dropouts, clicks and lone tones; then read the entries keyed in."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from generators.bases import Base
from generators.family import Draft, Draw, Family, Miss, Setting
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS, HOST_WORDS

RATE = 4000
ROWS, COLUMNS = (697, 770, 852, 941), (1209, 1336, 1477, 1633)
KEYS = "123A456B789C*0#D"


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


# fmt: off
SETTINGS = (
    World("parcel_line", "call centre analyst", "parcel hotline recordings", "email", "/srv/hotline",
          "/srv/hotline.json", "parcel number", "keys parcels wrong", "*#A", True, "call", 0,
          "Hello,\n\nthe hotline computer of {firm} lost what callers keyed in, only the audio is left in "
          "{folder}.\n\n{rules}\n\nThanks in advance"),
    World("door_audit", "security auditor", "door keypad line taps", "ticket", "/data/doors", "/data/doors.json",
          "code", "presses codes refused", "*#A", False, "door", 1,
          "DOOR-{ticket} ({firm}): which codes were keyed in?\n\nEvidence: {folder}\n\n{rules}"),
    World("meter_phone", "utility back office clerk", "meter readings by telephone", "note", "/home/meters/wav",
          "/home/meters/readings.json", "reading", "tones readings implausible", "#*B", True, "meter", 2,
          "Telephone readings of {firm}, recordings in {folder}.\n{rules}"),
    World("radio_relay", "radio network technician", "radio relay selective calls", "runbook", "/var/lib/relay",
          "/var/lib/relay-calls.json", "call number", "sequence numbers defective", "*#D", False, "relay", 3,
          "# Evaluating selective calls ({firm})\n\nInput: {folder}\n\n{rules}"),
    World("ivr_migration", "telephony engineer", "voice menu regression set", "specification", "/opt/ivr/audio",
          "/opt/ivr/expected.json", "account number", "digits accounts bad", "*#C", True, "menu", 4,
          "Test vector {ticket}, voice menu of {firm}\nAudio: {folder}\n\n{rules}"),
    World("museum_phone", "exhibition technician", "museum telephone exhibit", "chat", "/srv/exhibit/rec",
          "/srv/exhibit/dialled.json", "number", "pressed dialled nonsense", "*#B", False, "visitor", 5,
          "hi, remember the phone exhibit at {firm}? visitors' dialling was only recorded as sound, in {folder}.\n\n"
          "{rules}\n\nthx"),
    World("pager_office", "hospital operator", "paging system tapes", "email", "/mnt/tapes", "/mnt/pagers.json",
          "pager number", "line pagers faulty", "#*A", True, "tape", 6,
          "Dear all,\n\nfor the inquiry at {firm} we must know who was paged; the tapes are digitised in {folder}.\n"
          "\n{rules}\n\nBest wishes"),
    World("vote_line", "broadcast engineer", "viewers' telephone vote", "ticket", "/data/vote", "/data/vote.json",
          "ballot number", "raw ballots discarded", "*#D", False, "line", 7,
          "[VOTE-{ticket}] recount from audio, {firm}\n\nRecordings: {folder}\n\n{rules}"),
)
# fmt: on

SOUND = (
    "Every WAV file there is a recording of telephone keys (DTMF, all sixteen keys 0-9, A-D, * and #); there is "
    "noise, and speed and loudness differ.",
    "The WAV files contain keys of a telephone in the usual DTMF tones (0 to 9, A to D, * and #) with noise, at "
    "changing speed and loudness.",
    "In each WAV file somebody presses telephone keys, heard as DTMF tone pairs (digits, A, B, C, D, * and #), "
    "noisily and not always at the same pace or level.",
)
COUNT = (
    "A key counts once its two tones have sounded for 40 ms; shorter ones are clicks, and a tone without its partner "
    "is no key.",
    "Shorter than 40 ms is no key press but interference, and so is a single tone on its own.",
    "Only pairs of tones that last 40 ms or more are presses; leave out shorter bursts and tones that come alone.",
)
BREAK = (
    "An interruption below 20 ms is a dropout within one press, while after 40 ms or more of pause the same key is a "
    "new press.",
    "Dropouts of less than 20 ms do not end a press; a pause of 40 ms or more does, even if the same key follows.",
    "If the sound of a key breaks off for under 20 ms it is still the same press, from 40 ms on it is another one.",
)
ENTRY = (
    "A {entry} consists of the digits up to {end}, where {erase} takes back the last digit that is left of "
    "it{clear}; what is not ended by {end} when the recording "
    "stops is void, and so are entries without digits.",
    "{end} ends a {entry} and {erase} deletes its last remaining digit{clear}. Ignore entries that have no digits, "
    "and one that the recording cuts off before {end}.",
    "Read each {entry} as the digits before {end}; {erase} removes the digit before it, if there is one{clear}. "
    "Entries that are empty or not ended do not count.",
)
CLEAR = (
    ", {wipe} takes back all of them, and the other letters do nothing",
    " ({wipe} deletes all its digits, other letters are meaningless)",
    ", {wipe} removes all digits so far, and further letters have no effect",
)
CHECK = {
    True: (
        "A {entry} is right if it passes the Luhn test: from the right, every second digit is doubled (less 9 if "
        "above 9), and all together give a multiple of 10.",
        "Its last digit is a Luhn check digit (double each second digit from the right, subtract 9 from results over "
        "9, the total must be divisible by 10).",
        "Check it by Luhn: counted from the last digit, each second one counts double, minus 9 when that exceeds 9, "
        "and the sum has to end in 0.",
    ),
    False: (
        "A {entry} is right if its digits, multiplied from the right by 1, 3, 1, 3 and so on, add up to a multiple "
        "of 10.",
        "Its last digit is a check digit: with weights 1, 3, 1, 3 ... from the right the sum of all digits must be "
        "divisible by 10.",
        "Check it with the weights 1 and 3 in turn, beginning with 1 at the last digit: the weighted sum has to end "
        "in 0.",
    ),
}
REPORT = (
    "Write {report}: a JSON object that has for each file name (like {example}) an object with {k0} (string of all "
    "keys pressed, in order), {k1} (list of the right "
    "ones, as strings in order) and {k2} (list of the others).",
    "{report} must be a JSON object from file name ({example} for instance) to an object of {k0}, one string of "
    "every key pressed, {k1}, the list of correct ones "
    "in order, and {k2}, the list of incorrect ones, both as strings.",
    "The result is {report}, a JSON object with the file names (such as {example}) as keys; each value is an object: "
    "{k0} holds all pressed keys as one string, {k1} the "
    "valid ones as a list of strings, {k2} the invalid ones, each in order of time.",
)
KEEP = ("Do not change the recordings.", "The recordings must stay as they are.", "Leave the audio files unaltered.")

TESTS = """
import hashlib
import os


def report():
    with open(TRUTH["report"]) as source:
        return json.load(source)


def column(number):
    key = TRUTH["names"][number]
    return {name: entry[key] for name, entry in report().items()}


def test_keys():
    assert column(0) == TRUTH["keys"]


def test_right_entries():
    assert column(1) == TRUTH["right"]


def test_wrong_entries():
    assert column(2) == TRUTH["wrong"]


def test_recordings_untouched():
    for name, digest in TRUTH["recordings"].items():
        with open(os.path.join(TRUTH["folder"], name), "rb") as source:
            assert hashlib.sha256(source.read()).hexdigest()[:20] == digest, name
"""

INITIAL = """
import os


def test_recordings_are_there():
    for name in TRUTH["recordings"]:
        assert os.path.getsize(os.path.join(TRUTH["folder"], name)) > 1000, name
    assert not os.path.exists(TRUTH["report"])
"""

SOLUTION = """python3 - <<'PY'
import glob, json, math, os, wave
from operator import mul
ROWS, COLUMNS = (697, 770, 852, 941), (1209, 1336, 1477, 1633)
SHORTEST, LONGEST_BREAK = 0.032, 0.024
def pressed(path):
    with wave.open(path) as source:
        rate, data = source.getframerate(), source.readframes(source.getnframes())
    sound = [value - 128 for value in data]
    size, hop = rate * 24 // 1000, rate * 6 // 1000
    waves = []
    for tone in ROWS + COLUMNS:
        angles = [2 * math.pi * tone * n / rate for n in range(size)]
        waves.append(([math.cos(a) for a in angles], [math.sin(a) for a in angles]))
    frames = []
    for start in range(0, len(sound) - size, hop):
        part = sound[start:start + size]
        levels = [math.hypot(sum(map(mul, part, c)), sum(map(mul, part, s))) for c, s in waves]
        row, column = max(range(4), key=levels.__getitem__), max(range(4, 8), key=levels.__getitem__)
        frames.append((min(levels[row], levels[column]), "123A456B789C*0#D"[row * 4 + column - 4]))
    enough = sorted(level for level, _ in frames)[len(frames) * 9 // 10] * 0.5
    blips = []  # unbroken stretches of one key
    for at, (level, key) in enumerate(frames):
        if level >= enough and blips and blips[-1][0] == key and blips[-1][2] == at - 1:
            blips[-1][2] = at
        elif level >= enough:
            blips.append([key, at, at])
    runs = []
    for key, first, last in blips:
        if last - first < 2:
            continue
        if runs and runs[-1][0] == key and (first - runs[-1][2] - 1) * hop <= LONGEST_BREAK * rate:
            runs[-1][2] = last
        else:
            runs.append([key, first, last])
    return "".join(key for key, first, last in runs if (last - first + 1) * hop >= SHORTEST * rate)
def right(text):
    total = 0
    for place, digit in enumerate(reversed(text)):
        value = int(digit)
        if @LUHN@:
            value = value * 2 - 9 * (value > 4) if place % 2 else value
        else:
            value *= 3 if place % 2 else 1
        total += value
    return total % 10 == 0
result = {}
for path in glob.glob("@FOLDER@/*.wav"):
    keys = pressed(path)
    current, good, bad = "", [], []
    for key in keys:
        if key.isdigit():
            current += key
        elif key == "@ERASE@":
            current = current[:-1]
        elif key == "@WIPE@":
            current = ""
        elif key == "@END@":
            if current:
                (good if right(current) else bad).append(current)
            current = ""
    result[os.path.basename(path)] = dict(zip("@NAMES@".split(), (keys, good, bad)))
json.dump(result, open("@REPORT@", "w"))
PY
"""

# Another way: numpy, all windows at once, a Hann window, and state machines over strings.
ALTERNATIVE = """python3 - <<'PY'
import json, pathlib, re
import numpy as np
TONES = np.array([697, 770, 852, 941, 1209, 1336, 1477, 1633])
LETTERS = np.array(list("123A456B789C*0#D"))
def samples(path):
    raw = path.read_bytes()
    at, rate = 12, 0
    while True:
        name, size = raw[at:at + 4], int.from_bytes(raw[at + 4:at + 8], "little")
        if name == b"fmt ":
            rate = int.from_bytes(raw[at + 12:at + 16], "little")
        if name == b"data":
            return rate, np.frombuffer(raw[at + 8:at + 8 + size], dtype=np.uint8).astype(float) - 128
        at += 8 + size + size % 2
def keys_of(path):
    rate, sound = samples(path)
    size, hop = int(rate * 0.03), int(rate * 0.002)
    windows = np.lib.stride_tricks.sliding_window_view(sound, size)[::hop] * np.hanning(size)
    level = np.abs(windows @ np.exp(-2j * np.pi * np.outer(np.arange(size), TONES) / rate))
    row, column = level[:, :4].argmax(1), level[:, 4:].argmax(1)
    both = np.minimum(level[:, :4].max(1), level[:, 4:].max(1))
    track = "".join(np.where(both > 0.5 * np.quantile(both, 0.9), LETTERS[row * 4 + column], "."))
    track = re.sub(r"([^.])\\1*", lambda m: m[0] if len(m[0]) > 7 else "." * len(m[0]), track)
    track = re.sub(r"([^.])[.]{1,11}(?=\\1)", lambda m: m[1] * len(m[0]), track)
    return "".join(run[1] for run in re.finditer(r"([^.])\\1{15,}", track))
def total(text):
    return sum((int(d) * (3 if n % 2 else 1)) if not @LUHN@ else sum(map(int, str(int(d) * (1 + n % 2)))) for n, d in enumerate(text[::-1]))
out = {}
for path in sorted(pathlib.Path("@FOLDER@").glob("*.wav")):
    keys = keys_of(path)
    lists = [[], []]
    for text in keys.split("@END@")[:-1]:
        text = re.sub("[A-D]", "", text.rsplit("@WIPE@", 1)[-1])
        stack = []
        for key in text:
            if key != "@ERASE@":
                stack.append(key)
            elif stack:
                stack.pop()
        if stack:
            lists[total("".join(stack)) % 10 != 0].append("".join(stack))
    out[path.name] = dict(zip("@NAMES@".split(), [keys, *lists]))
pathlib.Path("@REPORT@").write_text(json.dumps(out))
PY
"""


def sine(index: int) -> int:
    """A sine of 256 steps and height 127 in whole numbers (Bhaskara's formula)."""
    half = index % 128
    product = half * (128 - half)
    value = 127 * 16 * product // (5 * 128 * 128 - 4 * product)
    return value if index % 256 < 128 else -value


SINE = tuple(sine(index) for index in range(256))
MIDDLE = 60  # silence in the tone layer
LONGEST = RATE * 130 // 1000


@lru_cache(maxsize=512)
def tone(low: int, high: int, low_level: int, high_level: int) -> bytes:
    """Two tones together (mHz, 0 for none) around MIDDLE, as long as any press can be."""
    one, two = low * 65536 // (RATE * 1000), high * 65536 // (RATE * 1000)
    return bytes(
        MIDDLE + (SINE[(n * one >> 8) & 255] * low_level + SINE[(n * two >> 8) & 255] * high_level >> 7)
        for n in range(LONGEST)
    )


def layered(layers: Sequence[bytes]) -> bytes:
    """Samples added up; no sum exceeds a byte, so that whole layers add as long numbers."""
    total = sum(int.from_bytes(layer, "little") for layer in layers)
    return total.to_bytes(len(layers[0]), "little")


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


def ms(count: int) -> int:
    """Milliseconds in samples."""
    return RATE * count // 1000


def draw_sound(draw: Draw, keys: str, hard: bool) -> bytes:
    """The recording of these keys, with every kind of interference."""
    speed = draw.pick((993, 1000, 1007)) if hard else 1000  # a tape that runs too slow or too fast
    levels = draw.pick(((24, 24), (16, 26), (28, 18))) if hard else (26, 26)
    silence = bytes([MIDDLE]) * LONGEST
    parts = [silence[: ms(60)]]
    pace = draw.between(0, 20)

    def pair(key: str) -> bytes:
        place = KEYS.index(key)
        return tone(ROWS[place // 4] * speed, COLUMNS[place % 4] * speed, *levels)

    for number, key in enumerate(keys):
        pace = max(0, min(30, pace + draw.between(-6, 6))) if hard else 10
        press = pair(key)[: ms(62 + pace + draw.between(0, 12))]
        if number in (1, 5) or draw.chance(15):  # a dropout, in a press that is long enough to recognise on both sides
            press = pair(key)[: ms(96 + draw.between(0, 12))]
            at, gone = draw.between(ms(40), len(press) - ms(50)), ms(draw.between(4, 8))
            press = press[:at] + silence[:gone] + press[at + gone :]
        parts += [press, silence[: ms(46 + pace // 2 + draw.between(0, 10))]]
        if number in (2, 7) or (number != 4 and draw.chance(8)):  # a click: a key for too short a time
            parts += [pair(draw.pick(KEYS))[: ms(draw.between(12, 18))], silence[: ms(48)]]
        if number in (3, 9) or (number != 4 and draw.chance(6)):  # a tone alone
            alone = draw.pick(
                (
                    tone(draw.pick(ROWS) * 1000, 0, 26, 0),
                    tone(0, draw.pick(COLUMNS) * 1000, 0, 26),
                    tone(425_000, 0, 26, 0),
                )
            )
            parts += [alone[: ms(draw.between(60, 90))], silence[: ms(48)]]
    layer = b"".join(parts)
    size, loud = len(layer), 14 if hard else 8
    noise = draw.rng.randbytes(size).translate(bytes(value * (2 * loud + 1) // 256 for value in range(256)))
    hum = bytes(12 + (SINE[n * 256 // (RATE // 50) % 256] * (12 if hard else 0) >> 7) for n in range(RATE // 50))
    ground = bytes([128 - MIDDLE - loud - 12]) * size
    return layered([layer, noise, (hum * (size // len(hum) + 1))[:size], ground])


def wav(sound: bytes, note: str) -> bytes:
    """An uncompressed 8-bit mono WAV file; the note goes into a chunk ahead of the samples."""
    text = note.encode() + b"\0" * (2 - len(note) % 2)
    extra = (
        b"LIST" + struct.pack("<L", 12 + len(text)) + b"INFOICMT" + struct.pack("<L", len(text)) + text if note else b""
    )
    body = b"WAVEfmt " + struct.pack("<LHHLLHH", 16, 1, 1, RATE, RATE, 1, 8) + extra
    body += b"data" + struct.pack("<L", len(sound)) + sound + b"\0" * (len(sound) % 2)
    return b"RIFF" + struct.pack("<L", len(body)) + body


def wording(world: World, at: int) -> int:
    """Which wording the sentence at this place has in this world; no two worlds agree in all."""
    return (world.wording + at * (world.wording // 3)) % 3


def sentences(world: World, example: str, hard: bool) -> dict[str, str]:
    """Every sentence that demands something."""
    parts: dict[str, tuple[str, str, str]] = {
        "sound": SOUND,
        "count": COUNT,
        "break": BREAK,
        "entry": ENTRY,
        "check": CHECK[world.luhn],
        "report": REPORT,
        "keep": KEEP,
    }
    words: dict[str, str] = {"entry": world.entry, "report": world.report, "example": example}
    words |= zip(("k0", "k1", "k2"), world.names.split(), strict=True)
    words |= zip(("erase", "end", "wipe"), world.erase, strict=True)
    words["clear"] = CLEAR[wording(world, 3)].format(**words) if hard else ""
    return {key: texts[wording(world, at)].format(**words) for at, (key, texts) in enumerate(parts.items())}


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
    cited = {"report": goals, "keep": ["test_recordings_untouched"], "entry": goals[1:], "check": goals[1:]}
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
