"""Several log formats into one hourly report: time zones, joins by request, broken lines counted by reason."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from generators.family import Draft, Draw, Family, Miss, Setting, Voice
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS, HOST_WORDS

MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()  # noqa: SIM905
REASONS = ("format", "time", "id", "number")


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling: the names of the five kinds of log, the key and prefix of request ids, and output names."""

    folder: str
    kinds: tuple[str, ...]
    key: str
    prefix: str
    unit: str
    report: str
    summary: str
    text: str


def world(line: str, voice: Voice, text: str) -> World:
    """A world from one line of words separated by bars."""
    name, persona, scenario, folder, kinds, key, prefix, unit, report, summary = line.split("|")
    return World(name, persona, scenario, voice, folder, tuple(kinds.split()), key, prefix, unit, report, summary, text)


SETTINGS = (
    world(
        "shop_front|site reliability engineer|web shop logs|/srv/shop/logs|edge app payments workers "
        "queue|req|R|cents|hours.csv|health.json",
        "ticket",
        """SRE-{ticket}: hourly view of the incident window ({firm})

All logs of the incident are under {logs}; their layouts are in {formats}.

{rules}
""",
    ),
    world(
        "bus_tickets|operations analyst|ticket machines|/data/tickets|gate kiosk fares jobs "
        "retry|trip|T|cents|per_hour.csv|quality.json",
        "email",
        """Hi,

for the quarterly review {firm} needs the traffic per hour, and the dashboard has lost its data. The raw logs still
exist ({logs}),
{formats} describes what their lines look like.

{rules}

Thank you
{persona}
""",
    ),
    world(
        "radio_archive|archive engineer|streaming archive|/opt/radio|proxy player royalties encoder "
        "spool|play|P|mills|timeline.csv|errors.json",
        "note",
        """Logs: {logs}. Layouts: {formats}. To do, for {firm}:
{rules}
""",
    ),
    world(
        "lab_samples|laboratory informatician|sample tracking|/var/lib/lab|intake bench costs robots "
        "backlog|sample|S|units|by_hour.csv|rejected.json",
        "specification",
        """Hourly evaluation of the sample tracking of {firm}

Input: the files in {logs}, whose layouts are laid down in {formats}.

{rules}

Contact: {persona}
""",
    ),
    world(
        "parcel_hub|shift lead|parcel hub|/srv/hub|scanner sorter postage conveyor "
        "detours|parcel|K|cents|shift.csv|faults.json",
        "chat",
        """morning! I need numbers per hour out of yesterday's hub logs before the shift meeting. everything is in
{logs}, and somebody
wrote the formats down in {formats}.
{rules}
you're a star
""",
    ),
    world(
        "newsroom|platform engineer|publishing logs|/home/press/logs|cdn cms paywall render "
        "outbox|article|A|cents|traffic.csv|notes.json",
        "runbook",
        """Runbook: rebuild the hourly traffic table of {firm} from raw logs

Inputs: {logs}. Description of the lines: {formats}. Owner: {persona}.
{rules}
""",
    ),
    world(
        "hospital_portal|integration engineer|patient portal|/data/portal|front portal fees sync "
        "mailbox|visit|V|cents|hourly.csv|broken.json",
        "email",
        """Dear colleague,

the portal of {firm} was slow last week and management wants facts. I have put the logs of all components into
{logs}; since each one
logs in its own way, read {formats} first.

{rules}

Regards, {persona}
""",
    ),
    world(
        "car_sharing|fleet data analyst|car sharing|/opt/cars|router rides charges telematics "
        "overflow|ride|C|cents|usage.csv|losses.json",
        "ticket",
        """[fleet-{ticket}] usage per hour from the raw logs

Data: {logs} (see {formats}). For: {persona}, {firm}.
Expected result:
{rules}
""",
    ),
)

