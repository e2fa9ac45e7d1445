"""Repair the decoder of a binary telemetry protocol: framing, reassembly and value bugs against a protocol document."""

from __future__ import annotations

import hashlib
import json
import zlib
from dataclasses import dataclass, field
from itertools import pairwise

from generators.family import Draft, Draw, Family, Miss, Setting
from generators.task import Difficulty, Verifier
from generators.vocabulary import CITIES, FIRMS, FIRST_NAMES


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling: the two directions of the line and what the fields are called."""

    folder: str
    program: str
    sides: tuple[str, str]
    names: tuple[str, ...]  # unsigned, unsigned, signed, signed, hundredths, hundredths, text, text, list
    text: str


EMAIL = """Dear colleague,

the {thing} decoder at {firm} worked well on the bench and goes wrong in the field. Messages go missing, some values
are nonsense. The
protocol is written down in {folder}/PROTOCOL.md and that document is right; {program} is not.

{job} {call} {proof} {keep}

Kind regards
{persona}
"""
TICKET = """#{ticket} [{thing}] decoded data does not agree with the devices

Where: {folder} (decoder {program}, protocol PROTOCOL.md, recordings samples/)
Seen: at {firm}, site {city}, since the lines got busier

Wanted:
1. {job}
2. {call}
3. {proof}
4. {keep}
"""
NOTE = """{thing}, {folder}: {program} drops and garbles messages, PROTOCOL.md is the law.
{job}
{call}
{proof}
{keep}
"""
SPECIFICATION = """Work order: conformance of the {thing} decoder ({firm})

Scope. {job}
Interface. {call}
Acceptance. {proof}
Limits. {keep}
"""
CHAT = """{persona}: you did binary stuff before, right? the {thing} thing in {folder} is losing messages, {city} is
complaining
{persona}: {job}
{persona}: {call}
{persona}: {proof}
{persona}: oh and {keep}
"""
RUNBOOK = """Known problem, {thing} line {city}

Background: {program} turns recordings of the line into JSON. Its output cannot be trusted at present.

Task: {job}
How it is started: {call}
How it is judged: {proof}
Hands off: {keep}
"""
REVIEW = """Findings of the data audit at {firm}: the {thing} figures of {city} are incomplete, and partly wrong. The
devices and the recordings were
checked and are fine, so the fault is in the decoding.

Action A. {job}
Action B. {proof}

For reference: {call} {keep}
Signed, {persona}
"""
HANDOVER = """What I could not finish before my leave ({persona}, {thing})

