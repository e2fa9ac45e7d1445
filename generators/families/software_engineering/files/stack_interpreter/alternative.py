#!/usr/bin/python3 -IS
# A tree of nested lists, walked recursively.
import sys
D = @D@
W = {D[r]: r for r in D["words"].split()}
TOP, FULL, DEEP, MANY = (int(D[k]) for k in ("top", "full", "deep", "many"))
defs, stack, cells = {}, [], [0] * int(D["cells"])
steps = 0
ALLOWED = set("abcdefghijklmnopqrstuvwxyz0123456789-")


class Leave(Exception):
    pass


def die(line, kind, code):
    sys.stdout.flush()
    sys.stderr.write(f"line {line}: {kind}\n")
    sys.exit(int(D[code]))


tokens = [(w, n) for n, row in enumerate(open(sys.argv[1]).read().split("\n"), 1)
          for w in row.partition(D["comment"])[0].split()]
where = 0


def block(ends, opener, inside):
    # nodes up to one of the closing roles
    global where
    nodes = []
    while where < len(tokens):
        word, line = tokens[where]
        where += 1
        role = W.get(word)
        if word.removeprefix("-").isdecimal() and word.isascii():
            if abs(int(word)) > TOP:
                die(line, "range", "reject")
            nodes.append(("push", line, int(word)))
        elif role in ends:
            return nodes, role
        elif role in ("close", "end", "else", "until") or (role == "leave" and not inside):
            die(line, "stray", "reject")
        elif role == "define":
            if opener:
                die(line, "nested", "reject")
            if where == len(tokens):
                die(line, "unclosed", "reject")
            name, at = tokens[where]
            where += 1
            if name in W or name in defs or not "a" <= name[0] <= "z" or set(name) - ALLOWED:
                die(at, "name", "reject")
            defs[name] = []
            defs[name] += block(("close",), line, True)[0]
        elif role == "if":
            yes, how = block(("end", "else"), line, inside)
            no = block(("end",), tokens[where - 1][1], inside)[0] if how == "else" else []
            nodes.append(("if", line, yes, no))
        elif role == "begin":
            inner = block(("until",), line, inside)[0]
            nodes.append(("begin", line, inner, tokens[where - 1][1]))
        elif role:
            nodes.append((role, line))
        elif word in defs:
            nodes.append(("call", line, word))
        else:
            die(line, "unknown", "reject")
    if opener:
        die(opener, "unclosed", "reject")
    return nodes, None


def step(line):
    global steps
    steps += 1
    if steps > MANY:
        die(line, "steps", "fail")


def pop(n, line):
    if len(stack) < n:
        die(line, "empty", "fail")
    got = stack[len(stack) - n:]
    del stack[len(stack) - n:]
    return got


def push(line, *values):
    if any(v > TOP or v < -TOP for v in values):
        die(line, "range", "fail")
    if len(stack) + len(values) > FULL:
        die(line, "full", "fail")
    stack.extend(values)


def divide(a, b):
    q = abs(a) // abs(b) if (a < 0) == (b < 0) else -(abs(a) // abs(b))
    if D["division"] != "zero" and q * b != a and (a < 0) != (b < 0):
        q -= 1
    return q


def run(nodes, level):
    for node in nodes:
        role, line = node[:2]
        if role == "begin":
            while True:
                run(node[2], level)
                step(node[3])
                if pop(1, node[3])[0]:
                    break
            continue
        step(line)
        if role == "push":
            push(line, node[2])
        elif role == "if":
            run(node[2] if pop(1, line)[0] else node[3], level)
        elif role == "call":
            if level == DEEP:
                die(line, "depth", "fail")
            try:
                run(defs[node[2]], level + 1)
            except Leave:
                pass
        elif role == "leave":
            raise Leave
        elif role == "print":
            print(*pop(1, line))
        elif role == "depth":
            push(line, len(stack))
        elif role == "drop":
            pop(1, line)
        elif role in ("dup", "not"):
            (a,) = pop(1, line)
            push(line, *((a, a) if role == "dup" else (1 if a == 0 else 0,)))
        elif role == "rot":
            a, b, c = pop(3, line)
            push(line, b, c, a)
        elif role == "fetch":
            (a,) = pop(1, line)
            if a not in range(len(cells)):
                die(line, "cell", "fail")
            push(line, cells[a])
        else:
            a, b = pop(2, line)
            if role == "store":
                if b not in range(len(cells)):
                    die(line, "cell", "fail")
                cells[b] = a
            elif role in ("div", "mod") and b == 0:
                die(line, "zero", "fail")
            else:
                push(line, *{
                    "swap": lambda: (b, a), "over": lambda: (a, b, a), "add": lambda: (a + b,), "sub": lambda: (a - b,),
                    "mul": lambda: (a * b,), "div": lambda: (divide(a, b),), "mod": lambda: (a - b * divide(a, b),),
                    "equal": lambda: (int(a == b),), "less": lambda: (int(a < b),), "more": lambda: (int(a > b),),
                }[role]())


run(block((), 0, False)[0], 0)
