"""Rebuild a folder from a snapshot and a journal: resent and shuffled records, transactions, damaged lines, a gap."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

from generators.family import Draft, Draw, Family, Miss, Setting
from generators.task import Difficulty, Verifier
from generators.vocabulary import CITIES, FIRMS, HOST_WORDS, LAST_NAMES

VERBS = ("write", "append", "move", "delete", "copy", "swap", "begin", "commit", "abort")


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    folder: str
    snapshot: str
    mark: str  # file with the last number the snapshot covers
    journal: str
    target: str
    verbs: str  # this world's words for VERBS
    fields: str  # names of number, generation, transaction, verb, path, argument, checksum
    lines: str  # json or tab
    report: str
    keys: str  # names in the report
    wording: int  # different for each world: which of three wordings each sentence has
    text: str


# fmt: off
SETTINGS = (
    World("mirror_relay", "mirror operator", "software mirror relay", "ticket", "/srv/relay", "snapshot",
          "snapshot.seq", "journal", "/srv/relay/rebuilt", "put extend rename drop clone exchange open commit cancel",
          "seq gen tx op path arg crc", "json", "/srv/relay/report.json", "tree files skipped unfinished", 0,
          "MIRROR-{ticket}: the live tree of the relay at {firm} was lost, only snapshot and journal are left\n\n"
          "{layout}\n\n{rules}\n\n{output}"),
    World("wiki_store", "wiki maintainer", "wiki page store", "email", "/var/lib/wiki", "base", "base.number",
          "changes", "/var/lib/wiki/pages", "save add retitle erase duplicate switch start finish rollback",
          "n writer batch action page detail check", "tab", "/var/lib/wiki/restore.json",
          "digest pages ignored dangling", 1,
          "Hi,\n\nafter the disk failure at {firm} the pages are gone, the change log survived. Can you bring them "
          "back?\n\n{layout}\n\n{rules}\n\n{output}\n\nThanks a lot"),
    World("field_tablets", "survey coordinator", "field tablet sync", "specification", "/data/tablets", "full",
          "full.upto", "uplinks", "/data/tablets/current", "store tail shift purge fork trade begin seal void",
          "no epoch unit verb at value sum", "json", "/data/tablets/summary.json",
          "fingerprint count refused unsealed", 2,
          "Recovery specification, tablet sync of {firm}\n\nInputs\n{layout}\n\nReplay\n{rules}\n\nOutputs\n{output}"),
    World("config_push", "network engineer", "router configuration push", "runbook", "/opt/push", "baseline",
          "baseline.serial", "feed", "/opt/push/state", "set append mv rm cp xchg begin commit abort",
          "serial term txn cmd file data cksum", "tab", "/opt/push/replay.json", "sha256 total rejected open", 3,
          "## Replaying the push feed ({firm}, incident {ticket})\n\n{layout}\n\n### Semantics\n{rules}\n\n### "
          "Leave behind\n{output}"),
    World("clinical_docs", "hospital archivist", "clinical document sync", "note", "/home/records", "weekly",
          "weekly.last", "stream", "/home/records/restored",
          "file addend refile shred photocopy interchange admit sign withdraw", "entry site case act doc body seal",
          "tab", "/home/records/replay.json", "hash documents unusable unsigned", 4,
          "Restore of the document share, {firm}.\n{layout}\n{rules}\n{output}"),
    World("game_saves", "backend developer", "game save service", "chat", "/srv/saves", "seed", "seed.id", "events",
          "/srv/saves/world", "upsert grow rename remove copy swap begin commit rollback",
          "id shard trx kind key payload crc32", "json", "/srv/saves/outcome.json", "treehash files failed hanging", 5,
          "ok so prod lost /srv/saves/world :( but we have the seed and the events ({firm} wants it today)\n\n"
          "{layout}\n\n{rules}\n\n{output}\n\nthx!!"),
    World("build_cache", "release engineer", "artifact store replication", "ticket", "/mnt/artifacts", "image",
          "image.lsn", "wal", "/mnt/artifacts/replica", "write concat move unlink copy swap begin commit abort",
          "lsn timeline xid op name bytes csum", "json", "/mnt/artifacts/replica.json",
          "tree_sha256 entries errors in_doubt", 6,
          "[REL-{ticket}] replica of {firm} artifacts must be rebuilt from image + wal\nPriority: high\n\n{layout}\n"
          "{rules}\n\nDone when:\n{output}"),
    World("notary", "notary's clerk", "deed register replication", "email", "/var/spool/deeds", "deposit",
          "deposit.folio", "ledger", "/var/spool/deeds/register",
          "enter annex move strike transcribe exchange convene seal annul", "folio term act deed title text mark",
          "tab", "/var/spool/deeds/protocol.json", "digest deeds void pending", 7,
          "Dear administrator,\n\nthe register of {firm} must be reconstructed from the deposit and the ledger.\n\n"
          "{layout}\n\n{rules}\n\n{output}\n\nYours faithfully"),
)
# fmt: on

LINES = {
    "json": "Each line of a file in {journal} is one JSON object with {fields}.",
    "tab": "Each line of a file in {journal} has these fields between tabs, percent-encoded as UTF-8: {fields}.",
}
LAYOUT = (
    "{snapshot} is a copy of the tree as it was after record number {mark} (a file with that number). {lines} An "
    "unused field is empty.",
    "What we have: the tree {snapshot}, which already contains every record up to the number in {mark}, and the "
    "folder {journal}. {lines} Fields "
    "without a meaning for a record are empty.",
    "{mark} states the last record that the tree {snapshot} includes. {lines} A field may be empty where it is not "
    "needed.",
)
ORDER = (
    "Apply the records with higher numbers to a copy of the snapshot in {target}, strictly by number: they arrived "
    "in any order, spread over "
    "the files, and some were sent more than once but count once.",
    "In {target} build the tree that results when all later records are carried out on the snapshot in ascending "
    "number, each number once, "
    "although lines are out of order across the files and some came repeatedly.",
    "{target} gets the snapshot plus all records above that number, taken by number and never by place in a file; a "
    "repeated number is the "
    "same record sent again and is carried out once.",
)
FOLDERS = (
    "A folder exists while a file is beneath it, so the result has no empty folders, and writing a file makes the "
    "folders it needs.",
    "Folders are not recorded: they come with their first file and vanish with the last one, so leave none empty.",
    "There are no folders of their own: one appears when a file needs it, and none may be left without files.",
)
VERB = (
    "{write} gives a file new content, replacing what it had; {append} adds to the end of an existing file; {move} "
    "renames a file, replacing a "
    "file that is already there, or renames a folder with all its files to a name not in use; {delete} takes away a "
    "file, or a folder with all in it.",
    "{write}: the file has exactly the given text afterwards. {append}: the text is added to a file that exists. "
    "{move}: the file or folder gets the "
    "path in {arg}; a file may replace a file there, a folder needs a free name. {delete}: the file, or the folder "
    "and everything below, goes.",
    "Meaning of the words: {write} sets the whole text of a file, {append} lengthens a file that exists, {delete} "
    "removes a file or a complete "
    "folder, {move} takes a file (over an existing file if need be) or a whole folder (only to an unused name) to "
    "the path in {arg}.",
)
VERB_HARD = (
    "{copy} copies a file to the path in {arg}, replacing a file there; {swap} exchanges the content of two existing "
    "files.",
    "{copy}: the path in {arg} becomes a file with the same text, replacing any file there. {swap}: two existing "
    "files trade their texts.",
    "Also, {copy} writes the text of a file to the path in {arg} as well (over a file if there is one), {swap} "
    "exchanges two existing files.",
)
SKIP = (
    "A record that cannot be carried out (nothing at its path, a folder where a file is needed, a file where a "
    "folder is needed, a folder's new "
    "name taken or within itself) changes nothing and is reported.",
    "Where a record is impossible, because its path does not exist, a file stands where a folder would have to be or "
    "a folder where a file would, "
    "or a folder's new name is taken or inside that folder, it is left out and reported.",
    "Report and otherwise ignore what cannot be done: an absent path, a file in the place of a needed folder, a "
    "folder in the place of a needed "
    "file, a folder going to a taken name or into itself.",
)
TX = (
    "Records with a transaction name wait: they take effect only when the {commit} of that transaction is reached, "
    "at that point, in the order of "
    "their numbers; after {abort}, or without any end, they never do.",
    "Everything with the same {tx} between {begin} and its end belongs together and happens at the number of the "
    "{commit}, in number order, not "
    "before; if {abort} comes instead, or nothing, none of it happens.",
    "Changes inside a transaction (field {tx}) are applied in number order at the moment of its {commit}; they are "
    "dropped when {abort} follows "
    "or when the transaction is never closed.",
)
ATOMIC = (
    "A transaction is all or nothing: if one of its records cannot be carried out, the whole transaction changes "
    "nothing, and only the numbers of "
    "its impossible records (tried in order up to the first one) are reported.",
    "If any record of a transaction is impossible, undo the entire transaction and report just the first impossible "
    "record of it.",
    "One impossible record voids its whole transaction; of that transaction only the first impossible record is "
    "reported.",
)
SUM = (
    "{crc} is the CRC-32, eight lower case hex digits, of the other fields in the order given, decoded and joined by "
    "single | characters; a line "
    "that is cut off or whose sum is wrong counts as never received.",
    "Lines can be damaged: {crc} holds the CRC-32 (8 hex digits, lower case) over the decoded other fields joined "
    "with | in the listed order. "
    "Ignore torn lines and lines where it does not agree.",
    "Only intact lines count, which means that {crc} equals the CRC-32 in eight small hex digits of all other "
    "fields, decoded, in the order above, with | "
    "between them; incomplete lines are not intact.",
)
GENERATION = (
    "Should intact lines of one number differ, the highest {gen} is right.",
    "If a number has several different intact lines, believe the one with the greatest {gen}.",
    "Of intact lines with the same number the largest {gen} wins.",
)
GAP = (
    "The first number without an intact line ends the journal: nothing from there on counts.",
    "Stop at the first number of which no intact line exists, and treat all higher ones as not received.",
    "Replay ends before the first missing number, even if later records are there.",
)
REPORT = (
    "Write {report}, a JSON object: {k0} is the sha256 (hex) of a listing with one line for each file of the result, "
    "its content's sha256 in hex, "
    "two spaces and its relative path, each ended by a newline, sorted by path in byte order; {k1} is the number of "
    "files; {k2} the ascending "
    "list of reported record numbers; {k3} the alphabetical list of transactions that were begun but neither ended "
    "by {commit} nor by {abort}.",
    '{report} shall be one JSON object with {k0} (hex sha256 over the lines "content sha256, two spaces, relative '
    'path, newline" of all files, '
    "ordered by the bytes of the path), {k1} (how many files), {k2} (reported numbers, ascending) and {k3} (names of "
    "transactions that began "
    "but saw neither {commit} nor {abort}, sorted).",
    "The JSON object in {report} has four keys. {k0}: take for every file the line of its sha256 in hex, two spaces, "
    "its path relative to {target} "
    "and a newline, sort by path bytewise, and hash all lines with sha256 (hex). {k1}: the file count. {k2}: numbers "
    "of reported records, "
    "ascending. {k3}: transactions with a {begin} but without {commit} or {abort}, sorted by name.",
)
KEEP = (
    "{snapshot} and {journal} stay unchanged.",
    "Please do not alter {snapshot} or {journal}.",
    "Neither {snapshot} nor {journal} may be modified.",
)

TESTS = """
import hashlib
import os


