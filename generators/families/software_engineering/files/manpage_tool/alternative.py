#!/usr/bin/python3
# getopt and generators instead of a scanner of its own
import getopt, itertools, sys
P = @PAGE@
FLAG = ("blank", "upper", "number", "reverse")
short = {P[r]: r for r in P if len(P[r]) == 1}
long = {P[r]: r[5:] for r in P if r.startswith("long:")}


def bad(text):
    sys.stderr.write(text + "\n")
    sys.exit(int(P["usage"]))


try:
    found, names = getopt.getopt(sys.argv[1:], "".join(c + ("" if r in FLAG else ":") for c, r in short.items()),
                                 [n + ("" if r in FLAG else "=") for n, r in long.items()])
except getopt.GetoptError as error:
    bad(str(error))
o = {short.get(k[1:]) or long[k[2:]]: v for k, v in found}
for key in {"head", "width", "field"} & set(o):
    if not set(o[key]) <= set("0123456789") or not o[key].strip("0"):
        bad("number wanted")
if len(o.get("delimiter", " ")) != 1:
    bad("one character wanted")
status = 0


def lines():
    global status
    for name in names or ["-"]:
        try:
            data = sys.stdin.buffer.read() if name == "-" else open(name, "rb").read()
        except OSError as error:
            sys.stderr.write(f"{name}: {error}\n")
            status = int(P["missing"])
            continue
        own = data.decode().removesuffix("\n").split("\n") if data else []
        kept = (x for x in own if "blank" not in o or x.replace("\t", " ").strip(" "))
        yield from itertools.islice(kept, int(o["head"]) if "head" in o else None)


out = []
for count, x in enumerate(lines(), 1):
    if "field" in o:
        x = dict(enumerate(x.split(o.get("delimiter", "\t")), 1)).get(int(o["field"]), "")
    x = x[:int(o["width"])] if "width" in o else x
    x = x.upper() if "upper" in o else x
    out.append(f"{count}\t{x}" if "number" in o else x)
if "reverse" in o:
    out = out[::-1]
if out:
    print(*out, sep=o.get("join", "\n"))
sys.exit(status)
