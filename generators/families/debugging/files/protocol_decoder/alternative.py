#!/usr/bin/env python3
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
