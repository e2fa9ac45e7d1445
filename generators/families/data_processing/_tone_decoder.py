"""The sound of telephone keys in whole numbers alone, so that every machine makes the same recording."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache

from generators.family import Draw

RATE = 4000
ROWS, COLUMNS = (697, 770, 852, 941), (1209, 1336, 1477, 1633)
KEYS = "123A456B789C*0#D"


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
