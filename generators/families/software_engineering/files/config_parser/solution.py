#!/usr/bin/python3 -IS
from __future__ import annotations
import os, posixpath, sys

@REFERENCE@


def written(value):
    if isinstance(value, dict):
        return "{" + ", ".join(written(name) + ": " + written(inner) for name, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + "]"
    if isinstance(value, str):
        marks = {'"': '\\"', "\\": "\\\\"}
        return '"' + "".join("\\u%04x" % ord(c) if c < " " else marks.get(c, c) for c in value) + '"'
    return str(value).lower()


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
    sys.stdout.buffer.write(written(root).encode() + b"\n")


main()
