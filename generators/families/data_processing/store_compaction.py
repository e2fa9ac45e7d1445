"""Compact a log-structured binary store: newest sequence wins, tombstones, checksums, torn tails, transactions, "
"expiry."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from generators.family import Content, Draft, Draw, Family, Miss, Setting, Voice
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS

PUT, DELETE, DELETE_PREFIX, COMMIT = 1, 2, 3, 4


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling; `keys` are the prefixes of the keys in the store."""

    folder: str
    store: str
    magic: str
    out: str
    report: str
    program: str
    keys: tuple[str, ...]
    text: str


def world(line: str, voice: Voice, text: str) -> World:
    """A world from one line of words separated by bars."""
    name, persona, scenario, folder, store, magic, out, report, program, keys = line.split("|")
    return World(name, persona, scenario, voice, folder, store, magic, out, report, program, tuple(keys.split()), text)


SETTINGS = (
    world(
        "sessions|backend engineer|session store|/srv/sessions|data|SESS|merged.seg|merge.json|compactor|user/ cart/ "
        "token/",
        "ticket",
        """CORE-{ticket}: the session store of {firm} does not compact any more

The tool that compacted {store} was never checked in. The format is written down in {format}.

{rules}
""",
    ),
    world(
        "sensors|embedded developer|sensor archive|/data/sensors|flash|SNSR|compact.seg|stats.json|squeeze|temp: hum: "
        "volt:",
        "email",
        """Hello,

our sensor boxes write to a small log-structured store, and the flash of this one ({store}) is full. I need a
compaction tool; {format}
is the description we got from the people who made the firmware for {firm}.

{rules}

Thanks, {persona}
""",
    ),
    world(
        "routing|network engineer|route database|/var/lib/routes|segments|ROUT|routes.seg|routes.json|pack|v4= v6= "
        "peer=",
        "note",
        """Store: {store}. Format: {format}. Wanted at {firm}:
{rules}
-- {persona}
""",
    ),
    world(
        "ledger_kv|ledger developer|ledger key-value log|/opt/ledger|log|LKV1|base.seg|base.json|rebase|acct- hold- "
        "rate-",
        "specification",
        """Specification: compaction of the ledger store ({firm})

The store under consideration is {store}; {format} is normative.

{rules}

Author: {persona}
""",
    ),
    world(
        "game_saves|game server admin|player saves|/home/game/saves|world|SAVE|world.seg|world.json|shrink|hero. "
        "base. quest.",
        "chat",
        """yo, the save server is out of disk because nobody compacts the store ({store}). format notes from the old
dev are in {format}, crash
damage included. can you build the compaction?
{rules}
gg
""",
    ),
    world(
        "search_index|search engineer|posting store|/srv/index|shards|POST|shard.seg|shard.json|fold|term= doc= lang=",
        "runbook",
        """Runbook: manual compaction of a posting store ({firm})

Background: {format}. Store: {store}. Owner of this page: {persona}.
{rules}
""",
    ),
    world(
        "feature_flags|release manager|flag "
        "store|/data/flags|journal|FLAG|snapshot.seg|snapshot.json|snapshotter|web# ios# android#",
        "email",
        """Dear team,

the flag service of {firm} starts slower every week because it replays its whole journal ({store}). A compacted
segment would cure that.
Please read {format} with care, the journal has survived several crashes, and then:

{rules}

Best, {persona}
""",
    ),
    world(
        "mail_meta|mail operator|mailbox metadata|/var/lib/mailmeta|store|MAIL|mailbox.seg|mailbox.json|vacuum|inbox~ "
        "sent~ spam~",
        "ticket",
        """[mail-{ticket}] compaction tool for mailbox metadata

Reported by the {persona} of {firm}. Live store: {store}. Layout of the files: {format}.
Tasks
{rules}
""",
    ),
)

