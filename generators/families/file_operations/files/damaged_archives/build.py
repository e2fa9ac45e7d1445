import gzip, io, json, os, struct, tarfile, zipfile, zlib
spec = json.load(open("/setup/archives.json"))
TEXTS = [text.encode() for text in spec["texts"]]

def pack_tar(members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(data), 1600000000
            tar.addfile(info, io.BytesIO(data))
    return bytearray(out.getvalue())

def pack_zip(members, stored):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as pack:
        for number, (name, data) in enumerate(members):
            info = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            pack.writestr(info, data, zipfile.ZIP_STORED if number in stored else zipfile.ZIP_DEFLATED)
    return bytearray(out.getvalue())

def overwrite(raw, good, number, count=40):
    at = raw.index(good[number * spec["block"]:][:spec["block"]]) + 16
    raw[at:at + count] = b"\0" * count

def make(a):
    members = [(name, bytes(make(text)) if isinstance(text, dict) else TEXTS[text]) for name, text in a["members"]]
    kind = a["kind"]
    if kind == "gz":
        raw = bytearray(gzip.compress(members[0][1], 6, mtime=0))
        if a["damage"] == "trailer":
            raw[-8:] = b"\xff\x00\xff\x00\x01\x02\x03\x04"
        return raw
    raw = pack_zip(members, a["stored"]) if kind == "zip" else pack_tar(members)
    for member, number in a["spoilt"]:
        overwrite(raw, members[member][1], number)
    if kind == "zip":
        if a["damage"] == "directory":
            del raw[raw.index(b"PK\1\2") + 7:]
        for member in a["crc"]:
            old = struct.pack("<L", zlib.crc32(members[member][1]))
            raw = raw.replace(old, b"\x13\x37\x13\x37")
        return raw
    starts = [info.offset_data for info in tarfile.open(fileobj=io.BytesIO(bytes(pack_tar(members)))).getmembers()]
    if a["header"] is not None:
        at = starts[a["header"]] - 512
        raw[at:at + 400] = bytes((7 * n + 129) % 256 for n in range(400))
    low = high = None
    if a["cut"] is not None:
        low, high = starts[a["cut"]] + 150, starts[a["cut"]] + len(members[a["cut"]][1]) - 150
    if kind == "tgz":
        raw = bytearray(gzip.compress(bytes(raw), 6, mtime=0))
        if low is not None:
            size = next(n for n in range(20, len(raw)) if len(zlib.decompressobj(31).decompress(bytes(raw[:n]))) > low)
            assert len(zlib.decompressobj(31).decompress(bytes(raw[:size]))) < high
            del raw[size:]
    elif low is not None:
        del raw[(low + high) // 2:]
    return raw

for a in spec["archives"]:
    os.makedirs(os.path.dirname(a["path"]), exist_ok=True)
    with open(a["path"], "wb") as out:
        out.write(make(a))
    os.utime(a["path"], (1600000000, 1600000000))