The folder is {folder}. I compared PROTOCOL.md with what the devices send: they agree. So it is the program.
{job}
{call}
{proof}
{keep}
"""

SETTINGS = (
    World(
        "buoys",
        "ocean technician",
        "wave buoy",
        "email",
        "/opt/buoys",
        "decode.py",
        ("buoy", "shore"),
        ("battery_mv", "uptime_s", "drift_cm", "pitch", "water_c", "air_c", "station", "remark", "periods"),
        EMAIL,
    ),
    World(
        "trams",
        "fleet engineer",
        "tram door bus",
        "ticket",
        "/srv/doors",
        "doorbus.py",
        ("vehicle", "depot"),
        ("cycles", "motor_ma", "offset_mm", "torque", "cabin_c", "strain", "door", "fault", "timings"),
        TICKET,
    ),
    World(
        "dialysis",
        "biomedical engineer",
        "dialysis pump",
        "specification",
        "/opt/dialysis/link",
        "pumplink.py",
        ("pump", "console"),
        ("runtime", "stroke", "pressure", "balance", "fluid_c", "rate", "operator", "alarm", "curve"),
        SPECIFICATION,
    ),
    World(
        "mill",
        "control engineer",
        "paper mill drive",
        "note",
        "/home/mill/drives",
        "drives.py",
        ("drive", "panel"),
        ("rpm", "hours", "slip", "phase", "tension", "temp", "roll", "comment", "spectrum"),
        NOTE,
    ),
    World(
        "observatory",
        "instrument scientist",
        "dome controller",
        "chat",
        "/data/dome",
        "domewire.py",
        ("dome", "scope"),
        ("ticks", "supply_mv", "azimuth_err", "tilt", "dew_point", "wind", "target", "log", "encoder"),
        CHAT,
    ),
    World(
        "feeders",
        "farm systems manager",
        "cattle feeder",
        "runbook",
        "/srv/feeders",
        "feedline.py",
        ("feeder", "office"),
        ("portions", "animal", "tare", "angle", "weight_kg", "barn_c", "breed", "notice", "visits"),
        RUNBOOK,
    ),
    World(
        "lifts",
        "safety inspector",
        "lift monitoring",
        "specification",
        "/usr/local/lifts",
        "liftcap.py",
        ("car", "machine"),
        ("trips", "floor_mm", "level_err", "jerk", "load_t", "motor_c", "cabin", "event", "stops"),
        REVIEW,
    ),
    World(
        "seismic",
        "network operator",
        "seismic station",
        "email",
        "/var/lib/quake",
        "quakecat.py",
        ("station", "hub"),
        ("samples", "lock_s", "north", "east", "clock_ms", "vault_c", "site", "state", "trace"),
        HANDOVER,
    ),
)
JOBS = (
    "Repair {folder}/{program} so that it decodes every recording exactly as {folder}/PROTOCOL.md describes.",
    "Make {folder}/{program} obey {folder}/PROTOCOL.md in full, for any recording of the line, not only for "
    "those at hand.",
    "{folder}/{program} has to implement {folder}/PROTOCOL.md to the letter, whatever the recording; find all "
    "deviations and remove them.",
)
CALLS = (
    "It is started as `python3 {folder}/{program} RECORDING` and prints its JSON lines to standard output with "
    "exit status 0; keep that.",
    "The call stays `python3 {folder}/{program} RECORDING`: JSON lines on standard output, exit status 0.",
    "Others run `python3 {folder}/{program} RECORDING` and read JSON lines from its standard output (status 0), "
    "so this must not change.",
)
PROOFS = (
    "The recordings in {folder}/samples come with their true output (.jsonl), but they are harmless; we will "
    "decode recordings of busier and "
    "noisier lines, with cut segments, damaged frames, repeats and losses, and compare line by line.",
    "{folder}/samples shows a few quiet recordings with the right output beside them (.jsonl). Judged is the "
    "output for other recordings, "
    "in which segments end anywhere and frames are damaged, lost or sent twice: every line has to be right.",
    "We shall compare its lines with the truth for recordings that you do not have, from bad lines with noise, "
    "losses, repetitions and frames "
    "in many pieces; {folder}/samples only has easy ones, each with its correct .jsonl.",
)
KEEPS = (
    "PROTOCOL.md and the samples are not to be changed.",
    "Leave PROTOCOL.md and everything under samples as it is.",
    "The document and the sample files stay byte for byte as they are: do not edit PROTOCOL.md or samples.",
)

PROTOCOL = """# {title}

## Recording

A text file, one line per received segment: the sending side (`{a}` or `{b}`), a blank, the bytes in hex. Each side
sends one
continuous stream of bytes; where a segment ends means nothing. The streams of the two sides are independent of each
other.

## Frames

| bytes | meaning |
|-------|---------|
| 2 | magic `{magic}` |
| 1 | flags: bit 0 = first fragment of a message, bit 1 = last fragment |
| 1 | channel |
| 1 | sequence number |
| 2 | length of the payload, {order}-endian |
| n | payload (0 to 65535 bytes) |
| 4 | CRC-32 (the one of zip), {order}-endian, over flags to the end of the payload |

A receiver looks for the next magic; bytes before it are skipped. If the CRC of the frame that starts there is wrong,
or the recording ends
before that frame does, then only the two bytes of this magic are skipped and the search goes on right behind them: a
good frame
may well lie within what looked like a payload. A good frame is consumed as a whole, whatever its payload looks like.

## Messages

Sequence numbers count the frames of one side on one channel, modulo 256; the first one seen may be any. For each
good frame, in this order:

1. The same number as the frame before (same side, same channel): a repetition, ignored altogether.
2. Neither that nor the next number: frames were lost. A message that is open on this side and channel is discarded.
3. First fragment: a message is opened. If one is still open, that one is discarded.
4. No message open: the frame belongs to a message whose start was lost; it is ignored, apart from its number.
5. The payload is appended to the open message. Last fragment: the message is complete.

Messages open at the end of the recording are discarded too. A fragment border can be anywhere, even inside a character.

## Fields

A complete message is a row of fields: tag (1 byte), size (1 byte), value. A size byte of 255 means that two more
bytes ({order}-endian) follow
with the real size. Numbers in values are {order}-endian; an empty value is 0, an empty text or an empty list. A tag
that occurs again replaces the earlier value.

| tag | name | kind |
|-----|------|------|
{table}
unsigned: JSON number. signed: two's complement, JSON number. hundredths: signed count of hundredths, printed as a
string with
two decimals such as "3.07" or "-0.25". text: UTF-8. list: 16-bit unsigned numbers. Unknown tags: name `tag_` and two
lower-case hex digits,
value a string of hex digits.

## Output

One JSON object per complete message: `side`, `channel`, `sequence` (of its first fragment), `fields` (object). All
messages of `{a}` in the order
of their completion, then all of `{b}`. Then one last object: `messages` (how many), `skipped` (bytes that are in no
good frame,
both sides), `discarded` (messages opened and never completed).
"""

DECODER = '''#!/usr/bin/env python3
"""Decodes {title} recordings, see PROTOCOL.md."""
import json
import sys
import zlib

MAGIC = bytes.fromhex("{magic}")
ORDER = "{order}"
HEADER, TRAILER = 7, 4
FIRST, LAST = 1, 2
SIDES = ("{a}", "{b}")
TAGS = {
{tags}}


class Framer:
    """Cuts the frames out of the bytes of one side."""

    def __init__(self):
        self.buffer = bytearray()
        self.skipped = 0

    def skip(self, count):
        self.skipped += min(count, len(self.buffer))
        del self.buffer[:count]

    def feed(self, data, final=False):
        self.buffer += data
        frames = []
        while True:
            start = self.buffer.find(MAGIC)
            if start < 0:
                half = self.buffer[-1:] == MAGIC[:1] and not final
                self.skip(len(self.buffer) - (1 if half else 0))
                return frames
            self.skip(start)
            end = HEADER + TRAILER
            if len(self.buffer) >= end:
                end += int.from_bytes(self.buffer[5:7], ORDER)
            if len(self.buffer) >= end:
                body = bytes(self.buffer[2 : end - TRAILER])
                if zlib.crc32(body) == int.from_bytes(self.buffer[end - TRAILER : end], ORDER):
                    frames.append(body)
                    del self.buffer[:end]
                else:
                    self.skip(len(MAGIC))
            elif final:
                self.skip(len(MAGIC))
            else:
                return frames


class Assembler:
    """Joins frames into messages."""

    def __init__(self):
        self.last, self.open = {}, {}
        self.discarded = 0

    def add(self, side, body):
        flags, channel, sequence, payload = body[0], body[1], body[2], body[5:]
        key = (side, channel)
        last = self.last.get(key)
        if last is not None:
            if sequence == last:
                return None
            if sequence != (last + 1) % 256:
                self.discard(key)
        self.last[key] = sequence
        if flags & FIRST:
            self.discard(key)
            self.open[key] = (sequence, bytearray())
        if key not in self.open:
            return None
        self.open[key][1].extend(payload)
        if flags & LAST:
            number, data = self.open.pop(key)
            return {"side": side, "channel": channel, "sequence": number, "fields": fields(bytes(data))}
        return None

    def discard(self, key):
        if self.open.pop(key, None):
            self.discarded += 1

    def finish(self):
        for key in list(self.open):
            self.discard(key)


def fields(data):
    found, at = {}, 0
    while at + 2 <= len(data):
        tag, size = data[at], data[at + 1]
        at += 2
        if size == 255:
            size = int.from_bytes(data[at : at + 2], ORDER)
            at += 2
        name, kind = TAGS.get(tag, ("tag_%02x" % tag, "unknown"))
        found[name] = value(kind, data[at : at + size])
        at += size
    return found


def value(kind, raw):
    if kind == "unsigned":
        return int.from_bytes(raw, ORDER)
    if kind == "signed":
        return int.from_bytes(raw, ORDER, signed=True)
    if kind == "hundredths":
        number = int.from_bytes(raw, ORDER, signed=True)
        sign = "-" if number < 0 else ""
        return "%s%d.%02d" % (sign, abs(number) // 100, abs(number) % 100)
    if kind == "text":
        return raw.decode("utf-8")
    if kind == "list":
        return [int.from_bytes(raw[i : i + 2], ORDER) for i in range(0, len(raw), 2)]
    return raw.hex()


def main():
    framers = {side: Framer() for side in SIDES}
    frames = {side: [] for side in SIDES}
    with open(sys.argv[1]) as recording:
        for line in recording:
            side, digits = line.split()
            frames[side] += framers[side].feed(bytes.fromhex(digits))
    assembler = Assembler()
    count = 0
    for side in SIDES:
        frames[side] += framers[side].feed(b"", final=True)
        for body in frames[side]:
            message = assembler.add(side, body)
            if message:
                print(json.dumps(message))
                count += 1
    assembler.finish()
    skipped = sum(framer.skipped for framer in framers.values())
    print(json.dumps({"messages": count, "skipped": skipped, "discarded": assembler.discarded}))


main()
'''

# group -> (name, right, wrong): what gets planted
BUGS = {
    "framing": (
        ("split_magic", "MAGIC[:1] and not final", "MAGIC and not final"),
        (
            "skips_whole_bad_frame",
            "else:\n                    self.skip(len(MAGIC))",
            "else:\n                    self.skip(end)",
        ),
        (
            "drops_the_rest",
            "final:\n                self.skip(len(MAGIC))",
            "final:\n                self.skip(len(self.buffer))",
        ),
        (
            "needs_one_byte_more",
            "(self.buffer) >= end:\n                body",
            "(self.buffer) > end:\n                body",
        ),
        ("one_buffer", "framers = {side: Framer() for side in SIDES}", "framers = dict.fromkeys(SIDES, Framer())"),
    ),
    "messages": (
        ("no_wrap", "sequence != (last + 1) % 256", "sequence != last + 1"),
        ("repeat_is_loss", "            if sequence == last:\n                return None\n", ""),
        (
            "starts_in_the_middle",
            "key not in self.open:\n            return None\n",
            "key not in self.open:\n            self.open[key] = (sequence, bytearray())\n",
        ),
        ("forgets_open", "    assembler.finish()\n", ""),
        ("channel_only", "key = (side, channel)", "key = channel"),
    ),
    "fields": (
        (
            "unsigned_only",
            '"signed":\n        return int.from_bytes(raw, ORDER, signed=True)',
            '"signed":\n        return int.from_bytes(raw, ORDER)',
        ),
        ("last_empty_field", "at + 2 <= len(data)", "at + 2 < len(data)"),
        ("floor_of_negative", "abs(number) // 100, abs(number) % 100", "number // 100, number % 100"),
        (
            "no_long_size",
            "size = int.from_bytes(data[at : at + 2], ORDER)\n            at += 2",
            "size = len(data) - at",
        ),
        ("short_list", "range(0, len(raw), 2)", "range(0, len(raw) - 2, 2)"),
    ),
}

TESTS = """
import hashlib
import os
import subprocess
import tempfile