def tree(root):
    found = {}
    for at, folders, names in os.walk(root):
        assert folders or names or at == root, "empty folder " + at
        for name in names:
            full = os.path.join(at, name)
            assert os.path.isfile(full) and not os.path.islink(full), full
            with open(full, "rb") as source:
                found[os.path.relpath(full, root)] = hashlib.sha256(source.read()).hexdigest()[:20]
    return found


def report():
    with open(TRUTH["report"]) as source:
        return json.load(source)


def test_tree():
    assert tree(TRUTH["target"]) == TRUTH["tree"]


def test_fingerprint():
    keys = TRUTH["keys"]
    assert [report()[key] for key in keys[:2]] == TRUTH["values"][:2]


def test_exceptions():
    keys = TRUTH["keys"]
    assert [report()[key] for key in keys[2:]] == TRUTH["values"][2:]
    assert sorted(report()) == sorted(keys)


def test_sources_untouched():
    for root, files in TRUTH["sources"].items():
        assert tree(root) == files
"""

INITIAL = """
import os


def test_sources_there_and_nothing_rebuilt():
    for root, files in TRUTH["sources"].items():
        for path in files:
            assert os.path.isfile(os.path.join(root, path)), path
    assert not os.path.exists(TRUTH["target"]) and not os.path.exists(TRUTH["report"])
