#!/usr/bin/env python3
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