SENTENCES: dict[str, tuple[str, str, str]] = {
    "broken": (
        "A line that does not fit its layout, as {formats} defines it, is broken for the first reason there that "
        "applies; it is counted and "
        "otherwise ignored.",
        "Lines are broken for one of the reasons in {formats} (the first that applies); count them and leave them out "
        "of everything else.",
        "Sort out broken lines first: {formats} has the reasons, the first that fits is the one, and such a line "
        "takes no further part.",
    ),
    "merge": (
        "If {first} has an id more than once, its earliest line is the request; in each other log only the latest "
        "line of an id counts.",
        "Ids can repeat: in {first} the earliest line of an id is the request, in every other log the latest one "
        "replaces the others.",
        "Per id, use the earliest line of {first} and the latest line of each other log, by time and not by position.",
    ),
    "hours": (
        "Write {report} with the header {columns} and a line for each UTC hour with at least one request, ascending, "
        "hour as "
        "YYYY-MM-DDTHH:00Z; a request belongs to the hour of its line in {first}, whatever the times in the other "
        "logs.",
        "{report} gets the header {columns} and one line per UTC hour that has requests, in order, the hour written "
        "YYYY-MM-DDTHH:00Z and "
        "determined by the line in {first} alone.",
        "Result: {report}, header {columns}; one row for every hour in UTC (YYYY-MM-DDTHH:00Z) in which, going by "
        "{first}, there was a request, "
        "oldest first.",
    ),
    "basic": (
        "requests counts ids, users the different users that {second} names for them, slowest_ms is the greatest ms "
        "there (0 without any).",
        "requests = number of ids; users = number of different users in {second} for these ids; slowest_ms = largest "
        "ms in {second} for them, "
        "else 0.",
        "The number of ids is requests; users and slowest_ms come from the lines of {second} with these ids: how many "
        "different users, and "
        "the maximum of ms (0 if there is no line).",
    ),
    "errors": (
        "errors counts the requests with a status of 500 or above{failed}.",
        "A request is an error if its status is at least 500{failed}; errors counts them.",
        "errors: how many of the requests have status 500 or higher{failed}.",
    ),
    "money": (
        "{unit} is the sum of {unit} in {third} over the requests of the hour, of lines with outcome ok alone.",
        "{unit} adds up {unit} from {third} for these requests where the outcome is ok.",
        "For {unit} take the lines of {third} that belong to the requests and have outcome ok, and add up their "
        "{unit}.",
    ),
    "retries": (
        "attempts is the sum of the attempts in {fifth} for the requests.",
        "attempts adds up what {fifth} has as attempts for them.",
        "The attempts of {fifth} are added up in attempts.",
    ),
    "summary": (
        "Write {summary}, a JSON object: broken maps each log ({kinds}) to an object with the counts of all four "
        "reasons (zeros too), "
        "unmatched is the number of requests without any valid line in {second}, orphans the number of different ids "
        "that have valid lines, "
        "but none in {first}.",
        "{summary} is a JSON object with broken (for each of {kinds} an object from reason to count, all four reasons "
        "present), unmatched (how "
        "many requests no valid line of {second} mentions) and orphans (how many ids occur in valid lines but never "
        "in a valid one of {first}).",
        "Put the losses into {summary} (JSON): broken.LOG.REASON is a count for every log of {kinds} and each of the "
        "four reasons, unmatched "
        "counts requests that {second} does not know, orphans the ids which only logs other than {first} know (valid "
        "lines only, each id once).",
    ),
    "keep": ("The logs are evidence and stay unchanged.", "Do not change the logs.", "No log file may be modified."),
}
FAILED = (
    ", and those whose line in {fourth} says failed at most {window} seconds after the request (not before it)",
    ", or if its line in {fourth} is a failure that came 0 to {window} seconds after the request",
    ", or a failed line in {fourth} no earlier than the request and no more than {window} seconds later",
)

FORMATS = """# Layouts of our logs

Reasons why a line is broken, checked in this order:
format - the line is not of the layout; time - its time does not exist@UNKNOWN@; id - the id is not @PREFIX@ and digits;
number - a field marked # is not a whole number without sign. Empty lines are not lines. Logs may be rotated:
NAME.log and NAME.log.1.

## @K0@
`address - user [12/Mar/2024:10:15:32 +0200] "request" status# bytes# id`, separated by single blanks; the request is
free text without
double quotes. The time is local with its offset from UTC.

## @K1@
One JSON object a line with at least "time" (ISO 8601 with offset or Z, perhaps with fractions of a second), "@KEY@"
(the id), "user" (text) and
"ms"# (a JSON number, not a string). Invalid JSON and missing keys are format errors, anything that is no such time
is a time error.
"""
FORMATS_MORE = (
    """
## @K2@
`key=value` pairs separated by blanks, in any order; a value with blanks or equals signs is in double quotes. Needed:
time (seconds since
1970 in UTC, digits), @KEY@ (the id), outcome, @UNIT@#; others may occur. A missing one is a format error, a time
that is not digits a time error.
""",
    """
## @K3@
`Mar  2 10:15:32 host program[pid#]: id message` with the day padded by a blank; the message begins with failed or
done. The year is @YEAR@. The
time is local: hosts.csv has the offset of each host from UTC in minutes@FAST@. A host that is not listed there is a
time error.
""",
    """
## @K4@
CSV with commas and double quotes (doubled inside): time (DD.MM.YYYY HH:MM:SS, local), offset from UTC in minutes
(signed), id, remark, attempts#.
Other than five fields, or an offset that is no number, is a format error.
""",
)

TESTS = """
import csv
import hashlib
from pathlib import Path


def table():
    with open(TRUTH["report"], newline="", encoding="utf-8") as file:
        return [row for row in csv.reader(file) if row]


def test_hours():
    got, want = table(), json.loads(TRUTH["hours"])
    assert got[:1] == want[:1], "header"
    assert [row[:2] for row in got] == [row[:2] for row in want], "hours and requests"
    wrong = [a[0] for a, b in zip(got, want) if a != b]
    assert not wrong, f"other columns differ at {wrong[:3]}"


def test_summary():
    got = json.loads(Path(TRUTH["summary"]).read_text())
    want = json.loads(TRUTH["losses"])
    assert got.get("broken") == want["broken"], "broken"
    assert {key: got.get(key) for key in want} == want


def test_logs_unchanged():
    for path, digest in TRUTH["logs"].items():
        assert hashlib.sha256(Path(path).read_bytes()).hexdigest() == digest, path
"""
INITIAL = """
from pathlib import Path


def test_only_logs():
    assert all(Path(path).is_file() for path in TRUTH["logs"])
    assert not Path(TRUTH["report"]).exists() and not Path(TRUTH["summary"]).exists()
"""