SENTENCES: dict[str, tuple[str, str, str]] = {
    "program": (
        "Provide the executable {program}: called as {call}, it compacts the segments in the directory STORE into the "
        "file OUTPUT, prints the "
        "report on standard output and exits with 0; damage is not an error.",
        "Deliver a program {program} (executable, usage {call}) that reads the segments in the directory STORE, "
        "writes the compacted segment "
        "to OUTPUT and the report to standard output, and exits with status 0 however damaged the store is.",
        "Make {program}, an executable to be run as {call}; it turns the store in directory STORE into one compacted "
        "segment, the file OUTPUT, "
        "prints its report to standard output, and always ends with exit status 0 for damage in the store.",
    ),
    "bytes": (
        "OUTPUT is determined byte by byte by the format description, and we compare it like that.",
        "There is exactly one right OUTPUT for a store, down to the last byte.",
        "OUTPUT has to be exactly the bytes that the description implies.",
    ),
    "report": (
        "The report is a JSON object of whole numbers: segments (with a valid header), bad_segments (without), "
        "records (intact ones read), "
        "corrupt (records with a wrong checksum), torn (segments with an incomplete end) and live (records written).",
        "Its report is one JSON object with the counts segments (header valid), bad_segments (header not valid), "
        "records (read and intact), corrupt "
        "(checksum wrong), torn (segments that end within a record) and live (records in OUTPUT).",
        "Report: JSON object, integers only. segments and bad_segments count files by the validity of their header, "
        "records the intact records, "
        "corrupt those that fail the checksum, torn the segments whose end is incomplete, live the records put out.",
    ),
    "here": (
        "Compact {store} with it{now}: the segment goes to {out}, the report to {json}.",
        "For the store {store} leave the result in {out} and the report in {json}{now}.",
        "Then use it on {store}{now}, OUTPUT being {out}, and keep the report as {json}.",
    ),
    "keep": (
        "The files of the store are not changed.",
        "Leave the store itself as it is.",
        "Do not touch any file in the store.",
    ),
}

FORMAT = """# Store format @MAGIC@

All integers are unsigned and @ENDIAN@. CRC means CRC-32 as in zlib and PNG (polynomial 0x04C11DB7 reflected, initial
value and final xor
0xFFFFFFFF). A store is a directory; its segments are the files whose names end in .seg, other files do not belong to
it. Names mean nothing.

## Segment
A header of 14 bytes: the four bytes `@MAGIC@`, version (2 bytes, always @VERSION@), segment number (4 bytes), CRC of
the ten bytes before it
(4 bytes). Numbers are unique and grow with time. If the file is too short for it or magic, version or CRC are wrong,
the whole segment is
ignored. Records follow the header without gaps.

## Record
@LAYOUT@
Types: 1 puts the value under the key; 2 deletes the key (no value)@TYPES@.

A record whose CRC is wrong is corrupt: skip it by its lengths and go on with the next. If the bytes left in a
segment do not suffice for a
whole record as its lengths have it, the segment was torn by a crash: ignore these bytes, later segments are read all
the same.

## Reading
For each key the record with the highest sequence decides, wherever it stands: background writers do not keep the
order. Sequences can repeat
after a crash: then the record in the segment with the higher number decides, and within a segment the later one. If
it is a deletion the
key does not exist, and older values stay dead.
@RULES@
## Compacted segment
One segment with the number after the highest among the valid ones of the store (1 if there is none). It holds a put
record for each existing
key, ascending by the bytes of the key, with its original sequence@KEPT@, and nothing else.
"""
TYPES = "; 3 deletes all keys that begin with the bytes of the key (no value); 4 commits a transaction (neither key nor value)"
RULES = """
A prefix deletion (type 3) acts on a key like a deletion with its sequence and place; it does not touch records that
win over it.

Records with a transaction other than 0 count only if an intact commit with that transaction exists anywhere in the
store; without one they are
as if never written (they are intact records all the same). Their own sequence decides, not that of the commit.

A put with an expiry other than 0 which is not after NOW is expired: it acts as a deletion.
"""

TESTS = """
import base64
import hashlib
import subprocess
import tempfile
from pathlib import Path


def test_store_compacted():
    data = Path(TRUTH["out"]).read_bytes()
    assert len(data) == TRUTH["expected"]["size"], f"{len(data)} bytes"
    assert hashlib.sha256(data).hexdigest() == TRUTH["expected"]["digest"], "bytes differ"


def test_report():
    assert json.loads(Path(TRUTH["json"]).read_text()) == json.loads(TRUTH["expected"]["report"])


def test_program():
    for number, case in enumerate(json.loads(TRUTH["cases"])):
        with tempfile.TemporaryDirectory() as folder:
            store = Path(folder, "store")
            store.mkdir()
            for name, content in case["files"].items():
                (store / name).write_bytes(base64.b64decode(content))
            out = Path(folder, "out.seg")
            command = [TRUTH["program"], str(store), str(out), *case["now"]]
            done = subprocess.run(command, capture_output=True, timeout=15, cwd="/")
            assert done.returncode == 0, f"store {number}: exit status {done.returncode}"
            assert json.loads(done.stdout) == case["report"], f"store {number}: report"
            assert out.read_bytes() == base64.b64decode(case["out"]), f"store {number}: bytes"


def test_store_unchanged():
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in Path(TRUTH["store"]).iterdir()}
    assert found == TRUTH["files"]
"""
INITIAL = """
from pathlib import Path


def test_only_the_store():
    assert all(Path(TRUTH["store"], name).is_file() for name in TRUTH["files"])
    assert not any(Path(TRUTH[key]).exists() for key in ("out", "json", "program"))
"""

