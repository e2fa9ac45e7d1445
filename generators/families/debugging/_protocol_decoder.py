"""Recordings of a telemetry line with noise, losses and repetitions, and the messages that they hold."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field
from itertools import pairwise

from generators.family import Draw

TEXTS = ("", "ok", "Öl läuft", "žluť", "no. 7 → 8", "naïve", "度 12", "slow; see log")
Value = int | str | list[int]


@dataclass
class Line:
    """The protocol of one task, and the writing of it."""

    draw: Draw
    magic: bytes
    little: bool
    sides: tuple[str, str]
    tags: list[tuple[int, str, str]]
    sequence: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])

    def number(self, value: int, size: int, signed: bool = False) -> bytes:
        return value.to_bytes(size, "little" if self.little else "big", signed=signed)

    def noise(self, count: int) -> bytes:
        return self.draw.rng.randrange(256**count).to_bytes(count, "big") if count else b""

    def frame(self, flags: int, channel: int, sequence: int, payload: bytes) -> bytes:
        body = bytes((flags, channel, sequence)) + self.number(len(payload), 2) + payload
        return self.magic + body + self.number(zlib.crc32(body), 4)

    def one_field(self, tag: int, kind: str, trap: bool) -> tuple[bytes, Value]:
        """A field's bytes and what the decoder has to make of it; `trap` takes the values that bugs get wrong."""
        draw = self.draw
        value: Value
        if kind == "text":
            value = draw.pick(TEXTS) * (draw.between(1, 3) if trap else 1)
            raw = str(value).encode()
        elif kind == "list":
            numbers = [draw.between(0, 65535) for _ in range(draw.between(1, 6))]
            value, raw = numbers, b"".join(self.number(item, 2) for item in numbers)
        else:
            size = draw.pick((2, 4))
            low = 0 if kind == "unsigned" or not trap else -99 if kind == "hundredths" else -(2 ** (8 * size - 1))
            number = draw.between(low, -1 if low else 2 ** (8 * size - 1) - 1)
            value, raw = number, self.number(number, size, signed=low < 0)
            if kind == "hundredths":
                value = f"{'-' if number < 0 else ''}{abs(number) // 100}.{abs(number) % 100:02d}"
        size = len(raw)
        head = bytes((tag, size)) if size < 255 else bytes((tag, 255)) + self.number(size, 2)
        return head + raw, value

    def message(self, rich: bool) -> tuple[bytes, dict[str, Value]]:
        """A message and its fields. A rich one has every kind in its difficult form and ends with an empty field."""
        draw, data, found = self.draw, b"", dict[str, Value]()
        chosen = draw.shuffled(self.tags) if rich else draw.sample(self.tags, draw.between(1, 2))
        for tag, name, kind in chosen:
            raw, found[name] = self.one_field(tag, kind, rich and draw.chance(75))
            data += raw
        if rich:
            for tag, name, kind in self.tags:  # once each, so that no seed lacks a trap
                if kind in ("signed", "hundredths") or name == self.tags[6][1]:
                    raw, found[name] = self.one_field(tag, kind, True)
                    if kind == "text":
                        long = draw.pick(("log ", "é-", "trace; ")) * draw.between(90, 100)
                        size = len(long.encode())
                        found[name], raw = long, bytes((tag, 255)) + self.number(size, 2) + long.encode()
                    data += raw
            unknown = draw.pick([tag for tag in range(200, 250) if tag not in [known for known, _, _ in self.tags]])
            data += bytes((unknown, 3)) + (extra := self.noise(3))
            found[f"tag_{unknown:02x}"] = extra.hex()
            found[self.tags[7][1]] = ""
            data += bytes((self.tags[7][0], 0))
        return data, found

    def single(self, side: int) -> tuple[bytes, dict[str, object]]:
        """A message in one frame, on a channel of its side."""
        channel = self.draw.between(1, 3)
        sequence = self.next(side, channel)
        data, found = self.message(rich=False)
        shown: dict[str, object] = {"side": self.sides[side], "channel": channel, "sequence": sequence, "fields": found}
        return self.frame(3, channel, sequence, data), shown

    def next(self, side: int, channel: int) -> int:
        """The next sequence number."""
        number = self.sequence.get((side, channel), self.draw.between(0, 200))
        self.sequence[side, channel] = (number + 1) % 256
        return number

    def cut(self, streams: list[bytes], edges: list[list[int]]) -> str:
        """The recording: both streams in segments, interleaved; some segments end inside a magic."""
        pieces: list[list[str]] = []
        for side, stream in enumerate(streams):
            cuts = {self.draw.between(1, len(stream) - 1) for _ in range(len(stream) // 25 + 1)} | set(edges[side])
            borders = [0, *sorted(cuts), len(stream)]
            pieces.append([f"{self.sides[side]} {stream[a:b].hex()}\n" for a, b in pairwise(borders) if a < b])
        out = ""
        while pieces[0] or pieces[1]:
            side = 1 if not pieces[0] or (pieces[1] and self.draw.chance(50)) else 0
            out += pieces[side].pop(0)
        return out


def framing_case(line: Line) -> dict[str, object]:
    """Noise, damaged and truncated frames between good ones; every trap of framing on each side."""
    draw, streams, edges, shown, skipped = line.draw, list[bytes](), list[list[int]](), list[dict[str, object]](), 0
    line.sequence = {}
    for side in (0, 1):
        stream, edge = b"", list[int]()
        middle = draw.shuffled(("damaged", "short", "good", "noise"))
        for kind in ("good", "noise", *middle, "good", "long", "good", "good"):
            bad = b""
            if kind == "noise":
                bad = line.noise(draw.between(3, 9))
            elif kind == "damaged":
                broken = bytearray(line.frame(3, 1, draw.between(0, 255), line.noise(12)))
                broken[draw.between(7, 18)] ^= 1 << draw.between(0, 7)
                bad = bytes(broken)
            elif kind != "good":  # cut off: its length claims bytes of the frames behind it, or more than there are
                size = 40 if kind == "short" else 3000
                bad = line.frame(3, 2, draw.between(0, 255), line.noise(size))[: draw.between(9, 20)]
            stream += bad
            skipped += len(bad)
            if kind not in ("noise", "damaged"):
                edge += [len(stream), len(stream) + 1]  # a segment ends inside a magic
                raw, message = line.single(side)
                stream += raw
                shown.append(message)
        streams.append(stream)
        edges.append(edge)
    shown.append({"messages": len(shown), "skipped": skipped, "discarded": 0})
    return {"recording": line.cut(streams, edges), "output": shown}


def messages_case(line: Line) -> dict[str, object]:
    """Fragments of several channels with losses, repetitions, a wrap inside a message, and starts and ends missing."""
    draw, shown, discarded, streams = line.draw, list[dict[str, object]](), 0, list[bytes]()
    last_of: dict[int, int] = {}
    for side in (0, 1):
        queues: list[list[tuple[int, int, int, bytes, dict[str, Value]]]] = []
        for channel in (1, 2):
            sequence = last_of[channel] if side else 255  # side 1 goes on where side 0 ended, which means nothing
            queue: list[tuple[int, int, int, bytes, dict[str, Value]]] = []
            kinds = ("plain", *draw.shuffled(("middle", "start", "end", "repeat")), "plain", "end")
            for kind in kinds:
                data, found = line.message(rich=False)
                count = draw.between(1, 2) if kind == "repeat" else draw.between(2, 4) + (kind == "middle")
                cuts = sorted(draw.between(0, len(data)) for _ in range(count - 1))
                borders = [0, *cuts, len(data)]
                missing = {"middle": 1, "start": 0, "end": count - 1}.get(kind, -1)
                for part in range(count):
                    flags = (1 if part == 0 else 0) | (2 if part == count - 1 else 0)
                    piece = (flags, channel, sequence, data[borders[part] : borders[part + 1]], found)
                    if part != missing:
                        queue += [piece] * (2 if kind == "repeat" and part == 0 else 1)
                        last_of[channel] = sequence
                    sequence = (sequence + 1) % 256
            queues.append(queue)
        frames: list[tuple[int, int, int, bytes, dict[str, Value]]] = []
        while queues[0] or queues[1]:
            frames.append(queues[1 if not queues[0] or (queues[1] and draw.chance(50)) else 0].pop(0))
        done, lost = joined(frames, line.sides[side])
        shown += done
        discarded += lost
        streams.append(b"".join(line.frame(*frame[:4]) for frame in frames))
    shown.append({"messages": len(shown), "skipped": 0, "discarded": discarded})
    return {"recording": line.cut(streams, [[], []]), "output": shown}


def joined(
    frames: list[tuple[int, int, int, bytes, dict[str, Value]]], side: str
) -> tuple[list[dict[str, object]], int]:
    """The rules of the document for the good frames of one side: messages, and how many were discarded."""
    previous: dict[int, int] = {}
    begun: dict[int, int] = {}
    done, discarded = list[dict[str, object]](), 0
    for flags, channel, sequence, _, found in frames:
        before = previous.get(channel, (sequence - 1) % 256)
        if sequence == before:
            continue
        if sequence != (before + 1) % 256 and begun.pop(channel, None) is not None:
            discarded += 1
        previous[channel] = sequence
        if flags & 1:
            discarded += channel in begun
            begun[channel] = sequence
        if flags & 2 and channel in begun:
            done.append({"side": side, "channel": channel, "sequence": begun.pop(channel), "fields": found})
    return done, discarded + len(begun)


def fields_case(line: Line) -> dict[str, object]:
    """Messages full of fields, in one to three frames."""
    draw, streams, shown = line.draw, list[bytes](), list[dict[str, object]]()
    line.sequence = {}
    for side in (0, 1):
        stream = b""
        data, found = line.message(rich=True)
        cuts = sorted(draw.between(0, len(data)) for _ in range(draw.between(0, 2)))
        borders = [0, *cuts, len(data)]
        for part in range(len(cuts) + 1):
            sequence = line.next(side, 5)
            if part == 0:
                shown.append({"side": line.sides[side], "channel": 5, "sequence": sequence, "fields": found})
            flags = (1 if part == 0 else 0) | (2 if part == len(cuts) else 0)
            stream += line.frame(flags, 5, sequence, data[borders[part] : borders[part + 1]])
        streams.append(stream)
    shown.append({"messages": 2, "skipped": 0, "discarded": 0})
    return {"recording": line.cut(streams, [[], []]), "output": shown}


def sample(line: Line) -> tuple[str, str]:
    """A quiet recording, one frame per segment, and its output."""
    recording, outputs = "", [list[dict[str, object]](), list[dict[str, object]]()]
    line.sequence = {}
    for _ in range(line.draw.between(4, 7)):
        side = line.draw.between(0, 1)
        raw, message = line.single(side)
        recording += f"{line.sides[side]} {raw.hex()}\n"
        outputs[side].append(message)
    shown = [*outputs[0], *outputs[1]]
    shown.append({"messages": len(shown), "skipped": 0, "discarded": 0})
    return recording, "".join(json.dumps(item) + "\n" for item in shown)
