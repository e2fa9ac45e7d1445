#!/usr/bin/python3 -IS
from __future__ import annotations
import sys
PAGE = @PAGE@


@REFERENCE@

def main():
    parsed = parse(PAGE, sys.argv[1:])
    if parsed is None:
        print("usage: see the manual", file=sys.stderr)
        return int(PAGE["usage"])
    chosen, operands = parsed
    texts, code = [], 0
    for name in operands or ["-"]:
        try:
            if name == "-":
                texts.append(sys.stdin.read())
            else:
                with open(name, encoding="utf-8", newline="") as file:
                    texts.append(file.read())
        except OSError as error:
            print(f"{name}: {error.strerror}", file=sys.stderr)
            code = int(PAGE["missing"])
    sys.stdout.write(transform(chosen, texts))
    return code


sys.exit(main())