PYTHON = r"""python3 - <<'PY'
import csv, json, re, shlex
from datetime import datetime, timedelta, timezone
from pathlib import Path
KINDS, COUNT, WINDOW = @KINDS@, @COUNT@, @WINDOW@
LOGS = Path("@LOGS@")
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
hosts = {}
if COUNT > 3:
    for r in csv.DictReader(open(LOGS / "hosts.csv")):
        hosts[r["host"]] = int(r["offset"]) * 60 + int(r.get("fast_by") or 0)
class Broken(Exception):
    pass
def need(ok, reason):
    if not ok:
        raise Broken(reason)
    return ok
def moment(*parts):
    try:
        return datetime(*map(int, parts), tzinfo=timezone.utc).timestamp()
    except ValueError:
        raise Broken("time")
def check(key, *numbers):
    need(re.fullmatch(r"@PREFIX@\d+", key), "id")
    need(all(re.fullmatch(r"\d+", n) for n in numbers), "number")
def first(line):
    m = re.fullmatch(r'\S+ \S+ \S+ \[(\d+)/(\w+)/(\d+):(\d+):(\d+):(\d+) ([+-])(\d\d)(\d\d)\] "[^"]*" (\S+) (\S+) (\S+)', line)
    need(m, "format")
    need(m[2] in MONTHS, "time")
    t = moment(m[3], MONTHS.index(m[2]) + 1, m[1], m[4], m[5], m[6])
    t -= (int(m[8]) * 3600 + int(m[9]) * 60) * (-1 if m[7] == "-" else 1)
    check(m[12], m[10], m[11])
    return m[12], t, int(m[10])
def second(line):
    try:
        r = json.loads(line)
        t, key, user, ms = r["time"], r["@KEY@"], r["user"], r["ms"]
    except (ValueError, KeyError, TypeError):
        raise Broken("format")
    try:
        t = datetime.fromisoformat(t).timestamp()
    except (ValueError, TypeError):
        raise Broken("time")
    check(key, json.dumps(ms))
    return key, t, (user, ms)
def third(line):
    r = dict(p.partition("=")[::2] for p in shlex.split(line))
    need({"time", "@KEY@", "outcome", "@UNIT@"} <= set(r), "format")
    need(r["time"].isdigit(), "time")
    check(r["@KEY@"], r["@UNIT@"])
    return r["@KEY@"], int(r["time"]), int(r["@UNIT@"]) if r["outcome"] == "ok" else 0
def fourth(line):
    m = re.fullmatch(r"(\w{3}) ([ \d]\d) (\d\d):(\d\d):(\d\d) (\S+) \w+\[(\S+)\]: (\S+) (failed|done).*", line)
    need(m, "format")
    need(m[1] in MONTHS and m[6] in hosts, "time")
    t = moment(@YEAR@, MONTHS.index(m[1]) + 1, m[2], m[3], m[4], m[5]) - hosts[m[6]]
    check(m[8], m[7])
    return m[8], t, m[9]
def fifth(line):
    r = next(csv.reader([line]))
    need(len(r) == 5 and re.fullmatch(r"[+-]?\d+", r[1]), "format")
    m = need(re.fullmatch(r"(\d\d)\.(\d\d)\.(\d{4}) (\d\d):(\d\d):(\d\d)", r[0]), "time")
    t = moment(m[3], m[2], m[1], m[4], m[5], m[6]) - int(r[1]) * 60
    check(r[2], r[4])
    return r[2], t, int(r[4])
broken, seen = {}, []
for kind, parse in list(zip(KINDS, (first, second, third, fourth, fifth)))[:COUNT]:
    counts, found = dict.fromkeys(("format", "time", "id", "number"), 0), {}
    for path in (LOGS / f"{kind}.log", LOGS / f"{kind}.log.1"):
        for line in path.read_text().splitlines() if path.exists() else []:
            if not line.strip():
                continue
            try:
                key, t, data = parse(line)
            except Broken as reason:
                counts[str(reason)] += 1
                continue
            if key not in found or (t < found[key][0] if parse is first else t > found[key][0]):
                found[key] = (t, data)
    broken[kind] = counts
    seen.append(found)
requests, app = seen[:2]
pay, work, queue = (seen[2:] + [{}, {}, {}])[:3]
hours = {}
for key, (t, status) in requests.items():
    hours.setdefault(int(t // 3600), []).append(key)
header = ["hour", "requests", "users", "slowest_ms", "errors"] + ["@UNIT@"] * (COUNT > 2) + ["attempts"] * (COUNT > 4)
with open("@REPORT@", "w", newline="") as f:
    w = csv.writer(f, lineterminator="\n")
    w.writerow(header)
    for hour in sorted(hours):
        keys = hours[hour]
        known = [app[k][1] for k in keys if k in app]
        def bad(k):
            t, status = requests[k]
            return status >= 500 or (k in work and work[k][1] == "failed" and 0 <= work[k][0] - t <= WINDOW)
        row = [datetime.fromtimestamp(hour * 3600, timezone.utc).strftime("%Y-%m-%dT%H:00Z"), len(keys), len({u for u, _ in known}),
               max([ms for _, ms in known], default=0), sum(map(bad, keys))]
        row += [sum(pay[k][1] for k in keys if k in pay)] * (COUNT > 2)
        row += [sum(queue[k][1] for k in keys if k in queue)] * (COUNT > 4)
        w.writerow(row)
others = set().union(*seen[1:])
lost = {"broken": broken, "unmatched": len(set(requests) - set(app)), "orphans": len(others - set(requests))}
json.dump(lost, open("@SUMMARY@", "w"))
PY
"""

