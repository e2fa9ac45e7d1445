#!/usr/bin/python3 -IS
import re, sys
CAP, KEEP, HARD = @CAP@, @KEEP@, @HARD@
csi = "(?:\x1b\\[|\x9b)" if HARD else "\x1b\\["
terminal = re.compile(csi + r"[0-?]*[ -/]*[@-~]|\x1b\][^\x1b\x07]*(?:\x07|\x1b\\)")
quoted = '"[^"]*(?:"|$)|' if HARD else ""
secret = re.compile(r"(?<![A-Za-z0-9_])((?:@WORDS@)=)(" + quoted + "[^ ,;&]+)", re.I | re.A)
hidden = set(range(0x80, 0xa0))
if HARD:
    hidden |= {0x200e, 0x200f, 0xfeff, *range(0x2028, 0x202f), *range(0x2066, 0x206a)}
def written(c):
    o = ord(c)
    if 0xdc80 <= o <= 0xdcff:
        return r"@BYTE@" % (o - 0xdc00)
    return r"@BYTE@" % o if o < 32 or o == 127 else r"@CHAR@" % o if o in hidden else c
def cut(units):
    kept, size = 0, sum(map(len, units))
    for u in units:
        if kept + len(u) > KEEP:
            break
        kept += len(u)
        yield u
    yield f" [+{size - kept}]"
lines = sys.stdin.buffer.read().split(b"\n")
if lines[-1] == b"":
    lines.pop()
for line in lines:
    if line.endswith(b"\r"):
        line = line[:-1]
    text = terminal.sub("", line.decode("utf-8", "surrogateescape")).replace("\t", " ")
    units, at = [], 0
    for m in secret.finditer(text):
        units += map(written, text[at:m.start()])
        units.append(m[1] + ('"***"' if HARD and m[2].startswith('"') else "***"))
        at = m.end()
    units += map(written, text[at:])
    while units and units[-1] == " ":
        units.pop()
    if HARD and not units:
        continue
    size = sum(map(len, units))
    if size > CAP:
        units = list(cut(units))
    sys.stdout.buffer.write("".join(units).encode() + b"\n")