PYTHON = r"""#!/usr/bin/python3
import json, struct, sys, zlib
from pathlib import Path
E, HEAD, FIRST, RICH = "@E@", struct.Struct("@E@@HEAD@"), @FIRST@, @RICH@
store, out = Path(sys.argv[1]), sys.argv[2]
now = int(sys.argv[3]) if RICH else 0
count = dict.fromkeys(("segments", "bad_segments", "records", "corrupt", "torn", "live"), 0)
segments = []
for path in sorted(store.glob("*.seg")):
    data = path.read_bytes()
    head = data[:10]
    good = len(data) >= 14 and head[:6] == b"@MAGIC@" + struct.pack(E + "H", @VERSION@)
    if not good or data[10:14] != struct.pack(E + "I", zlib.crc32(head)):
        count["bad_segments"] += 1
        continue
    count["segments"] += 1
    segments.append((struct.unpack(E + "I", head[6:])[0], data))
segments.sort()
records, committed = [], {0}
for number, data in segments:
    at, place = 14, 0
    while at < len(data):
        start = at + 4 * FIRST
        if start + HEAD.size > len(data):
            count["torn"] += 1
            break
        fields = HEAD.unpack_from(data, start)
        klen, vlen = fields[-2:]
        body_end = start + HEAD.size + klen + vlen
        end = body_end + 4 * (not FIRST)
        if end > len(data):
            count["torn"] += 1
            break
        crc = struct.unpack_from(E + "I", data, at if FIRST else body_end)[0]
        body = data[start:body_end]
        at, place = end, place + 1
        if zlib.crc32(body) != crc:
            count["corrupt"] += 1
            continue
        count["records"] += 1
        seq, kind = fields[:2]
        txn, expiry = fields[2:4] if RICH else (0, 0)
        key = body[HEAD.size:HEAD.size + klen]
        if kind == 4:
            committed.add(txn)
        else:
            records.append(((seq, number, place), kind, txn, expiry, key, body[HEAD.size + klen:]))
best, ranges = {}, []
for r in records:
    if r[2] not in committed:
        continue
    if r[1] == 3:
        ranges.append(r)
    elif r[4] not in best or r[0] > best[r[4]][0]:
        best[r[4]] = r
def framed(body):
    crc = struct.pack(E + "I", zlib.crc32(body))
    return crc + body if FIRST else body + crc
head = b"@MAGIC@" + struct.pack(E + "HI", @VERSION@, segments[-1][0] + 1 if segments else 1)
result = [head + struct.pack(E + "I", zlib.crc32(head))]
for key in sorted(best):
    rank, kind, txn, expiry, _, value = best[key]
    if kind != 1 or (expiry and expiry <= now):
        continue
    if any(r[0] > rank and key.startswith(r[4]) for r in ranges):
        continue
    count["live"] += 1
    extra = (0, expiry) if RICH else ()
    result.append(framed(HEAD.pack(rank[0], 1, *extra, len(key), len(value)) + key + value))
Path(out).write_bytes(b"".join(result))
print(json.dumps(count))
"""