PERL = r"""cat > /tmp/hours.pl <<'PL'
use strict; use warnings; use JSON::PP; use Time::Local qw(timegm_modern);
my @kinds = @{decode_json('@KINDS_JSON@')}; my $count = @COUNT@; @kinds = @kinds[0 .. $count - 1];
my %month; @month{qw(Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec)} = 0 .. 11;
my %host;
if ($count > 3) {
    open(my $f, "<", "@LOGS@/hosts.csv"); my $head = <$f>;
    while (<$f>) { chomp; my ($h, $o, $fast) = split /,/; $host{$h} = $o * 60 + ($fast || 0) }
}
sub moment {
    my ($y, $mo, $d, $h, $mi, $s) = @_; my $t = eval { timegm_modern($s, $mi, $h, $d, $mo, $y) };
    die "time\n" unless defined $t; return $t;
}
sub checked { my ($id, @n) = @_; die "id\n" unless $id =~ /^@PREFIX@\d+$/; for (@n) { die "number\n" unless /^\d+$/ } }
my @parse = (
    sub {
        my ($d, $m, $y, $h, $mi, $s, $z, $st, $by, $id) = $_[0] =~
            m{^\S+ \S+ \S+ \[(\d+)/(\w+)/(\d+):(\d+):(\d+):(\d+) ([+-]\d{4})\] "[^"]*" (\S+) (\S+) (\S+)$} or die "format\n";
        die "time\n" unless exists $month{$m};
        my $off = substr($z, 1, 2) * 3600 + substr($z, 3) * 60; $off = -$off if $z =~ /^-/;
        my $t = moment($y, $month{$m}, $d, $h, $mi, $s) - $off;
        checked($id, $st, $by); return ($id, $t, $st);
    },
    sub {
        my $r = eval { decode_json($_[0]) }; die "format\n" unless ref $r eq "HASH";
        for (qw(time @KEY@ user ms)) { die "format\n" unless exists $r->{$_} }
        my ($y, $m, $d, $h, $mi, $s, $frac, $z) = $r->{time} =~ /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)$/
            or die "time\n";
        my $off = $z eq "Z" ? 0 : substr($z, 1, 2) * 3600 + substr($z, 4) * 60; $off = -$off if $z =~ /^-/;
        my $t = moment($y, $m - 1, $d, $h, $mi, $s) - $off;
        my $ms = encode_json([$r->{ms}]); $ms =~ s/^\[|\]$//g;
        checked($r->{"@KEY@"}, $ms); return ($r->{"@KEY@"}, $t, [$r->{user}, $ms]);
    },
    sub {
        my %r; my $l = $_[0];
        while ($l =~ /(\w+)=(?:"([^"]*)"|(\S*))/g) { $r{$1} = defined $2 ? $2 : $3 }
        for (qw(time @KEY@ outcome @UNIT@)) { die "format\n" unless exists $r{$_} }
        die "time\n" unless $r{time} =~ /^\d+$/;
        checked($r{"@KEY@"}, $r{"@UNIT@"}); return ($r{"@KEY@"}, $r{time}, $r{outcome} eq "ok" ? $r{"@UNIT@"} : 0);
    },
    sub {
        my ($m, $d, $h, $mi, $s, $host, $pid, $id, $what) = $_[0] =~
            /^(\w{3}) ([ \d]\d) (\d\d):(\d\d):(\d\d) (\S+) \w+\[(\S+)\]: (\S+) (failed|done)/ or die "format\n";
        die "time\n" unless exists $month{$m} && exists $host{$host};
        my $t = moment(@YEAR@, $month{$m}, $d, $h, $mi, $s) - $host{$host};
        checked($id, $pid); return ($id, $t, $what);
    },
    sub {
        my @f; my $l = $_[0];
        while ($l =~ /\G(?:"((?:[^"]|"")*)"|([^,]*))(,|$)/g) { push @f, defined $1 ? $1 : $2; last if $3 eq "" }
        die "format\n" unless @f == 5 && $f[1] =~ /^[+-]?\d+$/;
        my ($d, $m, $y, $h, $mi, $s) = $f[0] =~ /^(\d\d)\.(\d\d)\.(\d{4}) (\d\d):(\d\d):(\d\d)$/ or die "time\n";
        my $t = moment($y, $m - 1, $d, $h, $mi, $s) - $f[1] * 60;
        checked($f[2], $f[4]); return ($f[2], $t, $f[4]);
    },
);
my (%broken, @seen, %other);
for my $i (0 .. $count - 1) {
    my %c = map { $_ => 0 } qw(format time id number); my %found;
    for my $path ("@LOGS@/$kinds[$i].log.1", "@LOGS@/$kinds[$i].log") {
        open(my $f, "<", $path) or next;
        while (my $l = <$f>) {
            chomp $l; next unless $l =~ /\S/;
            my ($id, $t, $v) = eval { $parse[$i]->($l) };
            if ($@) { chomp(my $why = $@); $c{$why}++; next }
            my $old = $found{$id};
            $found{$id} = [$t, $v] if !$old || ($i ? $t > $old->[0] : $t < $old->[0]);
        }
    }
    $broken{$kinds[$i]} = \%c; push @seen, \%found;
    if ($i) { $other{$_} = 1 for keys %found }
}
my ($req, $app, $pay, $work, $queue) = @seen; my %hour;
for my $id (keys %$req) {
    my ($t, $st) = @{$req->{$id}}; my $h = $hour{int($t / 3600)} ||= {n => 0, u => {}, max => 0, err => 0, sum => 0, try => 0};
    $h->{n}++;
    if (my $a = $app->{$id}) { $h->{u}{$a->[1][0]} = 1; $h->{max} = $a->[1][1] if $a->[1][1] > $h->{max} }
    my $w = $work ? $work->{$id} : undef; my $late = $w ? $w->[0] - $t : -1;
    $h->{err}++ if $st >= 500 || ($w && $w->[1] eq "failed" && $late >= 0 && $late <= @WINDOW@);
    $h->{sum} += $pay->{$id}[1] if $pay && $pay->{$id};
    $h->{try} += $queue->{$id}[1] if $queue && $queue->{$id};
}
open(my $o, ">", "@REPORT@");
print $o "hour,requests,users,slowest_ms,errors", $count > 2 ? ",@UNIT@" : "", $count > 4 ? ",attempts" : "", "\n";
for my $k (sort { $a <=> $b } keys %hour) {
    my $h = $hour{$k}; my @g = gmtime($k * 3600);
    my @row = (sprintf("%04d-%02d-%02dT%02d:00Z", $g[5] + 1900, $g[4] + 1, $g[3], $g[2]), $h->{n}, scalar(keys %{$h->{u}}),
        $h->{max}, $h->{err});
    push @row, $h->{sum} if $count > 2; push @row, $h->{try} if $count > 4; print $o join(",", @row), "\n";
}
close $o;
open(my $j, ">", "@SUMMARY@");
print $j encode_json({broken => \%broken, unmatched => scalar(grep { !$app->{$_} } keys %$req),
    orphans => scalar(grep { !$req->{$_} } keys %other)});
close $j;
PL
perl /tmp/hours.pl
rm -f /tmp/hours.pl
"""

