#!/usr/bin/python3
import json, struct, sys, zlib
from pathlib import Path
E, HEAD, FIRST, RICH = "@E@", struct.Struct("@E@@HEAD@"), @FIRST@, @RICH@
store, out = Path(sys.argv[1]), sys.argv[2]
now = int(sys.argv[3]) if RICH else 0
count = dict.fromkeys(("segments", "bad_segments", "records", "corrupt", "torn", "live"), 0)
segments = []
for path in sorted(store.glob("*.seg")):
    data = path.read_bytes()
    head = data[:10]
    good = len(data) >= 14 and head[:6] == b"@MAGIC@" + struct.pack(E + "H", @VERSION@)
    if not good or data[10:14] != struct.pack(E + "I", zlib.crc32(head)):
        count["bad_segments"] += 1
        continue
    count["segments"] += 1
    segments.append((struct.unpack(E + "I", head[6:])[0], data))
segments.sort()
records, committed = [], {0}
for number, data in segments:
    at, place = 14, 0
    while at < len(data):
        start = at + 4 * FIRST
        if start + HEAD.size > len(data):
            count["torn"] += 1
            break
        fields = HEAD.unpack_from(data, start)
        klen, vlen = fields[-2:]
        body_end = start + HEAD.size + klen + vlen
        end = body_end + 4 * (not FIRST)
        if end > len(data):
            count["torn"] += 1
            break
        crc = struct.unpack_from(E + "I", data, at if FIRST else body_end)[0]
        body = data[start:body_end]
        at, place = end, place + 1
        if zlib.crc32(body) != crc:
            count["corrupt"] += 1
            continue
        count["records"] += 1
        seq, kind = fields[:2]
        txn, expiry = fields[2:4] if RICH else (0, 0)
        key = body[HEAD.size:HEAD.size + klen]
        if kind == 4:
            committed.add(txn)
        else:
            records.append(((seq, number, place), kind, txn, expiry, key, body[HEAD.size + klen:]))
best, ranges = {}, []
for r in records:
    if r[2] not in committed:
        continue
    if r[1] == 3:
        ranges.append(r)
    elif r[4] not in best or r[0] > best[r[4]][0]:
        best[r[4]] = r
def framed(body):
    crc = struct.pack(E + "I", zlib.crc32(body))
    return crc + body if FIRST else body + crc
head = b"@MAGIC@" + struct.pack(E + "HI", @VERSION@, segments[-1][0] + 1 if segments else 1)
result = [head + struct.pack(E + "I", zlib.crc32(head))]
for key in sorted(best):
    rank, kind, txn, expiry, _, value = best[key]
    if kind != 1 or (expiry and expiry <= now):
        continue
    if any(r[0] > rank and key.startswith(r[4]) for r in ranges):
        continue
    count["live"] += 1
    extra = (0, expiry) if RICH else ()
    result.append(framed(HEAD.pack(rank[0], 1, *extra, len(key), len(value)) + key + value))
Path(out).write_bytes(b"".join(result))
print(json.dumps(count))
