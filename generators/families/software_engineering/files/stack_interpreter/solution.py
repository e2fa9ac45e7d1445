#!/usr/bin/python3 -IS
from __future__ import annotations
import sys
D = @D@


@REFERENCE@

def main():
    out = []
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            bodies = translate(D, file.read())
    except Trouble as trouble:
        sys.stderr.write("line %d: %s\n" % trouble.args)
        return int(D["reject"])
    try:
        execute(D, bodies, out)
    except Trouble as trouble:
        sys.stdout.write("".join(out))
        sys.stderr.write("line %d: %s\n" % trouble.args)
        return int(D["fail"])
    sys.stdout.write("".join(out))
    return 0


sys.exit(main())