def check(group):
    for number, case in enumerate(TRUTH["cases"][group]):
        with tempfile.NamedTemporaryFile("w", suffix=".rec", delete=False) as out:
            out.write(case["recording"])
        os.chmod(out.name, 0o644)
        try:
            command = ["/usr/bin/python3", TRUTH["program"], out.name]
            done = subprocess.run(command, capture_output=True, text=True, timeout=15)
        finally:
            os.remove(out.name)
        assert done.returncode == 0, f"{group} {number}: exit status {done.returncode}"
        got = [json.loads(line) for line in done.stdout.splitlines() if line.strip()]
        assert got == case["output"], f"{group} {number}: output differs"


def test_framing():
    check("framing")


def test_messages():
    check("messages")


def test_fields():
    check("fields")


def test_samples_unchanged():
    for path, digest in TRUTH["inputs"].items():
        with open(path, "rb") as source:
            assert hashlib.sha256(source.read()).hexdigest() == digest, path
"""
INITIAL = """
import os


def test_program_and_samples():
    assert os.path.isfile(TRUTH["program"])
    assert all(os.path.isfile(path) for path in TRUTH["inputs"])
"""

OTHER = '''#!/usr/bin/env python3
"""Decodes recordings side by side: the whole stream at once."""
import json
import struct
import sys
from binascii import crc32

MARK = "<" if "{order}" == "little" else ">"
TAGS = {
{tags}}
streams = {"{a}": b"", "{b}": b""}
for line in open(sys.argv[1]):
    who, digits = line.split()
    streams[who] += bytes.fromhex(digits)


def number(raw, signed=False):
    return int.from_bytes(raw, "{order}", signed=signed)


def parse(data):
    result = {}
    while len(data) >= 2:
        tag, size, data = data[0], data[1], data[2:]
        if size == 255:
            size, data = number(data[:2]), data[2:]
        raw, data = data[:size], data[size:]
        name, kind = TAGS.get(tag, ("tag_" + bytes([tag]).hex(), ""))
        if kind == "hundredths":
            n = number(raw, True)
            digits = str(abs(n)).rjust(3, "0")
            result[name] = "-" * (n < 0) + digits[:-2] + "." + digits[-2:]
        elif kind == "list":
            result[name] = list(struct.unpack(MARK + "H" * (size // 2), raw))
        elif kind == "text":
            result[name] = str(raw, "utf-8")
        elif kind:
            result[name] = number(raw, kind == "signed")
        else:
            result[name] = raw.hex()
    return result


count = skipped = discarded = 0
for who, stream in streams.items():
    at, state = 0, {}
    while at < len(stream):
        good = False
        if stream.startswith(bytes.fromhex("{magic}"), at) and at + 11 <= len(stream):
            flags, channel, seq, size = struct.unpack_from(MARK + "BBBH", stream, at + 2)
            end = at + 11 + size
            good = end <= len(stream) and crc32(stream[at + 2 : end - 4]) == number(stream[end - 4 : end])
        if not good:
            at, skipped = at + 1, skipped + 1
            continue
        payload, at = stream[at + 7 : end - 4], end
        last, parts, begun = state.get(channel, (None, None, None))
        if seq == last:
            continue
        if parts is not None and (seq != (last + 1) & 255 or flags & 1):
            discarded, parts = discarded + 1, None
        if flags & 1:
            parts, begun = b"", seq
        if parts is not None:
            parts += payload
            if flags & 2:
                count += 1
                print(json.dumps({"side": who, "channel": channel, "sequence": begun, "fields": parse(parts)}))
                parts = None
        state[channel] = (seq, parts, begun)
    discarded += sum(parts is not None for _, parts, _ in state.values())
print(json.dumps({"messages": count, "skipped": skipped, "discarded": discarded}))
'''

KINDS = ("unsigned", "unsigned", "signed", "signed", "hundredths", "hundredths", "text", "text", "list")
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


def draft(draw: Draw) -> Draft:
    """One repair."""
    world = draw.setting(SETTINGS)
    first, second = draw.sample(range(0x81, 0xFE), 2)
    names = draw.shuffled(list(zip(KINDS, world.names, strict=True)))
    numbers = draw.sample(range(1, 120), len(names))
    by_name = {name: (number, name, kind) for number, (kind, name) in zip(numbers, names, strict=True)}
    tags = [by_name[name] for name in world.names]
    line = Line(draw, bytes((first, second)), draw.chance(50), world.sides, tags)
    words = {
        "title": world.scenario,
        "magic": line.magic.hex(),
        "order": "little" if line.little else "big",
        "a": world.sides[0],
        "b": world.sides[1],
        "tags": "".join(f'    {number}: ("{name}", "{kind}"),\n' for number, name, kind in sorted(tags)),
        "table": "".join(f"| {number} | {name} | {kind} |\n" for number, name, kind in sorted(tags)),
    }

    def fill(text: str) -> str:
        for key, word in words.items():
            text = text.replace(f"{{{key}}}", word)
        return text

    planted = draw.by_difficulty(medium=2, hard=3, extremely_hard=5)
    chosen = {group: draw.sample(bugs, planted) for group, bugs in BUGS.items()}
    right = fill(DECODER)
    broken = right
    for bugs in chosen.values():
        for _, good, bad in bugs:
            broken = broken.replace(good, bad)
    program = f"{world.folder}/{world.program}"
    misses: list[Miss] = []
    for group, bugs in chosen.items():
        name, good, bad = bugs[0]
        misses.append(
            Miss(
                name, f"one deviation of {group} is left", install(program, right.replace(good, bad)), [f"test_{group}"]
            )
        )

    count = draw.by_difficulty(medium=2, hard=2, extremely_hard=3)
    cases = {
        "framing": [framing_case(line) for _ in range(count)],
        "messages": [messages_case(line) for _ in range(count)],
        "fields": [fields_case(line) for _ in range(count)],
    }
    files = {"PROTOCOL.md": fill(PROTOCOL), f"{world.program}": broken}
    for number in range(2):
        files[f"samples/quiet-{number}.rec"], files[f"samples/quiet-{number}.jsonl"] = sample(line)
    told = {
        "folder": world.folder,
        "program": world.program,
        "thing": world.scenario,
        "firm": draw.pick(FIRMS),
        "city": draw.pick(CITIES),
        "ticket": draw.between(100, 9999),
        "persona": f"{draw.pick(FIRST_NAMES)}, {world.persona}",
    }
    job, call, proof, keep = (draw.pick(texts).format(**told) for texts in (JOBS, CALLS, PROOFS, KEEPS))
    goals = ["test_framing", "test_messages", "test_fields"]
    return Draft(
        title=f"Repair the {world.scenario} decoder",
        setting=world,
        instruction=world.text.format(job=job, call=call, proof=proof, keep=keep, **told),
        files=files,
        dockerfile=f"COPY PROTOCOL.md {world.program} {world.folder}/\n"
        f"COPY samples/ {world.folder}/samples/\nWORKDIR {world.folder}",
        truth={
            "program": program,
            "cases": cases,
            "inputs": {
                f"{world.folder}/{name}": hashlib.sha256(text.encode()).hexdigest()
                for name, text in files.items()
                if name != world.program
            },
        },
        discoverable=("program", "cases"),
        tests=TESTS,
        weights={"test_framing": 0.35, "test_messages": 0.35, "test_fields": 0.3},
        guards=["test_samples_unchanged"],
        initial=INITIAL,
        solution=install(program, right),
        alternatives=[install(program, fill(OTHER))],
        misses=misses,
        requirements=[(job, goals), (call, goals), (proof, goals), (keep, ["test_samples_unchanged"])],
        knobs={"bugs": {group: [bug[0] for bug in bugs] for group, bugs in chosen.items()}, "cases": count},
    )


def install(program: str, text: str) -> str:
    """Put a program at its path."""
    return f"cat > {program} <<'END_OF_PROGRAM'\n{text}END_OF_PROGRAM\n"


FAMILY = Family(
    name="protocol_decoder",
    domain="debugging",
    verifier=Verifier.ADVERSARIAL_CORPUS,
    skills=("binary protocols", "stream reassembly", "reading a specification", "python debugging"),
    difficulties=(Difficulty.MEDIUM, Difficulty.HARD, Difficulty.EXTREMELY_HARD),
    capacity=48,
    draft=draft,
    language="python",
)