Event = tuple[str, int, int, str]  # id, UTC second since the epoch of the draw, number, word


@dataclass
class Log:
    """The lines of one kind of log and what is in them."""

    lines: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    events: list[Event] = field(default_factory=list[Event])
    broken: dict[str, int] = field(default_factory=lambda: dict.fromkeys(REASONS, 0))


@dataclass(frozen=True)
class Writer:
    """Writes events as lines; `wrong` names the reason for which the line shall be broken."""

    draw: Draw
    place: World
    epoch: datetime
    hosts: dict[str, int]  # seconds that the clock of a host differs from UTC

    def line(self, kind: int, event: Event, wrong: str) -> str:
        """A line of the kind."""
        key, second, number, word = event
        key = self.draw.pick(("-", f"{key}x", key[1:])) if wrong == "id" else key
        value = self.draw.pick(("-1", "1e3", "n/a")) if wrong == "number" else str(number)
        match kind:
            case 0:
                return self.access(key, second, value, wrong)
            case 1:
                return self.entry(key, second, value, word, wrong)
            case 2:
                return self.pairs(key, second, value, word, wrong)
            case 3:
                return self.syslog(key, second, word, wrong)
            case _:
                return self.queue(key, second, value, word, wrong)

    def access(self, key: str, second: int, value: str, wrong: str) -> str:
        minutes = self.draw.pick((0, 60, 120, -300, 330))
        t = self.epoch + timedelta(seconds=second + minutes * 60)
        offset = f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}{abs(minutes) % 60:02d}"
        day, month = ("31", "Feb") if wrong == "time" else (f"{t.day:02d}", MONTHS[t.month - 1])
        what = self.draw.pick(("GET / HTTP/1.1", "GET /a b?c=[d] HTTP/1.1", "POST /new HTTP/2", "-"))
        stamp = f"[{day}/{month}/{t.year}:{t:%H:%M:%S} {offset}]"
        text = f'10.0.{second % 9}.{second % 251} - {self.draw.pick(("-", "ann", "bob"))} {stamp} "{what}" {value} {second % 4000} {key}'
        return text.split('"')[0] + '"GET' if wrong == "format" else text

    def entry(self, key: str, second: int, value: str, word: str, wrong: str) -> str:
        minutes = self.draw.pick((0, 0, 60, -240))
        t = self.epoch + timedelta(seconds=second + minutes * 60)
        zone = "Z" if minutes == 0 else f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:00"
        stamp = t.isoformat() + self.draw.pick(("", ".125", ".750000")) + zone
        stamp = stamp.replace(stamp[5:10], "02-30") if wrong == "time" else stamp
        ms: int | str = int(value) if value.isdigit() else value
        row = {"time": stamp, self.place.key: key, "user": word, "ms": ms, "note": "a, b"}
        text = json.dumps(
            {name: row[name] for name in self.draw.shuffled(list(row))},
            separators=self.draw.pick(((",", ":"), (", ", ": "))),
        )
        return self.draw.pick((text[:-4], text.replace('"user"', '"usr"'))) if wrong == "format" else text

    def pairs(self, key: str, second: int, value: str, word: str, wrong: str) -> str:
        stamp = (
            "yesterday" if wrong == "time" else str(int((self.epoch - datetime(1970, 1, 1)).total_seconds()) + second)
        )
        parts = [
            f"time={stamp}",
            f"{self.place.key}={key}",
            f"outcome={word}",
            f"{self.place.unit}={value}",
            'memo="paid id=9 late"',
        ]
        if wrong == "format":
            del parts[self.draw.between(0, 3)]
        return " ".join(self.draw.shuffled(parts))

    def syslog(self, key: str, second: int, word: str, wrong: str) -> str:
        host = self.draw.pick(sorted(self.hosts))
        t = self.epoch + timedelta(seconds=second + self.hosts[host])
        host = "nowhere" if wrong == "time" else host
        pid = "self" if wrong == "number" else str(second % 9000)
        text = f"{MONTHS[t.month - 1]} {t.day:2d} {t:%H:%M:%S} {host} {self.place.kinds[3]}[{pid}]: {key} {word}: step {second % 7} of 7"
        return text.split("[")[0] if wrong == "format" else text

    def queue(self, key: str, second: int, value: str, word: str, wrong: str) -> str:
        minutes = self.draw.pick((0, 120, -180))
        t = self.epoch + timedelta(seconds=second + minutes * 60)
        stamp = f"{t.day:02d}.13.{t.year} {t:%H:%M:%S}" if wrong == "time" else f"{t:%d.%m.%Y %H:%M:%S}"
        text = f'{stamp},{minutes:+d},{key},"{word}, ""as usual""",{value}'
        return text.rsplit(",", 1)[0] if wrong == "format" else text


