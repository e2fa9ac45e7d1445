#!/usr/bin/python3
from __future__ import annotations
import json, os, posixpath, re, sys

@REFERENCE@


def main():
    if len(sys.argv) != 2:
        sys.exit(@USAGE@)
    folder, name = os.path.split(sys.argv[1])

    def read(path):
        try:
            with open(os.path.join(folder, path), encoding="utf-8", newline="") as file:
                return file.read()
        except OSError:
            return None

    root = {}
    try:
        load(@D@, name, read, root, root, [])
    except Fault as fault:
        print("%s:%s:%s: %s" % fault.args, file=sys.stderr)
        sys.exit(@FAIL@)
    print(json.dumps(root))


main()