"""

SOLUTION = """python3 - <<'PY'
import glob, hashlib, json, os, zlib
from urllib.parse import unquote
C = json.loads('''@CONFIG@''')
NO, GEN, TX, OP, PATH, ARG, SUM = range(7)
best = {}
for name in sorted(glob.glob(C["journal"] + "/*")):
    for line in open(name, encoding="utf-8").read().split("\\n"):
        if C["lines"] == "json":
            try:
                row = [str(json.loads(line)[key]) for key in C["fields"]]
            except ValueError:
                continue
        else:
            row = [unquote(part) for part in line.split("\\t")]
        if len(row) != len(C["fields"]):
            continue
        if not C["hard"]:
            row.insert(GEN, "0")
        elif row[SUM] != "%08x" % zlib.crc32("|".join(row[:SUM]).encode()):
            continue
        number = int(row[NO])
        if number not in best or int(row[GEN]) > int(best[number][GEN]):
            best[number] = row
files = {}
for at, _, names in os.walk(C["snapshot"]):
    for name in names:
        full = os.path.join(at, name)
        files[os.path.relpath(full, C["snapshot"])] = open(full, "rb").read()
last = int(open(C["mark"]).read())
def folder(path):
    return any(name.startswith(path + "/") for name in files)
def blocked(path):
    parts = path.split("/")
    return folder(path) or any("/".join(parts[:n]) in files for n in range(1, len(parts)))
def act(op, path, arg):
    if op == "write":
        if blocked(path):
            return False
        files[path] = arg.encode()
    elif op == "append":
        if path not in files:
            return False
        files[path] += arg.encode()
    elif op == "delete":
        gone = [name for name in files if name == path or name.startswith(path + "/")]
        for name in gone:
            del files[name]
        return bool(gone)
    elif op == "copy":
        if path not in files or blocked(arg):
            return False
        files[arg] = files[path]
    elif op == "swap":
        if path not in files or arg not in files:
            return False
        files[path], files[arg] = files[arg], files[path]
    elif op == "move":
        if path in files:
            if blocked(arg) or arg == path:
                return False
            files[arg] = files.pop(path)
        else:
            inner = [name for name in files if name.startswith(path + "/")]
            if not inner or arg in files or blocked(arg) or (arg + "/").startswith(path + "/"):
                return False
            for name in inner:
                files[arg + name[len(path):]] = files.pop(name)
    return True