def draw_events(
    draw: Draw, place: World, kind: int, requests: list[Event], numbers: list[int], window: int
) -> list[Event]:
    """The events of a kind other than the first: for some of the requests, again for some of those, and for unknown
    ids."""
    events: list[Event] = []
    for index, (key, second, _, _) in enumerate(requests):
        if index % 10 == kind or draw.chance((0, 10, 55, 55, 60)[kind]):
            continue
        base = second + draw.between(1, window)
        for turn in range(2 if index % 7 == 0 else 1):
            at = base + (0, -31, 41, 0, -17)[kind] * turn
            match kind:
                case 1:
                    event = (key, at, draw.between(5, 3000), f"user{draw.between(1, 25)}")
                case 2:
                    event = (key, at, draw.between(50, 9000), draw.pick(("ok", "ok", "refused")))
                case 3:
                    shift = (window, window + 1, 0, -1, draw.between(0, window))[index % 5]
                    event = (key, second + shift - 50 * turn, 0, draw.pick(("failed", "failed", "done")))
                case _:
                    event = (key, at, draw.between(1, 9), "moved")
            events.append(event)
    for number in draw.sample(numbers, 3):
        events.append(
            (f"{place.prefix}{number}", draw.between(0, 30_000), 7, ("", "user1", "ok", "failed", "moved")[kind])
        )
    return events


