"""Write a key-value server to a protocol document: pipelining, partial reads, a logical clock, transactions, a store file."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from generators.family import Draft, Draw, Family, Miss, Setting
from generators.task import Difficulty, Limits, Verifier
from generators.vocabulary import FIRMS

VERBS = ("put", "get", "del", "tick", "life", "keep", "add", "list", "stop", "begin", "commit", "drop", "watch")


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    folder: str
    program: str
    document: str
    verbs: str  # the words for VERBS, in that order
    keys: tuple[str, ...]
    wording: int
    text: str


# fmt: off
SETTINGS = (
    World("parcel_lockers", "embedded developer", "state of parcel lockers", "ticket", "/opt/lockers", "serve",
          "PROTOCOL.txt", "PUT GET DEL TICK LIFE KEEP ADD LIST STOP BEGIN COMMIT DROP WATCH", ("door", "slot", "pin",
          "van"), 0, "LOCK-{number}: write the state server\n\nThe lockers of {firm} speak a small protocol, "
          "described in {folder}/{document}. The old server is lost.\n\n{rules}\n"),
    World("stage_cues", "show programmer", "cue store of a theatre", "email", "/srv/cues", "cued", "WIRE.md",
          "STORE FETCH ERASE STEP REST PIN COUNT FIND CLOSE OPEN APPLY CANCEL GUARD", ("cue", "lamp", "fog",
          "curtain"), 1, "Hello,\n\nour lighting desks expect a cue store on the network; {folder}/{document} is all "
          "that is left of it. Could you write it anew for {firm}?\n\n{rules}\n\nBreak a leg\n"),
    World("telemetry_cache", "satellite operator", "telemetry cache", "specification", "/data/cache", "cache-server",
          "interface.txt", "WRITE READ PURGE ADVANCE TTL PERSIST INCR SCAN HALT MULTI EXEC ABORT TRACK", ("volt",
          "temp", "gyro", "orbit"), 2, "Work package {number}: telemetry cache for {firm}\n\nNormative reference: "
          "{folder}/{document}.\n\n{rules}\n"),
    World("recipe_sync", "app backend developer", "sync server for a cooking app", "chat", "/home/dev/sync", "syncd",
          "proto.txt", "SAVE LOAD FORGET MOVE LEFT HOLD PLUS KEYS QUIT START FINISH UNDO EYE", ("soup", "cake",
          "salt", "oven"), 1, "need a tiny key-value thing for the {firm} app by tonight, spec is in "
          "{folder}/{document}, please stick to it to the letter.\n{rules}\n"),
    World("toll_gate", "traffic systems integrator", "toll gate memory", "runbook", "/opt/toll", "tollkv",
          "messages.txt", "NOTE SHOW WIPE PASS AGE FIX SUM NAMES END GROUP DO LEAVE MARK", ("lane", "plate", "tag",
          "gate"), 0, "Rebuild of the toll memory, sheet {number} ({firm})\n\nPrinciples: the message set in "
          "{folder}/{document} is fixed, the lanes cannot be changed.\n\n{rules}\n"),
    World("greenhouse_bus", "control engineer", "greenhouse message store", "note", "/var/lib/bus", "store", "BUS",
          "IN OUT RM TIME SPAN STAY UP LS BYEBYE TX OKGO NOPE SEE", ("vent", "pump", "heat", "seed"), 2,
          "{folder}/{document}: protocol of the store that {firm} controllers talk to. Write the server.\n{rules}\n"),
    World("auction_board", "auction house developer", "auction board store", "ticket", "/srv/auction", "boardkv",
          "SPEC.txt", "BID ASK VOID TURN REMAIN FREEZE RAISE LOTS ADJOURN BUNDLE SETTLE RETRACT OBSERVE", ("lot",
          "bid", "room", "desk"), 1, "#{number} replacement of the board store at {firm}\n\nThe display boards are "
          "from a vendor that no longer exists. What they send and expect is written in "
          "{folder}/{document}.\n\n{rules}\n"),
    World("lab_robot", "laboratory automation engineer", "robot variable server", "email", "/opt/robot", "vars",
          "variables.txt", "SETV GETV CLR CYCLE UNTIL FIXED INC DIR OFF BLOCK RUN SKIP HOOK", ("arm", "plate", "tip",
          "wash"), 2, "Dear engineer,\n\nthe pipetting robot at {firm} keeps its variables in a separate server, and "
          "that server no longer starts on the new computer. Its protocol is documented in {folder}/{document}; we "
          "would like a new implementation.\n\n{rules}\n\nSincerely\n"),
)
# fmt: on

# fmt: off
RULES: Mapping[str, tuple[str, str, str]] = {
    "start": (
        "Write it as {folder}/{program}, an executable file in a language of your choice (nothing will be compiled "
        "or installed later), which is started as `{folder}/{program} PORT FILE`: it listens on 127.0.0.1 at PORT "
        "and stays in the foreground.",
        "The result is an executable {folder}/{program}; whoever runs `{folder}/{program} PORT FILE` gets the server "
        "in the foreground on 127.0.0.1, at the port that is given. Any language that this machine already runs will "
        "do.",
        "Deliver the executable {folder}/{program}. The command `{folder}/{program} PORT FILE` runs in the "
        "foreground and serves 127.0.0.1:PORT. Language: free, but without anything that is not installed here."),
    "protocol": (
        "Every reply has to be exactly what {document} says, byte for byte.",
        "replies must agree with {document} to the byte.",
        "{document} determines each byte of the replies."),
    "stream": (
        "Clients cut their requests into pieces anywhere, or send many at once without waiting; replies come in the "
        "order of the requests and without waiting for more input than a request needs.",
        "A request may arrive in any number of pieces, and several may arrive together: each is answered as soon as "
        "it is complete, in order.",
        "TCP is a stream: requests arrive split at any byte or several in one packet, and every complete one is "
        "answered at once and in order."),
    "clients": (
        "Up to 20 clients are connected at a time, share the data, and an idle or half-finished one never holds up "
        "the others.",
        "It serves up to 20 connections at the same time with common data; one that is silent, or stuck in the "
        "middle of a request, delays nobody.",
        "At least 20 simultaneous connections see the same data; none of them blocks another, even with half a "
        "request sent."),
    "store": (
        "FILE is the store file of {document}: read at the start if it exists, written at the stop.",
        "FILE names the store file described in {document}, which is loaded at start (if there) and written when "
        "stopping.",
        "At start the store file FILE is loaded if present, and stopping writes it, in the format of {document}."),
}
# fmt: on

DOCUMENT = """Protocol of the store

