cat > @P@ <<'PY'
#!/usr/bin/python3
import os, re, selectors, socket, sys
NAMES = "@V@".split()
V = dict(zip(NAMES, "put get del tick life keep add list stop begin commit drop watch".split()))
COUNT = {"put": (2, 3), "get": (1, 1), "del": (1, 10**6), "tick": (1, 1), "life": (1, 1), "keep": (1, 1), "add": (2, 2), "list": (0, 1),
         "stop": (0, 0), "begin": (0, 0), "commit": (0, 0), "drop": (0, 0), "watch": (1, 10**6)}
LIMIT = @L@
key_ok = lambda k: re.fullmatch(rb"[A-Za-z0-9_.:-]{1,32}", k)
num_ok = lambda n: re.fullmatch(rb"[0-9]{1,9}", n)
signed_ok = lambda n: re.fullmatch(rb"-?[0-9]{1,18}", n)
clock, data, path = 0, {}, sys.argv[2]
if os.path.exists(path):
    lines = open(path).read().split("\n")
    clock = int(lines[0].split()[1])
    for line in lines[1:]:
        if line:
            k, until, value = line.split(" ")
            data[k.encode()] = (bytes.fromhex(value), None if until == "-" else int(until))
def find(k):
    e = data.get(k)
    if e and e[1] is not None and clock >= e[1]:
        del data[k]
        return None
    return e
def execute(verb, args, value):
    global clock
    e = find(args[0]) if args else None
    if verb == "put":
        data[args[0]] = (value, clock + int(args[2]) if len(args) == 3 else None)
        return b"OK\n"
    if verb == "get":
        return b"NIL\n" if e is None else b"VAL %d\n%s\n" % (len(e[0]), e[0])
    if verb == "del":
        gone = [k for k in set(args) if find(k)]
        for k in gone:
            del data[k]
        return b"INT %d\n" % len(gone)
    if verb == "tick":
        clock += int(args[0])
        return b"INT %d\n" % clock
    if verb == "life":
        return b"NIL\n" if e is None else b"INT %d\n" % (-1 if e[1] is None else e[1] - clock)
    if verb == "keep":
        if e is None or e[1] is None:
            return b"INT 0\n"
        data[args[0]] = (e[0], None)
        return b"INT 1\n"
    if verb == "add":
        old, until = e or (b"0", None)
        if not signed_ok(old):
            return b"ERR number\n"
        total = int(old) + int(args[1])
        data[args[0]] = (b"%d" % total, until)
        return b"INT %d\n" % total
    if verb == "list":
        keys = sorted(k for k in list(data) if find(k) and k.startswith(args[0] if args else b""))
        return b"ARR %d\n" % len(keys) + b"".join(k + b"\n" for k in keys)
def save():
    with open(path + ".new", "w") as out:
        out.write(f"clock {clock}\n")
        for k in sorted(data):
            e = find(k)
            if e:
                out.write(f"{k.decode()} {'-' if e[1] is None else e[1]} {e[0].hex()}\n")
    os.replace(path + ".new", path)
class Client:
    def __init__(self, link):
        self.link, self.buffer, self.queue, self.spoilt, self.seen = link, b"", None, False, {}
    def feed(self, chunk):
        self.buffer += chunk
        out = b""
        while (reply := self.step()) is not None:
            out += reply
        if out:
            self.link.setblocking(True)
            self.link.sendall(out)
            self.link.setblocking(False)
    def step(self):
        head, newline, rest = self.buffer.partition(b"\n")
        if not newline:
            return None
        words = head.split(b" ")
        verb, args = V.get(words[0].decode("latin-1")), words[1:]
        value, problem = b"", ""
        if verb is None:
            problem = "command"
        elif not COUNT[verb][0] <= len(args) <= COUNT[verb][1]:
            problem = "arguments"
        elif verb == "put" and not num_ok(args[1]):
            problem = "number"
        elif verb == "put":
            size = int(args[1])
            if len(rest) < size + 1:
                return None
            value, rest = rest[:size], rest[size + 1:]
            if size > LIMIT:
                problem = "size"
        self.buffer = rest
        if not problem:
            keys = args if verb in ("del", "watch") else args[:1] if verb not in ("tick", "stop") else []
            if not all(map(key_ok, keys)):
                problem = "key"
            elif verb == "put" and len(args) == 3 and not (num_ok(args[2]) and int(args[2])):
                problem = "number"
            elif verb == "tick" and not num_ok(args[0]) or verb == "add" and not signed_ok(args[1]):
                problem = "number"
        if problem:
            self.spoilt = True
            return f"ERR {problem}\n".encode()
        return self.act(verb, args, value)
    def act(self, verb, args, value):
        if verb == "stop":
            self.link.setblocking(True)
            self.link.sendall(self.pending() + b"BYE\n")
            save()
            os._exit(0)
        inside = self.queue is not None
        if verb in ("begin", "watch") and inside or verb in ("commit", "drop") and not inside:
            return b"ERR state\n"
        if verb == "begin":
            self.queue, self.spoilt = [], False
            return b"OK\n"
        if verb == "watch":
            for k in args:
                self.seen[k] = find(k)
            return b"OK\n"
        if verb in ("commit", "drop"):
            queue, seen = self.queue, self.seen
            self.queue, self.seen = None, {}
            if verb == "drop":
                return b"OK\n"
            if self.spoilt:
                return b"ERR state\n"
            if any(find(k) != e for k, e in seen.items()):
                return b"NIL\n"
            return b"ARR %d\n" % len(queue) + b"".join(execute(*q) for q in queue)
        if inside:
            self.queue.append((verb, args, value))
            return b"QUEUED\n"
        return execute(verb, args, value)
    def pending(self):
        return b""
server = socket.socket()
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind(("127.0.0.1", int(sys.argv[1])))
server.listen(64)
chooser = selectors.DefaultSelector()
chooser.register(server, selectors.EVENT_READ)
while True:
    for event, _ in chooser.select():
        if event.fileobj is server:
            link, _ = server.accept()
            link.setblocking(False)
            chooser.register(link, selectors.EVENT_READ, Client(link))
            continue
        try:
            chunk = event.fileobj.recv(65536)
            if chunk:
                event.data.feed(chunk)
        except OSError:
            chunk = b""
        if not chunk:
            chooser.unregister(event.fileobj)
            event.fileobj.close()
PY
chmod 755 @P@