def evaluate(
    logs: list[Log], epoch: datetime, window: int, header: list[str]
) -> tuple[list[list[str]], dict[str, int]]:
    """The stated rules on the events as they were drawn."""
    found: list[dict[str, Event]] = []
    for kind, log in enumerate(logs):
        best: dict[str, Event] = {}
        for event in log.events:
            old = best.get(event[0])
            if old is None or (event[1] < old[1] if kind == 0 else event[1] > old[1]):
                best[event[0]] = event
        found.append(best)
    requests, app, pay, work, queue = [*found, {}, {}, {}][:5]
    hours: dict[int, list[Event]] = {}
    for event in requests.values():
        hours.setdefault(event[1] // 3600, []).append(event)
    rows = [header]
    for hour in sorted(hours):
        keys = [event[0] for event in hours[hour]]
        known = [app[key] for key in keys if key in app]
        errors = 0
        for key, second, status, _ in hours[hour]:
            failure = work.get(key)
            late = failure is not None and failure[3] == "failed" and 0 <= failure[1] - second <= window
            errors += status >= 500 or late
        values = [len(keys), len({event[3] for event in known}), max((event[2] for event in known), default=0), errors]
        values.append(sum(pay[key][2] for key in keys if key in pay and pay[key][3] == "ok"))
        values.append(sum(queue[key][2] for key in keys if key in queue))
        stamp = (epoch + timedelta(hours=hour)).isoformat()[:13] + ":00Z"
        rows.append([stamp, *map(str, values)][: len(header)])
    others = {key for best in found[1:] for key in best}
    return rows, {"unmatched": len(set(requests) - set(app)), "orphans": len(others - set(requests))}


def draw_logs(draw: Draw, place: World, count: int, writer: Writer, sizes: tuple[int, int], window: int) -> list[Log]:
    """All logs, each with every reason for a broken line at least once."""
    total, span = sizes
    numbers = draw.sample(range(1000, 9999), total + 40)
    requests: list[Event] = []
    for number in numbers[:total]:
        second = (
            draw.pick((0, 1799, 3599)) + 3600 * draw.between(2, span)
            if draw.chance(15)
            else draw.between(7200, span * 3600)
        )
        requests.append((f"{place.prefix}{number}", second, draw.pick((200, 200, 204, 302, 404, 500, 503)), ""))
    logs: list[Log] = []
    for kind in range(count):
        events = requests if kind == 0 else draw_events(draw, place, kind, requests, numbers[total:], window)
        if kind == 0 and count > 2:
            events = [
                *requests,
                *((key, second + draw.between(60, 4000), 503, "") for key, second, _, _ in requests[::6]),
            ]
        log = Log(events=events)
        log.lines = [(event[1], writer.line(kind, event, "")) for event in events]
        for reason in REASONS:
            for _ in range(draw.between(1, 4)):
                event = (
                    f"{place.prefix}{draw.pick(numbers)}",
                    draw.between(7200, span * 3600),
                    503,
                    "failed" if kind == 3 else "ok",
                )
                log.lines.append((event[1], writer.line(kind, event, reason)))
                log.broken[reason] += 1
        log.lines = draw.shuffled(log.lines) if kind else sorted(log.lines)
        logs.append(log)
    return logs


def laid_out(voice: Voice, lines: list[str]) -> str:
    """Sentences in the manner of a voice."""
    if voice in ("email", "chat"):
        return lines[0] + " " + lines[1] + "\n\n" + "\n".join(lines[2:])
    return "\n".join(
        f"{f'{n}.' if voice in ('specification', 'runbook') else '-'} {line}" for n, line in enumerate(lines, 1)
    )


def draft(draw: Draw) -> Draft:
    """One pipeline."""
    place = draw.setting(SETTINGS)
    count = draw.by_difficulty(easy=2, medium=3, hard=4, extremely_hard=5)
    extreme = count == 5
    sizes = draw.by_difficulty(easy=(30, 8), medium=(50, 12), hard=(60, 20), extremely_hard=(80, 30))
    wording, window = (draw.serial + draw.serial // 3) % 3, draw.pick((90, 120, 240, 300))
    epoch = datetime(draw.pick((2022, 2023)), draw.between(3, 11), draw.between(1, 27))
    offsets = draw.shuffled((-480, -300, 60, 120, 330))
    fast = [draw.between(20, 400) * (-1 if draw.chance(40) else 1) for _ in offsets]
    names = [f"{word}-{draw.between(1, 9)}" for word in draw.sample(HOST_WORDS, 5)]
    hosts = {
        name: minutes * 60 + (late if extreme else 0) for name, minutes, late in zip(names, offsets, fast, strict=True)
    }
    logs = draw_logs(draw, place, count, Writer(draw, place, epoch, hosts), sizes, window)
    header = ["hour", "requests", "users", "slowest_ms", "errors", place.unit, "attempts"][
        : {2: 5, 3: 6, 4: 6, 5: 7}[count]
    ]
    rows, losses = evaluate(logs, epoch, window, header)
    kinds = list(place.kinds[:count])

    folder = f"{place.folder}/raw"
    files: dict[str, str] = {}
    for kind, log in zip(kinds, logs, strict=True):
        lines = [text for _, text in log.lines]
        cut = len(lines) // 3 if count > 2 else 0
        if cut:
            files[f"raw/{kind}.log.1"] = "\n".join(lines[:cut]) + "\n\n"
        files[f"raw/{kind}.log"] = "\n".join(lines[cut:]) + "\n"
    if count > 3:
        listed = (
            f"{name},{minutes}{f',{late}' if extreme else ''}\n"
            for name, minutes, late in zip(names, offsets, fast, strict=True)
        )
        files["raw/hosts.csv"] = f"host,offset{',fast_by' if extreme else ''}\n" + "".join(listed)
    fill = {
        **{f"K{number}": kind for number, kind in enumerate(place.kinds)},
        "PREFIX": place.prefix,
        "KEY": place.key,
        "UNIT": place.unit,
        "YEAR": str(epoch.year),
        "WINDOW": str(window),
        "UNKNOWN": " (or, in one of the logs, its host is unknown)" if count > 3 else "",
        "FAST": ", and fast_by, the seconds by which its clock is ahead (negative: behind)" if extreme else "",
        "LOGS": folder,
        "KINDS_JSON": json.dumps(kinds),
        "KINDS": repr(kinds),
        "COUNT": str(count),
        "REPORT": f"{place.folder}/{place.report}",
        "SUMMARY": f"{place.folder}/{place.summary}",
    }

    def script(source: str, *changes: tuple[str, str]) -> str:
        for old, new in [*changes, *((f"@{name}@", word) for name, word in fill.items())]:
            source = source.replace(old, new)
        return source

    formats = script(FORMATS + "".join(FORMATS_MORE[: count - 2]))
    said = dict(sentences(place, count, wording, window, ",".join(header)).items())
    instruction = place.text.format(
        firm=draw.pick(FIRMS),
        persona=place.persona,
        ticket=draw.between(100, 9999),
        logs=folder,
        formats=f"{place.folder}/FORMATS.md",
        rules=laid_out(place.voice, list(said.values())),
    )
    goals = ["test_hours", "test_summary"]
    misses = [
        Miss(
            "local_hours",
            "takes the local hour of the first log",
            script(PYTHON, ("    t -= (int(m[8])", "    t -= 0 * (int(m[8])")),
            ["test_hours"],
        ),
        Miss(
            "numbers_unchecked",
            "does not check numbers",
            script(
                PYTHON,
                ('need(all(re.fullmatch(r"\\d+", n) for n in numbers), "number")', "pass"),
                ("int(m[10])", "int('0' + re.sub(r'\\D', '', m[10]))"),
            ),
            ["test_summary"],
        ),
        Miss(
            "broken_as_one",
            "counts every broken line as format",
            script(PYTHON, ("counts[str(reason)]", "counts['format']")),
            ["test_summary"],
        ),
        Miss(
            "first_app_line",
            "keeps the first line of an id that it meets",
            script(
                PYTHON,
                ("else t > found[key][0]", "else False"),
                ('r["time"], r["@KEY@"], r["user"], r["ms"]', 'r["time"], r["@KEY@"], r["user"], 1'),
            ),
            ["test_hours"],
        ),
    ]
    if count > 3:
        misses.append(
            Miss(
                "worker_clock",
                "takes the times of the hosts for UTC",
                script(PYTHON, ("- hosts[m[6]]", "")),
                ["test_hours"],
            )
        )
    return Draft(
        title=f"Hourly report from raw logs: {place.scenario}",
        setting=place,
        instruction=instruction,
        files={**files, "FORMATS.md": formats},
        dockerfile=f"COPY raw {folder}/\nCOPY FORMATS.md {place.folder}/\nWORKDIR {place.folder}",
        truth={
            "report": fill["REPORT"],
            "summary": fill["SUMMARY"],
            "hours": json.dumps(rows),
            "losses": json.dumps(
                {"broken": {kind: log.broken for kind, log in zip(kinds, logs, strict=True)}, **losses}
            ),
            "logs": {
                f"{place.folder}/{name}": hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()
            },
        },
        discoverable=("report", "summary", "logs"),
        tests=TESTS,
        weights={"test_hours": 0.65, "test_summary": 0.35},
        guards=["test_logs_unchanged"],
        initial=INITIAL,
        solution=script(PYTHON),
        alternatives=[script(PERL)],
        misses=misses,
        requirements=[
            (
                text,
                {"keep": ["test_logs_unchanged"], "summary": goals[1:], "broken": goals, "merge": goals}.get(
                    name, goals[:1]
                ),
            )
            for name, text in said.items()
        ],
        knobs={
            "formats": count,
            "requests": sizes[0],
            "hours": len(rows) - 1,
            "lines": sum(len(log.lines) for log in logs),
        },
    )


def sentences(place: World, count: int, wording: int, window: int, columns: str) -> dict[str, str]:
    """The rules for this many logs in one wording."""
    first, second, third, fourth, fifth = place.kinds
    skipped = {name for name, least in (("money", 3), ("retries", 5)) if count < least}
    failed = FAILED[wording].format(fourth=fourth, window=window) if count > 3 else ""
    words = {"first": first, "second": second, "third": third, "fifth": fifth, "failed": failed, "unit": place.unit}
    words |= {"columns": columns, "kinds": ", ".join(place.kinds[:count]), "formats": "FORMATS.md"}
    words |= {"report": f"{place.folder}/{place.report}", "summary": f"{place.folder}/{place.summary}"}
    return {name: texts[wording].format(**words) for name, texts in SENTENCES.items() if name not in skipped}


FAMILY = Family(
    name="log_pipeline",
    domain="data_processing",
    verifier=Verifier.EXACT_TEXT,
    skills=("log parsing", "time zones", "joins", "aggregation"),
    difficulties=(Difficulty.EASY, Difficulty.MEDIUM, Difficulty.HARD, Difficulty.EXTREMELY_HARD),
    capacity=60,
    draft=draft,
)