Requests are lines that end with a single newline (0x0A). Words are separated by single spaces. Verbs are case-sensitive.
A key is 1 to 32 characters out of A-Z a-z 0-9 _ . : -
A number is 1 to 9 decimal digits. A signed number is 1 to 18 decimal digits, optionally with a - in front.
Values are arbitrary bytes, at most {limit} of them.

Time: the store has a clock, a number that is 0 at first and moves only by {tick}. An entry with a life of L that was stored at
clock C exists as long as the clock is below C + L.

{put} KEY LENGTH [LIFE]   followed by LENGTH bytes of value and one newline (always sent). Stores the value; without LIFE the entry
                       does not expire, whatever it did before. LIFE is a number of at least 1. Reply: OK
{get} KEY                 Reply: VAL LENGTH, newline, the bytes, newline; or NIL if there is no entry.
{del} KEY [KEY ...]       Removes entries. Reply: INT and how many of them existed (a key named twice counts once).
{tick} NUMBER             Moves the clock ahead. Reply: INT and the new clock.
{life} KEY                Reply: INT and the clock units that are left, INT -1 for an entry that does not expire, NIL without entry.
{keep} KEY                The entry will not expire. Reply: INT 1 if it had an expiry, otherwise INT 0.
{add} KEY SIGNED          Adds to the entry, which must be a signed number (a missing one counts as 0), and stores the sum in decimal,
                       leaving the expiry as it is. Reply: INT and the sum; ERR number if the entry is something else.
{list} [PREFIX]           Reply: ARR and the number of existing keys that begin with PREFIX (all without it), then each on a line of
                       its own, in byte order. PREFIX is written like a key.
{stop}                    Reply: BYE. Then the store file is written and the server exits with status 0.
{more}
Errors. A request is checked in this order, and the first thing that is wrong is the reply:
  ERR command     the first word is no verb (also for an empty line)
  ERR arguments   too few or too many words
  ERR number      LENGTH is not a number. No value follows in this and the cases above.
  ERR size        LENGTH is above {limit}. Here and below the value and its newline were sent and have to be skipped.
  ERR key         something that should be a key is not one
  ERR number      LIFE, NUMBER or SIGNED is not what it should be
The connection goes on after an error. All replies end with a newline.

