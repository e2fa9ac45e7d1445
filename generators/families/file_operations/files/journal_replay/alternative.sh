
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