words = dict(zip(C["verbs"], C["meaning"]))
waiting, open_names, skipped = {}, set(), []
numbers = sorted(number for number in best if number > last)
if C["hard"]:
    expected = range(last + 1, last + 1 + len(numbers))
    numbers = [n for n, want in zip(numbers, expected) if n == want]  # stop at the first gap
for number in numbers:
    row = best[number]
    op, tx = words[row[OP]], row[TX]
    if op == "begin":
        waiting[tx] = []
        open_names.add(tx)
    elif op == "abort":
        waiting.pop(tx, None)
        open_names.discard(tx)
    elif op == "commit":
        open_names.discard(tx)
        before = dict(files)
        for inner in waiting.pop(tx, []):
            if not act(words[inner[OP]], inner[PATH], inner[ARG]):
                skipped.append(int(inner[NO]))
                if C["hard"]:
                    files.clear()
                    files.update(before)
                    break
    elif tx:
        waiting.setdefault(tx, []).append(row)
    elif not act(op, row[PATH], row[ARG]):
        skipped.append(number)
os.makedirs(C["target"])
listing = hashlib.sha256()
for path in sorted(files, key=str.encode):
    full = os.path.join(C["target"], path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    open(full, "wb").write(files[path])
    listing.update(("%s  %s\\n" % (hashlib.sha256(files[path]).hexdigest(), path)).encode())
values = listing.hexdigest(), len(files), sorted(skipped), sorted(open_names)
json.dump(dict(zip(C["keys"], values)), open(C["report"], "w"))
PY
"""

# Another way: the same replay on the real file system, by the shell's tools, fed by a small reader in Perl.
ALTERNATIVE = r"""
cat > /tmp/read.pl <<'PL'
use JSON::PP; use Encode;
my ($kind, $hard, $last, @fields) = @ARGV;
my @table = map { my $c = $_; $c = $c & 1 ? 0xEDB88320 ^ ($c >> 1) : $c >> 1 for 1..8; $c } 0..255;
my %best;
while (my $line = <STDIN>) {
  next unless $line =~ s/\n$//;
  my @row;
  if ($kind eq "json") { my $o = eval { JSON::PP->new->utf8->decode($line) } or next;
    @row = map { encode("UTF-8", "$o->{$_}") } @fields }
  else { @row = map { s/%([0-9A-Fa-f]{2})/chr hex $1/ger } split /\t/, $line, -1 }
  next if @row != @fields;
  if ($hard) {
    my $sum = 0xFFFFFFFF; $sum = $table[($sum ^ $_) & 255] ^ ($sum >> 8) for unpack "C*", join "|", @row[0..5];
    next if sprintf("%08x", $sum ^ 0xFFFFFFFF) ne $row[6];
  } else { splice @row, 1, 0, 0 }
  $best{$row[0]} = \@row if !$best{$row[0]} || $best{$row[0]}[1] < $row[1];
}
my $want = $last;
for my $n (sort { $a <=> $b } grep { $_ > $last } keys %best) {
  last if $hard && $n != ++$want;
  my @r = @{$best{$n}};
  print join("\t", map { s/([^A-Za-z0-9\/._-])/sprintf "%%%02x", ord $1/ger } @r[0, 2, 3, 4, 5]), "\n";
}
PL
cat @JOURNAL@/* > /tmp/all 2>/dev/null; : > /tmp/all
for part in @JOURNAL@/*; do cat "$part" >> /tmp/all; tail -c1 "$part" | grep -q . && echo >> /tmp/all; done
perl /tmp/read.pl @LINES@ @HARD@ "$(cat @MARK@)" @FIELDS@ < /tmp/all > /tmp/plan
cp -r @SNAPSHOT@ @TARGET@
cat > /tmp/apply.py <<'PY'
import hashlib, json, os, pathlib, shutil, sys
from urllib.parse import unquote_to_bytes
hard, target, report = sys.argv[1] == "1", os.fsencode(sys.argv[2]), sys.argv[3]
keys, verbs = sys.argv[4].split(), sys.argv[5].split()
def prune(at):
    while at != target and os.path.isdir(at) and not os.listdir(at):
        os.rmdir(at)
        at = os.path.dirname(at)
def room(path):
    up = os.path.dirname(path)
    while not os.path.exists(up):
        up = os.path.dirname(up)
    return os.path.isdir(up) and not os.path.isdir(path)
def act(op, path, arg):
    a, b = os.path.join(target, path), os.path.join(target, arg) if op in (2, 4, 5) else arg
    if op == 0 and room(a):
        os.makedirs(os.path.dirname(a), exist_ok=True)
        pathlib.Path(os.fsdecode(a)).write_bytes(b)
    elif op == 1 and os.path.isfile(a):
        with open(a, "ab") as out:
            out.write(b)
    elif op == 2 and os.path.isfile(a) and room(b) or op == 2 and os.path.isdir(a) and room(b) and \
            not os.path.exists(b) and not b.startswith(a + b"/"):
        os.makedirs(os.path.dirname(b), exist_ok=True)
        os.rename(a, b)
        prune(os.path.dirname(a))
    elif op == 3 and os.path.exists(a):
        shutil.rmtree(a) if os.path.isdir(a) else os.remove(a)
        prune(os.path.dirname(a))
    elif op == 4 and os.path.isfile(a) and room(b):
        os.makedirs(os.path.dirname(b), exist_ok=True)
        if a != b:
            shutil.copyfile(a, b)
    elif op == 5 and os.path.isfile(a) and os.path.isfile(b):
        one, two = open(a, "rb").read(), open(b, "rb").read()
        open(a, "wb").write(two)
        open(b, "wb").write(one)
    else:
        return False
    return True
rows = [[unquote_to_bytes(part) for part in line.split("\t")] for line in open("/tmp/plan").read().splitlines()]
bad, ends, started = [], {}, set()
for number, tx, verb, *_ in rows:
    op = verbs.index(verb.decode())
    if op == 6:
        started.add(tx.decode())
    if op in (7, 8):
        ends[tx] = op
for index, (number, tx, verb, path, arg) in enumerate(rows):
    op = verbs.index(verb.decode())
    if op == 7:
        backup = target + b".bak"
        shutil.copytree(target, backup)
        for n2, tx2, verb2, path2, arg2 in rows[:index]:
            if tx2 == tx and verbs.index(verb2.decode()) < 6 and not act(verbs.index(verb2.decode()), path2, arg2):
                bad.append(int(n2))
                if hard:
                    shutil.rmtree(target)
                    shutil.copytree(backup, target)
                    break
        shutil.rmtree(backup)
    elif op < 6 and not tx and not act(op, path, arg):
        bad.append(int(number))
names = sorted(os.path.relpath(os.path.join(at, n), target) for at, _, ns in os.walk(target) for n in ns)
sums = [hashlib.sha256(open(os.path.join(target, n), "rb").read()).hexdigest().encode() for n in names]
lines = b"".join(a + b"  " + n + b"\n" for a, n in zip(sums, names))
unfinished = sorted(t for t in started if t.encode() not in ends)
values = hashlib.sha256(lines).hexdigest(), len(names), sorted(bad), unfinished
json.dump(dict(zip(keys, values)), open(report, "w"))
PY
python3 /tmp/apply.py @HARD@ @TARGET@ @REPORT@ "@KEYS@" "@VERBS@"
"""


@dataclass
class Tree:
    """Files by path; folders exist only as prefixes."""

    files: dict[str, str]

    def is_folder(self, path: str) -> bool:
        """Whether a file lies beneath."""
        return any(name.startswith(path + "/") for name in self.files)

    def has_room(self, path: str) -> bool:
        """Whether a file can be at this path: no folder there, and no file where a parent must be."""
        parts = path.split("/")
        return not self.is_folder(path) and not any("/".join(parts[:n]) in self.files for n in range(1, len(parts)))

    def apply(self, verb: str, path: str, arg: str) -> bool:
        """Carry out one record if that is possible."""
        files, is_file = self.files, path in self.files
        inner = [] if is_file else [name for name in files if name.startswith(path + "/")]
        if verb == "write" and self.has_room(path):
            files[path] = arg
        elif verb == "append" and is_file:
            files[path] += arg
        elif verb == "move" and is_file and self.has_room(arg) and arg != path:
            files[arg] = files.pop(path)
        elif (
            verb == "move"
            and inner
            and self.has_room(arg)
            and arg not in files
            and not f"{arg}/".startswith(f"{path}/")
        ):
            for name in inner:
                files[arg + name[len(path) :]] = files.pop(name)
        elif verb == "delete" and (is_file or inner):
            for name in inner or [path]:
                del files[name]
        elif verb == "copy" and is_file and self.has_room(arg):
            files[arg] = files[path]
        elif verb == "swap" and is_file and arg in files:
            files[path], files[arg] = files[arg], files[path]
        else:
            return False
        return True


@dataclass(frozen=True)
class Record:
    """One record; `generation` tells versions of one number apart."""

    number: int
    tx: str
    verb: str
    path: str = ""
    arg: str = ""
    generation: int = 1


@dataclass
class Script:
    """The journal while it is being drawn."""

    draw: Draw
    records: list[Record]
    next_number: int
    texts: int = 0
    names: list[str] = field(default_factory=list[str])

    def add(self, verb: str, path: str = "", arg: str = "", tx: str = "") -> None:
        """Append a record with the next number."""
        self.records.append(Record(self.next_number, tx, verb, path, arg))
        self.next_number += 1

    def text(self) -> str:
        """A short text, unlike any other."""
        self.texts += 1
        words = (self.draw.pick(LAST_NAMES), self.draw.pick(CITIES), self.draw.pick(HOST_WORDS))
        return f"{self.texts} {' '.join(words)}{self.draw.pick(('', ' 50%', ' | ok', ' ü'))}\n"


TOPS = ("alpha", "beta", "gamma one", "delta/inner", "delta/outer", "näht")


def random_change(script: Script, mirror: Tree, hard: bool, tx: str) -> None:
    """A change that is mostly possible, judged on a mirror that ignores transactions."""
    draw, present = script.draw, list(mirror.files)
    fresh = f"{draw.pick(TOPS)}/{draw.pick(HOST_WORDS)}{draw.between(1, 9)}{draw.pick(('.txt', '', ' b.cfg'))}"
    old = draw.pick(present) if present and not draw.chance(12) else fresh
    verb = draw.pick(("write", "write", "append", "move", "move", "delete", *(("copy", "swap") if hard else ())))
    if verb in ("move", "delete") and "/" in old and draw.chance(20):
        old = old.rpartition("/")[0]
        fresh = draw.pick((f"{draw.pick(TOPS)}{draw.between(1, 4)}", f"{old}/deep", draw.pick(TOPS)))
    path, arg = old, ""
    if verb == "write":
        path, arg = draw.pick((old, fresh, fresh, f"{old}/x")), script.text()
    elif verb == "append":
        arg = script.text()
    elif verb in ("move", "copy", "swap"):
        arg = draw.pick((fresh, draw.pick(present))) if present else fresh
    if arg == path:
        arg += "2"
    mirror.apply(verb, path, arg)
    script.add(verb, path, arg, tx)


def traps(script: Script, hard: bool) -> None:
    """Places that only the right reading leaves right; nothing else touches the folder `fixed`."""
    tx = [f"t{number}" for number in script.draw.sample(range(100, 999), 5)]
    script.add("begin", tx=tx[0])
    script.add("write", "fixed/late.txt", script.text(), tx[0])  # takes effect at the commit, over the next record
    script.add("write", "fixed/late.txt", script.text())
    script.add("commit", tx=tx[0])
    script.add("begin", tx=tx[1])
    script.add("write", "fixed/aborted.txt", script.text(), tx[1])
    script.add("append", "fixed/base.txt", script.text())
    script.add("abort", tx=tx[1])
    script.add("begin", tx=tx[2])
    script.add("write", "fixed/open.txt", script.text(), tx[2])  # never ended
    script.add("append", "fixed/base.txt", script.text())
    script.add("begin", tx=tx[3])
    script.add("move", "fixed/base.txt", "fixed/moved.txt", tx[3])
    script.add("append", "fixed/base.txt", script.text())
    script.add("move", "fixed/nowhere.txt", "fixed/void.txt", tx[3])
    script.add("commit", tx=tx[3])
    script.add("move", "fixed/second.txt", "fixed/third.txt")  # over an existing file
    script.add("write", "fixed/third.txt/x", script.text())  # a file where a folder is needed
    if hard:
        script.add("swap", "fixed/third.txt", "fixed/late.txt")


def draw_journal(draw: Draw, size: int, hard: bool) -> tuple[dict[str, str], int, list[Record]]:
    """The snapshot, the last number in it, and all records in order."""
    script = Script(draw, [], draw.between(200, 900))
    base = {
        f"{top}/{draw.pick(HOST_WORDS)}{number}.txt": script.text()
        for number, top in enumerate((TOPS[0], TOPS[1], *TOPS[:5], TOPS[3]))
    }
    base |= {f"fixed/{name}.txt": script.text() for name in ("base", "second", "third")}
    mirror = Tree({path: text for path, text in base.items() if not path.startswith("fixed/")})
    for _ in range(6):  # already in the snapshot: applying these again does harm
        script.add("append", draw.pick(list(base)), script.text())
    script.add("append", "fixed/base.txt", script.text())
    script.add("delete", "fixed/second.txt")
    last = script.next_number - 1
    at, running = draw.between(size // 4, size // 2), dict[str, int]()
    for step in range(size):
        if step == at:
            traps(script, hard)
        if draw.chance(9):
            tx = f"t{draw.between(1000, 9999)}"
            if tx not in script.names:
                script.names.append(tx)
                running[tx] = draw.between(2, 5)
                script.add("begin", tx=tx)
        tx = draw.pick(list(running)) if running and draw.chance(60) else ""
        random_change(script, mirror, hard, tx)
        if tx:
            running[tx] -= 1
            if running[tx] <= 0:
                del running[tx]
                end = draw.pick(("commit", "commit", "commit", "abort", ""))
                if end:
                    script.add(end, tx=tx)
    return base, last, script.records


def replay(base: dict[str, str], records: Sequence[Record], atomic: bool) -> tuple[Tree, list[int], list[str]]:
    """The stated rules: the tree, the reported numbers, the transactions without end."""
    tree, skipped, waiting = Tree(dict(base)), list[int](), dict[str, list[Record]]()
    for record in records:
        if record.verb == "begin":
            waiting[record.tx] = []
        elif record.verb == "abort":
            del waiting[record.tx]
        elif record.verb == "commit":
            before = dict(tree.files)
            for inner in waiting.pop(record.tx):
                if tree.apply(inner.verb, inner.path, inner.arg):
                    continue
                skipped.append(inner.number)
                if atomic:
                    tree.files = before
                    break
        elif record.tx:
            waiting[record.tx].append(record)
        elif not tree.apply(record.verb, record.path, record.arg):
            skipped.append(record.number)
    return tree, sorted(skipped), sorted(waiting)


def line_of(record: Record, world: World, hard: bool, damage: bool = False) -> str:
    """A record as the journal holds it."""
    verb = world.verbs.split()[VERBS.index(record.verb)]
    values = [str(record.number), str(record.generation), record.tx, verb, record.path, record.arg]
    total = zlib.crc32("|".join(values).encode())
    names = world.fields.split()
    if hard:
        values.append(f"{total ^ (0x10 if damage else 0):08x}")
    else:
        del values[1]
        names = [name for index, name in enumerate(names) if index not in (1, 6)]
    if world.lines == "json":
        return json.dumps(
            {
                name: int(value) if index == 0 or (hard and index == 1) else value
                for index, (name, value) in enumerate(zip(names, values, strict=True))
            }
        )
    return "\t".join(quote(value, safe="/ .") for value in values)


def segments(draw: Draw, records: Sequence[Record], world: World, hard: bool, lost: int) -> dict[str, str]:
    """The journal's files: shuffled, resent, and at the hard level damaged and with a number that never arrived."""
    lines: list[str] = []
    always = [record.number for record in records if record.verb == "append"]
    for record in records:
        good = line_of(record, world, hard)
        if record.number == lost:
            lines += [line_of(record, world, hard, damage=True), good[: len(good) // 2]]
            continue
        lines += [good] * (2 if record.number in always or draw.chance(12) else 1)
        if hard and draw.chance(8):
            lines.append(line_of(record, world, hard, damage=True))
        if hard and record.verb in ("write", "append") and (record.path == "fixed/late.txt" or draw.chance(10)):
            older = Record(record.number, record.tx, record.verb, record.path, record.arg[::-1].strip() + "\n", 0)
            lines.insert(draw.between(max(0, len(lines) - 9), len(lines)), line_of(older, world, hard))
    count = 4 if hard else 3
    parts: list[list[str]] = [[] for _ in range(count)]
    for index, text in enumerate(lines):
        parts[min(count - 1, max(0, index * count // len(lines) + draw.pick((-1, 0, 0, 1))))].append(text)
    names = draw.sample(range(7, 14), count)
    return {f"part-{name}.log": "\n".join(draw.shuffled(part)) + "\n" for name, part in zip(names, parts, strict=True)}


def wording(world: World, at: int) -> int:
    """Which wording the sentence at this place has in this world; no two worlds agree in all."""
    return (world.wording + at * (world.wording // 3)) % 3


def sentences(world: World, hard: bool) -> tuple[str, dict[str, str], dict[str, str]]:
    """What lies there, the rules, and what to leave: every sentence by a short name."""
    here = world.folder
    fields = world.fields.split()
    shown = fields if hard else [name for index, name in enumerate(fields) if index not in (1, 6)]
    meaning = dict(zip(("number", "gen", "tx", "op", "path", "arg", "crc"), fields, strict=True))
    glosses = {
        fields[0]: "the number",
        fields[1]: "the sender's generation",
        fields[2]: "the transaction",
        fields[3]: "what to do",
        fields[4]: "the relative path",
        fields[5]: "the text, or the second path",
        fields[6]: "a checksum",
    }
    keys = world.keys.split()
    words = (
        dict(zip(VERBS, world.verbs.split(), strict=True))
        | meaning
        | {f"k{index}": key for index, key in enumerate(keys)}
    )
    words |= {
        "snapshot": f"{here}/{world.snapshot}",
        "mark": f"{here}/{world.mark}",
        "journal": f"{here}/{world.journal}",
    }
    words |= {
        "target": world.target,
        "report": world.report,
        "fields": ", ".join(f"{name} ({glosses[name]})" for name in shown),
    }
    words["lines"] = LINES[world.lines].format(**words)
    rules = {"order": ORDER, "folders": FOLDERS, "verbs": VERB, "skip": SKIP, "tx": TX}
    if hard:
        rules |= {"more": VERB_HARD, "atomic": ATOMIC, "sum": SUM, "generation": GENERATION, "gap": GAP}
    output = {"report": REPORT, "keep": KEEP}
    return (
        LAYOUT[wording(world, 0)].format(**words),
        {key: texts[wording(world, at + 1)].format(**words) for at, (key, texts) in enumerate(rules.items())},
        {key: texts[wording(world, at)].format(**words) for at, (key, texts) in enumerate(output.items())},
    )


def scripts(world: World, hard: bool) -> tuple[str, str]:
    """The reference solution and the alternative."""
    fields = [name for index, name in enumerate(world.fields.split()) if hard or index not in (1, 6)]
    here = world.folder
    config = {
        "snapshot": f"{here}/{world.snapshot}",
        "mark": f"{here}/{world.mark}",
        "journal": f"{here}/{world.journal}",
        "target": world.target,
        "report": world.report,
        "lines": world.lines,
        "hard": hard,
        "fields": fields,
        "verbs": world.verbs.split(),
        "meaning": VERBS,
        "keys": world.keys.split(),
    }
    other = ALTERNATIVE.replace("@FIELDS@", " ".join(fields)).replace("@HARD@", str(int(hard)))
    for key in ("snapshot", "mark", "journal", "target", "report", "lines"):
        other = other.replace(f"@{key.upper()}@", str(config[key]))
    return SOLUTION.replace("@CONFIG@", json.dumps(config)), other.replace("@KEYS@", world.keys).replace(
        "@VERBS@", world.verbs
    )


def digest(text: str) -> str:
    """The start of a hex sha256."""
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def draft(draw: Draw) -> Draft:
    """One journal."""
    world, hard = draw.setting(SETTINGS), draw.difficulty == Difficulty.HARD
    size = draw.by_difficulty(medium=50, hard=140)
    base, last, records = draw_journal(draw, size, hard)
    lost = records[-draw.between(12, 20)].number if hard else 0
    tree, skipped, unfinished = replay(
        base, [r for r in records if r.number > last and not (hard and r.number >= lost)], hard
    )
    parts = segments(draw, records, world, hard, lost)
    listing = "".join(
        f"{hashlib.sha256(tree.files[path].encode()).hexdigest()}  {path}\n"
        for path in sorted(tree.files, key=str.encode)
    )
    here = world.folder
    truth = {
        "target": world.target,
        "report": world.report,
        "tree": {path: digest(text) for path, text in tree.files.items()},
        "keys": world.keys.split(),
        "values": [hashlib.sha256(listing.encode()).hexdigest(), len(tree.files), skipped, unfinished],
        "sources": {
            f"{here}/{world.snapshot}": {path: digest(text) for path, text in base.items()},
            f"{here}/{world.journal}": {name: digest(text) for name, text in parts.items()},
        },
    }
    layout, rules, output = sentences(world, hard)
    instruction = world.text.format(
        firm=draw.pick(FIRMS),
        ticket=draw.between(1000, 9999),
        layout=layout,
        rules=" ".join(rules.values()),
        output="\n".join(output.values()),
    )
    goals = ["test_tree", "test_fingerprint", "test_exceptions"]
    solution, other = scripts(world, hard)
    misses = [
        Miss(
            "transactions_in_place",
            "applies changes of transactions at their own number",
            solution.replace("    elif tx:\n", "    elif tx and False:\n"),
            goals[:2],
        ),
        Miss(
            "snapshot_again",
            "replays what the snapshot already has",
            solution.replace('last = int(open(C["mark"]).read())', "last = min(best) - 1"),
            goals[:2],
        ),
        Miss(
            "aborts_count",
            "treats an abort like a commit",
            solution.replace('op == "abort"', 'op == "-"').replace('op == "commit"', 'op in ("commit", "abort")'),
            goals[:2],
        ),
        Miss(
            "no_report_of_failures",
            "drops impossible records silently",
            solution.replace("sorted(skipped)", "[]"),
            ["test_exceptions"],
        ),
    ]
    if hard:
        misses += [
            Miss(
                "gap_ignored",
                "goes on behind the missing number",
                solution.replace("if n == want]", "]"),
                ["test_exceptions"],
            ),
            Miss(
                "damaged_lines",
                "does not verify sums",
                solution.replace('row[SUM] != "%08x"', 'row[SUM] == "" and row[SUM] != "%08x"'),
                ["test_exceptions"],
            ),
            Miss(
                "first_version",
                "keeps the lowest generation",
                solution.replace("int(row[GEN]) >", "int(row[GEN]) <"),
                goals[:2],
            ),
        ]
    cited = {"report": goals[1:], "keep": ["test_sources_untouched"]}
    files = {f"tree/{path}": text for path, text in base.items()} | {
        f"journal/{name}": text for name, text in parts.items()
    }
    return Draft(
        title=f"Replay the journal of the {world.scenario}",
        setting=world,
        instruction=instruction,
        files={**files, "mark": f"{last}\n"},
        dockerfile=f"COPY tree {here}/{world.snapshot}/\nCOPY journal {here}/{world.journal}/\nCOPY mark "
        f"{here}/{world.mark}\nWORKDIR {here}",
        truth=truth,
        discoverable=("target", "report", "tree", "keys", "values", "sources"),
        tests=TESTS,
        weights={"test_tree": 0.5, "test_fingerprint": 0.25, "test_exceptions": 0.25},
        guards=["test_sources_untouched"],
        initial=INITIAL,
        solution=solution,
        alternatives=[other],
        misses=misses,
        requirements=[(text, cited.get(key, goals)) for key, text in (rules | output).items()],
        knobs={"changes": size, "format": world.lines, "damage_and_gap": hard, "atomic": hard},
    )


FAMILY = Family(
    name="journal_replay",
    domain="file_operations",
    verifier=Verifier.EXACT_TEXT,
    skills=("log replay", "transactions", "checksums", "tree digests"),
    difficulties=(Difficulty.MEDIUM, Difficulty.HARD),
    capacity=24,
    draft=draft,
    command_complexity="code",
)