Store file. First line: `clock` and the clock, separated by a space. Then a line for every existing entry, in byte order of the
keys: key, the clock at which it ceases to exist (or - if it does not), value in lower case hexadecimal; separated by single
spaces (an empty value leaves the line ending with a space).
"""
MORE = """
{begin}                   Starts a transaction of this connection. Reply: OK
{commit}                  Executes it. Reply: ARR and the number of requests, then the replies that they give now, in order.
{drop}                    Gives it up. Reply: OK
{watch} KEY [KEY ...]     Remembers these entries for this connection, as they are now. Reply: OK
In a transaction requests are only queued, and answered by QUEUED, after the checks below. One that fails a check is answered by its
error at once, and spoils the transaction: {commit} then replies ERR state and executes nothing. Also if any remembered entry differs
at {commit} from what it was at {watch} (value, moment of expiry, or whether it exists), nothing is executed; the reply is NIL (a
spoilt transaction replies ERR state all the same). {commit} and {drop} end the transaction, however they turn out, and forget what
was remembered. {begin} and {watch} inside a transaction, {commit} and {drop} outside one, reply ERR state and change nothing; {stop}
is never queued. ERR state comes after all other errors.
"""

TESTS = """
import hashlib
import socket
import subprocess
import tempfile
import time
from pathlib import Path


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def receive(link, size):
    data = b""
    while len(data) < size:
        chunk = link.recv(size - len(data))
        if not chunk:
            break
        data += chunk
    return data


