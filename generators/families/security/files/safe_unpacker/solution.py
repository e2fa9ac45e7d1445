#!/usr/bin/python3 -IS
import os, sys
MEMBERS, SIZE, DEPTH, HARD = @MEMBERS@, @SIZE@, @DEPTH@, @HARD@
TYPE, NAME, LINK, CLASH, BYTES, COUNT = @REASONS@
archive, dest = sys.argv[1:]
if os.path.lexists(dest) and (os.path.islink(dest) or not os.path.isdir(dest) or os.listdir(dest)):
    sys.exit(@OCCUPIED@)
def parts(name):
    return tuple(p for p in name.split("/") if p not in ("", "."))
def refuse(number, reason):
    print(number, reason)
    sys.exit(@REFUSED@)

# Reads the 512-byte blocks itself and builds the tree beside DEST, then renames it.
def entries(data):
    at, long_name, long_link, pax, ended = 0, None, None, {}, False
    while at + 512 <= len(data):
        block = data[at:at + 512]
        if not any(block):
            return
        octal = lambda a, b: int(block[a:b].split(b"\0")[0].strip() or b"0", 8)
        try:
            if sum(block[:148]) + 256 + sum(block[156:]) != octal(148, 156):
                raise ValueError
        except ValueError:
            sys.exit(@UNREADABLE@)
        text = lambda a, b: block[a:b].split(b"\0")[0].decode("utf-8", "surrogateescape")
        name, kind, size, link = text(0, 100), chr(block[156]), octal(124, 136), text(157, 257)
        if block[257:263] == b"ustar\0" and text(345, 500):
            name = text(345, 500) + "/" + name
        if kind in "123456":
            size = 0
        body = data[at + 512:at + 512 + size]
        if len(body) < size:
            sys.exit(@UNREADABLE@)
        at += 512 + (size + 511) // 512 * 512
        if kind == "L":
            long_name = body.rstrip(b"\0").decode("utf-8", "surrogateescape")
        elif kind == "K":
            long_link = body.rstrip(b"\0").decode("utf-8", "surrogateescape")
        elif kind == "x":
            while body:
                length = int(body.split(b" ", 1)[0])
                key, value = body[:length - 1].split(b" ", 1)[1].split(b"=", 1)
                pax[key.decode()] = value.decode("utf-8", "surrogateescape")
                body = body[length:]
        else:
            name, link = pax.get("path", long_name or name), pax.get("linkpath", long_link or link)
            yield name, ("5" if kind in "0\0" and name.endswith("/") else kind), link, octal(100, 108), body
            long_name, long_link, pax = None, None, {}
try:
    data = open(archive, "rb").read()
    if HARD and data[:2] == b"\x1f\x8b":
        import gzip
        data = gzip.decompress(data)
except (OSError, EOFError):
    sys.exit(@UNREADABLE@)
if len(data) < 512:
    sys.exit(@UNREADABLE@)
plan, directories, others, total, bad = [], {()}, {}, 0, None
for number, (name, kind, link, mode, body) in enumerate(entries(data), 1):
    if bad:
        continue
    kind = "0" if kind == "\0" else kind
    path, target = parts(name), parts(link)
    lead = next((n for n, part in enumerate(target) if part != ".."), len(target))
    parents = {path[:n] for n in range(len(path))}
    total += len(body) if kind == "0" else 0
    if number > MEMBERS:
        bad = number, COUNT
    elif kind not in ("0125" if HARD else "025"):
        bad = number, TYPE
    elif name[0] == "/" or ".." in path or len(path) > DEPTH or (not path and kind != "5") or (
            HARD and any(c < " " or c == "\x7f" for c in name)):
        bad = number, NAME
    elif kind == "2" and (link == "" or link[0] == "/" or ".." in target[lead:] or lead > len(path) - 1):
        bad = number, LINK
    elif kind == "1" and (link.startswith("/") or others.get(target) not in ("0", "1")):
        bad = number, LINK
    elif parents & set(others) or path in others or (path in directories and kind != "5"):
        bad = number, CLASH
    elif total > SIZE:
        bad = number, BYTES
    directories |= parents
    if kind == "5":
        directories.add(path)
    else:
        others[path] = kind
    plan.append((path, kind, link, mode, body))
if bad:
    refuse(*bad)
stage = os.path.abspath(dest) + ".part%d" % os.getpid()
os.mkdir(stage)
for path in sorted(directories, key=len):
    os.makedirs(os.path.join(stage, *path), exist_ok=True)
    os.chmod(os.path.join(stage, *path), 0o755)
for path, kind, link, mode, body in plan:
    place = os.path.join(stage, *path)
    if kind == "2":
        os.symlink(link, place)
    elif kind == "1":
        os.link(os.path.join(stage, *parts(link)), place)
    elif kind == "0":
        with open(place, "wb") as out:
            out.write(body)
        os.chmod(place, (mode | 0o600) & 0o755)
os.rename(stage, dest)