PERL = r"""#!/usr/bin/perl
use strict; use warnings; use JSON::PP;
my @table = map { my $c = $_; $c = $c & 1 ? 0xEDB88320 ^ ($c >> 1) : $c >> 1 for 1 .. 8; $c } 0 .. 255;
sub crc { my $c = 0xFFFFFFFF; $c = $table[($c ^ $_) & 255] ^ ($c >> 8) for unpack "C*", $_[0]; return $c ^ 0xFFFFFFFF }
my ($store, $out, $now) = @ARGV; my ($first, $rich) = (@FIRSTN@, @RICHN@); my $o = "@P@";
my $layout = $rich ? "Q${o}CL${o}L${o}S${o}L${o}" : "Q${o}CS${o}L${o}"; my $size = $rich ? 23 : 15;
my %n = map { $_ => 0 } qw(segments bad_segments records corrupt torn live);
my @segments;
for my $path (glob("$store/*.seg")) {
    open(my $f, "<:raw", $path) or die; local $/; my $d = <$f>; $d = "" unless defined $d;
    my ($magic, $version, $number, $sum) = length $d >= 14 ? unpack("a4S${o}L${o}L${o}", $d) : ("", 0, 0, 0);
    if ($magic ne "@MAGIC@" || $version != @VERSION@ || crc(substr($d, 0, 10)) != $sum) { $n{bad_segments}++; next }
    $n{segments}++; push @segments, [$number, $d];
}
@segments = sort { $a->[0] <=> $b->[0] } @segments;
my (@all, %done); $done{0} = 1;
for (@segments) {
    my $rest = substr($_->[1], 14);
    while (length $rest) {
        my $lead = $first ? 4 : 0; my @f = length $rest >= $lead + $size ? unpack($layout, substr($rest, $lead)) : ();
        if (!@f || length $rest < 4 + $size + $f[-1] + $f[-2]) { $n{torn}++; last }
        my $body = substr($rest, $lead, $size + $f[-1] + $f[-2]);
        my $sum = unpack("L${o}", substr($rest, $first ? 0 : length $body, 4));
        substr($rest, 0, 4 + length $body) = "";
        if (crc($body) != $sum) { $n{corrupt}++; next }
        $n{records}++;
        my ($txn, $expiry) = $rich ? @f[2, 3] : (0, 0);
        if ($f[1] == 4) { $done{$txn} = 1; next }
        push @all, {s => $f[0], t => $f[1], x => $txn, e => $expiry, k => substr($body, $size, $f[-2]), v => substr($body, $size + $f[-2])};
    }
}
# all is in the order of segment and place, and sort is stable: the last one of a key decides
my (%state, @prefixes);
for my $r (sort { $a->{s} <=> $b->{s} } grep { $done{$_->{x}} } @all) {
    if ($r->{t} == 3) { my $p = $r->{k}; delete $state{$_} for grep { substr($_, 0, length $p) eq $p } keys %state }
    elsif ($r->{t} == 2 || ($r->{e} && $r->{e} <= $now)) { delete $state{$r->{k}} }
    else { $state{$r->{k}} = $r }
}
my $head = pack("a4S${o}L${o}", "@MAGIC@", @VERSION@, @segments ? $segments[-1][0] + 1 : 1);
open(my $f, ">:raw", $out); print $f $head, pack("L${o}", crc($head));
for my $k (sort keys %state) {
    my $r = $state{$k}; $n{live}++;
    my $body = pack($layout, $r->{s}, 1, $rich ? (0, $r->{e}) : (), length $k, length $r->{v}) . $k . $r->{v};
    print $f $first ? (pack("L${o}", crc($body)), $body) : ($body, pack("L${o}", crc($body)));
}
close $f;
print encode_json(\%n), "\n";
"""


@dataclass(frozen=True)
class Record:
    """A record; `damaged` flips a bit after the checksum was made."""

    sequence: int
    kind: int
    key: bytes
    value: bytes = b""
    transaction: int = 0
    expiry: int = 0
    damaged: bool = False


@dataclass(frozen=True)
class Segment:
    """A segment: its number, records, torn bytes at the end, and whether the header is valid."""

    number: int
    records: tuple[Record, ...]
    tail: int = 0
    valid: bool = True


@dataclass(frozen=True)
class Codec:
    """The byte layout of one drawing."""

    order: str
    magic: bytes
    version: int
    crc_first: bool
    rich: bool

    @property
    def head(self) -> str:
        """The struct format of a record's fields."""
        return "QBIIHI" if self.rich else "QBHI"

    def record(self, record: Record) -> bytes:
        """The bytes of a record."""
        extra = (record.transaction, record.expiry) if self.rich else ()
        fields = (record.sequence, record.kind, *extra, len(record.key), len(record.value))
        body = struct.pack(self.order + self.head, *fields) + record.key + record.value
        crc = struct.pack(self.order + "I", zlib.crc32(body))
        if record.damaged:
            spot = -1 if record.key else 3  # never in the lengths
            body = body[:spot] + bytes([body[spot] ^ 0x10]) + (body[spot + 1 :] if spot > 0 else b"")
        return crc + body if self.crc_first else body + crc

    def segment(self, segment: Segment) -> bytes:
        """The bytes of a segment."""
        head = self.magic + struct.pack(self.order + "HI", self.version, segment.number)
        crc = zlib.crc32(head) ^ (0 if segment.valid else 1)
        body = b"".join(self.record(record) for record in segment.records)
        torn = self.record(Record(2**40, PUT, b"lost", b"never finished"))[: segment.tail]
        return head + struct.pack(self.order + "I", crc) + body + torn


