#!/usr/bin/python3 -IS
# A scanner object over one line at a time, driven by regular expressions.
import json, os, re, sys
D = @D@
Q = {k: re.escape(v) for k, v in D.items() if k not in ("rich", "again", "escapes")}
TOP = {}


class Scanner:
    def __init__(self, file, number, line):
        self.file, self.number, self.line, self.at = file, number, line, 0

    def die(self, code, at=None):
        at = self.at if at is None else at
        sys.stderr.write(f"{self.file}:{self.number}:{at + 1}: {code}\n")
        sys.exit(@FAIL@)

    def take(self, pattern):
        self.at = re.compile(r"[ \t]*").match(self.line, self.at).end()
        m = re.compile(pattern).match(self.line, self.at)
        if m:
            self.at = m.end()
        return m

    def finish(self):
        self.take("")
        if not re.compile("(" + Q["comment"] + "|$)").match(self.line, self.at):
            self.die("syntax")

    def string(self):
        start = self.at
        out = []
        self.at += 1
        while True:
            rest = self.line[self.at:]
            if not rest:
                self.die("unterminated", start)
            c = rest[0]
            if c == '"':
                self.at += 1
                return "".join(out)
            if c == "\\":
                m = re.match(r"\\u\{([0-9a-fA-F]{1,6})\}", rest) if D["rich"] else None
                if len(rest) > 1 and rest[1] in D["escapes"]:
                    out.append({"n": "\n", "t": "\t"}.get(rest[1], rest[1]))
                    self.at += 2
                elif m and (int(m[1], 16) < 0xD800 or 0xDFFF < int(m[1], 16) <= 0x10FFFF):
                    out.append(chr(int(m[1], 16)))
                    self.at += len(m[0])
                else:
                    self.die("escape")
            elif D["rich"] and rest.startswith("${"):
                m = re.match(r"\$\{([^}\"]*)\}", rest)
                here = TOP
                for part in (m[1].split(".") if m else ["?"]):
                    here = here.get(part) if type(here) is dict else None
                if here is None or type(here) in (dict, list):
                    self.die("undefined")
                out.append(here if type(here) is str else json.dumps(here))
                self.at += len(m[0])
            else:
                out.append(c)
                self.at += 1

    def value(self):
        self.take("")
        c = self.line[self.at:self.at + 1]
        if c == '"':
            return self.string()
        if c == "'":
            m = self.take("'([^']*)'")
            return m[1] if m else self.die("unterminated")
        if self.take(r"\["):
            found = []
            while not self.take(r"\]"):
                found.append(self.value())
                if not self.take(",") and not re.compile(r"\]").match(self.line, self.at):
                    self.die("syntax")
            return found
        start = self.at
        m = self.take(r"[\w+.-]+")
        word = m[0] if m else ""
        if word == D["true"]:
            return True
        if word == D["false"]:
            return False
        if re.fullmatch(r"-?0|-?[1-9]\d*(_\d+)*", word):
            return int(word.replace("_", ""))
        if D["rich"] and re.fullmatch(r"0x[\da-fA-F]+", word):
            return int(word[2:], 16)
        self.die("number" if re.match(r"-?\d", word) else "syntax", start)


def read_file(folder, file, block, busy):
    with open(os.path.join(folder, file), encoding="utf-8") as handle:
        lines = handle.read().split("\n")
    stack = []
    for number, line in enumerate(lines, 1):
        s = Scanner(file, number, line)
        s.take("")
        if re.compile("(" + Q["comment"] + "|$)").match(line, s.at):
            continue
        here = s.at
        if s.take(Q["close"]):
            if not stack:
                s.die("unopened", here)
            block = stack.pop()[0]
            s.finish()
            continue
        m = s.take("[a-z][a-z0-9_-]*")
        if not m:
            s.die("syntax")
        name = m[0]
        s.take("")
        if name == D["include"]:
            quote = s.at
            if line[quote:quote + 1] != '"':
                s.die("syntax")
            target = os.path.normpath(os.path.join(os.path.dirname(file), s.string()))
            if target in busy:
                s.die("cycle", quote)
            if not os.path.isfile(os.path.join(folder, target)):
                s.die("missing", quote)
            s.finish()
            read_file(folder, target, block, busy | {target})
        elif s.take(Q["open"]):
            old = block.get(name)
            if old is not None and (D["again"] == "error" or type(old) is not dict):
                s.die("duplicate", here)
            s.finish()
            stack.append((block, number, here))
            block = block.setdefault(name, {})
        elif s.take(Q["assign"]):
            if name in block and (D["again"] == "error" or type(block[name]) is dict):
                s.die("duplicate", here)
            block[name] = s.value()
            s.finish()
        else:
            s.die("syntax")
    if stack:
        Scanner(file, stack[-1][1], "").die("unclosed", stack[-1][2])


if len(sys.argv) != 2:
    sys.exit(@USAGE@)
where, main = os.path.split(sys.argv[1])
read_file(where, main, TOP, {main})
json.dump(TOP, sys.stdout)