def play(case):
    # one run of the server: steps are [client, text, cuts, reply]
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        if case["before"] is not None:
            store.write_text(case["before"])
        port = free_port()
        process = subprocess.Popen([TRUTH["program"], str(port), str(store)], cwd="/", stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        links = {}
        try:
            end = time.monotonic() + 8
            while 0 not in links:
                try:
                    links[0] = socket.create_connection(("127.0.0.1", port), timeout=4)
                except OSError:
                    assert time.monotonic() < end and process.poll() is None, "it does not listen"
                    time.sleep(0.02)
            for number, (client, text, cuts, reply) in enumerate(case["steps"]):
                if client not in links:
                    links[client] = socket.create_connection(("127.0.0.1", port), timeout=4)
                link, data, want = links[client], text.encode("latin-1"), reply.encode("latin-1")
                link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for start, stop in zip([0, *cuts], [*cuts, len(data)]):
                    link.sendall(data[start:stop])
                    if stop < len(data):
                        time.sleep(0.003)
                assert receive(link, len(want)) == want, f"reply to step {number}"
            links[0].sendall(TRUTH["stop"].encode())
            assert receive(links[0], 1000) == b"BYE\\n", "reply to the stop, and nothing after it"
            assert process.wait(timeout=5) == 0, "exit status"
            return store.read_text()
        finally:
            process.kill()
            process.wait()
            for link in links.values():
                link.close()


def run(kind):
    for case in TRUTH["cases"][kind]:
        assert play(case) == case["after"], "store file"


def test_requests():
    run("requests")


def test_streams():
    run("streams")


def test_clock():
    run("clock")


def test_store():
    run("store")
"""
TRANSACTIONS = """

def test_transactions():
    run("transactions")
"""
GUARD = """

def test_document_untouched():
    assert hashlib.sha256(Path(TRUTH["document"]).read_bytes()).hexdigest() == TRUTH["document_sum"]
"""
INITIAL = """
from pathlib import Path


def test_only_the_document_is_there():
    assert Path(TRUTH["document"]).is_file() and not Path(TRUTH["program"]).exists()
"""

PYTHON = r"""cat > @P@ <<'PY'
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
"""
PERL = r"""cat > @P@ <<'PL'
#!/usr/bin/perl
use strict; use Socket; my ($port, $path) = @ARGV; my %v;
@v{split / /, "@V@"} = qw(put get del tick life keep add list stop begin commit drop watch);
my %n = (put => [2, 3], get => [1, 1], del => [1, 1e9], tick => [1, 1], life => [1, 1], keep => [1, 1], add => [2, 2], list => [0, 1],
  stop => [0, 0], begin => [0, 0], commit => [0, 0], drop => [0, 0], watch => [1, 1e9]);
my ($clock, %d, %c) = (0); my ($K, $N, $S) = (qr/^[A-Za-z0-9_.:-]{1,32}\z/, qr/^[0-9]{1,9}\z/, qr/^-?[0-9]{1,18}\z/);
if (open my $f, "<", $path) { my $l = <$f>; $clock = (split " ", $l)[1];
  while (<$f>) { chomp; my ($k, $u, $h) = split / /, $_, 3; $d{$k} = [pack("H*", $h), $u eq "-" ? undef : $u] } }
sub e { my $x = $d{$_[0]} or return; if (defined $x->[1] and $x->[1] <= $clock) { delete $d{$_[0]}; return } $x }
sub sig { my $x = e($_[0]); $x ? "y$x->[0] " . ($x->[1] // "-") : "n" }
sub do_it { my ($verb, $a, $val) = @_; my $x = @$a ? e($a->[0]) : undef;
  if ($verb eq "put") { $d{$a->[0]} = [$val, @$a == 3 ? $clock + $a->[2] : undef]; return "OK\n" }
  if ($verb eq "get") { return $x ? "VAL " . length($x->[0]) . "\n$x->[0]\n" : "NIL\n" }
  if ($verb eq "del") { my $i = 0; for (@$a) { $i++ if e($_); delete $d{$_} } return "INT $i\n" }
  if ($verb eq "tick") { $clock += $a->[0]; return "INT $clock\n" }
  if ($verb eq "life") { return $x ? "INT " . (defined $x->[1] ? $x->[1] - $clock : -1) . "\n" : "NIL\n" }
  if ($verb eq "keep") { return "INT 0\n" unless $x and defined $x->[1]; $d{$a->[0]} = [$x->[0], undef]; return "INT 1\n" }
  if ($verb eq "add") { my $o = $x ? $x->[0] : 0; return "ERR number\n" unless $o =~ $S; my $t = $o + $a->[1]; $t = 0 if $t == 0;
    $d{$a->[0]} = ["$t", $x ? $x->[1] : undef]; return "INT $t\n" }
  my $p = @$a ? $a->[0] : ""; my @k = sort grep { e($_) and index($_, $p) == 0 } keys %d; "ARR " . @k . "\n" . join "", map "$_\n", @k }
sub put_out { my ($s, $x) = @_; while (length $x) { my $w = syswrite $s, $x; return unless $w; substr($x, 0, $w) = "" } }
sub step { my $c = shift; my $i = index $c->{b}, "\n"; return if $i < 0; my @a = split / /, substr($c->{b}, 0, $i), -1; my $used = $i + 1;
  my $verb = @a ? $v{shift @a} : undef; my ($bad, $val) = ("", "");
  if (!$verb) { $bad = "command" } elsif (@a < $n{$verb}[0] or @a > $n{$verb}[1]) { $bad = "arguments" }
  elsif ($verb eq "put") { if ($a[1] !~ $N) { $bad = "number" } else { return if length($c->{b}) < $used + $a[1] + 1;
    $val = substr $c->{b}, $used, $a[1]; $used += $a[1] + 1; $bad = "size" if $a[1] > @L@ } }
  substr($c->{b}, 0, $used) = "";
  unless ($bad) { my @k = $verb =~ /^(del|watch)$/ ? @a : $verb =~ /^(tick|stop)$/ ? () : @a ? ($a[0]) : ();
    if (grep { !/$K/ } @k) { $bad = "key" } elsif ($verb eq "put" and @a == 3 and ($a[2] !~ $N or !($a[2] > 0))) { $bad = "number" }
    elsif ($verb eq "tick" and $a[0] !~ $N or $verb eq "add" and $a[1] !~ $S) { $bad = "number" } }
  if ($bad) { $c->{bad} = 1; return "ERR $bad\n" } my $in = $c->{q};
  if ($verb eq "stop") { put_out($c->{s}, "$c->{o}BYE\n"); open my $f, ">", $path; print $f "clock $clock\n";
    for (sort keys %d) { my $x = e($_) or next; print $f "$_ ", $x->[1] // "-", " ", unpack("H*", $x->[0]), "\n" } close $f; exit 0 }
  return "ERR state\n" if $verb =~ /^(begin|watch)$/ ? $in : $verb =~ /^(commit|drop)$/ ? !$in : 0;
  if ($verb eq "begin") { $c->{q} = []; $c->{bad} = 0; return "OK\n" }
  if ($verb eq "watch") { $c->{w}{$_} = sig($_) for @a; return "OK\n" }
  if ($verb eq "commit" or $verb eq "drop") { my $w = $c->{w}; $c->{q} = undef; $c->{w} = {}; return "OK\n" if $verb eq "drop";
    return "ERR state\n" if $c->{bad}; for (keys %$w) { return "NIL\n" if sig($_) ne $w->{$_} }
    return join "", "ARR " . @$in . "\n", map { do_it(@$_) } @$in }
  if ($in) { push @$in, [$verb, [@a], $val]; return "QUEUED\n" } do_it($verb, \@a, $val) }
socket(my $srv, PF_INET, SOCK_STREAM, 0); setsockopt($srv, SOL_SOCKET, SO_REUSEADDR, 1);
bind($srv, sockaddr_in($port, inet_aton("127.0.0.1"))) or die; listen($srv, 64); $SIG{PIPE} = "IGNORE";
while (1) { my $r = ""; vec($r, fileno $srv, 1) = 1; vec($r, $_, 1) = 1 for keys %c; select($r, undef, undef, undef);
  if (vec($r, fileno $srv, 1)) { accept(my $s, $srv); binmode $s; $c{fileno $s} = {s => $s, b => "", w => {}, o => ""} }
  for my $fd (keys %c) { next unless vec($r, $fd, 1); my $c = $c{$fd}; my $got = sysread $c->{s}, $c->{b}, 65536, length $c->{b};
    if (!$got) { close $c->{s}; delete $c{$fd}; next } $c->{o} = ""; while (defined(my $x = step($c))) { $c->{o} .= $x }
    put_out($c->{s}, $c->{o}) } }
PL
chmod 755 @P@
"""

KEY, NUMBER, SIGNED = re.compile(r"[A-Za-z0-9_.:-]{1,32}"), re.compile(r"[0-9]{1,9}"), re.compile(r"-?[0-9]{1,18}")
COUNTS = {
    "put": (2, 3),
    "add": (2, 2),
    "list": (0, 1),
    "del": (1, 99),
    "watch": (1, 99),
    **dict.fromkeys(("begin", "commit", "drop", "stop"), (0, 0)),
}


@dataclass
class Session:
    """What the model knows of a connection."""

    queue: list[tuple[str, list[str], str]] | None = None
    spoilt: bool = False
    seen: dict[str, tuple[str, int | None] | None] = field(default_factory=dict[str, "tuple[str, int | None] | None"])


@dataclass
class Model:
    """The store as the document describes it; values are latin-1 text."""

    limit: int
    clock: int = 0
    entries: dict[str, tuple[str, int | None]] = field(default_factory=dict[str, "tuple[str, int | None]"])
    sessions: dict[int, Session] = field(default_factory=dict[int, Session])

    def live(self, key: str) -> tuple[str, int | None] | None:
        """The entry, if it exists at this clock."""
        entry = self.entries.get(key)
        return None if entry is None or (entry[1] is not None and self.clock >= entry[1]) else entry

    def request(self, client: int, verb: str, args: list[str], value: str) -> str:
        """The reply to a request (without its last newline)."""
        session = self.sessions.setdefault(client, Session())
        problem = self.problem(verb, args)
        if problem:
            session.spoilt = True
            return f"ERR {problem}"
        inside = session.queue is not None
        if (verb in ("begin", "watch") and inside) or (verb in ("commit", "drop") and not inside):
            return "ERR state"
        if verb == "begin":
            session.queue, session.spoilt = [], False
            return "OK"
        if verb == "watch":
            session.seen |= {key: self.live(key) for key in args}
            return "OK"
        if verb in ("commit", "drop"):
            self.sessions[client] = Session()
            if verb == "drop":
                return "OK"
            if session.spoilt:
                return "ERR state"
            if any(self.live(key) != entry for key, entry in session.seen.items()):
                return "NIL"
            replies = [self.execute(*request) for request in session.queue or []]
            return "\n".join([f"ARR {len(replies)}", *replies])
        if session.queue is not None:
            session.queue.append((verb, args, value))
            return "QUEUED"
        return self.execute(verb, args, value)

    def problem(self, verb: str, args: list[str]) -> str:
        """The first check that fails."""
        low, high = COUNTS.get(verb, (1, 1))
        number = NUMBER.fullmatch
        if verb not in VERBS:
            return "command"
        if not low <= len(args) <= high:
            return "arguments"
        if verb == "put" and not number(args[1]):
            return "number"
        if verb == "put" and int(args[1]) > self.limit:
            return "size"
        keys = [] if verb == "tick" else args if verb in ("del", "watch") else args[:1]
        if not all(map(KEY.fullmatch, keys)):
            return "key"
        wrong = (
            (verb == "put" and len(args) == 3 and not (number(args[2]) and int(args[2]) > 0))
            or (verb == "tick" and not number(args[0]))
            or (verb == "add" and not SIGNED.fullmatch(args[1]))
        )
        return "number" if wrong else ""

    def execute(self, verb: str, args: list[str], value: str) -> str:
        """What a request that passed the checks does."""
        key = args[0] if args else ""
        entry = self.live(key)
        if verb == "put":
            self.entries[key] = (value, self.clock + int(args[2]) if len(args) == 3 else None)
            return "OK"
        if verb == "get":
            return "NIL" if entry is None else f"VAL {len(entry[0])}\n{entry[0]}"
        if verb == "del":
            gone = {name for name in args if self.live(name)}
            self.entries = {name: e for name, e in self.entries.items() if name not in gone}
            return f"INT {len(gone)}"
        if verb == "tick":
            self.clock += int(args[0])
            return f"INT {self.clock}"
        if verb == "life":
            return "NIL" if entry is None else f"INT {-1 if entry[1] is None else entry[1] - self.clock}"
        if verb == "keep":
            if entry is None or entry[1] is None:
                return "INT 0"
            self.entries[key] = (entry[0], None)
            return "INT 1"
        if verb == "add":
            old = entry or ("0", None)
            if not SIGNED.fullmatch(old[0]):
                return "ERR number"
            self.entries[key] = (str(int(old[0]) + int(args[1])), old[1])
            return f"INT {self.entries[key][0]}"
        keys = sorted(name for name in self.entries if self.live(name) and name.startswith(key))
        return "\n".join([f"ARR {len(keys)}", *keys])

    def file(self) -> str:
        """The store file."""
        lines = [f"clock {self.clock}"]
        for key in sorted(self.entries):
            entry = self.live(key)
            if entry:
                lines.append(f"{key} {'-' if entry[1] is None else entry[1]} {entry[0].encode('latin-1').hex()}")
        return "\n".join(lines) + "\n"


Request = tuple[str, list[str], str]


def put(key: str, value: str, life: str = "") -> Request:
    """A request that stores."""
    return ("put", [key, str(len(value)), *([life] if life else [])], value)


def simple(verb: str, *args: str) -> Request:
    """Any other request."""
    return (verb, list(args), "")


def random_request(draw: Draw, keys: tuple[str, ...], limit: int) -> Request:
    """Anything a client may send, sometimes wrong."""
    key = f"{draw.pick(keys)}{draw.pick(('', ':1', '.x', '-Z'))}"
    value = "".join(draw.pick(("a\n", "\r\x00", " \xff", "{}9", "b")) for _ in range(draw.between(0, 6)))
    kind = draw.between(0, 99)
    if kind < 30:
        return put(key, draw.pick((value, str(draw.between(-50, 50)))), draw.pick(("", "", str(draw.between(1, 6)))))
    if kind < 45:
        return simple("get", key)
    if kind < 52:
        return simple("del", key, *draw.sample(keys, draw.between(0, 2)))
    if kind < 60:
        return simple("tick", str(draw.between(0, 3)))
    if kind < 68:
        return simple(draw.pick(("life", "keep")), key)
    if kind < 80:
        return simple("add", key, str(draw.between(-999, 999)))
    if kind < 88:
        return simple("list", *([] if draw.chance(40) else [draw.pick(keys)[:2]]))
    wrong = (
        simple("XYZZY", key),
        simple(""),
        simple("get"),
        simple("get", "a/b"),
        simple("put", key, "x1"),
        put("k" * 33, "gone"),
        put(key, "z" * (limit + 1)),
        put(key, "late", "0"),
        put(key, "later", "soon"),
        simple("tick", "-1"),
        simple("add", key, "1.5"),
        simple("life", key, key),
        simple("list", "a", "b"),
        put("b\xe4d", "get x\n"),
    )
    return draw.pick(wrong)


@dataclass
class Recorder:
    """Turns requests into the steps of a case, with the replies of the model."""

    draw: Draw
    words: Mapping[str, str]
    model: Model
    steps: list[list[object]] = field(default_factory=list[list[object]])

    def wire(self, request: Request) -> str:
        """The request as sent."""
        verb, args, value = request
        payload = f"{value}\n" if verb == "put" and len(args) > 1 and args[1].isdigit() else ""
        return " ".join([self.words.get(verb, verb), *args]) + "\n" + payload

    def send(self, client: int, requests: list[Request], cuts: int = 0) -> None:
        """One step: these requests together, sent in some pieces."""
        text = "".join(self.wire(request) for request in requests)
        reply = "".join(self.model.request(client, *request) + "\n" for request in requests)
        places = sorted(self.draw.sample(range(1, len(text)), min(cuts, len(text) - 1))) if len(text) > 1 else []
        self.steps.append([client, text, places, reply])

    def halves(self, first: int, request: Request, other: int, between: list[Request]) -> None:
        """Half a request of one client, whole ones of another, then the rest."""
        text = self.wire(request)
        middle = self.draw.between(1, len(text) - 1)
        self.steps.append([first, text[:middle], [], ""])
        self.send(other, between)
        self.steps.append([first, text[middle:], [], self.model.request(first, *request) + "\n"])


def draw_cases(
    draw: Draw, world: World, words: Mapping[str, str], limit: int, extreme: bool
) -> dict[str, list[dict[str, object]]]:
    """Cases by test, each with planned traps and random requests."""
    keys = world.keys
    cases: dict[str, list[dict[str, object]]] = {}

    def record(kind: str, before: Model | None = None) -> tuple[Recorder, dict[str, object]]:
        model = Model(limit, before.clock, dict(before.entries)) if before else Model(limit)
        recorder = Recorder(draw, words, model)
        case: dict[str, object] = {"before": before.file() if before else None, "steps": recorder.steps}
        cases.setdefault(kind, []).append(case)
        return recorder, case

    tape, case = record("requests")
    tape.send(0, [put(keys[0], "two\nlines\n")])
    tape.send(0, [put(keys[1], "q" * (limit + draw.between(1, 5)))])
    tape.send(0, [simple("get", keys[0])])
    for _ in range(28):
        tape.send(0, [random_request(draw, keys, limit)])
    case["after"] = tape.model.file()

    tape, case = record("streams")
    for number in range(8):
        tape.send(
            number % 3, [random_request(draw, keys, limit) for _ in range(draw.between(1, 8))], draw.between(0, 5)
        )
        tape.halves(
            3, put(keys[2], f"half {number}\n"), number % 3, [simple("get", keys[2]), random_request(draw, keys, limit)]
        )
    case["after"] = tape.model.file()

    tape, case = record("clock")
    life = draw.between(3, 6)
    tape.send(
        0,
        [put(keys[0], "5", str(life)), put(keys[1], "x", str(life)), put(keys[1], "y"), simple("tick", str(life - 1))],
    )
    tape.send(0, [simple("add", keys[0], "3"), simple("life", keys[0]), simple("life", keys[1]), simple("tick", "1")])
    tape.send(0, [simple("get", keys[0]), simple("add", keys[0], "1"), simple("life", keys[0]), simple("list")])
    for _ in range(9):
        key = draw.pick(keys)
        tape.send(
            0,
            [
                draw.pick(
                    (
                        put(key, str(draw.between(0, 9)), str(draw.between(1, 4))),
                        simple("keep", key),
                        simple("get", key),
                    )
                )
            ],
        )
        tape.send(
            0,
            [
                simple("tick", str(draw.between(0, 2))),
                simple("life", key),
                simple("del", key, key) if draw.chance(20) else simple("list"),
            ],
        )
    case["after"] = tape.model.file()

    before = Model(limit, draw.between(5, 50))
    for number in range(draw.between(3, 6)):
        value = "".join(draw.pick("ab\n\x00\xfe") for _ in range(number))
        before.entries[f"{draw.pick(keys)}.{number}"] = (value, draw.pick((None, before.clock + draw.between(2, 9))))
    tape, case = record("store", before)
    tape.send(0, [simple("list"), simple("tick", "0")])
    tape.send(0, [put("gone", "1", "2"), put("edge", "1", "3"), put("Upper", ""), simple("tick", "2")])
    case["after"] = tape.model.file()
    for _ in range(2 if extreme else 0):
        transactions(draw, keys, limit, *record("transactions"))
    return cases


def transactions(draw: Draw, keys: tuple[str, ...], limit: int, tape: Recorder, case: dict[str, object]) -> None:
    """Queued, spoilt, given up and overtaken transactions of several clients."""
    a, b = keys[0], keys[1]
    tape.send(0, [put(a, "1", "4"), simple("watch", a, b), simple("begin"), simple("add", a, "1"), simple("get", a)])
    tape.send(1, [simple("get", a), simple("tick", "1")])  # the clock alone changes nothing
    tape.send(0, [simple("commit"), simple("commit")])
    tape.send(0, [simple("watch", a), simple("begin"), put(b, "lost")])
    tape.send(1, [put(a, "other")])
    tape.send(0, [simple("commit"), simple("get", b)])
    tape.send(0, [put(a, "s", "2"), simple("watch", a), simple("begin"), simple("list")])
    tape.send(2, [simple("tick", "2")])  # it expires meanwhile
    tape.send(
        0,
        [
            simple("commit"),
            simple("begin"),
            simple("begin"),
            simple("watch", a),
            put(a, "k"),
            simple("XYZZY"),
            simple("commit"),
            simple("get", a),
        ],
    )
    for _ in range(8):
        client = draw.between(0, 2)
        tape.send(client, [simple("watch", *draw.sample(keys, 2)), simple("begin")])
        tape.send(client, [random_request(draw, keys, limit) for _ in range(draw.between(1, 2))], draw.between(0, 3))
        tape.send((client + 1) % 3, [random_request(draw, keys, limit)])
        tape.send(client, [simple(draw.pick(("commit", "commit", "commit", "drop"))), simple("list")])
    case["after"] = tape.model.file()


def draft(draw: Draw) -> Draft:
    """One server."""
    world = draw.setting(SETTINGS)
    extreme = draw.difficulty is Difficulty.EXTREMELY_HARD
    limit = draw.between(40, 200)
    words: dict[str, str] = dict(zip(VERBS, world.verbs.split(), strict=True))
    document = DOCUMENT.format(limit=limit, more=MORE.format(**words) if extreme else "", **words)
    where = {"folder": world.folder, "program": world.program, "document": world.document}
    rules = {key: texts[world.wording].format(**where) for key, texts in RULES.items()}
    known = words if extreme else {verb: words[verb] for verb in VERBS[:9]}
    fill = {"@P@": f"{world.folder}/{world.program}", "@V@": " ".join(known.values()), "@L@": str(limit)}
    goals = ["test_requests", "test_streams", "test_clock", "test_store"] + (["test_transactions"] if extreme else [])
    weights = (0.2, 0.2, 0.15, 0.15, 0.3) if extreme else (0.3, 0.3, 0.2, 0.2)
    variants: list[tuple[str, str, str, str, list[str]]] = [
        (
            "one_read_one_request",
            "takes what one read brings for one request",
            "while (reply := self.step()) is not None:",
            "reply = self.step()\n        self.buffer = b''\n        if reply is not None:",
            ["test_streams", "test_clock"],
        ),
        (
            "lives_one_too_long",
            "lets entries live a moment longer",
            "clock >= e[1]",
            "clock > e[1]",
            ["test_clock", "test_store"],
        ),
        ("sum_forgets_expiry", "loses the expiry when adding", "% total, until)", "% total, None)", ["test_clock"]),
        (
            "size_not_skipped",
            "leaves an oversized value in the stream",
            "if len(rest) < size + 1:",
            "if size > LIMIT:\n                self.buffer = rest\n                return b'ERR size\\n'\n         "
            "   if len(rest) < size + 1:",
            ["test_requests"],
        ),
        ("file_not_read", "starts empty", "if os.path.exists(path):", "if False:", ["test_store"]),
    ]
    if extreme:
        variants += [
            (
                "watch_is_decoration",
                "executes although an entry changed",
                "if any(find(k) != e for",
                "if any(False for",
                ["test_transactions"],
            ),
            (
                "spoilt_goes_on",
                "executes the rest of a spoilt transaction",
                "if self.spoilt:",
                "if False:",
                ["test_transactions"],
            ),
        ]
    return Draft(
        title=f"Key-value server: {world.scenario}",
        setting=world,
        instruction=world.text.format(
            number=draw.between(100, 999), firm=draw.pick(FIRMS), rules="\n".join(rules.values()), **where
        ),
        files={world.document: document},
        dockerfile=f"COPY {world.document} {world.folder}/\nWORKDIR {world.folder}",
        truth={
            "program": f"{world.folder}/{world.program}",
            "document": f"{world.folder}/{world.document}",
            "document_sum": hashlib.sha256(document.encode()).hexdigest(),
            "stop": words["stop"] + "\n",
            "cases": draw_cases(draw, world, words, limit, extreme),
        },
        discoverable=("program", "document", "stop", "cases"),
        tests=TESTS + (TRANSACTIONS if extreme else "") + GUARD,
        weights=dict(zip(goals, weights, strict=True)),
        guards=["test_document_untouched"],
        initial=INITIAL,
        solution=filled(PYTHON, fill),
        alternatives=[filled(PERL, fill)],
        misses=[
            Miss(name, why, filled(PYTHON, {old: new, **fill}), caught) for name, why, old, new, caught in variants
        ],
        requirements=[
            *(
                (
                    text,
                    ["test_streams"] if key in ("stream", "clients") else ["test_store"] if key == "store" else goals,
                )
                for key, text in rules.items()
            ),
            (rules["protocol"], ["test_document_untouched"]),
        ],
        knobs={"limit": limit, "transactions": extreme, "cases": 6 if extreme else 4},
        limits=Limits(solve_seconds=120, grade_seconds=90),
    )


def filled(script: str, values: Mapping[str, str]) -> str:
    """The script with each marker replaced."""
    for marker, value in values.items():
        script = script.replace(marker, value)
    return script


FAMILY = Family(
    name="key_value_server",
    domain="system_administration",
    verifier=Verifier.MULTI_PROTOCOL,
    skills=("tcp servers", "protocol implementation", "stream parsing", "persistence"),
    difficulties=(Difficulty.HARD, Difficulty.EXTREMELY_HARD),
    capacity=32,
    draft=draft,
    command_complexity="services",
)