def draw_store(draw: Draw, place: World, rich: bool, segments: int, size: int, now: int) -> list[Segment]:
    """A store with every trap: see the comments. Later segments do not always have the higher sequences."""
    numbers = sorted(draw.sample(range(2, 90), segments))
    keys = [
        f"{prefix}{number}".encode() for prefix in place.keys for number in draw.sample(range(100), max(6, size // 3))
    ]
    content: list[list[Record]] = [[] for _ in numbers]
    sequence = draw.between(1000, 9000)

    def add(where: int, kind: int, key: bytes, step: int = 1, **more: int) -> Record:
        nonlocal sequence
        sequence += step
        value = draw.pick(("on", "", "café ", "x\x00y ")).encode() + str(sequence).encode() if kind == PUT else b""
        record = Record(
            sequence, kind, key, value, more.get("transaction", 0), more.get("expiry", 0), bool(more.get("damaged", 0))
        )
        content[where].append(record)
        return record

    for where in range(segments):
        for _ in range(size):
            options = {"expiry": now + draw.between(-50, 50)} if rich and draw.chance(15) else {}
            kind = DELETE if draw.chance(18) else PUT
            add(where, kind, draw.pick(keys), draw.between(1, 4), **(options if kind == PUT else {}))
    last = segments - 1
    special = [f"{place.keys[0]}special{number}".encode() for number in range(12)]
    add(0, PUT, special[0], 5)  # the newest one is damaged: the older one holds
    add(last, PUT, special[0], damaged=1)
    add(last, PUT, special[1])  # deleted by a record in an older segment
    add(0, DELETE, special[1])
    add(0, PUT, special[2])  # the deletion is damaged
    add(last, DELETE, special[2], damaged=1)
    twin = add(0, PUT, special[3])  # equal sequences: the later segment, then the later place
    content[last].append(replace(twin, value=b"second"))
    content[last].append(replace(twin, value=b"third"))
    add(1, PUT, special[4])  # newer, in an older segment
    content[last].append(Record(1, PUT, special[4], b"ancient"))
    if rich:
        add(0, PUT, special[5])
        add(last, PUT, special[5], transaction=71)  # never committed
        add(0, PUT, special[6], transaction=72)
        add(1, COMMIT, b"", transaction=72)
        add(0, PUT, special[7])
        add(1, PUT, special[7], transaction=73)
        add(last, COMMIT, b"", transaction=73, damaged=1)
        add(0, PUT, special[8])
        add(1, PUT, special[8], expiry=now)  # expired to the second, and the older value stays dead
        add(0, PUT, special[9], expiry=now + 1)
        add(0, PUT, place.keys[1].encode() + b"old")
        add(last, DELETE_PREFIX, place.keys[1].encode())
        add(0, PUT, place.keys[1].encode() + b"new")
    store = [
        Segment(
            number,
            tuple(draw.shuffled(records) if where < last else records),
            draw.pick((0, 3, 9, 21, 30)) if where != 1 else 17,
        )
        for where, (number, records) in enumerate(zip(numbers, content, strict=True))
    ]
    stray = tuple(Record(sequence + 50 + number, PUT, special[number], b"from a bad segment") for number in range(5))
    store.append(Segment(95, stray, 0, False))
    return store


def compacted(store: Sequence[Segment], codec: Codec, now: int) -> tuple[bytes, dict[str, int]]:
    """The compacted segment and the report, from the records as they were drawn."""
    valid = sorted((segment for segment in store if segment.valid), key=lambda segment: segment.number)
    intact = [record for segment in valid for record in segment.records if not record.damaged]
    committed = {0} | {record.transaction for record in intact if record.kind == COMMIT}
    state: dict[bytes, Record] = {}
    # a stable sort keeps segment and place as the second and third criterion
    for record in sorted(intact, key=lambda record: record.sequence):
        if record.transaction not in committed or record.kind == COMMIT:
            continue
        if record.kind == DELETE_PREFIX:
            state = {key: old for key, old in state.items() if not key.startswith(record.key)}
        elif record.kind == DELETE or 0 < record.expiry <= now:
            state.pop(record.key, None)
        else:
            state[record.key] = replace(record, transaction=0)
    total = sum(len(segment.records) for segment in valid)
    report = {
        "segments": len(valid),
        "bad_segments": len(store) - len(valid),
        "records": len(intact),
        "corrupt": total - len(intact),
        "torn": sum(1 for segment in valid if segment.tail),
        "live": len(state),
    }
    number = valid[-1].number + 1 if valid else 1
    return codec.segment(Segment(number, tuple(state[key] for key in sorted(state)))), report


def stored(draw: Draw, store: Sequence[Segment], codec: Codec) -> dict[str, bytes]:
    """The files of a store; names say nothing about the order."""
    names = draw.sample(range(1, 60), len(store))
    files = {f"{name:04d}.seg": codec.segment(segment) for name, segment in zip(names, store, strict=True)}
    return files | {"LOCK": b"4711\n", f"{names[0]:04d}.seg.tmp": codec.segment(store[0])[:40]}


def layout(codec: Codec) -> str:
    """The description of a record."""
    extra = ", transaction (4), expiry (4, seconds since 1970)" if codec.rich else ""
    fields = f"sequence (8 bytes), type (1){extra}, key length (2), value length (4), key, value"
    if codec.crc_first:
        return f"CRC of the rest of the record (4 bytes), then {fields}. The fields follow each other without padding."
    return f"In this order and without padding: {fields}, and at the end the CRC of all of that (4 bytes)."


def laid_out(voice: Voice, lines: list[str]) -> str:
    """Sentences in the manner of a voice."""
    if voice in ("email", "chat"):
        return "\n".join(lines)
    return "\n".join(
        f"{f'{n}.' if voice in ('specification', 'runbook') else '-'} {line}" for n, line in enumerate(lines, 1)
    )


def draft(draw: Draw) -> Draft:
    """One store."""
    place = draw.setting(SETTINGS)
    rich = draw.difficulty is Difficulty.EXTREMELY_HARD
    wording, now = (draw.serial + draw.serial // 3) % 3, 1_700_000_000 + draw.between(0, 9_999_999)
    codec = Codec(draw.pick("<>"), place.magic.encode(), draw.between(1, 9), draw.chance(50), rich)
    segments, size = draw.by_difficulty(hard=(5, 30), extremely_hard=(7, 36))
    main = draw_store(draw, place, rich, segments, size, now)
    files = stored(draw, main, codec)
    out, report = compacted(main, codec, now)
    cases: list[dict[str, object]] = []
    stores = [draw_store(draw, place, rich, draw.between(2, 4), 8, now) for _ in range(3)]
    for store in [*stores, [Segment(9, (), 5, False)], [Segment(4, (), 0)]]:
        case_out, case_report = compacted(store, codec, now)
        coded = {name: base64.b64encode(data).decode() for name, data in stored(draw, store, codec).items()}
        arguments = [str(now)] if rich else []
        cases.append(
            {"files": coded, "now": arguments, "report": case_report, "out": base64.b64encode(case_out).decode()}
        )

    paths = {
        "store": f"{place.folder}/{place.store}",
        "out": f"{place.folder}/{place.out}",
        "json": f"{place.folder}/{place.report}",
    }
    program, told = f"{place.folder}/{place.program}", f"{place.folder}/FORMAT.md"
    at = (f" with {now} as NOW", f"; NOW is {now}", f" (NOW: {now})")[wording] if rich else ""
    call = f"{place.program} STORE OUTPUT{' NOW' if rich else ''}"
    said = {
        name: texts[wording].format(program=program, call=call, now=at, **paths) for name, texts in SENTENCES.items()
    }
    instruction = place.text.format(
        firm=draw.pick(FIRMS),
        persona=place.persona,
        ticket=draw.between(100, 9999),
        store=paths["store"],
        format=told,
        rules=laid_out(place.voice, list(said.values())),
    )
    fill = {
        "MAGIC": place.magic,
        "ENDIAN": "little-endian" if codec.order == "<" else "big-endian",
        "VERSION": str(codec.version),
        "LAYOUT": layout(codec),
        "TYPES": TYPES if rich else "",
        "RULES": RULES if rich else "",
        "KEPT": " and expiry, transaction 0" if rich else "",
        "E": codec.order,
        "P": codec.order,
        "HEAD": codec.head,
        "FIRST": str(codec.crc_first),
        "FIRSTN": str(int(codec.crc_first)),
        "RICH": str(rich),
        "RICHN": str(int(rich)),
    }

    def filled(source: str, *changes: tuple[str, str]) -> str:
        for old, new in [*changes, *((f"@{name}@", word) for name, word in fill.items())]:
            source = source.replace(old, new)
        return source

    def script(source: str, *changes: tuple[str, str]) -> str:
        text = f"cd {place.folder}\ncat > {place.program} <<'PROGRAM'\n{filled(source, *changes)}PROGRAM\nchmod +x {place.program}\n"
        return text + f"./{place.program} {place.store} {place.out}{f' {now}' if rich else ''} > {place.report}\n"

    goals = ["test_store_compacted", "test_report", "test_program"]
    misses = [
        Miss(
            "order_of_writing",
            "lets the position decide",
            script(PYTHON, ("(seq, number, place)", "(number, place, seq)"), ("rank[0], 1", "rank[2], 1")),
            [goals[0], goals[2]],
        ),
        Miss(
            "stops_at_damage",
            "gives up a segment at a wrong checksum",
            script(PYTHON, ('count["corrupt"] += 1\n            continue', 'count["corrupt"] += 1\n            break')),
            goals,
        ),
        Miss(
            "no_checksums",
            "does not verify records",
            script(PYTHON, ("if zlib.crc32(body) != crc:", "if False:")),
            goals,
        ),
        Miss(
            "deletions_skipped",
            "leaves deletions out before looking for the newest",
            script(
                PYTHON, ("        if kind == 4:", "        if kind == 2:\n            continue\n        if kind == 4:")
            ),
            goals,
        ),
    ]
    if rich:
        misses += [
            Miss(
                "all_committed",
                "takes every transaction",
                script(PYTHON, ("if r[2] not in committed:", "if False:")),
                [goals[0], goals[2]],
            ),
            Miss(
                "expired_skipped",
                "lets older values come back when a put has expired",
                script(PYTHON, ("if r[2] not in committed:", "if r[2] not in committed or (r[3] and r[3] <= now):")),
                goals,
            ),
            Miss(
                "prefix_kills_all",
                "deletes by prefix whatever the sequence",
                script(PYTHON, ("r[0] > rank and key", "key")),
                goals,
            ),
        ]
    context: dict[str, Content] = {f"store/{name}": data for name, data in files.items()}
    return Draft(
        title=f"Compact a binary store: {place.scenario}",
        setting=place,
        instruction=instruction,
        files={**context, "FORMAT.md": filled(FORMAT)},
        dockerfile=f"COPY store {paths['store']}/\nCOPY FORMAT.md {place.folder}/\nWORKDIR {place.folder}",
        truth={
            **paths,
            "program": program,
            "expected": {"size": len(out), "digest": hashlib.sha256(out).hexdigest(), "report": json.dumps(report)},
            "cases": json.dumps(cases),
            "files": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
        },
        discoverable=("store", "out", "json", "program", "files"),
        tests=TESTS,
        weights={"test_store_compacted": 0.35, "test_report": 0.15, "test_program": 0.5},
        guards=["test_store_unchanged"],
        initial=INITIAL,
        solution=script(PYTHON),
        alternatives=[script(PERL)],
        misses=misses,
        requirements=[
            (said["program"], ["test_program"]),
            (said["bytes"], ["test_store_compacted", "test_program"]),
            (said["report"], ["test_report", "test_program"]),
            (said["here"], ["test_store_compacted", "test_report"]),
            (said["keep"], ["test_store_unchanged"]),
        ],
        knobs={
            "segments": segments + 1,
            "records": sum(len(s.records) for s in main),
            "transactions": rich,
            "hidden": len(cases),
        },
    )


FAMILY = Family(
    name="store_compaction",
    domain="data_processing",
    verifier=Verifier.ADVERSARIAL_CORPUS,
    skills=("binary formats", "checksums", "log-structured storage", "crash recovery"),
    difficulties=(Difficulty.HARD, Difficulty.EXTREMELY_HARD),
    capacity=40,
    draft=draft,
)
